"""The one error family of cais-tools.

    CaisError                 1   base; message, hint, exit_code
    ├── CheckFailed           1   a check or a comparison failed
    ├── UsageError            2   what was asked for makes no sense
    ├── Unreachable           3   nothing answers there
    ├── DeadlineExceeded      3   something answered, but not in time
    ├── NotPermitted          4   a missing privilege
    │   └── NotPrimary        4   another client is primary on the device
    └── Refused               5   the device, or the target's program, said no

The number is the exit code of a command that ends with the error (design, section 8).
"""

from __future__ import annotations

__all__ = [
    "CaisError",
    "CheckFailed",
    "DeadlineExceeded",
    "NotPermitted",
    "NotPrimary",
    "Refused",
    "Unreachable",
    "UsageError",
]


class CaisError(Exception):
    """An error that a user can act on: one line of text, and perhaps what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class CheckFailed(CaisError):
    exit_code = 1


class UsageError(CaisError):
    exit_code = 2


class Unreachable(CaisError):
    exit_code = 3


class DeadlineExceeded(CaisError):
    exit_code = 3


class NotPermitted(CaisError):
    exit_code = 4


class NotPrimary(NotPermitted):
    pass


class Refused(CaisError):
    exit_code = 5
