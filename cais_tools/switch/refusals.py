"""What the switch refuses, and why.

    Refused (cais_tools.errors)
    ├── ProgramError        a program cannot be loaded: no JSON, another architecture, something unsupported
    └── StateError          a change of run-time state (entry, member, group, index) makes no sense
        ├── AlreadyExists   it is there already
        ├── NotFound        it is not there
        ├── Exhausted       table, profile or group is full
        ├── ReadOnly        const entries, const default actions
        └── Invalid         wrong number of keys, value too wide, unknown action, index out of range

`StateError` maps one to one to the codes of P4Runtime (ALREADY_EXISTS, NOT_FOUND, RESOURCE_EXHAUSTED,
PERMISSION_DENIED, INVALID_ARGUMENT).
"""

from __future__ import annotations

from cais_tools.errors import Refused

__all__ = ["AlreadyExists", "Exhausted", "Invalid", "NotFound", "ProgramError", "ReadOnly", "StateError"]


class ProgramError(Refused):
    def __init__(self, message: str, *, hint: str | None = None) -> None:
        # It quotes names of the program, which may be any text; an error is one line.
        super().__init__(" ".join(message.splitlines()), hint=hint)


class StateError(Refused):
    pass


class AlreadyExists(StateError):
    pass


class NotFound(StateError):
    pass


class Exhausted(StateError):
    pass


class ReadOnly(StateError):
    pass


class Invalid(StateError):
    pass
