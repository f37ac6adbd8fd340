"""Finding a device, and a port of it, by what users call it."""

from __future__ import annotations

import pytest

from cais_tools import links
from cais_tools.config import HIGHEST_PORT, Config, Device
from cais_tools.errors import UsageError

LEAF1 = Device("leaf1", "10.0.0.1")
LEAF2 = Device("leaf2", "10.0.0.2:9559", ports={"swp1": 132, "swp2": 133, "swp3": 7, "1": 132, "7": 3, "eth-1": 9})
CONFIG = Config("cais.toml", {"leaf1": LEAF1, "leaf2": LEAF2})


def test_the_highest_port_is_that_of_links() -> None:
    assert HIGHEST_PORT == links.HIGHEST_PORT


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["leaf1"], [LEAF1]),
        (["leaf2,leaf1"], [LEAF2, LEAF1]),
        (["leaf2", " leaf1 ,leaf2"], [LEAF2, LEAF1]),
        (["all"], [LEAF1, LEAF2]),
        (["leaf2", "all"], [LEAF2, LEAF1]),
        (["10.0.0.1:9559", "10.0.0.2"], [LEAF1, LEAF2]),
        (["10.0.0.3"], [Device("10.0.0.3", "10.0.0.3")]),
        (["leaf9:9559"], [Device("leaf9:9559", "leaf9:9559")]),
        (["localhost"], [Device("localhost", "localhost")]),
        (["[::1]"], [Device("[::1]", "[::1]")]),
    ],
)
def test_devices_by_name_and_address(names: list[str], found: list[Device]) -> None:
    assert CONFIG.select(names) == found


@pytest.mark.parametrize(
    ("config", "name", "message", "hint"),
    [
        (CONFIG, "leaf3", "cais.toml has no device 'leaf3'", "did you mean leaf2 or leaf1?"),
        (CONFIG, "spine", "no device 'spine'", "there is leaf1, leaf2"),
        (CONFIG, "", "address is empty", "HOST:PORT"),
        (CONFIG, "leaf1,,leaf2", "address is empty", "HOST:PORT"),
        (Config(), "all", "no cais.toml that names devices", "cais config init"),
        (Config("x.toml"), "all", "x.toml names no devices", "cais config init"),
    ],
)
def test_names_that_mean_nothing(config: Config, name: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.select([name])
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_without_a_file_a_word_is_a_host() -> None:
    assert Config().select(["leaf1"]) == [Device("leaf1", "leaf1")]


def test_where_nobody_says_which() -> None:
    assert CONFIG.default_devices() == [LEAF1, LEAF2]
    assert [each.address for each in Config().default_devices()] == ["127.0.0.1:9559"]


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("swp1,swp2", (132, 133)),
        ("swp1-3", (132, 133, 7)),
        ("swp2-swp3", (133, 7)),
        ("swp1..swp2", (132, 133)),
        ("1", (132,)),
        ("7,8", (3, 8)),
        ("eth-1", (9,)),
        (" swp3 , 200-202 ", (7, 200, 201, 202)),
    ],
)
def test_ports_by_name(text: str, ports: tuple[int, ...]) -> None:
    assert LEAF2.port_list(text) == ports


def test_ports_are_numbers_where_the_file_has_no_names() -> None:
    assert LEAF1.port_list("4,1-3") == (4, 1, 2, 3)


@pytest.mark.parametrize(
    ("device", "text", "message", "hint"),
    [
        (LEAF2, "swp4", "leaf2 has no port 'swp4'", "swp3"),
        (LEAF2, "swp2-4", "leaf2 has no port 'swp4'", "swp3"),
        (LEAF2, "swp1-eth3", "leaf2 has no port 'swp1-eth3'", ""),
        (LEAF2, "swp1,132", "port swp1 is given twice", ""),
        (LEAF2, "0", "port 0 does not exist", "from 1 on"),
        (LEAF1, "swp1", "'swp1' is no number and no range", "1-4"),
        (LEAF1, "a1-2", "'a1-2' is no number and no range", "1-4"),
        (LEAF1, "3-1", "the range 3-1 is empty", "perhaps 1-3"),
        (LEAF2, "swp3-swp1", "the range swp3-swp1 is empty", "perhaps swp1-swp3"),
        (LEAF1, "1-999999999", "port 999999999 does not exist", "510"),
    ],
)
def test_ports_that_are_none(device: Device, text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        device.port_list(text)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_ports_are_shown_by_the_first_name_that_they_have() -> None:
    assert [LEAF2.port_name(port) for port in (132, 3, 5)] == ["swp1", "7", "5"]
    assert LEAF1.port_name(5) == "5"
