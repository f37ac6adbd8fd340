from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from cais_tools.share import shared_folder


@pytest.fixture(scope="session")
def p4_source() -> dict[str, str]:
    return {path.name: path.read_text() for path in shared_folder("p4").glob("*.p4")}


@pytest.fixture(autouse=True, scope="session")
def no_configuration_of_the_user() -> Generator[None]:
    """Whoever runs the tests may have a cais.toml that names real switches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", os.devnull)
        yield
