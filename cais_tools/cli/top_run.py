"""What `cais top` does with its options: a screen, or rounds of text or JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cais_tools.cli.output import emit_json, note, say
from cais_tools.cli.stats import thresholds_of
from cais_tools.config import TlsFiles

if TYPE_CHECKING:
    from cais_tools.cli.devices import Connection
    from cais_tools.top.live import Watcher
    from cais_tools.top.model import Model
    from cais_tools.top.recording import Recorder
    from cais_tools.top.steering import Steering

__all__ = ["Wishes", "run"]


@dataclass(frozen=True)
class Wishes:
    """The options. `start` is where a replay begins: seconds from its beginning, or from its end if negative."""

    interval: float
    count: int | None
    once: bool
    json: bool
    check: bool
    write: bool
    record: Path | None
    replay: Path | None
    start: float | None
    speed: float
    controller: str | None

    @property
    def rounds(self) -> int:
        """How many there are without a screen; 0: without end."""
        return 1 if self.once or self.count is None else self.count


def run(connection: Connection, wishes: Wishes, *, has_screen: bool) -> int:
    """Show it, and return the exit code."""
    if wishes.replay is not None:
        return _replay(connection, wishes, wishes.replay, has_screen=has_screen)
    from cais_tools.top.live import Watcher

    thresholds = thresholds_of(connection)
    with ExitStack() as stack:
        steering = _steering(connection, wishes, stack)
        watchers = [Watcher(device, connection.options(), steering) for device in connection.devices()]
        recorder = _recorder(wishes, watchers, stack)
        if has_screen:
            return _live_screen(connection, wishes, watchers, recorder, steering)
        from cais_tools.top.rounds import live_rounds

        patience = connection.timeout + 1.0
        rounds = live_rounds(watchers, wishes.interval, wishes.rounds, patience, recorder, thresholds)
        code = _print(rounds, wishes)
        if recorder is not None and recorder.error is not None:
            note(f"the recording has ended early: {recorder.error}")
        return code


def _steering(connection: Connection, wishes: Wishes, stack: ExitStack) -> Steering | None:
    """The controller that was named, here or in the file; nobody has to run one."""
    settings = connection.config.settings(flags={"controller": wishes.controller} if wishes.controller else {})
    if settings["controller"].source == "default":
        return None
    from cais_tools.controller.client import parse_controller
    from cais_tools.top.steering import Steering

    address = parse_controller(str(settings["controller"].value), int(settings["controller_port"].value))
    steering = Steering(str(address), _controller_tls())
    stack.callback(steering.close)
    if not steering.wait(1.0) and wishes.controller:
        note(f"no controller answers at {address}: nothing is shown of what it does")
    return steering


def _controller_tls() -> TlsFiles | None:
    """The environment's files for TLS to the controller, as its own commands have them."""
    names = ("CAIS_CONTROLLER_TLS_CA", "CAIS_CONTROLLER_CLIENT_CERT", "CAIS_CONTROLLER_CLIENT_KEY")
    ca, cert, key = (Path(os.environ[name]) if os.environ.get(name) else None for name in names)
    return TlsFiles(ca, cert, key) if ca or cert or key else None


def _recorder(wishes: Wishes, watchers: list[Watcher], stack: ExitStack) -> Recorder | None:
    if wishes.record is None:
        return None
    from cais_tools.top.recording import Recorder

    recorder = Recorder(wishes.record, [watcher.source for watcher in watchers], wishes.interval)
    stack.callback(recorder.close)
    return recorder


def _live_screen(
    connection: Connection,
    wishes: Wishes,
    watchers: list[Watcher],
    recorder: Recorder | None,
    steering: Steering | None,
) -> int:
    from cais_tools.top.live import Live
    from cais_tools.top.screen.run import run_screen
    from cais_tools.top.writing import GroupRemover

    live = Live(watchers, wishes.interval, recorder)
    remover = GroupRemover(connection.devices(), connection.options()) if wishes.write else None
    return run_screen(
        live,
        thresholds_of(connection),
        interval=wishes.interval,
        rounds=wishes.count or None,
        check=wishes.check,
        remover=remover,
        steering=steering,
        recorder=recorder,
    )


def _replay(connection: Connection, wishes: Wishes, path: Path, *, has_screen: bool) -> int:
    from cais_tools.top.recording import Recording

    thresholds = thresholds_of(connection)
    with Recording(path) as recording:
        if has_screen:
            from cais_tools.top.replay import Replay
            from cais_tools.top.screen.run import run_screen

            replay = Replay(recording, speed=wishes.speed, start=wishes.start or 0.0)
            return run_screen(replay, thresholds, interval=recording.interval, check=wishes.check)
        from cais_tools.top.rounds import replayed_rounds

        return _print(replayed_rounds(recording, wishes.start, wishes.rounds, thresholds), wishes)


def _print(models: Iterator[Model], wishes: Wishes) -> int:
    """Print each round; the exit code is that of the last one."""
    from cais_tools.top.documents import SCHEMA, device_document
    from cais_tools.top.plain import text_of
    from cais_tools.top.rounds import exit_code

    code = 0
    for number, model in enumerate(models):
        if wishes.json:
            for device in model.devices.values():
                emit_json(SCHEMA, device_document(model, device))
        else:
            say(("\n" if number else "") + text_of(model))
            sys.stdout.flush()
        code = exit_code(model, check=wishes.check)
        if code and not wishes.json:
            _explain(model)
    return code


def _explain(model: Model) -> None:
    """Why switches could not be read; what to do, where anybody knows."""
    for device in model.devices.values():
        if device.failure is not None:
            hint = f" ({device.failure.hint})" if device.failure.hint else ""
            note(f"error: {device.name}: {device.failure.message}{hint}")
