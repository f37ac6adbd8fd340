"""Tables: every match kind, priorities, const entries, default actions, action profiles."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cais_tools.switch.actions import ActionCall
from cais_tools.switch.engine import Engine
from cais_tools.switch.matches import Exact, Lpm, Match, Range, Ternary
from cais_tools.switch.profiles import GroupMember
from cais_tools.switch.refusals import AlreadyExists, Exhausted, Invalid, NotFound, ReadOnly
from cais_tools.switch.tables import GroupRef, MemberRef, Table
from tests.unit.switch.programs import assign, const, engine_for, field, minimal, param, table

SET_X = {"set_x": ([("value", 32)], [assign(field("scalars", "x"), param(0))]), "nothing": ([], [])}
A, B = field("h", "a"), field("h", "b")


def engine_with(keys: list[tuple[str, Any]], **more: Any) -> Engine:
    program = minimal()
    table(program, "t", keys, dict(SET_X), default="nothing", **more)
    return engine_for(program)


def found(subject: Table, *key: int) -> int | None:
    """The argument of the entry that a key finds, None for a miss."""
    _, args, entry = subject.resolve(key if len(key) != 1 else key[0])
    return None if entry is None else next(iter(args))


def put(subject: Table, value: int, *match: Match, priority: int = 0) -> None:
    subject.insert(match, ActionCall("set_x", (value,)), priority)


def test_exact() -> None:
    subject = engine_with([("exact", A), ("exact", B)]).tables["t"]
    put(subject, 1, Exact(1), Exact(2))
    put(subject, 2, Exact(1), Exact(3))
    assert [found(subject, 1, 2), found(subject, 1, 3), found(subject, 2, 2)] == [1, 2, None]


def test_longest_prefix_wins() -> None:
    subject = engine_with([("lpm", B)]).tables["t"]
    put(subject, 1, Lpm(0, 0))
    put(subject, 3, Lpm(0x1230, 12))
    put(subject, 2, Lpm(0x1200, 8))
    assert [found(subject, key) for key in (0x1234, 0x1244, 0x9999)] == [3, 2, 1]


def test_larger_priority_wins_and_the_older_entry_among_equals() -> None:
    subject = engine_with([("ternary", B)]).tables["t"]
    put(subject, 1, Ternary(0, 0), priority=1)
    put(subject, 2, Ternary(0x1200, 0xFF00), priority=9)
    put(subject, 3, Ternary(0x0034, 0x00FF), priority=9)
    assert [found(subject, key) for key in (0x1234, 0x9934, 0x9999)] == [2, 3, 1]


def test_ranges_include_both_ends() -> None:
    subject = engine_with([("exact", A), ("range", B)]).tables["t"]
    put(subject, 1, Exact(7), Range(10, 20), priority=2)
    put(subject, 2, Exact(7), Range(0, 0xFFFF), priority=1)
    assert [found(subject, 7, key) for key in (9, 10, 20, 21)] == [2, 1, 1, 2]
    assert found(subject, 8, 10) is None


def test_optional_keys_are_there_or_not() -> None:
    subject = engine_with([("optional", A)]).tables["t"]
    put(subject, 1, Exact(5), priority=2)
    put(subject, 2, Ternary(0, 0), priority=1)
    assert [found(subject, 5), found(subject, 6)] == [1, 2]
    with pytest.raises(Invalid, match="either there or not"):
        put(subject, 3, Ternary(1, 1), priority=3)


def test_random_lookups_agree_with_a_plain_scan() -> None:
    rng = random.Random(5)
    subject = engine_with([("ternary", A), ("range", B)], max_size=1000).tables["t"]
    entries: list[tuple[int, Ternary, Range, int]] = []
    for number in range(200):
        low, high = sorted((rng.getrandbits(4), rng.getrandbits(4)))
        mask = rng.choice([0, 0xFF, 0x0F, 0x03])
        ternary, span = Ternary(rng.getrandbits(8) & mask, mask), Range(low, high)
        if any(entry[1:] == (ternary, span, number % 7) for entry in entries):
            continue
        entries.append((number, ternary, span, number % 7))
        put(subject, number, ternary, span, priority=number % 7)
    for _ in range(500):
        a, b = rng.getrandbits(8), rng.getrandbits(4)
        hits = [
            (priority, -number)
            for number, ternary, span, priority in entries
            if a & ternary.mask == ternary.value and span.low <= b <= span.high
        ]
        assert found(subject, a, b) == (-max(hits)[1] if hits else None)


@pytest.mark.parametrize("size", [10, 60, 100])
@pytest.mark.parametrize("kind", ["lpm", "range"])
def test_prefixes_and_ranges_alone_agree_with_a_plain_scan(kind: str, size: int) -> None:
    rng = random.Random(size)
    subject = engine_with([(kind, A)], max_size=1000).tables["t"]
    entries: dict[int, tuple[Lpm | Range, int]] = {}
    for number in range(size):
        length = rng.randint(0, 8)
        prefix = Lpm(rng.getrandbits(8) & (0xFF00 >> length), length)
        low, high = sorted((rng.getrandbits(8), rng.getrandbits(8)))
        match, priority = (prefix, 0) if kind == "lpm" else (Range(low, high), rng.randint(1, 3))
        if (match, priority) not in entries.values():
            entries[number] = match, priority
            put(subject, number, match, priority=priority)
        if number % 7 == 3 and number in entries:
            found(subject, 1)
            match, priority = entries.pop(number)
            subject.delete([match], priority)

    def wins(number: int) -> tuple[int, int]:
        match, priority = entries[number]
        return (match.prefix_len if isinstance(match, Lpm) else priority), -number

    for key in range(256):
        hits = [number for number, (match, _) in entries.items() if _covers(match, key)]
        assert found(subject, key) == max(hits, key=wins, default=None)


def _covers(match: Lpm | Range, key: int) -> bool:
    if isinstance(match, Range):
        return match.low <= key <= match.high
    return key >> (8 - match.prefix_len) == match.value >> (8 - match.prefix_len)


def test_changes_are_seen_at_once() -> None:
    subject = engine_with([("exact", A)]).tables["t"]
    assert found(subject, 1) is None
    put(subject, 1, Exact(1))
    assert subject.cache == {}
    assert found(subject, 1) == 1
    subject.modify([Exact(1)], ActionCall("set_x", (2,)))
    assert subject.cache == {}
    assert found(subject, 1) == 2
    subject.delete([Exact(1)])
    assert subject.cache == {}
    assert found(subject, 1) is None


def test_equal_entries_are_one() -> None:
    subject = engine_with([("ternary", B)]).tables["t"]
    put(subject, 1, Ternary(0x1234, 0xFF00), priority=1)
    with pytest.raises(AlreadyExists):
        put(subject, 1, Ternary(0x12FF, 0xFF00), priority=1)
    put(subject, 1, Ternary(0x1234, 0xFF00), priority=2)
    assert len(subject) == 2
    assert subject.get([Ternary(0x1200, 0xFF00)], 2).priority == 2


@pytest.mark.parametrize(
    ("match", "action", "error"),
    [
        ([Exact(1), Exact(1)], ActionCall("nothing"), "1 key fields, not 2"),
        ([Exact(256)], ActionCall("nothing"), "does not fit into key h.a"),
        ([Range(0, 1)], ActionCall("nothing"), "range match for the exact key"),
        ([Exact(1)], ActionCall("anything"), "no action anything"),
        ([Exact(1)], ActionCall("set_x"), "takes 1 arguments, not 0"),
        ([Exact(1)], ActionCall("set_x", (1 << 32,)), "does not fit into value"),
        ([Exact(1)], MemberRef(1), "no action profile"),
    ],
)
def test_nonsense_is_refused(match: list[Match], action: Any, error: str) -> None:
    subject = engine_with([("exact", A)]).tables["t"]
    with pytest.raises(Invalid, match=error):
        subject.insert(match, action)
    assert len(subject) == 0


def test_ranges_that_end_before_they_start_are_refused() -> None:
    subject = engine_with([("range", B)]).tables["t"]
    with pytest.raises(Invalid, match="ends"):
        put(subject, 1, Range(2, 1), priority=1)


def test_what_is_not_there_cannot_be_changed() -> None:
    subject = engine_with([("exact", A)]).tables["t"]
    for change in (subject.delete, subject.get):
        with pytest.raises(NotFound):
            change([Exact(1)])
    with pytest.raises(NotFound):
        subject.modify([Exact(1)], ActionCall("nothing"))


def test_a_table_without_key_has_only_its_default_action() -> None:
    subject = engine_with([]).tables["t"]
    with pytest.raises(Invalid, match="no key"):
        subject.insert([], ActionCall("nothing"))
    subject.set_default(ActionCall("set_x", (5,)))
    assert subject.resolve(())[1:] == ((5,), None)


def test_a_full_table_takes_no_more() -> None:
    subject = engine_with([("exact", A)], max_size=2).tables["t"]
    put(subject, 1, Exact(1))
    put(subject, 1, Exact(2))
    with pytest.raises(Exhausted, match=r"full \(2 entries\)"):
        put(subject, 1, Exact(3))


def entry_json(key: int, value: int, priority: int) -> dict[str, Any]:
    return {
        "match_key": [{"match_type": "ternary", "key": hex(key), "mask": "0xff"}],
        "action_entry": {"action_id": 0, "action_data": [hex(value)]},
        "priority": priority,
    }


def test_const_entries_cannot_be_changed_and_their_order_counts() -> None:
    entries = [entry_json(1, 11, 1), entry_json(1, 12, 2)]
    subject = engine_with([("ternary", A)], entries=entries).tables["t"]
    assert found(subject, 1) == 11
    assert [each.priority for each in subject.entries()] == [2, 1]
    with pytest.raises(ReadOnly):
        put(subject, 1, Ternary(2, 0xFF), priority=1)
    with pytest.raises(ReadOnly):
        subject.delete([Ternary(1, 0xFF)], 2)


def test_initial_entries_can_be_changed_and_come_back_with_a_reset() -> None:
    subject = engine_with([("ternary", A)], entries=[entry_json(1, 11, 1)]).tables["t"]
    subject.open_entries()
    subject.delete([Ternary(1, 0xFF)], 1)
    assert found(subject, 1) is None
    subject.reset()
    assert found(subject, 1) == 11


def test_default_action() -> None:
    subject = engine_with([("exact", A)]).tables["t"]
    assert subject.default_action == ActionCall("nothing")
    subject.set_default(ActionCall("set_x", (5,)))
    assert subject.resolve(1)[1:] == ((5,), None)
    subject.reset_default()
    assert subject.default_action == ActionCall("nothing")


def test_const_default_action() -> None:
    program = minimal()
    made = table(program, "t", [("exact", A)], dict(SET_X), default="nothing")
    made["default_entry"] |= {"action_const": True, "action_entry_const": True}
    subject = engine_for(program).tables["t"]
    with pytest.raises(ReadOnly):
        subject.set_default(ActionCall("set_x", (5,)))


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cais_tools.switch.tables.CACHE_LIMIT", 10)
    subject = engine_with([("exact", B)]).tables["t"]
    for key in range(100):
        subject.resolve(key)
    assert len(subject.cache) <= 10


def profile_engine(*, selector: bool) -> Engine:
    program = minimal()
    kind = "indirect_ws" if selector else "indirect"
    made = table(program, "t", [("exact", A)], dict(SET_X), type=kind, action_profile="p")
    profile: dict[str, Any] = {"name": "p", "id": 0, "max_size": 4}
    if selector:
        profile["selector"] = {"algo": "identity", "input": [B]}
    program["pipelines"][0]["action_profiles"] = [profile]
    made["next_tables"] = dict.fromkeys(SET_X)
    return engine_for(program)


def test_members_are_shared_by_entries() -> None:
    engine = profile_engine(selector=False)
    profile, subject = engine.profiles["p"], engine.tables["t"]
    profile.insert_member(1, ActionCall("set_x", (10,)))
    subject.insert([Exact(1)], MemberRef(1))
    subject.insert([Exact(2)], MemberRef(1))
    assert [found(subject, 1), found(subject, 2)] == [10, 10]
    profile.modify_member(1, ActionCall("set_x", (20,)))
    assert [found(subject, 1), found(subject, 2)] == [20, 20]
    with pytest.raises(Invalid, match="in use"):
        profile.delete_member(1)
    subject.delete([Exact(1)])
    subject.delete([Exact(2)])
    profile.delete_member(1)
    with pytest.raises(NotFound):
        subject.insert([Exact(1)], MemberRef(1))


def test_groups_pick_by_hash_and_weight() -> None:
    engine = profile_engine(selector=True)
    profile, subject = engine.profiles["p"], engine.tables["t"]
    for member in (1, 2):
        profile.insert_member(member, ActionCall("set_x", (member,)))
    profile.insert_group(7, [GroupMember(1, weight=2), GroupMember(2)])
    subject.insert([Exact(1)], GroupRef(7))
    outcome = subject.resolve(1)
    assert [subject.pick(outcome, hashed)[1][0] for hashed in range(6)] == [1, 1, 2, 1, 1, 2]
    with pytest.raises(Invalid, match="in use"):
        profile.delete_group(7)
    profile.modify_group(7, [])
    assert subject.pick(subject.resolve(1), 3)[2] is None


def test_a_profile_can_be_full() -> None:
    profile = profile_engine(selector=False).profiles["p"]
    for member in range(4):
        profile.insert_member(member, ActionCall("nothing"))
    with pytest.raises(Exhausted):
        profile.insert_member(9, ActionCall("nothing"))
    with pytest.raises(AlreadyExists):
        profile.insert_member(1, ActionCall("nothing"))


@pytest.mark.parametrize(
    ("kind", "match", "hits"),
    [
        ("exact", Exact(0xF5), [0x05, 0xA5, 0xF5]),
        ("ternary", Ternary(0xF5, 0x0F), [0x05, 0xA5, 0xF5]),
        ("ternary", Ternary(0xF5, 0xFF), [0x05, 0xA5, 0xF5]),
        ("lpm", Lpm(0xF5, 4), list(range(0x100))),
        ("range", Range(0xF5, 0xF6), []),
    ],
)
def test_a_mask_of_a_key_is_for_entries_too(kind: str, match: Match, hits: list[int]) -> None:
    program = minimal()
    spec = field("standard_metadata", "egress_spec")
    actions: Any = {"hit": ([], [assign(spec, const(1))]), "nothing": ([], [])}
    spec_of_table = table(program, "t", [(kind, A)], actions, default="nothing")
    spec_of_table["key"][0]["mask"] = "0x0f"
    engine = engine_for(program)
    subject = engine.tables["t"]
    priority = int(kind in ("ternary", "range"))
    subject.insert([match], ActionCall("hit"), priority)
    with pytest.raises(AlreadyExists):
        subject.insert([match], ActionCall("hit"), priority)

    def hit(value: int) -> bool:
        return engine.process_ingress(1, [bytes([value, 0, 0, 0])])[0].egress_port == 1

    if kind == "range":
        # The low end is masked, the high one is not: 5 to 0xf6.
        assert [value for value in range(0x100) if hit(value)] == [value for value in range(0x100) if value & 0xF >= 5]
    else:
        assert set(hits) <= {value for value in range(0x100) if hit(value)}
        assert not hit(0x06) or kind == "lpm"
    subject.delete([match], priority)
    assert not any(hit(value) for value in range(0x100))
