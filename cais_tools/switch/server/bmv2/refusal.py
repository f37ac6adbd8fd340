"""PI's refusals: a canonical code, and its text."""

from __future__ import annotations

from cais_tools.p4rt import code_pb2
from cais_tools.switch.server.status import P4Error

__all__ = [
    "ALREADY_EXISTS",
    "FAILED_PRECONDITION",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "invalid",
    "invalid_id",
    "no_pipeline",
    "refusal",
]

ALREADY_EXISTS: int = code_pb2.ALREADY_EXISTS
FAILED_PRECONDITION: int = code_pb2.FAILED_PRECONDITION
INVALID_ARGUMENT: int = code_pb2.INVALID_ARGUMENT
NOT_FOUND: int = code_pb2.NOT_FOUND
OUT_OF_RANGE: int = code_pb2.OUT_OF_RANGE
PERMISSION_DENIED: int = code_pb2.PERMISSION_DENIED
RESOURCE_EXHAUSTED: int = code_pb2.RESOURCE_EXHAUSTED
UNIMPLEMENTED: int = code_pb2.UNIMPLEMENTED
UNKNOWN: int = code_pb2.UNKNOWN


def refusal(code: int, text: str) -> P4Error:
    return P4Error(code, text)


def invalid(text: str) -> P4Error:
    return P4Error(INVALID_ARGUMENT, text)


def invalid_id() -> P4Error:
    """An id that the P4Info does not have, or not for this kind of object."""
    return invalid("Invalid P4 id")


def no_pipeline() -> P4Error:
    return P4Error(FAILED_PRECONDITION, "No forwarding pipeline config set for this device")
