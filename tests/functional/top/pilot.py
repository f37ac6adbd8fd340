"""The app in this process, with switches that are nowhere, and a pilot that presses its keys."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, ParamSpec, cast

from textual import _wait
from textual.pilot import Pilot

from cais_tools.top.feed import Feed
from cais_tools.top.screen.app import TopApp
from cais_tools.top.screen.live_table import LiveTable
from cais_tools.top.screen.styled import Lines
from tests.unit.top.scenes import START, Scripted, a_fleet

__all__ = ["NOW", "came_true", "in_loop", "running", "settle", "shown", "table", "utc"]

P = ParamSpec("P")

NOW = START + 90

# How long the pilot waits, after each key, for an app that has nothing to do any more: ours is quick.
_wait.SLEEP_GRANULARITY = 1 / 250


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs an asynchronous test."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@contextmanager
def utc() -> Generator[None]:
    """Times of day as they are in UTC, wherever the tests run."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


@asynccontextmanager
async def running(
    feed: Feed | None = None, size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncGenerator[Pilot[None]]:
    """The app with a fleet of three in trouble, or with `feed`; what that has at first is shown already."""
    feed = Scripted(a_fleet()) if feed is None else feed
    with utc():
        options.setdefault("clock", lambda: NOW)
        app = TopApp(feed, **options)
        if app.no_color is False:
            app.theme = "textual-dark"  # whatever the terminal of the tests can do
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            yield pilot


def app_of(pilot: Pilot[None]) -> TopApp:
    return cast("TopApp", pilot.app)


async def settle(pilot: Pilot[None]) -> None:
    """Until all that has come is shown."""
    app = app_of(pilot)
    while app._is_woken:
        await pilot.pause(0.01)
    await pilot.pause()


async def came_true(pilot: Pilot[None], condition: Callable[[], bool]) -> bool:
    """Whether it becomes true: what widgets do by themselves takes its time, on a busy machine a long one."""
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            return False
        await pilot.pause(0.02)
    return True


def table(pilot: Pilot[None], name: str) -> LiveTable:
    return pilot.app.screen.query_one(f"#{name}", LiveTable)


def shown(pilot: Pilot[None]) -> str:
    """The text on the screen."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def line(pilot: Pilot[None], name: str) -> str:
    return pilot.app.screen.query_one(f"#{name}", Lines).text
