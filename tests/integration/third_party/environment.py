"""Virtual environments for clients whose pins exclude ours, and scripts that run in them."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

__all__ = ["Environment", "converse"]

SCRIPTS = Path(__file__).parent / "scripts"

_INSTALL_SECONDS = 90
_SCRIPT_SECONDS = 60


class Environment:
    """A virtual environment with these requirements from PyPI; skips the test where pip cannot install them."""

    def __init__(self, folder: Path, requirements: Sequence[str]) -> None:
        venv.create(folder)
        self.python = folder / "bin" / "python"
        # Our own pip installs into it, and compiles nothing ahead: little of what is installed is ever imported.
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--quiet", "--disable-pip-version-check"]
        command = [*pip, "install", "--no-compile", *requirements]
        try:
            finished = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"pip did not install {', '.join(requirements)} within {_INSTALL_SECONDS} s")
        if finished.returncode != 0:
            last = (finished.stderr.strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"pip cannot install {', '.join(requirements)}: {last}")


def converse(
    environment: Environment, script: str, arguments: Sequence[str], answer: Callable[..., object], log: Path
) -> None:
    """Run a script of `scripts/`, and answer what it asks; it must end with 0.

    A line `@@ [NAME, ARGUMENTS...]` of its output (JSON) is `answer(NAME, ARGUMENTS...)`, whose result goes back as a
    line of JSON. What else it prints is kept in `log`, and shown when it fails.
    """
    with log.open("w") as errors:
        process = subprocess.Popen(
            [environment.python, "-u", SCRIPTS / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if not line.startswith("@@ "):
                    errors.write(line)
                    continue
                process.stdin.write(json.dumps(answer(*json.loads(line[3:]))) + "\n")
                process.stdin.flush()
            process.wait(_SCRIPT_SECONDS)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == 0, log.read_text()[-4000:]
