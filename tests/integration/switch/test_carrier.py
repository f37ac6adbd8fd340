"""Ports on network interfaces that lose their carrier: members that watch them and replicas give way to others."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest

from cais_tools.links import open_link
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.conformance.targets import run, veth_pair
from tests.integration.switch.client import (
    DEVICE_ID,
    INSERT,
    PATIENCE,
    Client,
    Names,
    Wires,
    exact,
    multicast_group,
    program,
)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="veth interfaces need root and ip (iproute2)"
)

FLOWS = [b"\xab" + number.to_bytes(4, "big") + bytes(15) for number in range(32)]


class Rack:
    """A switch with ports 1 to 3 on veth pairs, and what happens to these."""

    def __init__(self, stack: ExitStack) -> None:
        self.ends = {port: stack.enter_context(veth_pair()) for port in (1, 2, 3)}
        hosts = {port: open_link(ends[1]) for port, ends in self.ends.items()}
        for host in hosts.values():
            stack.callback(host.close)
        self.wires = Wires(hosts)
        ports = {port: ends[0] for port, ends in self.ends.items()}
        config = SwitchConfig(grpc_address="127.0.0.1:0", ports=ports, device_id=DEVICE_ID)
        self.switch = stack.enter_context(EmbeddedSwitch(config))
        self.client = stack.enter_context(Client(self.switch.address))
        assert self.client.status() == 0

    def unplug(self, port: int) -> None:
        run("ip", "link", "set", self.ends[port][1], "down")

    def plug(self, port: int) -> None:
        run("ip", "link", "set", self.ends[port][1], "up")

    def used(self, *frames: bytes) -> dict[int, int]:
        """By which of ports 1 and 2 these frames leave that come in by port 3, and how many of them."""
        self.wires.send(3, *frames)
        counts = dict(zip((1, 2), self.wires.receive_any([1, 2], len(frames)), strict=True))
        return {port: count for port, count in counts.items() if count}


@pytest.fixture
def rack() -> Generator[Rack]:
    with ExitStack() as stack:
        yield Rack(stack)


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true: the switch looks at its interfaces every so often."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_members_that_watch_a_port(rack: Rack) -> None:
    config = program("action_profile")
    rack.client.load(config)
    names = Names(config.p4info)
    entry = names.entry("IndirectWS", exact(b"\xab"))
    actions = entry.table_entry.action.action_profile_action_set.action_profile_actions
    for port in (1, 2):
        actions.add(action=names.action("send", bytes([port])), weight=1, watch_port=bytes([port]))
    rack.client.write(INSERT, entry)
    assert eventually(lambda: set(rack.used(*FLOWS)) == {1, 2})
    rack.unplug(1)
    # Until the switch has noticed, some go to port 1 and are lost.
    assert eventually(lambda: all_come_by(rack, 2))
    rack.plug(1)
    assert eventually(lambda: set(rack.used(*FLOWS)) == {1, 2})


def all_come_by(rack: Rack, port: int) -> bool:
    """Whether every flow leaves by that port; what does not is lost."""
    rack.wires.send(3, *FLOWS)
    arrived: list[bytes] = []
    end = time.monotonic() + 0.5
    while len(arrived) < len(FLOWS) and time.monotonic() < end:
        arrived += rack.wires.hosts[port].recv()
        time.sleep(0.01)
    return len(arrived) == len(FLOWS)


def test_backup_replicas(rack: Rack) -> None:
    rack.client.load(program("multicast"))
    entity = multicast_group(2, (1, 1))
    replica = entity.packet_replication_engine_entry.multicast_group_entry.replicas[0]
    if "backup_replicas" not in replica.DESCRIPTOR.fields_by_name:
        pytest.skip("these stubs do not have backup replicas")
    replica.backup_replicas.add(port=b"\x02", instance=7)
    rack.client.write(INSERT, entity)

    def comes_by(port: int) -> bool:
        rack.wires.send(3, b"\x00\x02" + bytes(18))
        time.sleep(0.02)
        return bool(rack.wires.hosts[port].recv())

    assert eventually(lambda: comes_by(1))
    rack.unplug(1)
    assert eventually(lambda: comes_by(2))
    rack.plug(1)
    assert eventually(lambda: comes_by(1))


def test_interfaces_that_are_renamed_or_deleted(rack: Rack) -> None:
    rack.client.load(program("loopback"))
    end = rack.ends[1][0]

    def answers(port: int) -> bool:
        rack.wires.send(port, bytes(20))
        time.sleep(0.02)
        return bool(rack.wires.hosts[port].recv())

    run("ip", "link", "set", end, "down")
    run("ip", "link", "set", end, "name", f"{end}x")
    run("ip", "link", "set", f"{end}x", "up")
    assert eventually(lambda: answers(1))
    run("ip", "link", "delete", f"{end}x")
    assert eventually(lambda: answers(2))
    # For whoever deletes it in the end.
    run("ip", "link", "add", end, "type", "veth", "peer", "name", rack.ends[1][1])
