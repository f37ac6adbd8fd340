"""The fifteen rules of the data plane, on every switch there is."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from cais_tools.session.program import load_shipped, shipped_program
from tests.conformance import one_access
from tests.conformance.fabric import Fabric
from tests.conformance.rules import RULES
from tests.conformance.targets import bmv2_fabric, embedded_fabric, skip_without_bmv2


@pytest.fixture(params=["embedded", "bmv2"])
def fabric(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Fabric]:
    if request.param == "bmv2":
        skip_without_bmv2()
        with bmv2_fabric(load_shipped(), tmp_path / "bmv2.log") as running:
            yield running
    else:
        with embedded_fabric(load_shipped()) as running:
            yield running


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str, fabric: Fabric) -> None:
    RULES[rule](fabric)


def test_rule_13_fails_where_a_controller_starts_a_job_anew(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutation of this check: it is the control plane that could break the rule, not the program."""
    reconnect = fabric.reconnect
    monkeypatch.setattr(fabric, "reconnect", lambda: (reconnect(), fabric.start_job(0)))
    with pytest.raises(AssertionError):
        RULES["13-controller"](fabric)


def test_rule_15_one_access_to_each_register_all_in_ingress() -> None:
    one_access.check(json.loads(shipped_program()[0].read_text()))
