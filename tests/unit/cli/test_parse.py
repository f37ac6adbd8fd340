from __future__ import annotations

import pytest

from cais_tools.cli import parse
from cais_tools.errors import UsageError


@pytest.mark.parametrize(
    ("text", "ports"), [("1,2,3,4", (1, 2, 3, 4)), ("1-4", (1, 2, 3, 4)), (" 7 , 3", (7, 3)), ("1-2,9", (1, 2, 9))]
)
def test_port_lists(text: str, ports: tuple[int, ...]) -> None:
    assert parse.parse_port_list(text, option="--ports") == ports


@pytest.mark.parametrize("text", ["", "1,,2", "a", "4-1", "1,1", "511", "-1", "1.5", "1-", "٣"])
def test_what_is_no_port_list(text: str) -> None:
    with pytest.raises(UsageError, match="--ports"):
        parse.parse_port_list(text, option="--ports")


def test_port_0_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="port 0") as caught:
        parse.parse_port_list("0,1,2,3", option="--ports")
    assert "from 1 on" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "wanted"), [("16KiB", 16384), ("1MiB", 2**20), ("4096", 4096), ("2kb", 2000), ("64 B", 64), ("1k", 1024)]
)
def test_sizes(text: str, wanted: int) -> None:
    assert parse.parse_bytes(text, option="--size") == wanted


@pytest.mark.parametrize("text", ["", "0", "-1", "16 parsecs", "1.5MiB", "KiB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="--size"):
        parse.parse_bytes(text, option="--size")


@pytest.mark.parametrize(("text", "wanted"), [("5%", 0.05), ("0.05", 0.05), ("0", 0.0), ("100%", 1.0), (" 2 %", 0.02)])
def test_probabilities(text: str, wanted: float) -> None:
    assert parse.parse_probability(text, option="--loss") == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "5", "101%", "-1%", "nan", "much", "%"])
def test_what_is_no_probability(text: str) -> None:
    with pytest.raises(UsageError, match="--loss"):
        parse.parse_probability(text, option="--loss")


@pytest.mark.parametrize(("text", "wanted"), [("1s", 1.0), ("500ms", 0.5), ("2", 2.0), ("0.5", 0.5), ("1min", 60.0)])
def test_times(text: str, wanted: float) -> None:
    assert parse.parse_seconds(text, option="--interval") == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "1h30", "soon"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="--interval"):
        parse.parse_seconds(text, option="--interval")


def test_build_parameters() -> None:
    assert parse.parse_define("LANES=32") == ("LANES", "32")
    assert parse.parse_define("SLOTS=8192") == ("SLOTS", "8192")


@pytest.mark.parametrize("text", ["LANES", "LANES=", "LANES=48", "LANES=abc", "SLOTS=0", "SLOTS=-1", "PORTS=4", "=1"])
def test_build_parameters_that_do_not_build(text: str) -> None:
    with pytest.raises(UsageError, match="-D"):
        parse.parse_define(text)
