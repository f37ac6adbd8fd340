"""What a switch port and a host's network side have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Link"]


class Link(Protocol):
    """An Ethernet link that loses frames sometimes and never blocks.

    A frame starts with the destination address and has no FCS. What a link cannot deliver is lost, as on a wire:
    only opening one raises errors.
    """

    @property
    def name(self) -> str:
        """The link as `open_link` accepts it, with the port that the kernel chose."""
        ...

    def fileno(self) -> int:
        """A descriptor that is readable when `recv` has something."""
        ...

    def send(self, frames: Sequence[bytes]) -> int:
        """Send frames in order; how many, from the first on, were taken. The rest would block: send it again."""
        ...

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        """Send the rows of a C-contiguous (n, length) matrix; how many, from the first on, were taken."""
        ...

    def recv(self) -> list[bytes]:
        """A batch of frames, empty when there are none. Never blocks."""
        ...

    def close(self) -> None: ...
