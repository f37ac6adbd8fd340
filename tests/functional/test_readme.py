"""The README against the program: nothing left to fill in, no command or option that does not exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.functional.runner import ROOT, invoke

README = (ROOT / "README.md").read_text()
CONSOLE = "\n".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL))
GROUPS = ("rules", "config", "controller")
COMMANDS = sorted(set(re.findall(r"^\$ .*?((?:cais|cais-cli) [a-z][^\n#]*)$", CONSOLE, re.MULTILINE)))


def test_nothing_is_left_to_fill_in() -> None:
    assert not re.findall(r"\b[A-Z]+_OUTPUT\b|COOKIE|TODO|\bTBD\b", README)


def test_commands_are_found() -> None:
    assert {shlex.split(command)[1] for command in COMMANDS} >= {"smoke", "switch", "load", "add-rule", "dump-rules"}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_and_options_exist(command: str) -> None:
    _, *words = shlex.split(command.removesuffix("&"))
    names = words[:2] if words[0] in GROUPS else words[:1]
    arguments = words[len(names) :]
    shown = invoke(*names, "--help", env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    known = set(re.findall(r"(?<!\S)(--?[a-z][a-z0-9-]*)", shown.output))
    assert {each.split("=")[0] for each in arguments if each.startswith("-")} <= known


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / Path(target)).exists()


def test_the_last_line_of_the_smoke_test_is_true_to_form() -> None:
    form = r"^passed: 4 ranks, 100 steps of 11 operations, [\d,]+ packets, 0 mismatches in .* s$"
    last = re.search(form, CONSOLE, re.MULTILINE)
    assert last, "the README shows no smoke test that passed"
