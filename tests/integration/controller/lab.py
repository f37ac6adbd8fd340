"""A controller in this process, the switch that it looks after, and leaders that the test plays."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from cais_tools.config import Config, Device
from cais_tools.controller.client import ControllerClient
from cais_tools.controller.daemon import Controller, ControllerConfig
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.session import SessionOptions, connect
from cais_tools.session.cais import CaisSwitch, State
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig

__all__ = ["JOB", "PORTS", "SETTINGS", "Lab", "Leader", "a_controller", "a_lab", "a_switch", "until"]

JOB = "job-1"
PORTS = (1, 2, 3, 4)
SETTINGS = {name: float(each.value) for name, each in Config().settings({}).items() if not isinstance(each.value, str)}


def until(condition: Callable[[], Any], what: str, seconds: float = 20.0) -> Any:
    """What `condition` returns once that is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")


class Leader:
    """Rank 0 of a group, as far as the controller sees it. With `answers` it does at once what it is told."""

    def __init__(self, client: ControllerClient, hello: pb.Hello, *, answers: bool = True, proves: bool = True) -> None:
        self.heard: list[pb.Directive] = []
        self.ended: grpc.StatusCode | None = None
        self.answers, self.proves = answers, proves
        self.operation = hello.next_operation
        self._outbox: queue.SimpleQueue[pb.LeaderMessage | None] = queue.SimpleQueue()
        self.say(hello=hello)
        self._call = client.attach(iter(self._outbox.get, None))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def say(self, **message: Any) -> None:
        self._outbox.put(pb.LeaderMessage(**message))

    def _listen(self) -> None:
        try:
            for directive in self._call:
                self.heard.append(directive)
                if self.answers:
                    self._answer(directive)
        except grpc.RpcError as error:
            self.ended = error.code()
        else:
            self.ended = grpc.StatusCode.OK

    def _answer(self, directive: pb.Directive) -> None:
        match directive.WhichOneof("directive"):
            case "force":
                self.say(changed=pb.Changed(request=directive.force.request, from_operation=self.operation))
            case "prove":
                self.say(proved=pb.Proved(request=directive.prove.request, right=self.proves, text=""))
            case _:
                pass

    def told(self, kind: str) -> list[Any]:
        return [getattr(each, kind) for each in list(self.heard) if each.WhichOneof("directive") == kind]

    def wait_for(self, kind: str, number: int = 1) -> Any:
        """The number-th directive of a kind."""
        return until(lambda: self.told(kind)[number - 1 :], f"{kind} among {self.heard}")[0]

    def leave(self) -> None:
        """End the stream as a process does that dies."""
        self._call.cancel()
        self._thread.join(5)


@dataclass
class Lab:
    switch: EmbeddedSwitch
    controller: Controller
    client: ControllerClient

    def create(self, group_id: int = 3, **more: Any) -> pb.Group:
        self.client.register_job("a test", JOB, 8)
        given: dict[str, Any] = {"ranks": range(4), "hub_address": "127.0.0.1:7", "hub_secret": b"\xff\x00", **more}
        return self.client.create_group(pb.CreateGroupRequest(job_id=JOB, group_id=group_id, **given))

    def lead(self, group: pb.Group, **more: Any) -> Leader:
        """A leader of a group that is new; its first block has come when this returns."""
        hello = pb.Hello(job_id=JOB, group_id=group.group_id, epoch=group.epoch)
        leader = Leader(self.client, hello, **more)
        leader.wait_for("block")
        return leader

    def on_switch(self) -> State:
        """What the switch says that it has."""
        with connect(self.switch.address, SessionOptions(read_only=True)) as session:
            return CaisSwitch(session).state()

    def group(self, group_id: int = 3) -> pb.GroupStatistics:
        return next(each for each in self.client.statistics().groups if each.group_id == group_id)


@contextmanager
def a_switch(address: str = "127.0.0.1:0", **more: Any) -> Generator[EmbeddedSwitch]:
    with EmbeddedSwitch(SwitchConfig(address, dict.fromkeys(PORTS, "cable:0:9"), **more)) as switch:
        yield switch


@contextmanager
def a_controller(*addresses: str, **more: Any) -> Generator[Controller]:
    devices = [Device(f"leaf{number}", address) for number, address in enumerate(addresses, 1)]
    with Controller(ControllerConfig("127.0.0.1:0", devices, SETTINGS, **more)) as controller:
        yield controller


@contextmanager
def a_lab(state: Path | None = None, **more: Any) -> Generator[Lab]:
    with (
        a_switch() as switch,
        a_controller(switch.address, state=state, **more) as controller,
        ControllerClient(controller.address, timeout=20.0) as client,
    ):
        yield Lab(switch, controller, client)
