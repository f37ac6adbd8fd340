from __future__ import annotations

from collections.abc import Generator

import pytest

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.session import SessionOptions, SwitchSession, connect
from tests.unit.session.demo import demo_index
from tests.unit.session.fake_switch import Behaviour, FakeSwitch

COOKIE = 77 << 32 | 1


@pytest.fixture(params=["spec", "bmv2"])
def fake(request: pytest.FixtureRequest) -> Generator[FakeSwitch]:
    """A switch without a program, by the specification and as bmv2 deviates from it."""
    switch = FakeSwitch(Behaviour(bmv2=request.param == "bmv2"))
    switch.start()
    yield switch
    switch.stop()


@pytest.fixture
def session(fake: FakeSwitch) -> Generator[SwitchSession]:
    """A primary session; the demo program is loaded."""
    fake.config = p4runtime_pb2.ForwardingPipelineConfig(
        p4info=demo_index().message, cookie=p4runtime_pb2.ForwardingPipelineConfig.Cookie(cookie=COOKIE)
    )
    with connect(fake.address, SessionOptions(timeout=10)) as opened:
        yield opened
