"""The chip's temperature: what somebody has said it is."""

from __future__ import annotations

import logging
import math
from pathlib import Path

from cais_tools.errors import UsageError

__all__ = ["Thermometer", "parse_temperature"]

_LOG = logging.getLogger(__name__)
_ABSOLUTE_ZERO = -273.15
_HINT = "for example --temperature 42, or a file that holds such a number and is read each time somebody asks"


class Thermometer:
    """Degrees Celsius: a number, or a file with one that is read at each look; None: this switch tells none."""

    def __init__(self, source: float | Path | None) -> None:
        """Raises UsageError for what is no temperature, or no file."""
        if isinstance(source, Path):
            if not source.is_file():
                raise UsageError(f"the temperature is neither a number nor a file: {source}", hint=_HINT)
        elif source is not None and not _is_possible(source):
            raise UsageError(f"{source:g} degrees Celsius are not possible", hint=_HINT)
        self._source = source
        self._has_complained = False

    def read(self) -> float | None:
        """None too where the file holds no number just now."""
        if not isinstance(self._source, Path):
            return self._source
        try:
            value = float(self._source.read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError) as error:
            return self._complain(str(error))
        if not _is_possible(value):
            return self._complain(f"{value:g} degrees Celsius are not possible")
        self._has_complained = False
        return value

    def _complain(self, why: str) -> None:
        if not self._has_complained:
            _LOG.warning("no temperature in %s: %s", self._source, why)
        self._has_complained = True


def parse_temperature(text: str) -> float | Path:
    """A number, or else the name of a file."""
    try:
        return float(text)
    except ValueError:
        return Path(text)


def _is_possible(value: float) -> bool:
    return math.isfinite(value) and value >= _ABSOLUTE_ZERO
