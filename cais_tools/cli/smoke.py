"""`cais smoke`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.options import SWITCH_PANEL, GroupId, Json, option
from cais_tools.cli.output import emit_json, note, say
from cais_tools.cli.parse import parse_bytes, parse_probability, parse_seconds
from cais_tools.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cais_tools.config import Device
    from cais_tools.links.faults import FaultModel
    from cais_tools.smoke.plan import Plan
    from cais_tools.smoke.settings import Settings

_GENERATED_STEPS = 1
_STEPS = 100
_RANKS = 4
_GENERATE_GOES_WITH = {"generate", "group_id", "steps", "ranks", "size", "ops", "seed", "json", "config"}


SmokeDevice: TypeAlias = Annotated[
    list[str] | None,
    option(
        "--device",
        rich_help_panel=SWITCH_PANEL,
        envvar="CAIS_DEVICE",
        metavar="NAME|HOST[:PORT]",
        show_default=False,
        help="A switch that runs, with --ports.  [default: start one]",
    ),
]


@connects(changes=True, without=("timeout",), device=SmokeDevice)
def smoke(
    *,
    ctx: typer.Context,
    connection: Connection,
    ports: Annotated[
        str | None,
        option(envvar="CAIS_PORTS", metavar="LIST", help="Links to its ports, by rank: 1=veth1,2=veth2,..."),
    ] = None,
    group_id: GroupId = 0,
    steps: Annotated[
        int | None,
        option(
            envvar="CAIS_STEPS", metavar="N", min=1, help="Rounds of all operations.  [default: 100; 1 to generate]"
        ),
    ] = None,
    ranks: Annotated[
        int | None, option(envvar="CAIS_RANKS", metavar="N", min=1, help="Ranks.  [default: 4, or one for each port]")
    ] = None,
    size: Annotated[str, option(envvar="CAIS_SIZE", metavar="BYTES", help="Bytes of a tensor.")] = "16KiB",
    ops: Annotated[
        str | None,
        option(
            envvar="CAIS_OPS",
            metavar="LIST",
            help="sum, sum-float32, sum-float16, sum-bfloat16, max, min, product, all-gather, broadcast, "
            "reduce-scatter, reduce.  [default: all]",
        ),
    ] = None,
    seed: Annotated[
        int | None, option(envvar="CAIS_SEED", metavar="N", min=0, help="Of tensors and faults.  [default: random]")
    ] = None,
    loss: Annotated[str, option(metavar="SHARE", help="Frames that cables lose.")] = "0%",
    duplicate: Annotated[str, option(metavar="SHARE", help="Frames that arrive twice.")] = "0%",
    reorder: Annotated[str, option(metavar="SHARE", help="Frames that others overtake.")] = "0%",
    corrupt: Annotated[str, option(metavar="SHARE", help="Frames with one flipped bit, unnoticed.")] = "0%",
    against: Annotated[Literal["gloo"] | None, option(help="Compare with torch.distributed, side by side.")] = None,
    write: Annotated[
        Path | None, option("--write", "-w", metavar="FILE", help="Record all frames in a pcap file.")
    ] = None,
    generate: Annotated[Path | None, option(metavar="FILE", help="Only write the test traffic to a pcap file.")] = None,
    timeout: Annotated[
        str | None,
        option(
            envvar="CAIS_SMOKE_TIMEOUT",
            metavar="TIME",
            help="How long to wait for any new result.  [default: 5s, or 500ms with --corrupt]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Send random tensors through a switch, check every result.

    The reference is NumPy. Without --device an embedded switch is started for the test. Faults (--loss and so on) are
    a share of the frames, as 5% or 0.05, on every cable and in both directions.
    """
    if generate is not None:
        _check_generate(ctx)
        plan = _plan(ops, _GENERATED_STEPS if steps is None else steps, ranks, 0, size, seed)
        _generate(generate, plan, group_id, json)
        return

    from cais_tools.fleet import options_for
    from cais_tools.smoke.settings import Settings

    device = _device(ctx, connection, ports)
    links = _links(ports, device) if ports else {}
    plan = _plan(ops, _STEPS if steps is None else steps, ranks, len(links), size, seed)
    if links and device is None:
        raise UsageError("--ports leads to which switch?", hint="name it: --device 127.0.0.1:9559")
    options = device and options_for(device, connection.options())
    settings = Settings(
        plan=plan,
        device=device and device.address,
        device_id=options and options.device_id,
        tls=options and options.tls,
        take_over=connection.take_over,
        ports=links,
        group_id=group_id,
        faults=_faults(plan.seed, loss=loss, duplicate=duplicate, reorder=reorder, corrupt=corrupt),
        against_gloo=against is not None,
        write=write,
        timeout=None if timeout is None else parse_seconds(timeout, option="--timeout"),
    )
    _run(settings, json)


def _device(ctx: typer.Context, connection: Connection, ports: str | None) -> Device | None:
    """The switch that the command line names or, for --ports, the environment or the file; else one is started."""
    source = ctx.get_parameter_source("device")
    if source is not None and source.name == "COMMANDLINE":
        return connection.device()
    if ports is None:
        return None
    return connection.device() if connection.names or connection.config.devices else None


def _links(text: str, device: Device | None) -> dict[int, str]:
    """PORT=LINK lists; a port may also be a name that the file has for it."""
    from cais_tools.links import parse_ports

    items = (item.partition("=") for item in text.split(","))
    numbers: Mapping[str, int] = device.ports if device else {}
    return parse_ports(",".join(f"{numbers.get(name.strip(), name)}{equals}{link}" for name, equals, link in items))


def _run(settings: Settings, json: bool) -> None:
    """Run the test and print the report; what ended it early is raised when all that it found has been said."""
    from cais_tools.cli.progress import progress_bar
    from cais_tools.smoke.runner import run_smoke

    if not json:
        note(f"seed {settings.plan.seed}")
    with progress_bar("smoke") as progress:
        report = run_smoke(settings, progress)
    if json:
        emit_json("cais.smoke/1", report.as_dict())
    else:
        from cais_tools.cli.smoke_table import say_report

        say_report(report)
    if report.failure is not None:
        raise report.failure.error
    if not report.passed:
        raise typer.Exit(CheckFailed.exit_code)


def _plan(ops: str | None, steps: int, ranks: int | None, ports: int, size: str, seed: int | None) -> Plan:
    import secrets

    from cais_tools.smoke.plan import DEFAULT_OPERATIONS, Plan, operations_named

    if ranks is None:
        ranks = ports or _RANKS
    elif ports and ranks != ports:
        wanted = "1 rank" if ranks == 1 else f"{ranks} ranks"
        raise UsageError(f"{wanted} on {ports} ports do not go", hint="leave --ranks out, or name as many ports")
    return Plan(
        operations=operations_named(",".join(DEFAULT_OPERATIONS) if ops is None else ops),
        steps=steps,
        ranks=ranks,
        size=parse_bytes(size, option="--size"),
        seed=secrets.randbits(32) if seed is None else seed,
    )


def _faults(seed: int, **shares: str) -> FaultModel:
    from cais_tools.links.faults import FaultModel

    return FaultModel(seed=seed, **{name: parse_probability(text, option=f"--{name}") for name, text in shares.items()})


def _check_generate(ctx: typer.Context) -> None:
    """Refuse what writing a file has no use for, where it is on the command line (the environment is for all runs)."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in _GENERATE_GOES_WITH:
            raise UsageError(
                f"{parameter.opts[0]} means nothing with --generate, which sends nothing",
                hint="--steps, --ranks, --size, --ops, --seed and --group-id go with it",
            )


def _generate(path: Path, plan: Plan, group_id: int, json: bool) -> None:
    from cais_tools.cli.progress import progress_bar
    from cais_tools.session.cais import DEFAULT_SLOTS
    from cais_tools.smoke.generate import generate
    from cais_tools.wire import DEFAULT_LANES

    with progress_bar("generate") as progress:
        frames = generate(
            path,
            plan,
            group_id=group_id,
            lanes=DEFAULT_LANES,
            slots=DEFAULT_SLOTS,
            progress=lambda done: progress(done, plan.total),
        )
    if json:
        emit_json("cais.generate/1", {"file": str(path), "frames": frames, "seed": plan.seed, "ranks": plan.ranks})
        return
    say(f"wrote {frames} frames of {plan.ranks} ranks to {path} (seed {plan.seed})")
