"""`cais top`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.options import option
from cais_tools.cli.parse import parse_seconds
from cais_tools.errors import UsageError

_SHORTEST_S: Final = 0.01


@connects(changes=False)
def top(
    *,
    connection: Connection,
    interval: Annotated[
        str, option(envvar="CAIS_INTERVAL", metavar="TIME", help="How far apart the looks at a switch are.")
    ] = "1s",
    once: Annotated[bool, option("--once", help="No screen: print one round, as without a terminal.")] = False,
    json: Annotated[bool, option("--json", help="No screen: NDJSON, a document for each switch and round.")] = False,
    count: Annotated[
        int | None,
        option("--count", "-c", metavar="N", min=0, help="End after N rounds; without a screen, 0 is for ever."),
    ] = None,
    record: Annotated[Path | None, option("--record", metavar="FILE", help="Keep in FILE what is seen.")] = None,
    replay: Annotated[Path | None, option("--replay", metavar="FILE", help="Show what --record has kept.")] = None,
    seek: Annotated[
        str | None, option("--seek", metavar="TIME", help="Begin the replay there; -TIME: so long before its end.")
    ] = None,
    speed: Annotated[float, option("--speed", metavar="X", min=0.1, max=1000.0, help="Replay X times as fast.")] = 1.0,
    check: Annotated[
        bool, option("--check", help="Exit with 1 on a warning, 2 on a critical alarm, 3 where a switch is gone.")
    ] = False,
    controller: Annotated[
        str | None,
        option(
            "--controller",
            metavar="HOST[:PORT]",
            envvar="CAIS_CONTROLLER",
            show_default=False,
            help="Show what it does with groups, too.  [default: cais.toml's]",
        ),
    ] = None,
    write: Annotated[bool, option("--write", help="Allow the key f: a group goes back to its endpoints.")] = False,
) -> None:
    """Watch switches live.

    Devices, groups, ports and alarms with their curves, by keys and mouse (? shows them). Nothing is changed on a
    switch, unless with --write. Without a terminal (or on a dumb one) it prints one round, or --count of them.
    """
    seconds = parse_seconds(interval, option="--interval")
    if seconds < _SHORTEST_S:
        raise UsageError(f"--interval: {interval.strip()} is too short: a switch would do little else but answer")
    start = _start_of(seek)
    if replay is not None and (record is not None or write):
        raise UsageError("--replay goes neither with --record nor with --write", hint="a recording is no switch")
    if write and (once or json):
        raise UsageError("--write is for the screen: without it there are no keys", hint="leave out --once and --json")
    if replay is None and speed != 1.0:
        raise UsageError("--speed needs --replay", hint="--replay FILE is what --record FILE has kept")
    if replay is None and start is not None:
        raise UsageError("--seek needs --replay", hint="--replay FILE is what --record FILE has kept")
    has_screen = not (once or json) and sys.stdout.isatty() and not _is_dumb()
    if has_screen and not sys.stdin.isatty():
        raise UsageError("stdin is no terminal, so no key could be read: give it one, or use --once")
    # Whatever somebody asks gRPC to log would be written across the screen.
    os.environ["GRPC_VERBOSITY"] = "NONE"
    os.environ.pop("GRPC_TRACE", None)
    from cais_tools.cli.top_run import Wishes, run

    wishes = Wishes(seconds, count, once, json, check, write, record, replay, start, speed, controller)
    code = run(connection, wishes, has_screen=has_screen)
    if code:
        raise typer.Exit(code)


def _is_dumb() -> bool:
    """A terminal that cannot move its cursor: an Emacs shell, a build server."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def _start_of(seek: str | None) -> float | None:
    """Seconds from the beginning of a recording; negative: from its end."""
    if seek is None:
        return None
    text = seek.strip()
    if text.lstrip("-") in ("0", "0s"):
        return 0.0
    seconds = parse_seconds(text.removeprefix("-"), option="--seek")
    return -seconds if text.startswith("-") else seconds
