"""Every rule's check fails on a program in which the rule is broken. Needs p4c, to compile the broken programs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cais_tools import p4c
from cais_tools.session.pipeline import read_pipeline
from cais_tools.share import shared_folder
from tests.conformance import one_access, rules
from tests.conformance.mutations import MUTATIONS, Mutation
from tests.conformance.targets import embedded_fabric

pytestmark = [
    pytest.mark.skipif(shutil.which("p4c") is None, reason="p4c is not on PATH"),
    pytest.mark.timeout(180),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.check}: {mutation.name}")
def test_broken_rule_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    built = p4c.build(_broken_sources(mutation, tmp_path / "p4"), tmp_path / "build", {"LANES": "32"})
    if mutation.check == "15-one-access":
        with pytest.raises(AssertionError):
            one_access.check(json.loads(built.json.read_text()))
    else:
        with embedded_fabric(read_pipeline(built.json, built.p4info)) as fabric, pytest.raises(Exception) as failure:
            rules.RULES[mutation.check](fabric)
        assert isinstance(failure.value, AssertionError | mutation.raises), failure.value


def test_every_rule_has_a_mutation() -> None:
    broken = {mutation.check for mutation in MUTATIONS}
    assert broken == {*rules.RULES, "15-one-access"} - {"13-controller"}, "13-controller is broken in test_rules.py"


def _broken_sources(mutation: Mutation, folder: Path) -> Path:
    shutil.copytree(shared_folder("p4"), folder, ignore=shutil.ignore_patterns("build"))
    source = folder / mutation.file
    text = source.read_text()
    assert text.count(mutation.before) == 1, f"{mutation.file} has changed: adapt the mutation"
    source.write_text(text.replace(mutation.before, mutation.after))
    return folder
