"""What a word on the command line may go on as, with no switch that answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from cais_tools.cli.app import app
from cais_tools.cli.completer import candidates

CONFIG = """\
[devices.leaf1]
address = "127.0.0.1:1"
ports = { swp1 = 1, swp2 = 2 }
[devices.leaf2]
address = "127.0.0.1:2"
[[groups]]
id = 3
ports = ["swp1"]
"""


@pytest.fixture(scope="module")
def root() -> Any:
    return typer.main.get_command(app)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cais.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    for name in ("CAIS_CONFIG", "CAIS_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["lo"], ["load"]),
        (["config", ""], ["show", "check", "init"]),
        (["dump-rules", "--de"], ["--device", "--device-id"]),
        (["dump-rules", "--device", ""], ["leaf1", "leaf2", "all"]),
        (["dump-rules", "--device", "leaf"], ["leaf1", "leaf2"]),
        (["dump-rules", "--device", "leaf1,"], ["leaf1,leaf2"]),
        (["dump-rules", "--device=l"], ["--device=leaf1", "--device=leaf2"]),
        (["dump-rules", "--device", "=", "leaf2"], ["leaf2"]),
        (["dump-rules", "--device", "leaf1", "--devi"], ["--device", "--device-id"]),
        (["dump-rules", "--json", "--js"], []),
        (["dump-rules", "--group-id", ""], ["3"]),
        (["add-rule", "--device", "leaf1", "--input-ports", ""], ["swp1", "swp2"]),
        (["add-rule", "--device", "leaf1", "--input-ports", "swp1,"], ["swp1,swp2"]),
        (["add-rule", "--device", "leaf2", "--input-ports", ""], []),
        (["add-rule", "--op-type", "allr"], ["allreduce", "allreduce-max", "allreduce-min", "allreduce-product"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["switch", "inspect", "--time"], ["--timeout"]),
        (["--conf"], ["--config"]),
        (["--config", "no/such.toml", "lo"], ["load"]),
        (["build", "--target", ""], ["bmv2", "tofino"]),
        (["load", "--program", ""], []),
        (["frobnicate", ""], []),
        (["--frobnicate", "lo"], ["load"]),
    ],
)
def test_candidates(root: Any, words: Sequence[str], wanted: list[str]) -> None:
    assert [value for value, _ in candidates(root, words)] == wanted


def test_commands_are_explained_and_hidden_ones_are_not_there(root: Any) -> None:
    found = dict(candidates(root, [""]))
    assert found["load"] == "Load a P4 program into a switch."
    assert "complete" not in found
    assert "smoke" in found


def test_another_file(root: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other.toml").write_text('[devices.spine]\naddress = "127.0.0.1:1"\n')
    assert [value for value, _ in candidates(root, ["--config", "other.toml", "load", "--device", ""])] == ["spine"]
    monkeypatch.setenv("CAIS_CONFIG", "other.toml")
    assert [value for value, _ in candidates(root, ["load", "--device", ""])] == ["spine"]
