"""Running the program: in this process with Typer's runner, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from cais_tools.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


def invoke(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
    return CliRunner(env=env).invoke(app, list(arguments), prog_name="cais")


def environment(**changes: str) -> dict[str, str]:
    """The environment without what a developer may have set for these commands, and without a terminal's size: Python's
    readline, which pytest-xdist loads, sets one.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CAIS_")}
    kept = {name: value for name, value in kept.items() if name not in ("COLUMNS", "LINES")}
    return {**kept, "PYTHONPATH": str(ROOT), **changes}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cais_tools.cli", *arguments]


def run(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        env=environment(**env),
        cwd=cwd,
        check=False,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )


def error_of(finished: subprocess.CompletedProcess[str] | Result) -> dict[str, Any]:
    """The JSON error, which is all that stderr holds."""
    document: dict[str, Any] = json.loads(finished.stderr)
    assert document["schema"] == "cais.error/1"
    assert finished.stdout == ""
    return document
