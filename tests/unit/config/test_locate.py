"""Line numbers of keys, on TOML that is as odd as it may be."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cais_tools.config.locate import DuplicateKey, KeyPath, locate_json, locate_toml


def paths_of(node: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Every key and element of plain data."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(node, dict):
        items = list(node.items())
    elif isinstance(node, list):
        items = list(enumerate(node))
    found = {(*path, key) for key, _ in items}
    return found.union(*(paths_of(value, (*path, key)) for key, value in items))


def lines_of(text: str) -> dict[str, int]:
    """Line by dotted path; all keys that tomllib reads have one, and no others."""
    lines = locate_toml(text)
    assert set(lines) == paths_of(tomllib.loads(text))
    return {".".join(map(str, path)): line for path, line in lines.items()}


def test_tables_and_dotted_keys() -> None:
    found = lines_of("a = 1\n\n[b]\nc.d = 2\nc . e = 3\n[b.f.g]\n'h i' = 4\n[x]\n")
    assert found == {
        "a": 1, "b": 3, "b.c": 4, "b.c.d": 4, "b.c.e": 5, "b.f": 6, "b.f.g": 6, "b.f.g.h i": 7, "x": 8,
    }  # fmt: skip


def test_a_table_is_where_its_header_is_even_if_parts_come_first() -> None:
    assert lines_of("[a.b]\nc = 1\n[a]\nd = 2\n")["a"] == 3


def test_arrays_of_tables() -> None:
    found = lines_of("[[r]]\nx = 1\n[[r]]\nx = 2\n[[r.s]]\ny = 3\n[r.t]\nz = 4\n[[r]]\n[[r.s]]\ny = 5\n")
    assert (found["r"], found["r.0"], found["r.1"], found["r.2"]) == (1, 1, 3, 9)
    assert (found["r.1.s.0.y"], found["r.1.t.z"], found["r.2.s.0.y"]) == (6, 8, 11)


def test_inline_tables_and_arrays_over_several_lines() -> None:
    text = 'a = { b = [1, 2], "c.d" = { e = "}" } } # { x = 1\nf = [\n  1, # ]\n  # [\n  { g = 2 },\n  [\n'
    text += "    3,\n  ],\n]\nh = 4\n"
    found = lines_of(text)
    assert (found["a.b.1"], found["a.c.d.e"]) == (1, 1)
    assert (found["f.0"], found["f.1.g"], found["f.2"], found["f.2.0"], found["h"]) == (3, 5, 6, 7, 10)


@pytest.mark.parametrize(
    "value",
    [
        '"""\n[no]\nkey = 1\n"""',
        "'''\n# [no]\n'''",
        '"""two at the end"""""',
        "'''two at the end'''''",
        '"\\"quoted\\" = # [x]"',
        r"'C:\no escape\'",
        '"""\\\n   continued\\\\"""',
        "''",
        '""',
        "1979-05-27 07:32:00Z",
        "07:32:00",
        "+1_000",
        "-0.5e+10",
        "inf",
        "0xDEAD_beef",
        "true # x = [",
        "[[1, 2], ['a', ']']]",
        "[]",
        "{}",
    ],
)
def test_nothing_in_a_value_is_taken_for_a_key(value: str) -> None:
    found = lines_of(f"before = 1\nvalue = {value}\nafter = 3\n[last]\n")
    skipped = value.count("\n")
    assert (found["before"], found["value"], found["after"], found["last"]) == (1, 2, 3 + skipped, 4 + skipped)


@pytest.mark.parametrize(
    ("key", "name"), [('"a b"', "a b"), (r'"\u00e4\t"', "ä\t"), ("'a.b'", "a.b"), ('""', ""), ("1", "1"), ("-", "-")]
)
def test_keys_in_quotes(key: str, name: str) -> None:
    assert locate_toml(f"\n{key} = 1\n[t.{key}]\n") == {(name,): 2, ("t",): 3, ("t", name): 3}


@pytest.mark.parametrize("text", ["", "\n\n# nothing\n", "a = 1", "  [ a . b ]  # c\n", "\t a=1\t#\n", "[[ a ]]"])
def test_little_documents(text: str) -> None:
    lines_of(text)


def test_json() -> None:
    text = '{\n "groups": [\n  {"id": 0,\n   "ports": [1, "a]b",\n 3]}\n ],\n "x": {"y": null, "\\u00e4\\"": -1.5e3}\n}'
    lines = locate_json(text)
    assert set(lines) == paths_of(json.loads(text))
    assert (lines["groups", 0], lines["groups", 0, "ports", 2], lines["x", 'ä"']) == (3, 5, 7)


def test_a_key_that_is_twice_in_json() -> None:
    with pytest.raises(DuplicateKey) as caught:
        locate_json('{"a": 1,\n "b": [{"c": 1,\n "c": 2}]}')
    assert (caught.value.path, caught.value.line) == (("b", 0, "c"), 3)


_KEYS = st.text(max_size=4)
_PLAIN = st.recursive(
    st.one_of(st.integers(-99, 99), st.booleans(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=12,
)


def as_toml(node: Any) -> str:
    if isinstance(node, dict):
        return "{" + ", ".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        return "[\n" + ",\n".join(map(as_toml, node)) + "\n]"
    # A JSON string is a TOML string but for the escapes of surrogate pairs and of DEL.
    return json.dumps(node, ensure_ascii=False).replace("\x7f", "\\u007f")


@settings(max_examples=150, deadline=None)
@given(document=st.dictionaries(_KEYS, _PLAIN, max_size=4))
def test_every_key_of_any_document_has_a_line(document: dict[str, Any]) -> None:
    toml = "\n# comment = 1\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in document.items())
    assert tomllib.loads(toml) == document
    assert set(locate_toml(toml)) == paths_of(document)
    text = json.dumps(document, indent=1)
    assert set(locate_json(text)) == paths_of(document)
