"""Capture files as a source: pcap and pcapng, plain or gzip, from a path, a FIFO or standard input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cais_tools.errors import UsageError
from cais_tools.sniff import pcap, pcapng
from cais_tools.sniff.cooked import Cooked
from cais_tools.sniff.damage import Damage
from cais_tools.sniff.merge import merged
from cais_tools.sniff.stream import StoppedError, Window, open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cais_tools.sniff.batch import Batch, CaptureInterface

__all__ = ["FileSource", "open_files"]


class _Reader(Protocol):
    interfaces: list[CaptureInterface]

    def batches(self) -> Iterator[Batch]: ...


class FileSource:
    """One capture file. `damaged` tells, once it is read, whether part of it could not be."""

    def __init__(self, path: str, tell: Callable[[str], None], stopped: Callable[[], bool] = lambda: False) -> None:
        name = "standard input" if path == "-" else path
        stream, self._close = open_stream(path, stopped)
        self._damage = Damage(name, tell)
        try:
            self._reader = _reader(Window(stream), name, self._damage)
        except BaseException:
            self._close()
            raise
        self.interfaces = self._reader.interfaces

    @property
    def damaged(self) -> bool:
        return self._damage.found

    def batches(self) -> Iterator[Batch]:
        cooked = Cooked(self.interfaces)
        try:
            for batch in self._reader.batches():
                yield cooked.complete(batch)
        except StoppedError:
            return
        finally:
            self._close()


def _reader(window: Window, name: str, damage: Damage) -> _Reader:
    window.at_least(4)
    magic = window.peek(4)
    if window.broken is not None:
        raise UsageError(f"cannot read {name}: {window.broken}")
    if magic in pcap.MAGICS:
        return pcap.PcapReader(window, name, damage)
    if magic == pcapng.MAGIC:
        return pcapng.PcapngReader(window, name, damage)
    if not magic:
        raise UsageError(f"{name} is empty: not even a file header")
    raise UsageError(
        f"{name} is no capture: it begins with {magic.hex(' ')}", hint="pcap and pcapng are read, and gzip of both"
    )


class FilesSource:
    """Several files as one capture, in the order of time."""

    def __init__(self, sources: Sequence[FileSource]) -> None:
        self._sources = sources
        self.interfaces: list[CaptureInterface] = []
        self._numbers: list[dict[int, int]] = [{} for _ in sources]

    @property
    def damaged(self) -> bool:
        return any(source.damaged for source in self._sources)

    def batches(self) -> Iterator[Batch]:
        return merged([self._renumbered(i) for i in range(len(self._sources))])

    def _renumbered(self, which: int) -> Iterator[Batch]:
        """The batches of a file with interface numbers of the whole capture."""
        import numpy as np

        source, numbers = self._sources[which], self._numbers[which]
        for batch in source.batches():
            for i in range(len(numbers), len(source.interfaces)):
                numbers[i] = len(self.interfaces)
                self.interfaces.append(source.interfaces[i])
            mapping = np.array([numbers[i] for i in range(len(numbers))], np.int16)
            yield replace(batch, interface=mapping[batch.interface])


def open_files(
    paths: Sequence[str],
    tell: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
) -> FileSource | FilesSource:
    """Open capture files; several are merged by time.

    `tell` gets a line for whatever is wrong with a file that can be read in part. Raises UsageError for one that
    cannot be read at all.
    """
    if len(paths) != len(set(paths)):
        raise UsageError("a file is given twice")
    sources = [FileSource(path, tell, stopped) for path in paths]
    return sources[0] if len(sources) == 1 else FilesSource(sources)
