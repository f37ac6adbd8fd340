"""Ports that a client names."""

from __future__ import annotations

import pytest

from cais_tools.p4rt.values import decode
from cais_tools.switch.server.entities.base import Ports
from cais_tools.switch.server.status import P4Error

PORTS = Ports({1, 2}, cpu=510)


@pytest.mark.parametrize("port", [1, 2, 510])
def test_ports_that_exist(port: int) -> None:
    assert PORTS.check(port, "here") == port


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x03", "there is no port 3; ports are 1, 2, and 510 is the CPU's"),
        (b"\x00", "there is no port 0 (ports start at 1)"),
        # Python itself refuses to write such numbers.
        (b"\xff" * 5000, "there is no port of 40000 bits"),
    ],
)
def test_ports_that_do_not(data: bytes, text: str) -> None:
    with pytest.raises(P4Error) as refused:
        PORTS.check(decode(data), "here")
    assert f"here: {text}" in refused.value.message
