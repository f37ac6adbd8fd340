"""Numbers and paths as switches send them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cais_tools.gnmi import Elem, from_message, gnmi_pb2, in_text, number, parse_path, to_message

names = st.text(st.characters(exclude_characters="/[]=\\", exclude_categories=["Cs"]), min_size=1, max_size=8)
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
paths = st.lists(st.builds(Elem, names, st.dictionaries(names, values, max_size=2)), max_size=5).map(tuple)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"double_val": 42.5}, 42.5),
        ({"float_val": 42.5}, 42.5),
        ({"int_val": -3}, -3),
        ({"uint_val": 42}, 42),
        ({"decimal_val": gnmi_pb2.Decimal64(digits=425, precision=1)}, 42.5),
        ({"string_val": "42.5"}, 42.5),
        ({"ascii_val": " 42.5\n"}, 42.5),
        ({"json_val": b"42.5"}, 42.5),
        ({"json_ietf_val": b'"42.5"'}, 42.5),
        ({"json_ietf_val": b'{"openconfig-platform:instant": "42.5"}'}, 42.5),
        ({"json_ietf_val": b'{"openconfig-platform:instant": "42.5", "max": "50.0"}'}, None),
        ({"json_val": b"true"}, None),
        ({"json_val": b"[42.5]"}, None),
        ({"json_val": b"{"}, None),
        ({"json_val": b"\xff"}, None),
        ({"json_val": b"[" * 100_000}, None),
        ({"json_val": b"NaN"}, None),
        ({"json_val": b"1" * 400}, None),
        ({"bool_val": True}, None),
        ({"bytes_val": b"42"}, None),
        ({"string_val": "hot"}, None),
        ({"double_val": float("nan")}, None),
        ({}, None),
    ],
)
def test_numbers(value: dict[str, Any], expected: float | None) -> None:
    assert number(gnmi_pb2.TypedValue(**value)) == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", ()),
        ("/components", (Elem("components"),)),
        (
            "components/component[name=chip]/state/",
            (Elem("components"), Elem("component", {"name": "chip"}), Elem("state")),
        ),
        ("/a[x=1][y=/]/...", (Elem("a", {"x": "1", "y": "/"}), Elem("..."))),
        (r"/a[x=\]\\]", (Elem("a", {"x": "]\\"}),)),
    ],
)
def test_paths(text: str, path: tuple[Elem, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize("text", ["/a[", "/a]", "//a", "/[x=1]", "/a[x]"])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        parse_path(text)


@settings(max_examples=60, deadline=None)
@given(paths)
def test_text_and_messages_lose_nothing(path: tuple[Elem, ...]) -> None:
    assert from_message(to_message(path)) == path
    assert from_message(to_message(path[:2]), to_message(path[2:])) == path
    assert parse_path(in_text(path)) == path
