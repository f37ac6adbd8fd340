"""Captures of CAIS traffic: read, decoded, compared with what was expected."""
