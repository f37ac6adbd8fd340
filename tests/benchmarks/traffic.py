"""What the forwarding benchmarks run: programs, their entries, frames, and what must come out."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cais_tools.session import Lpm, Pipeline, Range, TableEntry, Ternary, read_pipeline
from cais_tools.session.values import MatchValue
from cais_tools.switch import Switch
from cais_tools.switch.plain import MatchValue as SwitchValue

__all__ = ["PROGRAMS", "Scenario", "acl_switch", "router"]

PROGRAMS = Path(__file__).parent / "programs"
FLOWS, ROUTES, RULES, LENGTH = 512, 256, 64, 128
ROUTER_MAC = "02:00:00:00:00:fe"
_SEED = 20


@dataclass(frozen=True)
class Scenario:
    """Frames that come in through port 1; all that is let through leaves through port 2, in order."""

    name: str
    entries: tuple[TableEntry, ...]
    frames: tuple[bytes, ...]

    @property
    def json(self) -> Path:
        return PROGRAMS / f"{self.name}.json"

    def pipeline(self) -> Pipeline:
        return read_pipeline(self.json, PROGRAMS / f"{self.name}.p4info.txtpb")

    def switch(self) -> Switch:
        """The program with the entries, in this process."""
        switch = Switch.load(self.json)
        for entry in self.entries:
            match = {name: _pair(value) for name, value in entry.match.items()}
            switch.table(entry.table).add(match, entry.action, entry.params, priority=entry.priority)
        return switch

    def expected(self) -> list[tuple[int, bytes]]:
        """(number of the frame that came in, frame that leaves) for those that are let through."""
        switch = self.switch()
        outputs: list[tuple[int, bytes]] = []
        for number, frame in enumerate(self.frames):
            for port, result in switch.process(1, frame):
                assert port == 2
                outputs.append((number, result))
        return outputs


def router(count: int) -> Scenario:
    """Routes of 8 to 24 bits; destinations all over them."""
    rng = random.Random(_SEED)
    routes = {(10 << 24, 8)} | {((10 << 24) + (number << 12), rng.randint(20, 24)) for number in range(ROUTES)}
    args = {"next_hop": "02:00:00:00:01:01", "port": 2}
    entries = [TableEntry("ipv4_lpm", {"dst_addr": Lpm(*route)}, "forward", args) for route in sorted(routes)]
    flows = [_frame(rng, (10 << 24) + rng.randrange(ROUTES << 12), 80) for _ in range(FLOWS)]
    return Scenario("router", tuple(entries), _mixed(rng, flows, count))


def acl_switch(count: int) -> Scenario:
    """Routed and switched flows behind an access list of 64 rules with several masks; a rule denies port 23."""
    rng = random.Random(_SEED)
    hop = {"src_addr": ROUTER_MAC, "dst_addr": "02:00:00:00:01:01", "port": 2}
    entries = [
        TableEntry("router_macs", {"dst_addr": ROUTER_MAC}, "route"),
        TableEntry("routes", {"dst_addr": Lpm("10.0.0.0", 8)}, "set_next_hop", {"next_hop": 1}),
        TableEntry("next_hops", {"next_hop": 1}, "rewrite", hop),
        TableEntry("macs", {"dst_addr": "02:00:00:00:02:02"}, "forward", {"port": 2}),
        _rule({"protocol": 6, "dst_port": 23}, "deny", RULES + 1),
    ]
    for number in range(RULES):
        mask = ~0 << (16 - number % 5 * 2) & 0xFFFFFFFF
        match = {"dst_addr": Ternary((10 << 24) + (number << 14) & mask, mask)}
        entries.append(_rule({**match, "protocol": 6}, "permit", 1 + number))
    flows = [
        _frame(rng, (10 << 24) + rng.randrange(1 << 20), 23 if number % 8 == 0 else 80, "02:00:00:00:02:02")
        if number % 2
        else _frame(rng, (10 << 24) + rng.randrange(1 << 20), 23 if number % 16 == 0 else 443)
        for number in range(FLOWS)
    ]
    # The last one is let through, so that its coming out says that all have been served.
    return Scenario("acl_switch", tuple(entries), (*_mixed(rng, flows, count - 1), flows[2]))


def _rule(match: Mapping[str, MatchValue], action: str, priority: int) -> TableEntry:
    names = {"dst_port": "l4.dst_port", "dst_addr": "ipv4.dst_addr"}
    full = {names.get(name, name): _ternary(name, value) for name, value in match.items()}
    return TableEntry("acl", full, action, priority=priority)


def _ternary(name: str, value: MatchValue) -> MatchValue:
    widths = {"protocol": 8, "dst_port": 16}
    return Ternary(value, (1 << widths[name]) - 1) if isinstance(value, int) else value


def _pair(value: MatchValue) -> SwitchValue:
    """The session's form of a match as the in-process switch takes it."""
    match value:
        case Lpm():
            return value.value, value.prefix_len
        case Ternary():
            return value.value, value.mask
        case Range():
            return value.low, value.high
        case _:
            return value


def _mixed(rng: random.Random, flows: list[bytes], count: int) -> tuple[bytes, ...]:
    return tuple(rng.choices(flows, k=count))


def _frame(rng: random.Random, destination: int, port: int, mac: str = ROUTER_MAC) -> bytes:
    """A TCP segment in IPv4, its header's checksum right."""
    source = (172 << 24) + rng.randrange(1 << 16)
    ethernet = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000001") + b"\x08\x00"
    fields = [0x45, 0, LENGTH - 14, 1, 0, 64, 6, 0, source, destination]
    header = struct.pack("!BBHHHBBHII", *fields)
    total = sum(struct.unpack("!10H", header))
    fields[7] = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    segment = struct.pack("!HH", rng.randrange(1024, 65536), port)
    return (ethernet + struct.pack("!BBHHHBBHII", *fields) + segment).ljust(LENGTH, b"\0")
