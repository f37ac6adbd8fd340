"""A switch that runs the CAIS program, four hosts on its ports, and nothing of our own endpoint in between.

Whatever is sent is waited for by the switch's own counters, so no check depends on time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cais_tools.links import Link
from cais_tools.session.entities import MulticastGroup, TableEntry
from cais_tools.session.pipeline import Pipeline
from cais_tools.session.session import SwitchSession
from cais_tools.session.values import Range
from cais_tools.wire.header import ETHERNET_BYTES, ETHERTYPE_CAIS, HEADER_BYTES, Header, Op, group_mac, mac_bytes

PATIENCE = 10.0
"""Seconds until a switch that has not handled what was sent counts as broken."""

OUTCOMES = (
    "opened",
    "added",
    "completed",
    "completed_alone",
    "reopened",
    "duplicate",
    "answered",
    "stale",
    "diverged",
    "unknown_op",
    "no_member",
    "no_rule",
)


@dataclass(frozen=True)
class Result:
    """A CAIS frame as a host receives it."""

    header: Header
    lanes: list[int]

    @classmethod
    def parse(cls, frame: bytes) -> Result:
        start = ETHERNET_BYTES + (4 if frame[12:14] == b"\x81\x00" else 0)
        assert int.from_bytes(frame[start - 2 : start], "big") == ETHERTYPE_CAIS
        body = frame[start + HEADER_BYTES :]
        words = [int.from_bytes(body[at : at + 4], "big", signed=True) for at in range(0, len(body), 4)]
        return cls(Header.unpack(frame, start), words)

    @property
    def seq(self) -> int:
        return self.header.seq_num

    @property
    def payload_len(self) -> int:
        return self.header.payload_len

    @property
    def tag(self) -> int:
        return self.header.reserved

    @property
    def first_lane(self) -> int:
        return self.lanes[0]


class Fabric:
    """The switch behind `session`, and the host's end of each of its ports."""

    def __init__(self, links: Mapping[int, Link], connect: Callable[[], SwitchSession], *, lanes: int = 64) -> None:
        self.links = links
        self.lanes = lanes
        self._connect = connect
        self.session = connect()
        self._sent = 0
        self._markers = 0
        self._members: dict[int, tuple[int, ...]] = {}
        self._slot_base = 0
        self._output_sets = 16

    def close(self) -> None:
        self.session.close()

    def load(self, pipeline: Pipeline) -> None:
        self.session.load(pipeline)
        for port in self.links:
            self.add_mac(marker_address(port).hex(":"), port)

    def reconnect(self) -> None:
        self.session.close()
        self.session = self._connect()

    # The control plane, entry by entry.

    def add_group(self, group: int, ports: Sequence[int], slots: int) -> None:
        """Members in the order of `ports` are ranks 0, 1, ...; saying the same again changes nothing."""
        known = {entry.match["hdr.cais.group_id"]: entry for entry in self.session.read_table("groups")}
        in_force = known[group].params if group in known else {"slot_base": self._slot_base, "epoch": 1}
        params = {**in_force, "slot_mask": slots - 1, "participants": 2 ** len(ports) - 1}
        members = [
            TableEntry("members", {"group_id": group, "ingress_port": port}, "set_member", {"rank_mask": 1 << rank})
            for rank, port in enumerate(ports)
        ]
        self.session.apply([TableEntry("groups", {"group_id": group}, "set_group", params), *members])
        self._members[group] = tuple(ports)
        if group not in known:
            self._slot_base += slots

    def start_job(self, group: int) -> None:
        """Begin the next epoch."""
        entry = next(e for e in self.session.read_table("groups") if e.match["hdr.cais.group_id"] == group)
        params = {**entry.params, "epoch": int(entry.params["epoch"]) + 1}
        self.session.modify(TableEntry("groups", {"group_id": group}, "set_group", params))

    def add_rule(
        self,
        group: int,
        op: Op,
        *,
        outputs: Iterable[int],
        layers: tuple[int, int] = (0, 65535),
        chunks: tuple[int, int] = (0, 65535),
        owner: int | None = None,
    ) -> None:
        """`owner` is for the reader: the switch adds whatever payload comes."""
        output_set, self._output_sets = self._output_sets, self._output_sets + 1
        width = layers[1] - layers[0] + chunks[1] - chunks[0]
        match = {"group_id": group, "op_type": op, "layer_id": Range(*layers), "chunk_id": Range(*chunks)}
        self.session.insert(
            MulticastGroup.of_ports(output_set, {*self._members[group], *outputs}),
            *[TableEntry("receivers", {"output_set": output_set, "egress_port": port}, "deliver") for port in outputs],
            TableEntry("rules", match, "aggregate", {"output_set": output_set}, priority=2**18 - width),
        )

    def flood(self, ports: Iterable[int]) -> None:
        self.session.insert(MulticastGroup.of_ports(1, ports))

    def add_mac(self, address: str, port: int) -> None:
        self.session.insert(TableEntry("mac", {"dst_addr": address}, "forward", {"port": port}))

    def outcomes(self, group: int) -> dict[str, int]:
        cells = self.session.read_counters({"group_outcomes": range(group * 16, group * 16 + len(OUTCOMES))})
        return {name: cells["group_outcomes"][group * 16 + index].packets for index, name in enumerate(OUTCOMES)}

    def bad_frames(self) -> dict[str, int]:
        cells = self.session.read_counters({"bad_frames": (0, 1)})["bad_frames"]
        return {"short": cells[0].packets, "payload_len": cells[1].packets}

    # The hosts.

    def frame(
        self,
        port: int,
        seq: int,
        lanes: Sequence[int] | None,
        *,
        op: Op = Op.ALLREDUCE,
        op_type: int | None = None,
        group: int = 0,
        layer: int = 0,
        chunk: int = 0,
        total_chunks: int = 1,
        payload_len: int | None = None,
        tag: int = 0,
        claims_rank: int | None = None,
        vlan: int | None = None,
    ) -> bytes:
        """Build one contribution; `lanes` None is a header-only one, fewer than there are get padded with zeros."""
        rank = port - 1 if claims_rank is None else claims_rank
        length = (0 if lanes is None else self.lanes * 4) if payload_len is None else payload_len
        header = Header(op if op_type is None else op_type, group, layer, chunk, total_chunks, seq % 2**32, length, tag)
        words = [] if lanes is None else [*lanes, *[0] * (self.lanes - len(lanes))]
        ethernet = mac_bytes(group_mac(group)) + bytes([2, 0xCA, 0x15, 1, 0, rank])
        if vlan is not None:
            ethernet += b"\x81\x00" + vlan.to_bytes(2, "big")
        payload = b"".join((word % 2**32).to_bytes(4, "big") for word in words)
        return ethernet + ETHERTYPE_CAIS.to_bytes(2, "big") + header.pack() + payload

    def contribute(self, port: int, seq: int, lanes: Sequence[int] | None, **header: object) -> None:
        self.send(port, self.frame(port, seq, lanes, **header))  # pyright: ignore[reportArgumentType]

    def send(self, port: int, frame: bytes) -> None:
        """Send one frame and wait until the switch has taken it in: order between ports is what the checks rely on."""
        assert self.links[port].send([frame]) == 1
        self._sent += 1
        self._wait(lambda: self._packets("port_in") == self._sent, "to take in what was sent")

    def raw(self, port: int) -> list[bytes]:
        """Return the frames that have come to the host at `port` since the last call.

        A marker that is forwarded to the host behind them says that nothing more is under way.
        """
        self._markers += 1
        marker = marker_address(port) + bytes([2, 0, 0, 0, 0, 0, 0x08, 0x00]) + self._markers.to_bytes(46, "big")
        self.send(port, marker)
        received: list[bytes] = []

        def marker_has_come() -> bool:
            received.extend(self.links[port].recv())
            return marker in received

        self._wait(marker_has_come, f"to forward a frame to port {port}")
        received.remove(marker)
        return received

    def results(self, port: int) -> list[Result]:
        return [Result.parse(frame) for frame in self.raw(port)]

    def _packets(self, counter: str) -> int:
        cells = self.session.read_counters({counter: self.links})[counter]
        return sum(cell.packets for cell in cells.values())

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"the switch failed {what}"
            time.sleep(0.0005)


def marker_address(port: int) -> bytes:
    return bytes([2, 0xFF, 0, 0, 0, port])
