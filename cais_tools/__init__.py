"""Tools for in-network all-reduce: the P4 program, the switch, the session, the endpoint, the checks."""

__version__ = "0.1.0"
