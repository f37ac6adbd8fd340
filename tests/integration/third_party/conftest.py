from __future__ import annotations

import pytest

from tests.integration.third_party.environment import Environment


@pytest.fixture(scope="session")
def p4runtime_shell(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("p4runtime-shell"), ["p4runtime-shell==0.0.6"])


@pytest.fixture(scope="session")
def finsy(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("finsy"), ["finsy==0.30.0"])
