from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.functional.runner import invoke
from tests.integration.switches import RunningSwitch, running_switch


@pytest.fixture(scope="module")
def switch() -> Generator[RunningSwitch]:
    with running_switch() as running:
        yield running


@pytest.fixture
def loaded(switch: RunningSwitch) -> str:
    """The address of a switch that runs the shipped program, without any entry."""
    result = invoke("load", "--device", switch.address)
    assert result.exit_code == 0, result.stderr
    return switch.address
