"""Whole windows of CAIS frames as NumPy arrays: built from columns, parsed into columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cais_tools.wire.header import (
    ETHERNET_BYTES,
    ETHERTYPE_CAIS,
    ETHERTYPE_VLAN,
    HEADER_BYTES,
    HEADER_FIELDS,
    VLAN_BYTES,
    Op,
    frame_bytes,
    group_mac,
    mac_bytes,
)

Frames: TypeAlias = NDArray[np.uint8]
"""Frames of equal length, shape (n, length)."""
Headers: TypeAlias = NDArray[np.void]
"""CAIS headers, shape (n,), with the fields of `HEADER_DTYPE`."""

HEADER_DTYPE = np.dtype([(field.name, f">u{field.bits // 8}") for field in HEADER_FIELDS])


def frame_dtype(lanes: int) -> np.dtype[Any]:
    """Return the layout of an untagged frame with `lanes` words of payload; 0 is a header-only frame."""
    ethernet = [("dst_addr", np.uint8, (6,)), ("src_addr", np.uint8, (6,)), ("ether_type", ">u2")]
    payload = [("lanes", ">i4", (lanes,))] if lanes else []
    return np.dtype([*ethernet, ("cais", HEADER_DTYPE), *payload])


def source_mac(rank: int) -> str:
    """Source address of a rank's contributions: locally administered, unicast."""
    return f"02:ca:15:01:00:{rank:02x}"


def build_frames(
    *,
    op: Op,
    group_id: int,
    rank: int,
    layer_id: int,
    total_chunks: int,
    chunk_ids: ArrayLike,
    seq_nums: NDArray[np.uint32],
    tags: ArrayLike,
    payload_len: ArrayLike = 0,
    payload: NDArray[np.int32] | None = None,
) -> Frames:
    """Return one frame for each of `seq_nums`, shape (n, length).

    `chunk_ids`, `tags` and `payload_len` (bytes) are columns of shape (n,) or one value for all; `payload` has shape
    (n, lanes), already padded with zeros. Without payload the frames are header-only contributions.
    """
    lanes = 0 if payload is None else payload.shape[1]
    frames = np.zeros(len(seq_nums), frame_dtype(lanes))
    frames["dst_addr"] = np.frombuffer(mac_bytes(group_mac(group_id)), np.uint8)
    frames["src_addr"] = np.frombuffer(mac_bytes(source_mac(rank)), np.uint8)
    frames["ether_type"] = ETHERTYPE_CAIS
    header = frames["cais"]
    header["op_type"] = op
    header["group_id"] = group_id
    header["layer_id"] = layer_id
    header["chunk_id"] = chunk_ids
    header["total_chunks"] = total_chunks
    header["seq_num"] = seq_nums
    header["reserved"] = tags
    if payload is not None:
        header["payload_len"] = payload_len
        frames["lanes"] = payload
    return frames.view(np.uint8).reshape(len(frames), frame_bytes(lanes))


@dataclass(frozen=True)
class Parsed:
    """CAIS frames as columns: `headers` of shape (n,), `payload` of shape (n, lanes), zero where there is none."""

    headers: Headers
    payload: NDArray[np.int32]
    skipped: int
    """Frames that are not CAIS, or are cut short of what their header promises."""

    def __len__(self) -> int:
        return len(self.headers)


def parse_frames(frames: Iterable[bytes], lanes: int) -> Parsed:
    """Parse frames of any length and kind, in any order; what is no whole CAIS frame is counted as skipped."""
    frames = list(frames)
    parts: list[tuple[Headers, NDArray[np.int32]]] = []
    for length, batch in _by_length(frames).items():
        matrix = np.frombuffer(b"".join(batch), np.uint8).reshape(len(batch), length)
        parts.extend(_parse_matrix(matrix, lanes))
    if len(parts) == 1:
        headers, payload = parts[0]
    else:
        headers = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0, HEADER_DTYPE)
        payload = np.concatenate([part[1] for part in parts]) if parts else np.zeros((0, lanes), np.int32)
    return Parsed(headers, payload, len(frames) - len(headers))


def _by_length(frames: list[bytes]) -> dict[int, list[bytes]]:
    lengths = set(map(len, frames))
    if len(lengths) == 1:
        return {lengths.pop(): frames}
    batches: defaultdict[int, list[bytes]] = defaultdict(list)
    for frame in frames:
        batches[len(frame)].append(frame)
    return batches


def _parse_matrix(matrix: Frames, lanes: int) -> Sequence[tuple[Headers, NDArray[np.int32]]]:
    parts: list[tuple[Headers, NDArray[np.int32]]] = []
    plain, tagged = _ether_type(matrix, 0), _ether_type(matrix, VLAN_BYTES)
    if plain is not None:
        cais = plain == ETHERTYPE_CAIS
        if cais.all():
            return [_columns(matrix, ETHERNET_BYTES, lanes)]
        parts.append(_columns(matrix[cais], ETHERNET_BYTES, lanes))
        if tagged is not None:
            inner = (plain == ETHERTYPE_VLAN) & (tagged == ETHERTYPE_CAIS)
            parts.append(_columns(matrix[inner], ETHERNET_BYTES + VLAN_BYTES, lanes))
    return [part for part in parts if len(part[0])]


def _ether_type(matrix: Frames, shift: int) -> NDArray[np.uint16] | None:
    end = ETHERNET_BYTES + shift
    if matrix.shape[1] < end + HEADER_BYTES:
        return None
    return (matrix[:, end - 2].astype(np.uint16) << np.uint16(8)) | matrix[:, end - 1]


def _columns(matrix: Frames, start: int, lanes: int) -> tuple[Headers, NDArray[np.int32]]:
    body = start + HEADER_BYTES
    headers = np.ascontiguousarray(matrix[:, start:body]).view(HEADER_DTYPE).reshape(-1)
    end = body + 4 * lanes
    promised = headers["payload_len"] > 0
    if matrix.shape[1] >= end and promised.all():
        return headers, matrix[:, body:end].view(">i4").astype(np.int32)
    payload = np.zeros((len(matrix), lanes), np.int32)
    if matrix.shape[1] < end:
        return headers[~promised], payload[~promised]
    payload[promised] = matrix[promised, body:end].view(">i4")
    return headers, payload
