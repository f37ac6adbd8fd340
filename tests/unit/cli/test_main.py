from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_MAIN = """
import os, sys
sys.argv = ["cais", "--version"]
from cais_tools.cli import main
try:
    main()
finally:
    print(os.environ["GRPC_VERBOSITY"])
"""


@pytest.mark.parametrize(("given", "expected"), [({}, "NONE"), ({"GRPC_VERBOSITY": "DEBUG"}, "DEBUG")])
def test_grpc_is_quiet_in_the_commands_unless_told_otherwise(given: dict[str, str], expected: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}
    environment = {**kept, "PYTHONPATH": str(Path(__file__).parents[3]), **given}
    done = subprocess.run([sys.executable, "-c", _MAIN], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == expected
