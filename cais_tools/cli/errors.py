"""From errors to exit codes and to the one or two lines that a user sees."""

from __future__ import annotations

import os
import sys
import traceback

from cais_tools.cli.output import coloured, emit_json
from cais_tools.errors import CaisError, NotPrimary

__all__ = ["BROKEN_PIPE", "INTERRUPTED", "TERMINATED", "USAGE", "Terminated", "hint_of", "report"]

USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143


class Terminated(BaseException):
    """SIGTERM, raised in the main thread so that everything that was started is ended on the way out."""


def report(error: BaseException, *, as_json: bool) -> int:
    """Say on stderr what went wrong, and return the exit code."""
    message, hint, code = _describe(error)
    sys.stdout.flush()
    if as_json:
        emit_json("cais.error/1", {"error": message, "hint": hint, "exit_code": code}, sys.stderr)
        return code
    sys.stderr.write(f"{coloured('error:', 'red', sys.stderr)} {message}\n")
    if hint:
        sys.stderr.write(f"{coloured('hint:', 'yellow', sys.stderr)} {hint}\n")
    if os.environ.get("CAIS_DEBUG"):
        traceback.print_exception(error)
    return code


def hint_of(error: CaisError) -> str | None:
    """What to do next, in the words of the commands."""
    if isinstance(error, NotPrimary) and error.hint and "take over" in error.hint:
        return f"{error.hint}: --take-over"
    return error.hint


def _describe(error: BaseException) -> tuple[str, str | None, int]:
    if isinstance(error, CaisError):
        return error.message, hint_of(error), error.exit_code
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", None, 1
    if isinstance(error, FileNotFoundError):  # ours: part of the installation is missing
        return str(error), None, 1
    name = type(error).__name__
    return f"unexpected {name}: {error}", "CAIS_DEBUG=1 shows where; this is a fault of cais-tools", 1
