"""What holds for the package as a whole."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import cais_tools
from cais_tools import errors
from cais_tools.share import is_checkout, shared_folder

MODULES = sorted(module.name for module in pkgutil.walk_packages(cais_tools.__path__, "cais_tools."))
PUBLIC = [name for name in MODULES if not name.endswith("__main__")]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_there_and_sorted(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        pytest.skip("needs torch")
    names: list[str] = getattr(module, "__all__", [])
    assert all(hasattr(module, each) for each in names)
    # As ruff's RUF022 has it: constants, classes, then the rest.
    assert names == sorted(names, key=lambda each: (not each.isupper(), not each[:1].isupper(), each))


@pytest.mark.parametrize(
    "room",
    [
        "controller.daemon",
        "links",
        "p4rt",
        "session",
        "session.cais",
        "switch.embedded",
        "training.api",
        "training.autoload",
        "worker",
    ],
)
def test_the_core_draws_nothing_and_parses_no_command_line(room: str) -> None:
    code = f"import sys, cais_tools.{room}; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"typer", "rich", "textual", "scapy"} & set(output.split())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CaisError, 1),
        (errors.CheckFailed, 1),
        (errors.UsageError, 2),
        (errors.Unreachable, 3),
        (errors.DeadlineExceeded, 3),
        (errors.NotPermitted, 4),
        (errors.NotPrimary, 4),
        (errors.Refused, 5),
    ],
)
def test_errors_carry_their_exit_code(error: type[errors.CaisError], code: int) -> None:
    failure = error("what happened", hint="what to do")
    assert (failure.exit_code, str(failure), failure.hint) == (code, "what happened", "what to do")


def test_the_p4_program_and_the_playbooks_are_found() -> None:
    assert is_checkout()
    assert (shared_folder("p4") / "build" / "cais.json").is_file()
    assert list(shared_folder("playbooks").glob("*.md"))
    with pytest.raises(FileNotFoundError, match="missing from this installation"):
        shared_folder("nothing")
