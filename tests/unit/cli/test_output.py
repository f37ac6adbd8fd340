from __future__ import annotations

import io
import json

import pytest

from cais_tools.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_are_aligned_and_never_cut() -> None:
    name = "group-" + "x" * 300
    lines = output.table(("name", "packets"), [(name, "1"), ("b", "12345")]).splitlines()
    assert lines[0] == "name".ljust(306) + "  packets"
    assert lines[1] == name + "        1"
    assert lines[2] == "b".ljust(306) + "    12345"


def test_json_has_a_schema_first_and_no_nan() -> None:
    stream = io.StringIO()
    output.emit_json("cais.x/1", {"rate": float("nan"), "rows": [{"p50": float("inf"), "n": 1}]}, stream)
    assert stream.getvalue().startswith('{"schema": "cais.x/1"')
    assert json.loads(stream.getvalue()) == {"schema": "cais.x/1", "rate": None, "rows": [{"p50": None, "n": 1}]}


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (io.StringIO(), {}, "failed"),
        (Terminal(), {"NO_COLOR": "1"}, "failed"),
        (Terminal(), {"TERM": "dumb"}, "failed"),
        (io.StringIO(), {"FORCE_COLOR": "1"}, "failed"),
        (Terminal(), {}, "\033[31mfailed\033[0m"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    stream: io.StringIO, environment: dict[str, str], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.coloured("failed", "red", stream) == wanted


def test_colour_takes_no_room_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    words = ["ok", "unreachable"]
    plain = output.table(("device", "verdict", "result"), [["a", word, "x"] for word in words], left=(0, 1, 2))
    shown = [output.coloured(word, "red", Terminal()) for word in words]
    coloured = output.table(("device", "verdict", "result"), [["a", word, "x"] for word in shown], left=(0, 1, 2))
    assert coloured != plain
    assert coloured.replace("\033[31m", "").replace("\033[0m", "") == plain
