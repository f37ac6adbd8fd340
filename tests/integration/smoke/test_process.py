"""The switch of a smoke test as a process: what it imports, and what it says when it does not start."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from cais_tools.errors import Unreachable
from cais_tools.smoke import process
from cais_tools.smoke.process import SwitchProcess

PORTS = {1: "cable:0:9"}


def test_modules_in_the_current_directory_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody imports queue and json, under sudo too."""
    for name in ("queue.py", "json.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'was-run')!r}, 'w'); raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    switch = SwitchProcess(PORTS)
    switch.stop()
    assert switch.address.startswith("127.0.0.1:")
    assert not (tmp_path / "was-run").exists()


def test_an_installed_package_needs_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    here = str(Path(process.__file__).parents[2])
    assert process._environment()["PYTHONPATH"] == os.pathsep.join((here, "/elsewhere"))
    monkeypatch.setattr(process, "is_checkout", lambda: False)
    assert process._environment()["PYTHONPATH"] == "/elsewhere"
    monkeypatch.delenv("PYTHONPATH")
    assert "PYTHONPATH" not in process._environment()


@pytest.mark.parametrize("said", ["warning: old kernel", '{"grpc": "127.0.0.1:1"}', "[]"])
def test_a_ready_line_that_says_something_else(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho 'my last words' >&2\necho '{said}'\nexec sleep 60\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(Unreachable, match="does not say where it listens") as caught:
        SwitchProcess(PORTS)
    assert "my last words" in str(caught.value)
