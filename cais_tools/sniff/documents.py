"""Packets as JSON documents, one for each line of NDJSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cais_tools.sniff.batch import Direction, LinkType
from cais_tools.sniff.printing import Style, op_name
from cais_tools.sniff.senders import mac_text, sender_of
from cais_tools.sniff.times import rfc3339
from cais_tools.wire.header import Header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["documents_of"]

_WAYS = {Direction.UNKNOWN: None, Direction.IN: "in", Direction.OUT: "out"}


def documents_of(
    decoded: Decoded,
    interfaces: Sequence[CaptureInterface],
    style: Style,
) -> Iterator[dict[str, Any]]:
    """Yield a document for each CAIS packet: the header's fields under their own names, lanes with `style.verbose`."""
    batch = decoded.batch
    for i, record in enumerate(decoded.index.tolist()):
        header = Header._make(decoded.header[i].item())
        source = decoded.source_mac[i].tobytes()
        time_ns = int(batch.time_ns[record])
        interface = interfaces[int(batch.interface[record])]
        document: dict[str, Any] = {
            "ts": rfc3339(time_ns, utc=style.utc),
            "ts_ns": time_ns,
            "number": int(batch.number[record]),
            "interface": interface.name,
            "port": interface.port,
            "direction": _WAYS[Direction(batch.direction[record])],
            "source": mac_text(source),
            "target": mac_text(decoded.target_mac[i].tobytes()) if batch.link_type == LinkType.ETHERNET else None,
            "sender": sender_of(source).name,
            "vlan": int(decoded.vlan[i]) if decoded.vlan[i] >= 0 else None,
            "length": int(batch.length[record]),
            "captured": int(batch.captured[record]),
            "op": op_name(header.op_type),
            **header._asdict(),
        }
        if style.verbose:
            document["lanes"] = decoded.lanes(i).tolist()
        if style.hex:
            document["frame"] = batch.frame(record).hex()
        yield document
