"""The text without a screen."""

from __future__ import annotations

from rich.cells import cell_len

from cais_tools.top.model import Model
from cais_tools.top.observation import Source
from cais_tools.top.plain import text_of
from tests.unit.top.scenes import observation


def test_names_are_aligned_and_cannot_write_elsewhere() -> None:
    names = {1: "\x1b[31mred", 2: "two\nlines", 3: "叶子🔥", 4: "swp4"}
    model = Model([Source("leaf1", "10.0.0.1:9559", names)])
    model.take(observation("leaf1", 1))
    text = text_of(model)
    assert "\x1b" not in text
    start = text.index("PORT ")
    title, *rows = text[start:].split("\n\n")[0].splitlines()
    assert len(rows) == 8
    assert {cell_len(row[: row.index("g0:r")]) for row in rows[:4]} == {title.index("RANK")}
