from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from cais_tools.session import SessionOptions, connect, load_shipped
from tests.integration.session.targets import Bmv2, Embedded, SwitchUnderTest


@pytest.fixture(scope="module", params=["embedded", "bmv2"])
def target(request: pytest.FixtureRequest) -> Generator[SwitchUnderTest]:
    switch = Bmv2() if request.param == "bmv2" else Embedded("spec")
    try:
        switch.start()
        yield switch
    finally:
        switch.close()


@pytest.fixture
def address(target: SwitchUnderTest) -> str:
    """A switch that runs the shipped program, without any entry."""
    with connect(target.address, SessionOptions(timeout=20)) as session:
        session.load(load_shipped())
    return target.address


@pytest.fixture
def wanted(tmp_path: Path) -> Path:
    """A group with an all-reduce rule, and a broadcast that one port owns."""
    file = tmp_path / "wanted.toml"
    file.write_text(
        """\
[[groups]]
id = 0
ports = [1, 2, 3, 4]
slots = 512

[[rules]]
group = 0
op = "allreduce"
layer = "any"
chunk = "0-127"

[[rules]]
group = 0
op = "broadcast"
layer = "3-9"
inputs = [1]
outputs = [2, 3, 4]
priority = 17
"""
    )
    return file
