"""What a switch can answer instead of yes, as errors of the one family.

    Refused                          5
    ├── DeviceError                  5   the switch refused a call: code, details
    │   ├── WrongDevice              5   the switch has no device with our id
    │   └── BatchFailed              5   some updates of a batch failed: one verdict each
    └── NoPipeline                   5   no P4 program is loaded
    Unreachable                      3
    └── SwitchRestarted              3   the switch came back without our pipeline, or with another one
    NotPrimary                       4   another client is primary

`from_rpc` turns a gRPC error into one of them. Sans I/O.
"""

from __future__ import annotations

import grpc

from cais_tools.errors import CaisError, DeadlineExceeded, NotPrimary, Refused, Unreachable
from cais_tools.session.verdicts import Verdict

__all__ = [
    "BatchFailed",
    "DeviceError",
    "NoPipeline",
    "SwitchRestarted",
    "WrongDevice",
    "from_rpc",
    "refused",
    "unreachable",
]


class DeviceError(Refused):
    """The switch refused a call. `code` is the canonical name, `details` the switch's own words."""

    def __init__(self, message: str, *, code: str, details: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.details = details


class WrongDevice(DeviceError):
    """The switch has no device with the id that was given."""


class BatchFailed(DeviceError):
    """Some updates of a batch failed. `verdicts` has one for each update, in order; `failed` only the bad ones."""

    def __init__(self, verdicts: list[Verdict], *, hint: str | None = None) -> None:
        self.verdicts = verdicts
        self.failed = [each for each in verdicts if not each.ok]
        first = self.failed[0]
        count = "" if len(verdicts) == 1 else f"{len(self.failed)} of {len(verdicts)} updates failed; "
        super().__init__(f"{count}{first}", code=first.code, details=first.message, hint=hint or first.hint)


class NoPipeline(Refused):
    pass


class SwitchRestarted(Unreachable):
    """The switch has lost what was loaded and written; nothing of it is in force any more."""


def from_rpc(error: grpc.RpcError, where: str, doing: str) -> CaisError:
    """The error for a failed call to `where` (HOST:PORT) while `doing` something ("read the table rules")."""
    code, details = error.code(), " ".join((error.details() or "").split())
    name = code.name
    if code is grpc.StatusCode.UNAVAILABLE:
        return unreachable(where, details)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(
            f"{where} did not answer in time: {doing}", hint="is the switch busy, or a packet filter in between?"
        )
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return NotPrimary(
            f"{where} refused to {doing}: {details or 'this client is not primary'}",
            hint="another client is primary; end it, or take over",
        )
    if code is grpc.StatusCode.UNIMPLEMENTED and "ethod" in details:
        return Unreachable(f"{where} speaks gRPC but not P4Runtime ({details})", hint="wrong port? P4Runtime's is 9559")
    if code is grpc.StatusCode.FAILED_PRECONDITION and "ipeline" in details:
        return NoPipeline(f"no P4 program is loaded on {where}", hint="load one: cais load --device " + where)
    if "assign device" in details or (code is grpc.StatusCode.NOT_FOUND and "device" in details.lower()):
        return WrongDevice(
            f"{where} has no device with this id: {details}",
            code=name,
            details=details,
            hint="give the switch's own device id",
        )
    return refused(where, doing, name, details)


def refused(where: str, doing: str, code: str, details: str) -> DeviceError:
    text = f"{where} refused to {doing}: {code}" + (f", {details}" if details else " without a reason")
    return DeviceError(text, code=code, details=details, hint=_hint(code, details))


def _hint(name: str, details: str) -> str | None:
    if name == "UNKNOWN" and not details:
        return "the reason is in the switch's own log"
    if "device update" in details:
        return "the switch could not use the program; the reason is in its own log"
    if name == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        return "the message is bigger than the switch accepts"
    return None


def unreachable(where: str, details: str) -> Unreachable:
    """Why nothing answers, from what gRPC says about the connection attempt."""
    lower = details.lower()
    if "refused" in lower:
        return Unreachable(
            f"nothing listens at {where} (connection refused)", hint="is the switch running, and is the port right?"
        )
    if "dns resolution" in lower or "name resolution" in lower or "domain name" in lower:
        return Unreachable(f"the host of {where} cannot be resolved", hint="check the name")
    if "wrong_version_number" in lower or "wrong version number" in lower:
        return Unreachable(f"{where} does not speak TLS", hint="connect without TLS options")
    if "hostname verification" in lower:
        return Unreachable(f"the certificate of {where} is for another name", hint="give the name that it is for")
    if "certificate" in lower:
        return Unreachable(f"the certificate of {where} is signed by nobody we trust", hint="give the CA's certificate")
    if "handshake" in lower:
        return Unreachable(f"the TLS handshake with {where} failed", hint="does the switch want a client certificate?")
    if "settings frame" in lower or "http/2" in lower:
        return Unreachable(f"what listens at {where} does not speak gRPC", hint="wrong port? P4Runtime's is 9559")
    if "no route" in lower or "network is unreachable" in lower:
        return Unreachable(f"there is no route to {where}")
    if "reset" in lower or "socket closed" in lower or "broken pipe" in lower or "goaway" in lower:
        return Unreachable(
            f"{where} closed the connection", hint="does it speak TLS, or something else than P4Runtime?"
        )
    return Unreachable(f"{where} is unreachable" + (f": {details}" if details else ""))
