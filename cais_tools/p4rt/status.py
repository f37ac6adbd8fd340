"""Per-update errors of a Write: how they travel in gRPC's trailers (P4Runtime 1.4, section 12.3). Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf import any_pb2, message

from cais_tools.p4rt import code_pb2, p4runtime_pb2, status_pb2

__all__ = ["DETAILS_KEY", "batch_status", "code_name", "decode_status", "update_errors"]

DETAILS_KEY = "grpc-status-details-bin"


def code_name(code: int) -> str:
    """`ALREADY_EXISTS` for 6; a number that no canonical code has stays a number."""
    try:
        return str(code_pb2.Code.Name(code))  # pyright: ignore[reportArgumentType]
    except ValueError:
        return f"code {code}"


def batch_status(errors: Sequence[p4runtime_pb2.Error], text: str = "") -> status_pb2.Status:
    """The status of a batch in which something failed: UNKNOWN, with one Error for each update, in order."""
    status = status_pb2.Status(code=code_pb2.UNKNOWN, message=text)
    for error in errors:
        packed = any_pb2.Any()
        packed.Pack(error)
        status.details.append(packed)
    return status


def decode_status(trailers: Iterable[Any] | None) -> status_pb2.Status | None:
    """The google.rpc.Status among a call's trailing metadata; None when there is none (or a damaged one)."""
    for key, value in trailers or ():
        if key == DETAILS_KEY:
            try:
                return status_pb2.Status.FromString(value)
            except message.DecodeError:
                return None
    return None


def update_errors(status: status_pb2.Status | None) -> list[p4runtime_pb2.Error]:
    """One Error for each update of the batch; empty when the server sent no details."""
    errors: list[p4runtime_pb2.Error] = []
    for packed in status.details if status is not None else ():
        error = p4runtime_pb2.Error()
        if packed.Unpack(error):
            errors.append(error)
    return errors
