"""Files that are no TOML, no JSON, or no text: file and line, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from cais_tools.config import Location, parse_document, read_text
from cais_tools.errors import UsageError


def test_the_kind_of_a_document_is_seen_by_its_name_or_its_beginning() -> None:
    for file, text in (("a.toml", "x.y = 1"), ("a.json", ' {"x": {"y": 1}}'), ("a", '{"x": {"y": 1}}')):
        data, lines = parse_document(text, file)
        assert (data, dict(lines)) == ({"x": {"y": 1}}, {("x",): 1, ("x", "y"): 1})


def test_what_is_not_there_is_located_where_it_belongs() -> None:
    _, lines = parse_document("\n[a]\nb = 1\n", "f.toml")
    assert str(lines.location("a", "b")) == "f.toml:3"
    assert lines.location("a", "c", "d") == Location("f.toml", 2)
    assert str(lines.location("z")) == "f.toml"


@pytest.mark.parametrize(
    ("file", "text", "where", "words"),
    [
        ("f.toml", "a = 1\nb = = 2\n", "f.toml:2:", "no TOML"),
        ("f.toml", "a = 1\r\nb\r\n", "f.toml:2:", "no TOML"),
        ("f.toml", "a = 1\n\nb = [1,\n", "f.toml:3:", "end of the file"),
        ("f.toml", "a = 1\na = 2\n", "f.toml:2:", "Cannot overwrite"),
        ("f.toml", "a = 2026-02-31\n", "f.toml", "no TOML"),
        ("f.toml", "a = " + "[" * 9000, "f.toml", "deep"),
        ("f.json", '{"a": 1,\n}', "f.json:2:", "no JSON"),
        ("f.json", '{"a": 1,\n "a": 2}', "f.json:2:", "'a' is there twice"),
        ("f.json", '{"a": NaN}', "f.json", "NaN is no number"),
        ("f.json", "[1]", "f.json:1:", "no JSON object"),
        ("f.json", '{"a":' * 9000, "f.json", "deep"),
        ("f.json", "", "f.json:1:", "no JSON"),
    ],
)
def test_what_is_no_document(file: str, text: str, where: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_document(text, file)
    assert caught.value.message.startswith(where)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_the_line_is_shown(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        parse_document("\n  chunk_size = 64KiB\n", "f.toml")
    assert caught.value.hint == "the line is: chunk_size = 64KiB"


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_bytes(b"\xef\xbb\xbfa = '\xc3\xa4'\r\n")
    assert parse_document(read_text(file), "f.toml")[0] == {"a": "ä"}
    file.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(UsageError, match=r"f\.toml:2: this is no UTF-8 text \(byte 0xff\)"):
        read_text(file)
    with pytest.raises(UsageError, match="there is no file /no/such"):
        read_text(Path("/no/such"))
    with pytest.raises(UsageError, match="Is a directory"):
        read_text(tmp_path)
    with pytest.raises(UsageError, match="too large"):
        read_text(Path("/dev/zero"))
