"""`cais show-stats`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.options import Json, option
from cais_tools.cli.output import emit_json, say
from cais_tools.cli.parse import parse_seconds
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.fleet.sampling import FleetSampler, Sample
    from cais_tools.session.cais import Thresholds


@connects(changes=False)
def show_stats(
    *,
    connection: Connection,
    watch: Annotated[
        str | None, option(metavar="TIME", help="Again and again, this far apart: in place, or as NDJSON in a pipe.")
    ] = None,
    count: Annotated[int | None, option("--count", "-c", metavar="N", min=1, help="End --watch after N times.")] = None,
    group: Annotated[
        int | None, option("--group", "-g", "--group-id", metavar="N", min=0, max=255, help="Only this group.")
    ] = None,
    slots: Annotated[
        bool, option("--slots", help="The slots that wait, the oldest first, and the ranks that they wait for.")
    ] = False,
    interval: Annotated[
        str, option(envvar="CAIS_INTERVAL", metavar="TIME", help="Time over which rates are measured.")
    ] = "1s",
    json: Json = False,
) -> None:
    """Show what the switch does now.

    Slots in use, reduce throughput, queue delay and fallback; then groups, ports, percentiles, rates and alarms. Rates
    and delays are those of the interval. Several devices: a line for each.
    """
    seconds = parse_seconds(interval if watch is None else watch, option="--interval" if watch is None else "--watch")
    if count is not None and watch is None:
        raise UsageError("--count needs --watch", hint="for example --watch 1s --count 10")
    if slots:
        _show_slots(connection, group, seconds, (count, watch is not None), json=json)
        return
    from cais_tools.fleet.sampling import FleetSampler

    devices, patience = connection.devices(), connection.timeout + 1.0
    sampler = FleetSampler(devices, connection.options(), thresholds_of(connection))
    try:
        if watch is None:
            _show_once(sampler, seconds, patience, group, json=json)
        else:
            _watch(sampler, seconds, patience, count, _renderer(group, json=json))
    finally:
        sampler.close()


def thresholds_of(connection: Connection) -> Thresholds:
    """Those of the design; the advice against overload begins with the threshold that is configured."""
    from cais_tools.session.cais import Thresholds

    return Thresholds(offload_threshold=float(connection.config.settings()["offload_threshold"].value))


def _first_round(sampler: FleetSampler, patience: float) -> list[Sample]:
    """The readings that rates start from. Raises the error of a switch that is the only one."""
    samples = sampler.take(patience)
    if len(samples) == 1:
        _end(samples)
    return samples


def _end(samples: Sequence[Sample]) -> None:
    """Raise the error of the only switch, or one that has the exit code of the worst."""
    from cais_tools.cli.fleet import raise_worst

    if len(samples) == 1 and samples[0].error is not None:
        raise samples[0].error
    raise_worst([sample.outcome for sample in samples])


def _show_once(sampler: FleetSampler, seconds: float, patience: float, group: int | None, *, json: bool) -> None:
    import time

    from cais_tools.cli.fleet import say_fleet_json
    from cais_tools.cli.stats_json import SCHEMA, reading_document, sample_document

    samples = _first_round(sampler, patience)
    if any(each.reading is not None for each in samples):
        time.sleep(seconds)
        samples = sampler.take(patience)
    if len(samples) == 1:
        _end(samples)
    if not json:
        say(_text(samples, group))
    elif len(samples) == 1:
        emit_json(SCHEMA, sample_document(samples[0], group))
    else:
        outcomes = [each.outcome for each in samples]
        say_fleet_json("show-stats", outcomes, lambda device, reading: reading_document(device, reading, group))
    _end(samples)


def _text(samples: Sequence[Sample], group: int | None) -> str:
    from cais_tools.cli.stats_text import fleet_text, reading_text
    from cais_tools.fleet.sampling import port_labels

    colour = sys.stdout.isatty()
    if len(samples) > 1:
        return fleet_text(samples, group, colour=colour)
    sample = samples[0]
    if sample.reading is None:
        return f"Device: {sample.device.name}\nerror: {sample.error}"
    return reading_text(sample.device.name, sample.reading, port_labels(sample.device), group, colour=colour)


Render = Callable[["Sequence[Sample]"], None]


def _renderer(group: int | None, *, json: bool) -> Render:
    """How a watch shows a round: NDJSON, or text over the text before (after it, where the terminal cannot)."""
    from cais_tools.cli.stats_json import SCHEMA, sample_document
    from cais_tools.cli.watch import Painter

    if json or not sys.stdout.isatty():

        def tell(samples: Sequence[Sample]) -> None:
            for sample in samples:
                emit_json(SCHEMA, sample_document(sample, group))

        return tell
    painter = Painter()
    return lambda samples: painter.draw(_text(samples, group))


def _watch(sampler: FleetSampler, seconds: float, patience: float, count: int | None, render: Render) -> None:
    """Show rounds until `count`, or for ever. A switch that cannot be read has its line, and comes back by itself."""
    from cais_tools.cli.watch import ticks

    samples = _first_round(sampler, patience)
    if all(sample.error is not None for sample in samples):
        render(samples)
        _end(samples)
    for _ in ticks(seconds, count):
        samples = sampler.take(patience if len(samples) == 1 else min(patience, max(2 * seconds, 2.0)))
        render(samples)
    _end(samples)


def _show_slots(
    connection: Connection, group: int | None, seconds: float, rounds: tuple[int | None, bool], *, json: bool
) -> None:
    """`rounds`: how many, and whether it is a watch."""
    from cais_tools.cli.stats_json import slot_document, time_fields
    from cais_tools.cli.stats_text import slots_text
    from cais_tools.cli.watch import Painter, ticks
    from cais_tools.fleet.sampling import port_labels
    from cais_tools.session.cais import CaisSwitch

    count, watched = rounds
    device = connection.device()
    ports = port_labels(device)
    painter = Painter() if watched and sys.stdout.isatty() and not json else None
    with connection.open(device) as session:
        switch = CaisSwitch(session)
        for _ in ticks(seconds, count) if watched else (1,):
            found = switch.open_slots(None if group is None else [group])
            if json or (watched and painter is None):
                slots = [slot_document(each, ports) for each in found]
                emit_json("cais.slots/1", {"device": device.name, **time_fields(), "open": len(found), "slots": slots})
            elif painter is None:
                say(slots_text(found, ports))
            else:
                painter.draw(f"Device: {device.name}\n{slots_text(found, ports)}")
