from __future__ import annotations

from collections.abc import Generator

import pytest

from cais_tools.session import Pipeline, SessionOptions, SwitchSession, connect, load_shipped
from cais_tools.session.cais import CaisSwitch
from tests.integration.session.targets import Bmv2, Embedded, SwitchUnderTest


@pytest.fixture(scope="module", params=["embedded", "embedded as bmv2", "bmv2"])
def target(request: pytest.FixtureRequest) -> Generator[SwitchUnderTest]:
    profile = "spec" if request.param == "embedded" else "bmv2"
    switch = Bmv2() if request.param == "bmv2" else Embedded(profile)
    try:
        switch.start()
        yield switch
    finally:
        switch.close()


@pytest.fixture(scope="session")
def pipeline() -> Pipeline:
    return load_shipped()


@pytest.fixture
def session(target: SwitchUnderTest) -> Generator[SwitchSession]:
    with connect(target.address, SessionOptions(timeout=20)) as opened:
        yield opened


@pytest.fixture
def cais(session: SwitchSession, pipeline: Pipeline) -> CaisSwitch:
    """The shipped program, freshly loaded."""
    session.load(pipeline)
    return CaisSwitch(session)
