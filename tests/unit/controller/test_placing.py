"""Where groups go, and what rules they need."""

from __future__ import annotations

import pytest

from cais_tools.config import Device
from cais_tools.controller.placing import check_group, check_room, choose_device, ports_of, slots_for
from cais_tools.controller.rules import rules_for
from cais_tools.errors import CaisError, Refused, UsageError
from cais_tools.wire import Op
from tests.unit.controller.records import a_group


def test_the_device() -> None:
    assert choose_device("", ["leaf1"]) == "leaf1"
    assert choose_device("leaf2", ["leaf1", "leaf2"]) == "leaf2"
    with pytest.raises(UsageError, match="which switch"):
        choose_device("", ["leaf1", "leaf2"])
    with pytest.raises(UsageError, match="no device 'leaf3'"):
        choose_device("leaf3", ["leaf1"])


def test_ranks_are_behind_the_links_in_their_order() -> None:
    device = Device("leaf1", "", links={9: "veth9", 2: "veth2", 5: "veth5"})
    assert ports_of(device, [0, 1, 2]) == (9, 2, 5)
    assert ports_of(device, [2, 0]) == (5, 9)
    with pytest.raises(UsageError, match="links for 3 ranks, and rank 3 has none"):
        ports_of(device, [0, 3])
    assert ports_of(Device("leaf1", ""), [4, 5]) == (5, 6)


@pytest.mark.parametrize(
    ("pending", "chunk_size", "lanes", "slots"),
    [
        (128, 65536, 64, 256),  # the defaults: those of the session library
        (128, 65536, 256, 128),  # 64 packets have all of a chunk
        (33, 65536, 64, 128),
        (1, 65536, 64, 2),
        (128, 4, 64, 2),
        (128, 257, 64, 4),
        (65535, 2**30, 64, 131072),
    ],
)
def test_slots_are_twice_the_packets_under_way(pending: int, chunk_size: int, lanes: int, slots: int) -> None:
    assert slots_for({"max_pending_chunks": pending, "chunk_size": chunk_size}, lanes) == slots


def test_room_is_a_share_of_the_pool() -> None:
    group = a_group(slots=1024)
    check_room(group, 2048, 4096, 0.75)
    with pytest.raises(Refused, match="4096 slots, of which 75% may be given out: 2049 are, and group 3 wants 1024"):
        check_room(group, 2049, 4096, 0.75)
    check_room(group, 10**6, 0, 0.75)  # nothing is known of it yet


@pytest.mark.parametrize(
    "wrong",
    [
        {"group_id": 256},
        {"ranks": (0, 1, 2, 4)},
        {"ranks": (0, 0, 1, 2)},
        {"ports": (1, 2, 3)},
        {"ports": (1, 2, 3, 3)},
        {"ranks": (), "ports": ()},
        {"ranks": tuple(range(33)), "ports": tuple(range(1, 34))},
    ],
)
def test_groups_that_cannot_be(wrong: dict[str, object]) -> None:
    check_group(a_group(), 4)
    with pytest.raises(CaisError):
        check_group(a_group(**wrong), 40 if len(wrong) == 2 else 4)


def test_a_rule_for_every_operation() -> None:
    rules = rules_for(3, (7, 8))
    assert {rule.op for rule in rules} == set(Op)
    assert len({rule.key for rule in rules}) == len(rules)
    gathers = [rule for rule in rules if rule.op == Op.ALLGATHER]
    assert [(rule.inputs, rule.outputs) for rule in gathers] == [((7,), (8,)), ((8,), (7,))]
    owned = [rule for rule in rules if rule.op == Op.ALLREDUCE and rule.layer.low]
    assert [rule.outputs for rule in owned] == [(7,), (8,)]
    assert all(not one.chunk.overlaps(other.chunk) for one, other in [owned])
