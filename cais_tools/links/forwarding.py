"""A link in front of a link: the base of those that look at what passes."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cais_tools.links.link import Link

__all__ = ["ForwardingLink"]


class ForwardingLink(abc.ABC):
    """Hands everything to the link behind it. `_sent` and `_received` are told what passed.

    They get what the link has taken or brought, never nothing; a matrix comes as its rows were sent, uncopied.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def name(self) -> str:
        return self._link.name

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        taken = self._link.send(frames)
        if taken:
            self._sent(frames[:taken])
        return taken

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        taken = self._link.send_matrix(frames)
        if taken:
            self._sent(frames[:taken])
        return taken

    def recv(self) -> list[bytes]:
        frames = self._link.recv()
        if frames:
            self._received(frames)
        return frames

    def close(self) -> None:
        self._link.close()

    @abc.abstractmethod
    def _sent(self, frames: Sequence[bytes] | NDArray[np.uint8]) -> None: ...

    @abc.abstractmethod
    def _received(self, frames: list[bytes]) -> None: ...
