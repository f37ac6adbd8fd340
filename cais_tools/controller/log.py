"""The controller's log on stderr: a line for each event, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Literal

__all__ = ["LogFormat", "log_to_stderr"]

LogFormat = Literal["text", "json"]

_LEVELS = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "error", "DEBUG": "debug"}


def log_to_stderr(form: LogFormat, *, level: int = logging.INFO) -> None:
    """Have everything of cais_tools logged; of other libraries, warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("cais_tools").setLevel(level)
    # Sessions tell of every attempt to connect; the controller says it once.
    logging.getLogger("cais_tools.session").setLevel(logging.WARNING)


def _level(record: logging.LogRecord) -> str:
    return _LEVELS.get(record.levelname, "info")


def _part(record: logging.LogRecord) -> str:
    """The module, without what all have in common."""
    return record.name.removeprefix("cais_tools.").removeprefix("controller.")


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")
        text = f"{time} {_level(record):7} {_part(record)}: {record.getMessage()}"
        return text + (f"\n{_trace(record)}" if record.exc_info else "")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        document = {
            "schema": "cais.log/1",
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": _level(record),
            "part": _part(record),
            "message": record.getMessage(),
        }
        if record.exc_info:
            document["trace"] = _trace(record)
        return json.dumps(document)


def _trace(record: logging.LogRecord) -> str:
    if record.exc_info is None:
        return ""
    return "".join(traceback.format_exception(*record.exc_info)).rstrip()
