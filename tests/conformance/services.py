"""The switches that run the programs of simple_switch_grpc's tests: ours, ours in bmv2's way, and bmv2."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cais_tools.links import Link, open_link
from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.conformance import targets
from tests.integration.switch.client import DEVICE_ID, INSERT, PATIENCE, Client, Names, Network, Wires, program

__all__ = ["CPU_PORT", "KINDS", "PORTS", "Switch", "bmv2", "padded", "running"]

KINDS = ("embedded", "embedded as bmv2", "bmv2")
PORTS = (1, 2, 3)
# The CPU port that packet_io.p4 was compiled with.
CPU_PORT = 64


class Switch:
    """A client that is primary, and the switch's ports. Frames are padded: an interface takes none below 14 bytes."""

    def __init__(self, wires: Wires, client: Client) -> None:
        self._wires = wires
        self.client = client
        self.names = Names(p4runtime_pb2.ForwardingPipelineConfig().p4info)

    def load(self, name: str) -> None:
        config = program(name)
        self.client.load(config)
        self.names = Names(config.p4info)

    def send(self, port: int, *heads: bytes) -> None:
        self._wires.send(port, *(padded(head) for head in heads))

    def comes(self, port: int, *heads: bytes) -> None:
        """Exactly these frames leave next by a port."""
        assert self._wires.receive(port, len(heads)) == [padded(head) for head in heads]

    def spread(self) -> list[int]:
        """Send frames of 60 flows to the action profile; how many leave by ports 1 and 2."""
        used = [0, 0]
        # A few at a time: bmv2 drops what comes faster than it reads.
        for start in range(0, 60, 10):
            self.send(3, *(b"\xab" + number.to_bytes(4, "big") for number in range(start, start + 10)))
            counts = self._wires.receive_any([1, 2], 10)
            used = [used[0] + counts[0], used[1] + counts[1]]
        return used

    def silent(self, *ports: int) -> bool:
        return self._wires.silent(*ports)

    def insert(self, *entities: p4runtime_pb2.Entity) -> None:
        self.client.write(INSERT, *entities)

    def read(self, *entities: p4runtime_pb2.Entity) -> list[p4runtime_pb2.Entity]:
        return self.client.read(*entities)

    def action(self, name: str, *values: bytes) -> p4runtime_pb2.Action:
        return self.names.action(name, *values)

    def entry(
        self, table: str, *match: p4runtime_pb2.FieldMatch, action: p4runtime_pb2.Action | None = None, **fields: Any
    ) -> p4runtime_pb2.Entity:
        return self.names.entry(table, *match, action=action, **fields)


def padded(head: bytes) -> bytes:
    return head.ljust(20, b".")


def wait_until_up(interface: str) -> None:
    """Frames that are sent before that are lost."""
    end = time.monotonic() + PATIENCE
    while Path(f"/sys/class/net/{interface}/operstate").read_text().strip() != "up":
        assert time.monotonic() < end, f"{interface} does not come up"
        time.sleep(0.01)


@contextmanager
def running(kind: str, log: Path) -> Generator[Switch]:
    """One of `KINDS`, with a primary client; the test is skipped where there is no bmv2. `log` is for its output."""
    with ExitStack() as stack:
        if kind == "bmv2":
            wires, address, device_id = bmv2(stack, log)
        else:
            profile = "spec" if kind == "embedded" else "bmv2"
            wires = stack.enter_context(Network(PORTS, cpu_port=CPU_PORT, profile=profile))
            address, device_id = wires.switch.address, DEVICE_ID
        client = stack.enter_context(Client(address, device_id=device_id))
        assert client.status() == code_pb2.OK
        yield Switch(wires, client)


def bmv2(stack: ExitStack, log: Path) -> tuple[Wires, str, int]:
    targets.skip_without_bmv2()
    ends = {port: stack.enter_context(targets.veth_pair()) for port in PORTS}
    for pair in ends.values():
        for end in pair:
            wait_until_up(end)
    interfaces = {port: pair[0] for port, pair in ends.items()}
    address = stack.enter_context(targets.simple_switch(interfaces, log, "--cpu-port", str(CPU_PORT)))
    hosts: dict[int, Link] = {}
    for port, pair in ends.items():
        hosts[port] = open_link(pair[1])
        stack.callback(hosts[port].close)
    return Wires(hosts), address, targets.DEVICE_ID
