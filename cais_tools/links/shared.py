"""One network interface of a host, shared by the groups of its rank: each has a link of its own to work with."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cais_tools.links.link import Link

__all__ = ["GroupLink", "SharedLink"]

_ETHERTYPE = b"\x88\xb5"
_TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")
_QUEUED = 8192


class SharedLink:
    """Hands what arrives on `link` to the group that its CAIS header names. Any thread may use any of the links.

    `foreign` counts frames of no group here, `overrun` those of a group that did not fetch them in time.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._receiving, self._sending = threading.Lock(), threading.Lock()
        self._groups: dict[int, GroupLink] = {}
        self.foreign = self.overrun = 0

    def for_group(self, group_id: int) -> GroupLink:
        """The group's link; a second one takes the first one's place."""
        link = GroupLink(self, group_id, self._link.fileno())
        with self._receiving:
            self._groups[group_id] = link
        return link

    def close(self) -> None:
        """Close the links of all groups, and the one that they share."""
        for link in list(self._groups.values()):
            link.close()
        self._link.close()

    @property
    def name(self) -> str:
        return self._link.name

    def send(self, frames: Sequence[bytes]) -> int:
        with self._sending:
            return self._link.send(frames)

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        with self._sending:
            return self._link.send_matrix(frames)

    def drain(self) -> None:
        """Fetch one batch, and put each frame where it belongs."""
        with self._receiving:
            for frame in self._link.recv():
                group = self._groups.get(_group_of(frame))
                if group is None:
                    self.foreign += 1
                elif not group.take(frame):
                    self.overrun += 1

    def forget(self, link: GroupLink) -> None:
        with self._receiving:
            if self._groups.get(link.group_id) is link:
                del self._groups[link.group_id]


class GroupLink:
    """A `Link` that brings the frames of one group."""

    def __init__(self, shared: SharedLink, group_id: int, physical: int) -> None:
        self.group_id = group_id
        self._shared = shared
        self._frames: deque[bytes] = deque()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll = select.epoll()
        self._epoll.register(physical, select.EPOLLIN)
        self._epoll.register(self._bell, select.EPOLLIN)

    @property
    def name(self) -> str:
        return self._shared.name

    def fileno(self) -> int:
        return self._epoll.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        return self._shared.send(frames)

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        return self._shared.send_matrix(frames)

    def recv(self) -> list[bytes]:
        self._shared.drain()
        with contextlib.suppress(BlockingIOError, OSError):
            os.eventfd_read(self._bell)
        frames: list[bytes] = []
        while self._frames:
            frames.append(self._frames.popleft())
        return frames

    def take(self, frame: bytes) -> bool:
        """Queue a frame that any group's thread has fetched."""
        if len(self._frames) >= _QUEUED:
            return False
        self._frames.append(frame)
        with contextlib.suppress(OSError):
            os.eventfd_write(self._bell, 1)
        return True

    def close(self) -> None:
        """The other groups' links stay open."""
        self._shared.forget(self)
        self._epoll.close()
        with contextlib.suppress(OSError):
            os.close(self._bell)


def _group_of(frame: bytes) -> int:
    """The header's group_id; -1 for another protocol."""
    at = 12
    while frame[at : at + 2] in _TAGS:
        at += 4
    if frame[at : at + 2] != _ETHERTYPE or len(frame) < at + 4:
        return -1
    return frame[at + 3]
