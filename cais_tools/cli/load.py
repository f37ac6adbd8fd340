"""`cais load`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cais_tools.cli.options import DEFAULT_DEVICE, Device, DeviceId, Json, TakeOver, Timeout, option
from cais_tools.cli.output import emit_json, say
from cais_tools.cli.parse import parse_port_list
from cais_tools.errors import CaisError, UsageError

if TYPE_CHECKING:
    from cais_tools.session import LoadReport, Pipeline, ProgramInfo
    from cais_tools.session.cais import CaisSwitch


def load(
    device: Device = DEFAULT_DEVICE,
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
    device_id: DeviceId = None,
    take_over: TakeOver = False,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Load a P4 program into a switch.

    Whatever ran there before is gone: its entries, groups and counters.
    """
    from cais_tools.cli.devices import open_session
    from cais_tools.session import load_shipped, read_pipeline
    from cais_tools.session.cais import CaisSwitch

    flood = parse_port_list(ports, option="--ports") if ports else ()
    pipeline = read_pipeline(program, _p4info_of(program, p4info)) if program else load_shipped()
    if p4info and not program:
        raise UsageError("--p4info belongs to a --program", hint="give both, or none for the shipped program")
    with open_session(device, device_id=device_id, take_over=take_over, timeout=timeout) as session:
        report = session.load(pipeline, dry_run=dry_run)
        if not json:
            _say(device, pipeline, report)
        if flood and not dry_run:
            _flood(CaisSwitch(session), flood, report, device)
    if json:
        emit_json("cais.load/1", {"device": device, "flood_ports": list(flood), **_as_dict(report)})


def _flood(switch: CaisSwitch, ports: tuple[int, ...], report: LoadReport, device: str) -> None:
    """The program is loaded by now: an error has to say so."""
    try:
        switch.set_flood_ports(ports)
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


def _as_dict(report: LoadReport) -> dict[str, Any]:
    return {
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
