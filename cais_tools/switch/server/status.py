"""Errors as P4Runtime reports them: one code for an RPC, one `p4.v1.Error` for each update of a batch.

P4Runtime 1.4, sections 10 "Error Reporting Messages" and 12.3 "Error Reporting".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import grpc

from cais_tools.p4rt import code_pb2, p4runtime_pb2, status_pb2
from cais_tools.p4rt.status import DETAILS_KEY, batch_status
from cais_tools.switch import refusals

__all__ = ["SPACE", "Ending", "P4Error", "abort", "as_p4_error", "batch_ending", "finish", "invalid", "status_code"]

SPACE = "embedded-v1model-p4lang"
# The details of a whole batch travel in one trailer, for which clients have a limit (8 kB unless they raise it).
_MAX_TEXT = 512


class P4Error(Exception):
    """What the client did wrong, or what the device cannot do: a canonical code and a line of text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> P4Error:
    return P4Error(code_pb2.INVALID_ARGUMENT, message)


_CODES: dict[type[refusals.StateError], int] = {
    refusals.AlreadyExists: code_pb2.ALREADY_EXISTS,
    refusals.NotFound: code_pb2.NOT_FOUND,
    refusals.Exhausted: code_pb2.RESOURCE_EXHAUSTED,
    refusals.ReadOnly: code_pb2.PERMISSION_DENIED,
    refusals.Invalid: code_pb2.INVALID_ARGUMENT,
}


def as_p4_error(error: P4Error | refusals.StateError) -> P4Error:
    """What the engine refused, as P4Runtime says it."""
    if isinstance(error, P4Error):
        return error
    text = f"{error.message} ({error.hint})" if error.hint else error.message
    return P4Error(_CODES.get(type(error), code_pb2.INVALID_ARGUMENT), text)


_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


def status_code(code: int) -> grpc.StatusCode:
    return _BY_NUMBER[code]


def abort(context: grpc.ServicerContext, error: P4Error) -> NoReturn:
    """End the RPC with an error that concerns all of it."""
    context.abort(status_code(error.code), error.message)
    raise AssertionError("unreachable: abort raises")


@dataclass(frozen=True)
class Ending:
    """How an RPC ends that failed: gRPC's code and text, and the status that goes with it in the trailer."""

    code: int
    message: str
    status: status_pb2.Status


def batch_ending(
    message: str, errors: Sequence[P4Error | None], *, space: str = SPACE, target_codes: bool = True
) -> Ending:
    """A batch in which something failed: UNKNOWN, and in the details an Error for each element.

    `target_codes`: whether the canonical code is repeated as the target's own.
    """
    details = [
        p4runtime_pb2.Error(
            canonical_code=error.code,
            message=error.message[:_MAX_TEXT],
            space=space,
            code=error.code if target_codes else 0,
        )
        if error is not None
        else p4runtime_pb2.Error(canonical_code=code_pb2.OK)
        for error in errors
    ]
    return Ending(code_pb2.UNKNOWN, message, batch_status(details, message))


def finish(context: grpc.ServicerContext, ending: Ending) -> NoReturn:
    """End the RPC."""
    context.set_trailing_metadata(((DETAILS_KEY, ending.status.SerializeToString()),))
    context.abort(status_code(ending.code), ending.message)
    raise AssertionError("unreachable: abort raises")
