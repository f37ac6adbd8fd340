"""Words and expressions."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from cais_tools.errors import UsageError
from cais_tools.top.columns import Sort, Table, fitting
from cais_tools.top.filters import matching, parse_filter
from cais_tools.top.model import Model
from cais_tools.top.observation import Steered
from cais_tools.top.rows import DeviceRow, GroupRow, device_row, group_rows
from cais_tools.top.tables import DEVICES, GROUPS, PORTS
from tests.unit.top.scenes import START, a_fleet, observation, sources


@pytest.fixture(scope="module")
def model() -> Model:
    model = Model(sources())
    for seen in a_fleet():
        model.take(seen)
    return model


@pytest.fixture(scope="module")
def groups(model: Model) -> list[GroupRow]:
    return group_rows(model.devices["leaf1"])


@pytest.fixture(scope="module")
def devices(model: Model) -> list[DeviceRow]:
    return [device_row(each, model.journal, START + 90) for each in model.devices.values()]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", [0, 1, 2, 3]),
        ("  ", [0, 1, 2, 3]),
        ("group 2", [2]),
        ("RANK", [2]),
        ("ops > 300", [0, 1, 2]),
        ("ops>300 and ops<900", [1, 2]),
        ("ops > 300 ops < 900", [1, 2]),
        ("ops > 0.9k or bad = 7", [0, 3]),
        ("not (ops > 0.3k or bad = 7)", []),
        ("missing ~ rank 2", [2]),
        ('missing ~ "swp3"', [2]),
        ("missing = rank 2 (swp3)", []),
        ('missing = "rank 2 (swp3)"', [2]),
        ("missing ~ rank and dup >= 1350", [2]),
        ("oldest > 0.1ms", [2]),
        ("oldest < 1us", []),
        ("group != 1 and stale == 0", [0, 3]),
        ("open = 3", [2]),
    ],
)
def test_groups(groups: list[GroupRow], text: str, left: list[int]) -> None:
    assert [row.group for row in matching(groups, parse_filter(text, GROUPS))] == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("leaf2", ["leaf2"]),
        ("10.0.0.3", ["leaf3"]),
        ("down", ["leaf3"]),
        ("state = up", ["leaf1", "leaf2"]),
        ("sram > 80%", ["leaf2"]),
        ("fallback < 50%", ["leaf1", "leaf2"]),
        ("up < 80s", ["leaf2"]),
        ("primary = taken", ["leaf2"]),
        ("alarms > 0", ["leaf2", "leaf3"]),
        ("listens", ["leaf3"]),
    ],
)
def test_devices(devices: list[DeviceRow], text: str, left: list[str]) -> None:
    assert [row.name for row in matching(devices, parse_filter(text, DEVICES))] == left


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("opz > 3", "groups have no 'opz'", "they have"),
        ("ops > many", "'many' is no number", "ops > 10"),
        ("ops >", "nothing stands after ops >", ""),
        ("> 3", "nothing stands before '>'", ""),
        ("(ops > 3", "a ) is missing", ""),
        ("ops > 3)", "')' is too much", ""),
        ("ops > 3 or", "something is missing at the end", ""),
        ("not", "something is missing at the end", ""),
        ("s = 3", "groups have no 's'", "they have"),
    ],
)
def test_what_is_no_expression(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        parse_filter(text, GROUPS)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text", ["(" * 5000 + "x" + ")" * 5000, "not " * 5000 + "x", "x or " * 5000 + "x", "x " * 5000]
)
def test_a_filter_that_is_too_long_for_the_interpreter_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="at most 100"):
        parse_filter(text, GROUPS)


def test_sorting_is_natural_stable_and_puts_what_is_unknown_last(devices: list[DeviceRow]) -> None:
    def named(name: str, delay: float | None) -> DeviceRow:
        return replace(devices[0], name=name, key=name, delay_us=delay)

    rows = [named("leaf10", 3.0), named("leaf2", None), named("Leaf1", 1.0)]
    assert [row.name for row in DEVICES.sorted(rows, Sort("device"))] == ["Leaf1", "leaf2", "leaf10"]
    assert [row.name for row in DEVICES.sorted(rows, Sort("delay_us"))] == ["Leaf1", "leaf10", "leaf2"]
    assert [row.name for row in DEVICES.sorted(rows, Sort("delay_us", True))] == ["leaf10", "Leaf1", "leaf2"]


@pytest.mark.parametrize("table", [DEVICES, GROUPS, PORTS])
def test_columns_fit_into_any_width_and_the_most_important_stay(table: Table[Any]) -> None:
    columns = table.shown(())
    for width in range(1, 301):
        shown = fitting(columns, width)
        assert shown[0].left == 0
        assert all(after.left > before.left + before.width for before, after in pairwise(shown))
        assert shown[-1].left + shown[-1].width <= max(width, 1)
        assert all(placed.width > 0 for placed in shown)
    assert {placed.column.key for placed in fitting(DEVICES.columns, 40)} >= {"device", "state", "ops_per_s", "alarms"}
    assert {placed.column.key for placed in fitting(GROUPS.shown(()), 40)} >= {"group", "ops_per_s", "completed"}
    assert len(fitting(DEVICES.columns, 300)) == len(DEVICES.columns)
    usual = {"duplicates", "stale", "bad", "missing"}
    assert {placed.column.key for placed in fitting(GROUPS.shown(()), 79)} >= usual


def test_a_group_has_a_path_where_a_controller_says_so() -> None:
    model = Model(sources())
    model.take(observation("leaf1", 1))
    rows = group_rows(model.devices["leaf1"])
    assert "path" not in {column.key for column in GROUPS.shown(rows)}
    steered = Steered(1, "endpoint", "endpoint", "maintenance", 0.2, 10, 20, 1)
    model.take(observation("leaf1", 2, steered=(steered,)))
    rows = group_rows(model.devices["leaf1"])
    assert {placed.column.key for placed in fitting(GROUPS.shown(rows), 79)} >= {"path", "completed", "missing"}
    assert [GROUPS.by_key["path"].text(row) for row in rows][:2] == ["-", "endpoint!"]
