"""One operation as one rank sees it: the packets that it sends, and what it expects back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cais_tools.wire.header import Op

__all__ = ["Accept", "Flags", "Rows", "Transfer"]

Rows: TypeAlias = NDArray[np.int32]
"""Payloads, shape (packets, lanes)."""
Flags: TypeAlias = NDArray[np.bool_]
Accept: TypeAlias = Callable[[Rows, Rows], Flags]
"""Whether results are plausible, given (own payloads, results), each of shape (k, lanes); returns shape (k,)."""


@dataclass(frozen=True)
class Transfer:
    """Packets with consecutive sequence numbers; every member of the group takes part in each of them.

    `payload` holds the rows of the packets that are `filled` by this rank (None: all), in order; the other packets are
    joined with a header alone. `valid_bytes` has one entry for each of its rows. `wanted` says which results must bring
    a payload (None: all). `salt`, one word a packet, goes into the integrity tag; `accept` is asked about every payload
    that has passed the tag, and needs all packets filled.
    """

    op: Op
    layer_id: int
    chunk_ids: NDArray[np.uint16]
    payload: Rows
    valid_bytes: NDArray[np.uint32]
    filled: Flags | None = None
    wanted: Flags | None = None
    salt: NDArray[np.uint32] | None = None
    accept: Accept | None = None

    @property
    def packets(self) -> int:
        return len(self.chunk_ids)

    def marked(self, fingerprint: int) -> Transfer:
        """Return the transfer with another word in the salt of every packet; 0 changes nothing."""
        if not fingerprint:
            return self
        word = np.uint32(fingerprint)
        salt = np.full(self.packets, word) if self.salt is None else self.salt ^ word
        return replace(self, salt=salt)
