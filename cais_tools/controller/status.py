"""Errors of the one family as gRPC carries them, and back."""

# pyright: reportUnknownMemberType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

from typing import Any, Final, NoReturn, Protocol

import grpc

from cais_tools.errors import (
    CaisError,
    CheckFailed,
    DeadlineExceeded,
    NotPermitted,
    NotPrimary,
    Refused,
    Unreachable,
    UsageError,
)

__all__ = ["Aborting", "abort_with", "from_rpc"]

_CODES: Final[dict[type[CaisError], grpc.StatusCode]] = {
    UsageError: grpc.StatusCode.INVALID_ARGUMENT,
    Unreachable: grpc.StatusCode.UNAVAILABLE,
    DeadlineExceeded: grpc.StatusCode.DEADLINE_EXCEEDED,
    NotPrimary: grpc.StatusCode.PERMISSION_DENIED,
    NotPermitted: grpc.StatusCode.PERMISSION_DENIED,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    CheckFailed: grpc.StatusCode.ABORTED,
    CaisError: grpc.StatusCode.INTERNAL,
}
_KIND, _HINT = "cais-error", "cais-hint-bin"
_KINDS: Final = {kind.__name__: kind for kind in _CODES}
_START = "is `cais controller` running, and is the port right?"


class Aborting(Protocol):
    """What is needed of a call's context to end it."""

    def set_trailing_metadata(self, trailing_metadata: tuple[tuple[str, str | bytes], ...]) -> None:
        """As grpc.ServicerContext has it."""
        ...

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        """As grpc.ServicerContext has it."""
        ...


def abort_with(context: Aborting, error: CaisError, code: grpc.StatusCode | None = None) -> NoReturn:
    """End a call with this error; other languages' clients see the code that fits it best."""
    kind = next(each for each in _CODES if isinstance(error, each))
    metadata: list[tuple[str, str | bytes]] = [(_KIND, kind.__name__)]
    if error.hint:
        metadata.append((_HINT, error.hint.encode()))
    context.set_trailing_metadata(tuple(metadata))
    context.abort(code or _CODES[kind], error.message)


def from_rpc(error: grpc.RpcError, where: str, doing: str) -> CaisError:
    """What a failed call to the controller at `where` (HOST:PORT) means; `doing` says what it was for."""
    told = _metadata(error)
    details = " ".join((error.details() or "").split())
    kind = _KINDS.get(str(told.get(_KIND, "")))
    if kind is not None:
        hint = told.get(_HINT)
        return kind(details, hint=hint.decode(errors="replace") if isinstance(hint, bytes) else None)
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE:
        return _unreachable(where, details)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(f"the controller at {where} did not answer in time: {doing}", hint=_START)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Unreachable(f"{where} speaks gRPC, but is no controller of ours ({details})", hint=_START)
    return CaisError(f"the controller at {where} could not {doing}: {code.name}, {details}", hint="see its log")


def _metadata(error: grpc.RpcError) -> dict[str, str | bytes]:
    items: Any = error.trailing_metadata() or ()
    return dict(items)


def _unreachable(where: str, details: str) -> Unreachable:
    lower = details.lower()
    if "refused" in lower:
        return Unreachable(f"nothing listens at {where} (connection refused)", hint=_START)
    if "dns" in lower or "name resolution" in lower or "domain name" in lower:
        return Unreachable(f"the host of {where} cannot be resolved", hint="check the name")
    if "wrong_version_number" in lower or "wrong version number" in lower:
        return Unreachable(f"the controller at {where} does not speak TLS", hint="connect without TLS options")
    if "hostname verification" in lower:
        return Unreachable(f"the certificate of {where} is for another name", hint="give the name that it is for")
    if "certificate" in lower:
        return Unreachable(f"the certificate of {where} is signed by nobody we trust", hint="give the CA's certificate")
    if "handshake" in lower:
        return Unreachable(f"the TLS handshake with {where} failed", hint="does it want a client certificate?")
    if "socket closed" in lower or "reset" in lower or "goaway" in lower or "broken pipe" in lower:
        return Unreachable(
            f"{where} closed the connection", hint="has the controller ended, or does it speak TLS, or not gRPC at all?"
        )
    return Unreachable(
        f"the controller at {where} cannot be reached" + (f": {details}" if details else ""), hint=_START
    )
