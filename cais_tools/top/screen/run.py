"""Runs the app on the terminal, and leaves that as it was."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Generator

from cais_tools.session.cais import Thresholds
from cais_tools.top.feed import Feed
from cais_tools.top.recording import Recorder
from cais_tools.top.rounds import exit_code
from cais_tools.top.screen.app import TopApp
from cais_tools.top.screen.driver import TopDriver, own_stderr
from cais_tools.top.steering import Steering
from cais_tools.top.writing import GroupRemover

__all__ = ["run_screen"]


@contextlib.contextmanager
def _seldom_collected() -> Generator[None]:
    """A fleet brings ten thousand objects a second, none of them in a cycle: to look for garbage among all that is
    there after every 700 of them would be a fifth of the work.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def run_screen(
    feed: Feed,
    thresholds: Thresholds,
    *,
    interval: float,
    rounds: int | None = None,
    check: bool = False,
    remover: GroupRemover | None = None,
    steering: Steering | None = None,
    recorder: Recorder | None = None,
) -> int:
    """Show what `feed` gives until somebody quits; return the exit code: that of a signal, of `check`, or 0.

    Raises whatever the app has ended with.
    """
    app = TopApp(
        feed,
        thresholds,
        interval=interval,
        rounds=rounds,
        remover=remover,
        steering=steering,
        recorder=recorder,
        colours=not os.environ.get("NO_COLOR"),
        driver_class=TopDriver,
    )
    try:
        with own_stderr(), _seldom_collected():
            app.run()
    finally:
        with contextlib.suppress(OSError):
            feed.close()
    if app.fault is not None:
        raise app.fault
    if app.return_code:
        return app.return_code
    return exit_code(app.live, check=True) if check else 0
