"""The two switches that are compared, with the same program and entries."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cais_tools.session.entities import Update
from cais_tools.session.pipeline import Pipeline
from cais_tools.session.session import SwitchSession, connect
from cais_tools.session.target import SessionOptions
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.conformance.fuzz.dataplane import Dataplane, bmv2
from tests.conformance.fuzz.values import PORTS
from tests.conformance.targets import DEVICE_ID

__all__ = ["Endless", "Sides", "both"]

_PASSES = 100
_TIMEOUT = 20.0


class Endless(Exception):
    """A packet that goes round for ever: nothing to send to bmv2."""


@dataclass(frozen=True)
class Sides:
    """Ours is the embedded switch, fed at its engine; bmv2 is fed over gRPC."""

    switch: EmbeddedSwitch
    dataplane: Dataplane
    sessions: tuple[SwitchSession, SwitchSession]

    def write(self, updates: Sequence[Update]) -> list[tuple[Update, str, str]]:
        """Write all to both; what only one of them takes, with the codes of ours and of bmv2."""
        ours, theirs = (session.try_write(updates) for session in self.sessions)
        pairs = zip(updates, ours, theirs, strict=True)
        return [(update, our.code, their.code) for update, our, their in pairs if our.ok != their.ok]

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """What our engine makes of a packet: (port, frame), in order."""
        device = self.switch.device
        frames: list[tuple[int, bytes]] = []
        with device.lock:  # or the packet thread would take what goes round
            engine = device._engine
            assert engine is not None, "no program is loaded"
            queued = engine.process_ingress(port, [frame])
            for _ in range(_PASSES):
                for each in queued:
                    sent = engine.process_egress(each)
                    if sent is not None:
                        frames.append((each.egress_port, sent))
                if not engine.pending:
                    return frames
                queued = engine.process_pending()
            engine._returned.clear()
            engine._cloned.clear()
        raise Endless


@contextlib.contextmanager
def both(pipeline: Pipeline, folder: Path) -> Generator[Sides]:
    """Both switches with a program. `folder` gets bmv2's log."""
    with contextlib.ExitStack() as stack:
        # Nobody is at the other end of the cables: they are there so that the ports exist.
        config = SwitchConfig("127.0.0.1:0", dict.fromkeys(PORTS, "cable:0:9"), device_id=DEVICE_ID)
        switch = stack.enter_context(EmbeddedSwitch(config))
        control, data = stack.enter_context(bmv2(folder / "bmv2.log"))
        options = SessionOptions(device_id=DEVICE_ID, timeout=_TIMEOUT)
        ours, theirs = (stack.enter_context(connect(each, options)) for each in (switch.address, control))
        for session in (ours, theirs):
            session.load(pipeline)
        dataplane = Dataplane(data)
        stack.callback(dataplane.close)
        yield Sides(switch, dataplane, (ours, theirs))
