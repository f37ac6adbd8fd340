"""The control plane: decides what is offloaded, keeps groups on switches, puts everything on endpoints in a second."""
