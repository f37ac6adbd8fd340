from __future__ import annotations

import pytest

from cais_tools.share import shared_folder


@pytest.fixture(scope="session")
def p4_source() -> dict[str, str]:
    return {path.name: path.read_text() for path in shared_folder("p4").glob("*.p4")}
