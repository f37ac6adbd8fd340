from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from cais_tools.share import shared_folder

MOST_WORKERS = 8  # each collects all tests, which takes it ten seconds


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite with pytest-xdist, as with `-n auto`: half of its time is waiting for processes and networks.

    A part of it runs in this process, as does everything with `-n0`, `-p no:xdist` or `--pdb`. Tests of one file mostly
    stay together, and with them their switch.
    """
    option = config.option
    if getattr(option, "numprocesses", 0) is not None or hasattr(config, "workerinput"):
        return
    a_part = (
        option.keyword or option.markexpr or getattr(option, "lf", False) or config.args != config.getini("testpaths")
    )
    if not (a_part or option.collectonly or option.usepdb):
        option.numprocesses, option.dist = "auto", "worksteal"
        option.maxprocesses = option.maxprocesses or MOST_WORKERS


@pytest.fixture(scope="session")
def p4_source() -> dict[str, str]:
    return {path.name: path.read_text() for path in shared_folder("p4").glob("*.p4")}


@pytest.fixture(autouse=True, scope="session")
def no_configuration_of_the_user() -> Generator[None]:
    """Whoever runs the tests may have a cais.toml that names real switches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", os.devnull)
        yield
