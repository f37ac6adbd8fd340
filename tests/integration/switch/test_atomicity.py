"""Random batches: an atomic one that fails leaves no trace, and RECONCILE_AND_COMMIT loses nothing."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.integration.switch.client import (
    DATA,
    INSERT,
    MODIFY,
    PROGRAMS,
    Client,
    Names,
    Network,
    SetConfig,
    clone_session,
    exact,
    multicast_group,
    primary,
    program,
    refused,
    verdicts,
)

Draw = Callable[[random.Random, Names], p4runtime_pb2.Entity]
BATCHES = 150
ROLLBACK, ATOMIC = p4runtime_pb2.WriteRequest.ROLLBACK_ON_ERROR, p4runtime_pb2.WriteRequest.DATAPLANE_ATOMIC


def small(draw: random.Random, low: int = 1, high: int = 3) -> bytes:
    return bytes([draw.randint(low, high)])


def of_control(draw: random.Random, names: Names) -> p4runtime_pb2.Entity:
    """An entity of data/control.p4, valid or not, from so few keys that updates meet each other."""
    kind = draw.randrange(8)
    if kind < 3:
        match = p4runtime_pb2.FieldMatch(
            field_id=1, ternary=p4runtime_pb2.FieldMatch.Ternary(value=small(draw), mask=b"\xff")
        )
        action = names.action("FrameIngress.send", small(draw))
        entity = names.entry("FrameIngress.route", match, priority=draw.randint(0, 2), action=action)
        entity.table_entry.metadata = draw.choice([b"", b"m"])
        if draw.random() < 0.5:
            entity.table_entry.counter_data.packet_count = draw.randint(0, 5)
        return entity
    if kind == 3:
        default = names.entry("FrameIngress.route", is_default_action=True)
        if draw.random() < 0.5:
            default.table_entry.action.action.CopyFrom(names.action("FrameIngress.send", small(draw)))
        return default
    replicas = [(draw.randint(1, 4), 0) for _ in range(draw.randint(0, 2))]
    if kind == 4:
        return multicast_group(draw.randint(1, 3), *replicas)
    if kind == 5:
        return clone_session(draw.randint(1, 3), *replicas)
    entity = p4runtime_pb2.Entity()
    if kind == 6:
        entity.counter_entry.counter_id = names.id("FrameIngress.kinds")
        entity.counter_entry.index.index = draw.randint(0, 16)
        entity.counter_entry.data.packet_count = draw.randint(0, 3)
    else:
        entity.register_entry.register_id = names.id("FrameIngress.last_seen")
        entity.register_entry.index.index = draw.randint(1, 8)
        entity.register_entry.data.bitstring = small(draw)
    return entity


def of_profile(draw: random.Random, names: Names) -> p4runtime_pb2.Entity:
    """A member, a group or an entry of the action profile program."""
    entity = p4runtime_pb2.Entity()
    kind = draw.randrange(3)
    if kind == 0:
        member = entity.action_profile_member
        member.action_profile_id, member.member_id = names.id("ActProfWS"), draw.randint(1, 4)
        member.action.CopyFrom(names.action("send", small(draw)))
        return entity
    if kind == 1:
        group = entity.action_profile_group
        group.action_profile_id, group.group_id = names.id("ActProfWS"), draw.randint(1, 3)
        for _ in range(draw.randint(0, 2)):
            group.members.add(member_id=draw.randint(1, 4), weight=1)
        return entity
    entity = names.entry("IndirectWS", exact(small(draw)))
    action = entity.table_entry.action
    match draw.randrange(3):
        case 0:
            action.action_profile_member_id = draw.randint(1, 4)
        case 1:
            action.action_profile_group_id = draw.randint(1, 3)
        case _:
            for _ in range(draw.randint(1, 2)):
                one_shot = action.action_profile_action_set.action_profile_actions
                one_shot.add(action=names.action("send", small(draw)), weight=draw.randint(0, 2))
    return entity


def everything(client: Client) -> list[bytes]:
    """All that can be read, in an order of its own."""
    wanted = [p4runtime_pb2.Entity() for _ in range(8)]
    wanted[0].table_entry.counter_data.SetInParent()
    wanted[1].table_entry.is_default_action = True
    wanted[2].action_profile_member.SetInParent()
    wanted[3].action_profile_group.SetInParent()
    wanted[4].counter_entry.SetInParent()
    wanted[5].register_entry.SetInParent()
    wanted[6] = multicast_group(0)
    wanted[7] = clone_session(0)
    return sorted(entity.SerializeToString(deterministic=True) for entity in client.read(*wanted))


@pytest.mark.parametrize(
    ("name", "folder", "entity_of"),
    [("control", DATA, of_control), ("action_profile", PROGRAMS, of_profile)],
    ids=["control", "action_profile"],
)
def test_all_or_nothing(name: str, folder: Path, entity_of: Draw) -> None:
    config = program(name, folder)
    names, draw = Names(config.p4info), random.Random(20)
    failed = 0
    with Network([1, 2, 3]) as network, primary(network, name, folder) as client:
        before = everything(client)
        for number in range(BATCHES):
            updates = [
                p4runtime_pb2.Update(type=draw.choice([1, 1, 2, 3]), entity=entity_of(draw, names))  # pyright: ignore[reportArgumentType]
                for _ in range(draw.randint(1, 5))
            ]
            atomicity = draw.randrange(3)
            try:
                client.update(updates, atomicity=atomicity)
            except grpc.RpcError as error:
                codes = [verdict.canonical_code for verdict in verdicts(error)]
                assert len(codes) == len(updates)
                assert code_pb2.INTERNAL not in codes
                failed += 1
                if atomicity:
                    assert everything(client) == before, updates
            before = everything(client)
            if number % 25 == 0:
                client.load(config, SetConfig.RECONCILE_AND_COMMIT)
                assert everything(client) == before
    assert BATCHES // 4 < failed < BATCHES, "some batches of each kind"


def test_every_kind_of_entity_is_taken_back_while_packets_run() -> None:
    with Network([1, 2, 3]) as network, primary(network, "control", DATA) as client:
        names = Names(program("control", DATA).p4info)
        counter, meter, register, value_set = (p4runtime_pb2.Entity() for _ in range(4))
        counter.counter_entry.counter_id = names.id("FrameIngress.kinds")
        counter.counter_entry.data.packet_count = 5
        info = program("control", DATA).p4info
        meter.meter_entry.meter_id = info.meters[0].preamble.id
        meter.meter_entry.config.cir, meter.meter_entry.config.cburst = 1, 2
        meter.meter_entry.config.pir, meter.meter_entry.config.pburst = 3, 4
        meter.meter_entry.counter_data.SetInParent()
        register.register_entry.register_id = names.id("FrameIngress.last_seen")
        register.register_entry.data.bitstring = b"\x01"
        value_set.value_set_entry.value_set_id = info.value_sets[0].preamble.id
        before = everything(client)
        steps = [
            (MODIFY, counter),
            (MODIFY, meter),
            (MODIFY, register),
            (MODIFY, value_set),
            (INSERT, multicast_group(1, (1, 0))),
            (INSERT, clone_session(1, (1, 0))),
            (INSERT, clone_session(1, (1, 0))),  # there is one already
        ]
        updates = [p4runtime_pb2.Update(type=kind, entity=entity) for kind, entity in steps]
        running = threading.Event()

        def traffic() -> None:
            while not running.is_set():
                network.send(2, bytes(20))

        sender = threading.Thread(target=traffic)
        sender.start()
        try:
            for atomicity in (ROLLBACK, ATOMIC):
                for _ in range(20):
                    found = refused(client.update, updates, atomicity=atomicity)
                    assert [verdict for verdict, _ in found] == [code_pb2.ABORTED] * 6 + [code_pb2.ALREADY_EXISTS]
        finally:
            running.set()
            sender.join()
        after = everything(client)
        # Packets count meanwhile: only what they touch may differ.
        assert len(set(before) - set(after)) <= 4
        assert client.read(multicast_group(0), clone_session(0)) == []
        assert not client.read(meter)[0].meter_entry.HasField("config")
