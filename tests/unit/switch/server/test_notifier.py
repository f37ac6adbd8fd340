"""Idle time-outs and digest lists by a clock of the test's own; nothing waits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.server.entities import Ports
from cais_tools.switch.server.notifier import Notifier
from cais_tools.switch.server.pipeline import Pipeline, build_pipeline
from cais_tools.switch.server.status import P4Error
from tests.integration.switch.client import DELETE, INSERT, MODIFY, Names, exact, program

MAC = b"\x02\x00\x00\x00\x00\x05"
SECOND = 1_000_000


class Clocked:
    """The digest program, whose table smac times out, and all that its client is told."""

    def __init__(self) -> None:
        self.now_us = 100 * SECOND
        config = program("digest")
        self.pipeline: Pipeline = build_pipeline(config, Ports((1, 2), 510), lambda: self.now_us)
        self.names = Names(config.p4info)
        self.told: list[p4runtime_pb2.StreamMessageResponse] = []
        self.notifier = Notifier(self.told.append, self.pipeline.store.tables.idle, now=lambda: self.now_us * 1000)
        self.notifier.use(self.pipeline.schema, self.pipeline.digests)

    def write(self, kind: p4runtime_pb2.Update.Type, entity: p4runtime_pb2.Entity) -> Callable[[], None]:
        return self.pipeline.write(p4runtime_pb2.Update(type=kind, entity=entity))

    def entry(self, idle_timeout_ns: int, mac: bytes = MAC) -> p4runtime_pb2.Entity:
        action = self.names.action("NoAction")
        return self.names.entry("ingress.smac", exact(mac), action=action, idle_timeout_ns=idle_timeout_ns)

    def after(self, microseconds: int) -> list[list[bytes]]:
        """The MACs of each notification that comes by then."""
        self.now_us += microseconds
        self.told.clear()
        self.notifier.work()
        told = [each for each in self.told if each.HasField("idle_timeout_notification")]
        entries = [each.idle_timeout_notification.table_entry for each in told]
        assert all(entries), "no notification is empty"
        return [[entry.match[0].exact.value for entry in each] for each in entries]

    def since_last_hit(self) -> int:
        wanted = self.names.entry("ingress.smac", exact(MAC))
        wanted.table_entry.time_since_last_hit.SetInParent()
        [found] = self.pipeline.read(wanted)
        return found.table_entry.time_since_last_hit.elapsed_ns

    def learn(self, mac: bytes) -> None:
        self.pipeline.engine.process_ingress(1, [MAC + mac + bytes(20)])
        for digest in self.pipeline.engine.digests:
            self.notifier.digest(digest.name, digest.values)
        self.pipeline.engine.digests.clear()

    def lists(self, microseconds: int = 0) -> list[tuple[int, int]]:
        """(list id, how many messages) of each digest list that comes by then."""
        self.after(microseconds)
        return [(each.digest.list_id, len(each.digest.data)) for each in self.told if each.HasField("digest")]


@pytest.fixture
def switch() -> Clocked:
    return Clocked()


def test_an_idle_entry_is_told_again_and_again(switch: Clocked) -> None:
    switch.write(INSERT, switch.entry(2 * SECOND * 1000))
    switch.write(INSERT, switch.entry(0, MAC[::-1]))
    assert switch.after(2 * SECOND - 1) == []
    assert switch.after(SECOND // 2) == [[MAC]]
    # The timer starts anew at each notification; the time of the last hit stays what it is.
    assert switch.after(SECOND) == []
    assert switch.since_last_hit() == 3 * SECOND * 1000 + SECOND * 1000 // 2 - 1000
    assert switch.after(SECOND) == [[MAC]]
    assert switch.after(SECOND) == []


def test_a_hit_and_a_modification_start_the_time_anew(switch: Clocked) -> None:
    switch.write(INSERT, switch.entry(2 * SECOND * 1000))
    switch.after(SECOND)
    switch.pipeline.engine.process_ingress(1, [bytes(6) + MAC + bytes(20)])
    assert switch.since_last_hit() == 0
    assert switch.after(2 * SECOND - 1) == []
    switch.write(MODIFY, switch.entry(SECOND * 1000))
    assert switch.since_last_hit() == (2 * SECOND - 1) * 1000, "a modification is no hit"
    assert switch.after(SECOND - 1) == []
    assert switch.after(SECOND) == [[MAC]]
    switch.write(MODIFY, switch.entry(0))
    assert switch.after(100 * SECOND) == []
    switch.write(MODIFY, switch.entry(1))
    assert switch.after(SECOND) == [[MAC]], "the least that the clock tells"
    switch.write(DELETE, switch.entry(0))
    assert switch.after(100 * SECOND) == []


def test_entries_that_are_idle_together_are_told_together(switch: Clocked) -> None:
    macs = [bytes([2, 0, 0, 0, 0, number]) for number in range(5)]
    for mac in macs:
        switch.write(INSERT, switch.entry(SECOND * 1000, mac))
    assert switch.after(SECOND) == [macs]


def test_a_modification_that_is_taken_back_is_forgotten(switch: Clocked) -> None:
    switch.write(INSERT, switch.entry(2 * SECOND * 1000))
    switch.write(MODIFY, switch.entry(0))()
    assert switch.after(2 * SECOND) == [[MAC]]


def test_where_idle_time_outs_are_wrong(switch: Clocked) -> None:
    written = switch.entry(1)
    written.table_entry.time_since_last_hit.SetInParent()
    for entity in (switch.entry(-1), written):
        with pytest.raises(P4Error, match=r"idle time-out|time_since_last_hit"):
            switch.write(INSERT, entity)
    default = switch.names.entry("ingress.smac", is_default_action=True)
    default.table_entry.time_since_last_hit.SetInParent()
    with pytest.raises(P4Error, match="default entries do not time out"):
        list(switch.pipeline.read(default))
    [found] = switch.pipeline.read(switch.names.entry("ingress.smac", is_default_action=True))
    assert not found.table_entry.HasField("time_since_last_hit")


def test_digest_lists(switch: Clocked) -> None:
    entity = p4runtime_pb2.Entity()
    entity.digest_entry.digest_id = switch.pipeline.schema.p4info.digests[0].preamble.id
    config = entity.digest_entry.config
    config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns = 500_000, 3, 10_000_000
    switch.write(INSERT, entity)
    for number in range(4):
        switch.learn(bytes([2, 0, 0, 0, 1, number]))
    assert switch.lists() == [(1, 3)]
    assert switch.lists(499) == []
    assert switch.lists(1) == [(2, 1)]
    for number in range(5):  # all but the last are not acknowledged yet
        switch.learn(bytes([2, 0, 0, 0, 1, number]))
    assert switch.lists() == []
    assert switch.lists(500) == [(3, 1)]
    switch.pipeline.digests.acknowledge(entity.digest_entry.digest_id, 1)
    for number in range(5):
        switch.learn(bytes([2, 0, 0, 0, 1, number]))
    assert switch.lists(0) == [(4, 3)]
    assert switch.lists(10_000) == []
    for number in range(5):  # nobody has acknowledged for so long: all of it is news again
        switch.learn(bytes([2, 0, 0, 0, 1, number]))
    assert switch.lists() == [(5, 3)]
    assert switch.lists(500) == [(6, 2)]
    undo = switch.write(DELETE, entity)
    switch.learn(b"\x02\x00\x00\x00\x02\x00")
    assert switch.lists(1000) == []
    undo()
    switch.learn(b"\x02\x00\x00\x00\x02\x00")
    assert switch.lists() == []
    assert switch.lists(500) == [(7, 1)]
