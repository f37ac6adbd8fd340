"""Every alarm has a playbook, and everything that is shown of it is there."""

from __future__ import annotations

import pytest

from cais_tools.session.cais import ALARMS
from cais_tools.top.playbooks import EXPLANATIONS, read_playbook


def test_the_alarms_of_the_library_are_explained() -> None:
    assert set(ALARMS) <= set(EXPLANATIONS)


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_the_playbook_names_its_alarm(name: str) -> None:
    assert f"`{name}`" in read_playbook(EXPLANATIONS[name].playbook)
