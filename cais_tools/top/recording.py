"""Files of observations: one that is written, and one that is read at any place."""

from __future__ import annotations

import re
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cais_tools.errors import UsageError
from cais_tools.top.checks import LATEST
from cais_tools.top.observation import Observation, Source
from cais_tools.top.record import decode, decode_header, encode, encode_header

__all__ = ["Recorder", "Recording"]

_TIME: Final = re.compile(rb'\{"time":\s*(\d+(?:\.\d+)?),')
_LONGEST_HEADER: Final = 1 << 24  # a thousand switches of 512 ports each; other files may have no lines at all


class Recorder:
    """Writes observations as they come, from any thread. What cannot be written ends it, and `error` says why."""

    def __init__(self, path: Path, sources: Sequence[Source], interval: float) -> None:
        """Raises UsageError for a file that cannot be written."""
        self.path = path
        self.error: str | None = None
        self._lock = threading.Lock()
        try:
            self._file = path.open("w", encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        try:
            self._write(encode_header(sources, interval))
        except OSError as error:
            self.close()
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def take(self, seen: Observation) -> None:
        line = encode(seen)
        with self._lock:
            if self.error is not None or self._file.closed:
                return
            try:
                self._write(line)
            except OSError as error:
                self.error = f"{self.path}: {error.strerror}"

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        with self._lock:
            try:
                self._file.close()
            except OSError as error:
                self.error = self.error or f"{self.path}: {error.strerror}"


class Recording:
    """A file of observations, in the order of time; they are read one by one, so that it may be of any length."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError for a file that cannot be read, or is no recording."""
        self.path = path
        self._times = array("d")
        self._offsets = array("q")
        self._lock = threading.Lock()
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        try:
            self.sources, self.interval = self._read_header()
            self._index()
        except OSError as error:
            self._file.close()
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        except UsageError:
            self._file.close()
            raise

    def _read_header(self) -> tuple[list[Source], float]:
        header = self._file.readline(_LONGEST_HEADER)
        try:
            return decode_header(header.decode("utf-8", "replace"))
        except UsageError as error:
            raise UsageError(f"{self.path}: {error.message}", hint="cais top --record FILE writes one") from None

    def _index(self) -> None:
        """Where each observation is, and when it was. The last line may be cut off: somebody may still write it."""
        latest = float("-inf")
        offset = self._file.tell()
        for number, line in enumerate(self._file, 2):
            found = _TIME.match(line)
            if not line.endswith(b"\n"):
                break
            if found is None or float(found[1]) > LATEST:
                raise UsageError(f"{self.path}:{number}: it is no observation")
            latest = max(latest, float(found[1]))
            self._times.append(latest)
            self._offsets.append(offset)
            offset += len(line)
        if not self._times:
            raise UsageError(f"{self.path}: there is no observation in it")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._times)

    @property
    def start(self) -> float:
        return self._times[0]

    @property
    def end(self) -> float:
        return self._times[-1]

    def time(self, place: int) -> float:
        return self._times[place]

    def before(self, time: float) -> int:
        """How many observations are earlier than `time`."""
        return bisect_left(self._times, time)

    def until(self, time: float) -> int:
        """How many observations are not later than `time`."""
        return bisect_right(self._times, time)

    def __getitem__(self, place: int) -> Observation:
        """Raises IndexError, and UsageError for a line that is damaged."""
        with self._lock:
            self._file.seek(self._offsets[place])
            line = self._file.readline()
        try:
            return decode(line.decode("utf-8", "replace"))
        except UsageError as error:
            raise UsageError(f"{self.path}:{place + 2}: {error.message}") from None
