"""What `cais top` asks of a switch, and the one thing that it changes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from cais_tools.config import Device
from cais_tools.errors import NotPrimary, Refused
from cais_tools.session import SessionOptions, connect
from cais_tools.session.cais import CaisSwitch
from cais_tools.session.observer import ask_primary
from cais_tools.top.live import Watcher, close_all, take_round
from cais_tools.top.observation import Observation
from cais_tools.top.writing import GroupRemover
from tests.functional.runner import invoke
from tests.integration.session.targets import Embedded
from tests.integration.top.furnished import furnish

READING = SessionOptions(timeout=20, read_only=True)
WRITING = SessionOptions(timeout=20)


@contextmanager
def a_switch(profile: Literal["spec", "bmv2"]) -> Generator[str]:
    """Its address; tests that change something have one of their own."""
    switch = Embedded(profile)
    try:
        switch.start()
        furnish(switch.address)
        yield switch.address
    finally:
        switch.close()


def device(address: str) -> Device:
    return Device("leaf", address, None, None, {})


def look(address: str) -> Observation:
    watcher = Watcher(device(address), READING)
    try:
        return take_round([watcher], 20)[0]
    finally:
        close_all([watcher])


def test_who_is_primary_is_asked_without_becoming_it(address: str) -> None:
    with connect(address, READING) as watching:
        assert not ask_primary(watching).is_taken
        with connect(address, WRITING) as other:
            other.require_primary("hold it")
            seen = ask_primary(watching)
            assert seen.is_taken
            assert seen.election_id == other.election_id
            other.require_primary("hold it still")
        assert not ask_primary(watching).is_taken


def test_a_look_tells_all_of_it(address: str) -> None:
    seen = look(address)
    assert seen.snapshot is not None
    assert seen.program is not None
    assert seen.rules is not None
    assert (seen.program.name, len(seen.rules), len(seen.snapshot.groups)) == ("cais", 2, 2)
    assert seen.open_slots is not None
    assert {member.rank for slot in seen.open_slots for member in slot.missing} == {2}


def test_a_switch_that_hides_its_registers_is_no_failure() -> None:
    with a_switch("bmv2") as address:
        seen = look(address)
    assert seen.snapshot is not None
    assert seen.slots_hidden is not None
    assert (seen.open_slots, seen.primary) == (None, None)


def test_a_group_goes_back_to_its_endpoints_and_comes_again(tmp_path: Path) -> None:
    with a_switch("spec") as address:
        remover = GroupRemover([device(address)], READING, tmp_path)
        removed = remover.remove_rules("leaf", 0)
        with connect(address, READING) as session:
            state = CaisSwitch(session).state()
        assert (removed.rules, [rule.group_id for rule in state.rules], sorted(state.groups)) == (1, [1], [0, 1])
        with pytest.raises(Refused, match="group 0 of leaf has no rules"):
            remover.remove_rules("leaf", 0)
        config = tmp_path / "cais.toml"
        config.write_text(f'[devices.leaf]\naddress = "{address}"\n')
        again = ("rules", "apply", "--keep-others", "--yes", str(removed.kept_in), "--config", str(config))
        result = invoke(*again)
        assert result.exit_code == 0, result.stderr
        with connect(address, READING) as session:
            assert [rule.group_id for rule in CaisSwitch(session).state().rules] == [0, 1]
        with connect(address, WRITING) as other:
            other.require_primary("hold it")
            with pytest.raises(NotPrimary):
                remover.remove_rules("leaf", 0)
