"""The rules of design section 4 as checks of a running data plane, each a plain function over a `Fabric`.

`test_rules.py` runs them on every target; `test_mutations.py` runs each on programs in which its rule is broken, where
it has to fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from cais_tools.wire.header import Op
from tests.conformance.fabric import Fabric, Result

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)
ALL = (1, 2, 3, 4)


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def allreduce_group(fabric: Fabric, group: int = 0, *, slots: int = 8, op: Op = Op.ALLREDUCE) -> None:
    fabric.add_group(group, ALL, slots)
    fabric.add_rule(group, op, outputs=ALL)


def sole(results: Sequence[Result]) -> Result:
    assert len(results) == 1, f"expected one result, got {len(results)}"
    return results[0]


def everybody_gets(fabric: Fabric, value: int) -> None:
    for port in ALL:
        assert sole(fabric.results(port)).first_lane == value


def nobody_gets_anything(fabric: Fabric) -> None:
    for port in ALL:
        assert fabric.results(port) == []


def complete_when_all_participants_have_contributed(fabric: Fabric) -> None:
    """Rule 1: never by total_chunks."""
    allreduce_group(fabric)
    for seq, total_chunks in enumerate((1, 2, 3, 4, 9)):
        for port in ALL[:-1]:
            fabric.contribute(port, seq, [10**port], total_chunks=total_chunks)
        nobody_gets_anything(fabric)
        fabric.contribute(4, seq, [10**4], total_chunks=total_chunks)
        everybody_gets(fabric, 11110)


def the_port_says_who_sent(fabric: Fabric) -> None:
    """Rule 2: not the source address; and a port that is no member contributes nothing."""
    fabric.add_group(0, (1, 2, 3), 8)
    fabric.add_rule(0, Op.ALLREDUCE, outputs=(1, 2, 3))
    fabric.contribute(1, 0, [1], claims_rank=0)
    fabric.contribute(1, 0, [1], claims_rank=1)
    fabric.contribute(1, 0, [1], claims_rank=2)
    fabric.contribute(4, 0, [100], claims_rank=1)
    nobody_gets_anything(fabric)
    fabric.contribute(2, 0, [1], claims_rank=0)
    fabric.contribute(3, 0, [1], claims_rank=0)
    for port in (1, 2, 3):
        assert sole(fabric.results(port)).first_lane == 3
    assert fabric.outcomes(0)["no_member"] == 1
    assert fabric.outcomes(0)["duplicate"] == 2


def a_retransmission_is_never_added_twice(fabric: Fabric) -> None:
    """Rule 3: the contribution bitmap is tested first."""
    allreduce_group(fabric)
    for port in (1, 1, 2, 1, 2, 3, 3):
        fabric.contribute(port, 0, [10**port])
    nobody_gets_anything(fabric)
    fabric.contribute(4, 0, [10**4])
    everybody_gets(fabric, 11110)
    assert fabric.outcomes(0)["duplicate"] == 4


def the_first_contribution_overwrites(fabric: Fabric) -> None:
    """Rule 4: whatever a slot held before, a new number starts from its first contribution."""
    allreduce_group(fabric, slots=2)
    for seq in range(8):
        for port in ALL:
            fabric.contribute(port, seq, [seq + port] * 3)
        for port in ALL:
            assert sole(fabric.results(port)).lanes[:3] == [4 * seq + 10] * 3


def diverged_ranks_are_not_added(fabric: Fabric) -> None:
    """Rule 5: another operation, layer or chunk under the same number."""
    allreduce_group(fabric)
    fabric.add_rule(0, Op.ALLREDUCE_MAX, outputs=ALL)
    fabric.contribute(1, 0, [1], layer=5, chunk=7)
    fabric.contribute(2, 0, [9], layer=6, chunk=7)
    fabric.contribute(2, 0, [9], layer=5, chunk=8)
    fabric.contribute(2, 0, [9], layer=5, chunk=7, op=Op.ALLREDUCE_MAX)
    for port in (2, 3, 4):
        fabric.contribute(port, 0, [1], layer=5, chunk=7)
    everybody_gets(fabric, 4)
    assert fabric.outcomes(0)["diverged"] == 3


def newer_numbers_take_over(fabric: Fabric) -> None:
    """Rule 5: in serial-number arithmetic, so that the counter may wrap."""
    allreduce_group(fabric, slots=2)
    for seq in (2**31 - 2, 2**31 + 2, 2**32 - 2, 2):
        fabric.contribute(1, seq, [1000])
        for port in ALL:
            fabric.contribute(port, (seq + 2) % 2**32, [1])
        everybody_gets(fabric, 4)
    assert fabric.outcomes(0)["opened"] == 4
    assert fabric.outcomes(0)["reopened"] == 4


def older_numbers_are_dropped(fabric: Fabric) -> None:
    """Rule 5: a late duplicate never corrupts a later sum."""
    allreduce_group(fabric, slots=2)
    for port in ALL:
        fabric.contribute(port, 4, [1])
    everybody_gets(fabric, 4)
    fabric.contribute(1, 6, [1])
    fabric.contribute(2, 4, [1000])
    fabric.contribute(3, 2**32 - 2, [1000])
    for port in (2, 3, 4):
        fabric.contribute(port, 6, [1])
    everybody_gets(fabric, 4)
    assert fabric.outcomes(0)["stale"] == 2


def groups_keep_to_their_slots(fabric: Fabric) -> None:
    """Rule 6: base + seq_num mod slots; what half of them hold is safe while the other half fills."""
    allreduce_group(fabric, 0, slots=4)
    allreduce_group(fabric, 1, slots=4)
    for seq in range(12):
        for port in ALL:
            fabric.contribute(port, seq, [1], group=0)
            fabric.contribute(port, seq, [100], group=1)
        for port in ALL:
            assert sorted(result.first_lane for result in fabric.results(port)) == [4, 400]
        if seq >= 2:
            fabric.contribute(2, seq - 2, [1], group=0)
            assert sole(fabric.results(2)).seq == seq - 2


def duplicates_of_a_complete_slot_are_answered(fabric: Fabric) -> None:
    """Rule 7: with the stored result, to the port that asks and to no other."""
    allreduce_group(fabric)
    for port in ALL:
        fabric.contribute(port, 0, [port, -port])
    everybody_gets(fabric, 10)
    fabric.contribute(3, 0, [99, 99])
    assert sole(fabric.results(3)).lanes[:2] == [10, -10]
    for port in (1, 2, 4):
        assert fabric.results(port) == []
    fabric.contribute(1, 0, [99, 99])
    assert sole(fabric.results(1)).lanes[:2] == [10, -10]
    assert fabric.outcomes(0)["answered"] == 2


REFERENCE: dict[Op, Callable[[list[int]], int]] = {
    Op.ALLREDUCE: lambda values: wrap(sum(values)),
    Op.ALLREDUCE_MAX: max,
    Op.ALLREDUCE_MIN: min,
    Op.ALLREDUCE_PRODUCT: lambda values: wrap(values[0] * values[1]),
}


def header_only_is_the_identity(fabric: Fabric) -> None:
    """Rule 8: whether it comes first, in the middle or last."""
    fabric.add_group(0, ALL, 8)
    for op in REFERENCE:
        fabric.add_rule(0, op, outputs=ALL)
    seq = 0
    for op, reference in REFERENCE.items():
        for values in ((-7, -9), (7, 9)):
            for order in ((1, 2, 3, 4), (4, 1, 3, 2), (1, 3, 2, 4)):
                for port in order:
                    if port <= 2:
                        fabric.contribute(port, seq, [values[port - 1]], op=op)
                    else:
                        fabric.contribute(port, seq, None, op=op)
                everybody_gets(fabric, reference(list(values)))
                seq += 1


def outputs_come_from_the_rule(fabric: Fabric) -> None:
    """Rule 8: who is no output gets the header only, and duplicates are answered likewise."""
    fabric.add_group(0, ALL, 8)
    fabric.add_rule(0, Op.ALLGATHER, owner=1, outputs=(2, 3, 4), chunks=(0, 0))
    fabric.add_rule(0, Op.ALLGATHER, owner=2, outputs=(1, 3, 4), chunks=(1, 1))
    fabric.add_rule(0, Op.ALLREDUCE, outputs=(3,))
    for seq, owner in ((0, 1), (1, 2)):
        for port in ALL:
            fabric.contribute(port, seq, [55] if port == owner else None, op=Op.ALLGATHER, chunk=owner - 1)
        for port in ALL:
            result = sole(fabric.results(port))
            assert (result.payload_len, result.seq) == (0 if port == owner else 256, seq)
            assert result.lanes[:1] == ([] if port == owner else [55])
    for port in ALL:
        fabric.contribute(port, 2, [port])
    for port in ALL:
        assert sole(fabric.results(port)).lanes[:1] == ([10] if port == 3 else [])
    for port in (2, 3):
        fabric.contribute(port, 2, [port])
        assert sole(fabric.results(port)).lanes[:1] == ([10] if port == 3 else [])


def tags_are_added_up(fabric: Fabric) -> None:
    """Rule 9: modulo 2^32, in every operation, header-only contributions too."""
    fabric.add_group(0, ALL, 8)
    fabric.add_rule(0, Op.ALLREDUCE, outputs=ALL)
    fabric.add_rule(0, Op.ALLREDUCE_MAX, outputs=ALL)
    tags = {1: 0xFFFFFFFF, 2: 0x80000001, 3: 7, 4: 0x12345678}
    for seq, op in enumerate((Op.ALLREDUCE, Op.ALLREDUCE_MAX)):
        for port in ALL:
            fabric.contribute(port, seq, [1] if port < 3 else None, op=op, tag=tags[port])
        for port in ALL:
            assert sole(fabric.results(port)).tag == sum(tags.values()) % 2**32


def sums_wrap_and_do_not_depend_on_the_order(fabric: Fabric) -> None:
    """Rule 10: as NumPy's int32, at the extremes."""
    allreduce_group(fabric)
    rng = random.Random(10)
    cases = [[INT_MAX, 1, 0, 0], [INT_MIN, -1, 0, 0], [INT_MAX] * 4, [INT_MIN] * 4, [INT_MIN, INT_MAX, INT_MAX, 5]]
    cases += [[rng.randint(INT_MIN, INT_MAX) for _ in ALL] for _ in range(4)]
    for seq, values in enumerate(cases):
        for port in rng.sample(ALL, 4):
            fabric.contribute(port, seq, [values[port - 1]])
        everybody_gets(fabric, wrap(sum(values)))


def operations_are_signed(fabric: Fabric) -> None:
    """Rule 10: maximum, minimum and product of the full range."""
    fabric.add_group(0, ALL, 8)
    for op in REFERENCE:
        fabric.add_rule(0, op, outputs=ALL)
    values = {1: INT_MIN, 2: -1, 3: INT_MAX, 4: 3}
    expected = {
        Op.ALLREDUCE_MAX: INT_MAX,
        Op.ALLREDUCE_MIN: INT_MIN,
        Op.ALLREDUCE_PRODUCT: wrap(INT_MIN * -1 * INT_MAX * 3),
    }
    for seq, (op, result) in enumerate(expected.items()):
        for port in ALL:
            fabric.contribute(port, seq, [values[port]], op=op)
        everybody_gets(fabric, result)


def bad_frames_touch_nothing(fabric: Fabric) -> None:
    """Rule 11: each kind is dropped and counted apart, and the sum that is under way stays right."""
    allreduce_group(fabric)
    good = fabric.frame(2, 0, [1000])
    fabric.contribute(1, 0, [1])
    fabric.send(2, good[: len(good) - 1])
    fabric.send(2, good[:40])
    fabric.send(2, good[:33])
    fabric.send(2, good[:20])
    fabric.send(2, fabric.frame(2, 0, [1000], payload_len=257))
    fabric.send(2, fabric.frame(2, 0, [1000], payload_len=2**32 - 1))
    fabric.send(2, fabric.frame(2, 0, [1000], op_type=6))
    fabric.send(2, fabric.frame(2, 0, [1000], op_type=255))
    fabric.send(2, fabric.frame(2, 0, [1000], op=Op.ALLREDUCE_MAX))
    fabric.send(2, fabric.frame(2, 0, [1000], group=9))
    nobody_gets_anything(fabric)
    for port in (2, 3, 4):
        fabric.contribute(port, 0, [1])
    everybody_gets(fabric, 4)
    assert fabric.bad_frames() == {"short": 4, "payload_len": 2}
    outcomes = fabric.outcomes(0)
    assert (outcomes["unknown_op"], outcomes["no_rule"], fabric.outcomes(9)["no_member"]) == (2, 1, 1)


def one_rule_covers_many_chunks(fabric: Fabric) -> None:
    """Rule 12: layers and chunks as numbers, ranges or anything; the more specific rule wins."""
    fabric.add_group(0, ALL, 8)
    fabric.add_rule(0, Op.ALLREDUCE, outputs=ALL)
    fabric.add_rule(0, Op.ALLREDUCE, outputs=(1,), layers=(5, 5), chunks=(10, 20))
    fabric.add_rule(0, Op.ALLREDUCE, outputs=(2,), layers=(5, 5), chunks=(15, 15))
    cases = {(0, 0): ALL, (65535, 65535): ALL, (5, 9): ALL, (5, 21): ALL, (4, 12): ALL}
    cases |= {(5, 10): (1,), (5, 20): (1,), (5, 15): (2,)}
    for seq, ((layer, chunk), outputs) in enumerate(cases.items()):
        for port in ALL:
            fabric.contribute(port, seq, [1], layer=layer, chunk=chunk)
        for port in ALL:
            assert sole(fabric.results(port)).lanes[:1] == ([4] if port in outputs else [])


def a_new_job_works_at_once(fabric: Fabric) -> None:
    """Rule 13: whatever numbers the job before has used, and whatever it left behind."""
    allreduce_group(fabric, slots=2)
    for seq in (1000, 1001):
        for port in ALL:
            fabric.contribute(port, seq, [1])
        everybody_gets(fabric, 4)
    fabric.contribute(1, 1002, [1000])
    fabric.start_job(0)
    for seq in (0, 1):
        for port in ALL:
            fabric.contribute(port, seq, [2])
        everybody_gets(fabric, 8)


def a_restarted_controller_loses_no_sum(fabric: Fabric) -> None:
    """Rule 13: it comes back, finds what is in force, and says the same again."""
    allreduce_group(fabric)
    fabric.contribute(1, 0, [1])
    fabric.contribute(2, 0, [1])
    fabric.reconnect()
    fabric.add_group(0, ALL, 8)
    fabric.contribute(3, 0, [1])
    fabric.contribute(4, 0, [1])
    everybody_gets(fabric, 4)


def other_traffic_is_forwarded(fabric: Fabric) -> None:
    """Rule 14: by MAC address, else to every port but the one it came from."""
    fabric.flood(ALL)
    known, unknown = bytes.fromhex("020000000009"), bytes.fromhex("020000000008")
    fabric.add_mac("02:00:00:00:00:09", 3)
    tail = bytes.fromhex("02000000000a0800") + b"payload" * 8
    fabric.send(1, known + tail)
    assert {port: len(fabric.raw(port)) for port in ALL} == {1: 0, 2: 0, 3: 1, 4: 0}
    fabric.send(1, unknown + tail)
    received = {port: fabric.raw(port) for port in ALL}
    assert received == {1: [], 2: [unknown + tail], 3: [unknown + tail], 4: [unknown + tail]}


def vlan_tagged_contributions_are_added(fabric: Fabric) -> None:
    """Design, section 3: one VLAN tag may stand before the header; it stays on the result."""
    allreduce_group(fabric)
    for port in ALL:
        fabric.send(port, fabric.frame(port, 0, [1], vlan=5))
    everybody_gets(fabric, 4)


RULES: dict[str, Callable[[Fabric], None]] = {
    "01-complete-by-participants": complete_when_all_participants_have_contributed,
    "02-sender-is-the-port": the_port_says_who_sent,
    "03-no-double-addition": a_retransmission_is_never_added_twice,
    "04-first-overwrites": the_first_contribution_overwrites,
    "05-diverged": diverged_ranks_are_not_added,
    "05-newer": newer_numbers_take_over,
    "05-older": older_numbers_are_dropped,
    "06-slots": groups_keep_to_their_slots,
    "07-answer-duplicates": duplicates_of_a_complete_slot_are_answered,
    "08-header-only": header_only_is_the_identity,
    "08-outputs": outputs_come_from_the_rule,
    "09-tag": tags_are_added_up,
    "10-wrap": sums_wrap_and_do_not_depend_on_the_order,
    "10-signed": operations_are_signed,
    "11-bad-frames": bad_frames_touch_nothing,
    "12-wildcards": one_rule_covers_many_chunks,
    "13-new-job": a_new_job_works_at_once,
    "13-controller": a_restarted_controller_loses_no_sum,
    "14-forwarding": other_traffic_is_forwarded,
    "vlan": vlan_tagged_contributions_are_added,
}
