"""`cais load`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.fleet import raise_worst, run_on_all, say_fleet_json, say_verdicts
from cais_tools.cli.options import Json, option
from cais_tools.cli.output import emit_json, say
from cais_tools.cli.parse import parse_port_list
from cais_tools.errors import CaisError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cais_tools.config import Device
    from cais_tools.session import LoadReport, Pipeline, ProgramInfo, SwitchSession


@connects(changes=True)
def load(
    *,
    connection: Connection,
    program: Annotated[
        Path | None,
        option(envvar="CAIS_PROGRAM", metavar="FILE", help="bmv2 JSON of p4c.  [default: the shipped program]"),
    ] = None,
    p4info: Annotated[
        Path | None,
        option(envvar="CAIS_P4INFO", metavar="FILE", help="P4Info of the program, text or binary."),
    ] = None,
    ports: Annotated[str | None, option(metavar="LIST", help="Ports that unknown traffic is flooded to.")] = None,
    dry_run: Annotated[bool, option("--dry-run", help="Let the switch verify the program, load nothing.")] = False,
    json: Json = False,
) -> None:
    """Load a P4 program into a switch.

    Whatever ran there before is gone: its entries, groups and counters.
    """
    from cais_tools.session import load_shipped, read_pipeline

    devices = connection.devices()
    flood = {
        device.name: parse_port_list(ports, option="--ports", device=device) if ports else () for device in devices
    }
    pipeline = read_pipeline(program, _p4info_of(program, p4info)) if program else load_shipped()
    if p4info and not program:
        raise UsageError("--p4info belongs to a --program", hint="give both, or none for the shipped program")
    if len(devices) > 1:
        _load_all(connection, devices, pipeline, flood, dry_run, json)
        return
    (device,) = devices
    with connection.open(device) as session:
        report = session.load(pipeline, dry_run=dry_run)
        if not json:
            _say(device.name, pipeline, report)
        _flood(session, flood[device.name], report, device.name)
    if json:
        emit_json("cais.load/1", {"device": device.name, **_as_dict(report, flood[device.name])})


def _load_all(
    connection: Connection,
    devices: Sequence[Device],
    pipeline: Pipeline,
    flood: Mapping[str, tuple[int, ...]],
    dry_run: bool,
    json: bool,
) -> None:
    def work(session: SwitchSession, device: Device) -> LoadReport:
        report = session.load(pipeline, dry_run=dry_run)
        _flood(session, flood[device.name], report, device.name)
        return report

    outcomes = run_on_all(connection, devices, work)
    if json:
        say_fleet_json("load", outcomes, lambda device, report: _as_dict(report, flood[device.name]))
    else:
        say_verdicts(outcomes, lambda report: _in_short(pipeline, report))
    raise_worst(outcomes)


def _in_short(pipeline: Pipeline, report: LoadReport) -> str:
    if report.dry_run:
        return f"accepts {pipeline.name} (cookie {pipeline.fingerprint:08x}); nothing was loaded"
    again = " again" if report.is_same_program else ""
    gone = f"; {report.entries_dropped} old entries are gone" if report.entries_dropped else ""
    return f"loaded {pipeline.name}{again} (cookie {pipeline.fingerprint:08x}){gone}"


def _flood(session: SwitchSession, ports: tuple[int, ...], report: LoadReport, device: str) -> None:
    """The program is loaded by now: an error has to say so."""
    from cais_tools.session.cais import CaisSwitch

    if not ports or report.dry_run:
        return
    try:
        CaisSwitch(session).set_flood_ports(ports)
    except CaisError as error:
        lost = f" ({report.entries_dropped} entries of the old one are gone)" if report.entries_dropped else ""
        error.message = f"{device} has the new program{lost}, but not its flood ports: {error.message}"
        raise


def _p4info_of(program: Path, p4info: Path | None) -> Path:
    """What `cais build` writes beside a program."""
    if p4info is not None:
        return p4info
    if program.suffix == ".p4":
        raise UsageError(f"{program} is source, not a compiled program", hint="compile it first: cais build")
    if not program.exists():
        raise UsageError(f"there is no file {program}")
    for suffix in (".p4info.txtpb", ".p4info.txt"):
        beside = program.with_suffix(suffix)
        if beside.is_file():
            return beside
    raise UsageError(f"there is no P4Info beside {program}", hint="name it with --p4info")


def _as_dict(report: LoadReport, flood: tuple[int, ...]) -> dict[str, Any]:
    return {
        "flood_ports": list(flood),
        "dry_run": report.dry_run,
        "same_program": report.is_same_program,
        "before": report.before and _program(report.before),
        "after": _program(report.after),
        "entries_dropped": report.entries_dropped,
    }


def _program(info: ProgramInfo) -> dict[str, Any]:
    cookie = None if info.fingerprint is None else f"{info.fingerprint:08x}"
    return {"name": info.name, "arch": info.arch, "cookie": cookie, "tables": info.tables, "entries": info.entries}


def _say(device: str, pipeline: Pipeline, report: LoadReport) -> None:
    say(f"before: {report.before or 'no program'}")
    if report.dry_run:
        say(f"{device} accepts {pipeline.name} (cookie {pipeline.fingerprint:08x}); nothing was loaded")
        return
    say(f"after:  {report.after}")
    if report.entries_dropped:
        entries = "entry" if report.entries_dropped == 1 else "entries"
        say(f"{report.entries_dropped} {entries} of the old program, its groups and counters are gone")
    say(f"loaded {pipeline.name} on {device}{' (the same program again)' if report.is_same_program else ''}")
