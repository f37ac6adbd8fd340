"""From captured records to CAIS headers, a batch at a time and without looking at single packets."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from cais_tools.sniff.batch import LinkType
from cais_tools.wire.frames import HEADER_DTYPE
from cais_tools.wire.header import ETHERTYPE_CAIS, HEADER_BYTES, LANE_BYTES, SWITCH_MAC, VLAN_BYTES, lanes_in, mac_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import Batch
    from cais_tools.wire.frames import Headers

__all__ = ["TAG_TYPES", "Decoded", "Tagging", "decode", "ether_types", "gather"]

TAG_TYPES = (0x8100, 0x88A8, 0x9100)
"""EtherTypes of VLAN tags: 802.1Q, 802.1ad, and what QinQ was before it."""

_MAC_BYTES = 6
_NO_VLAN = -1
_SWITCH = np.frombuffer(mac_bytes(SWITCH_MAC), np.uint8)
# Where the (first) EtherType stands, and where what it speaks of begins: the payload of a cooked capture does not
# follow its protocol field (SLL2 has it first).
_TYPE_AT = {LinkType.ETHERNET: 12, LinkType.LINUX_SLL: 14, LinkType.LINUX_SLL2: 0}
_BODY_AT = {LinkType.ETHERNET: 14, LinkType.LINUX_SLL: 16, LinkType.LINUX_SLL2: 20}
_ADDRESS_AT = {LinkType.LINUX_SLL: 6, LinkType.LINUX_SLL2: 12}
_ADDRESS_LENGTH_AT = {LinkType.LINUX_SLL: 5, LinkType.LINUX_SLL2: 11}
_U16 = np.dtype(">u2")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The CAIS packets of a batch: m of its n records."""

    batch: Batch
    index: NDArray[np.int64]
    """(m,) which record of the batch, ascending."""
    header: Headers
    """(m,) with the fields of `wire.frames.HEADER_DTYPE`."""
    body: NDArray[np.int64]
    """(m,) offset of the payload's first byte in `batch.data`."""
    body_bytes: NDArray[np.int64]
    """(m,) captured bytes after the header, Ethernet's padding included."""
    truncated: NDArray[np.bool_]
    """(m,) the capture holds less of the frame than was on the wire."""
    vlan: NDArray[np.int32]
    """(m,) id of the outer VLAN tag, or -1."""
    tags: NDArray[np.int8]
    """(m,) how many VLAN tags there are."""
    source_mac: NDArray[np.uint8]
    """(m, 6) zero where a cooked capture has none."""
    target_mac: NDArray[np.uint8]
    """(m, 6) zero in cooked captures."""
    malformed: NDArray[np.int64]
    """(k,) records with our EtherType of which fewer than 20 bytes of header are there."""

    def __len__(self) -> int:
        return len(self.index)

    @property
    def from_switch(self) -> NDArray[np.bool_]:
        """(m,) whether this is a result: sent from the switch's own address."""
        return (self.source_mac == _SWITCH).all(axis=1)

    def lanes(self, i: int) -> NDArray[np.int32]:
        """The 32-bit words of packet i that are there, padding lanes included; none where payload_len is 0."""
        start = int(self.body[i])
        count = lanes_in(int(self.header["payload_len"][i]), int(self.body_bytes[i]))
        return self.batch.data[start : start + count * LANE_BYTES].view(">i4").astype(np.int32)

    def select(self, keep: NDArray[Any]) -> Decoded:
        """The packets that a boolean mask or an array of indices picks."""
        columns = {name: getattr(self, name)[keep] for name in _COLUMNS}
        return Decoded(batch=self.batch, malformed=self.malformed, **columns)


_COLUMNS = tuple(field.name for field in fields(Decoded) if field.name not in ("batch", "malformed"))


@dataclass(frozen=True, slots=True)
class Tagging:
    """What stands between the addresses and the payload of each record, shape (n,)."""

    ether_type: NDArray[np.int32]
    """The innermost EtherType; -1 where the record ends before it."""
    body: NDArray[np.int64]
    """Where what follows it begins, counted from the record's first byte."""
    vlan: NDArray[np.int32]
    tags: NDArray[np.int8]


def gather(data: NDArray[np.uint8], offset: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Copy an item of `dtype` from each offset, wherever it lies; all of them must lie within `data`."""
    if len(offset) == 0:
        return np.zeros(0, dtype)
    raw = np.dtype((np.void, dtype.itemsize))
    windows = np.ndarray((len(data) - dtype.itemsize + 1,), raw, data, strides=(1,))
    return windows[offset].view(dtype)


def decode(batch: Batch) -> Decoded:
    """Find the CAIS packets of a batch, behind any number of VLAN tags; link types that are not known have none."""
    if batch.link_type not in _TYPE_AT:
        nothing = np.zeros(0, np.int64)
        return _columns(batch, nothing, nothing, Tagging(nothing.astype(np.int32), nothing, *_untagged(0)), nothing)
    tagging = ether_types(batch)
    ours = np.flatnonzero(tagging.ether_type == ETHERTYPE_CAIS)
    header_at = tagging.body[ours]
    whole = header_at + HEADER_BYTES <= batch.captured[ours]
    return _columns(batch, ours[whole], header_at[whole], tagging, ours[~whole])


def ether_types(batch: Batch) -> Tagging:
    """Look behind the VLAN tags of every record; the batch's link type must be a `LinkType`."""
    kind = LinkType(batch.link_type)
    vlan, tags = _untagged(len(batch))
    body = np.full(len(batch), _BODY_AT[kind], np.int64)
    ether_type = np.full(len(batch), -1, np.int32)
    there = np.flatnonzero(batch.captured >= _BODY_AT[kind])
    ether_type[there] = gather(batch.data, batch.offset[there] + _TYPE_AT[kind], _U16)
    while len(tagged := np.flatnonzero(np.isin(ether_type, TAG_TYPES))):
        start = body[tagged]
        cut = start + VLAN_BYTES > batch.captured[tagged]
        ether_type[tagged[cut]] = -1
        tagged, start = tagged[~cut], start[~cut]
        words = gather(batch.data, batch.offset[tagged] + start, np.dtype((_U16, (2,))))
        outer = vlan[tagged] == _NO_VLAN
        vlan[tagged[outer]] = words[outer, 0] & 0x0FFF
        ether_type[tagged] = words[:, 1]
        body[tagged] += VLAN_BYTES
        tags[tagged] = np.minimum(tags[tagged], 126) + 1
    return Tagging(ether_type, body, vlan, tags)


def _untagged(count: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    return np.full(count, _NO_VLAN, np.int32), np.zeros(count, np.int8)


def _columns(
    batch: Batch,
    index: NDArray[np.int64],
    header_at: NDArray[np.int64],
    tagging: Tagging,
    malformed: NDArray[np.int64],
) -> Decoded:
    start = batch.offset[index]
    body = start + header_at + HEADER_BYTES
    source, target = _addresses(batch, start)
    return Decoded(
        batch=batch,
        index=index,
        header=gather(batch.data, start + header_at, HEADER_DTYPE),
        body=body,
        body_bytes=start + batch.captured[index] - body,
        truncated=batch.captured[index] < batch.length[index],
        vlan=tagging.vlan[index],
        tags=tagging.tags[index],
        source_mac=source,
        target_mac=target,
        malformed=malformed,
    )


def _addresses(batch: Batch, start: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Source and target address of the records that begin at `start`, each (m, 6)."""
    if batch.link_type == LinkType.ETHERNET:
        both = _bytes_at(batch.data, start, 2 * _MAC_BYTES)
        return both[:, _MAC_BYTES:], both[:, :_MAC_BYTES]
    nothing = np.zeros((len(start), _MAC_BYTES), np.uint8)
    if batch.link_type not in _ADDRESS_AT:
        return nothing, nothing
    kind = LinkType(batch.link_type)
    source = _bytes_at(batch.data, start + _ADDRESS_AT[kind], _MAC_BYTES)
    known = batch.data[start + _ADDRESS_LENGTH_AT[kind]] == _MAC_BYTES
    return np.where(known[:, None], source, nothing), nothing


def _bytes_at(data: NDArray[np.uint8], offset: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    return gather(data, offset, np.dtype((np.uint8, (count,)))).reshape(-1, count)
