"""Connections that must end with this process, although children that it has forked would keep them open.

A DataLoader's workers, for instance, outlive a rank that is killed by some seconds; for so long the other ranks would
not hear that it is gone.
"""

from __future__ import annotations

import contextlib
import os

__all__ = ["keep", "let_go"]

_descriptors: set[int] = set()


def keep(descriptor: int) -> None:
    """Have a descriptor closed in every child that is forked from now on."""
    _descriptors.add(descriptor)


def let_go(descriptor: int) -> None:
    """Forget a descriptor; to be called before it is closed, since its number will be another file's."""
    _descriptors.discard(descriptor)


def _close_in_child() -> None:
    for descriptor in _descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _descriptors.clear()


os.register_at_fork(after_in_child=_close_in_child)
