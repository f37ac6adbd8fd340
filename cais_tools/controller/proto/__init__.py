"""The controller's service: `controller.proto`, and the code that is generated from it."""
