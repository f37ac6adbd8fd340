"""`cais controller`: runs the control plane, or what its sub-commands ask it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cais_tools.cli.controller_client import Access, reaches
from cais_tools.cli.devices import load_config
from cais_tools.cli.options import ConfigFile, Json, option
from cais_tools.cli.output import emit_json, note, say
from cais_tools.cli.parse import parse_seconds
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cais_tools.config import Config, Device
    from cais_tools.controller.daemon import Controller, Tls

_GROUP = typer.Argument(metavar="GROUP", help="A group's number.")
_REASON = option(metavar="TEXT", help="Why; shown by `why` and `status`.")


def controller(
    ctx: typer.Context,
    listen: Annotated[
        str | None,
        option(
            envvar="CAIS_CONTROLLER_LISTEN",
            metavar="HOST:PORT",
            show_default=False,
            help="Where it listens.  [default: cais.toml's, else 127.0.0.1:50051]",
        ),
    ] = None,
    device: Annotated[
        list[str] | None,
        option(
            "--device",
            metavar="NAME|HOST[:PORT]",
            envvar="CAIS_DEVICE",
            show_default=False,
            help="The switches.  [default: those of cais.toml, else 127.0.0.1:9559]",
        ),
    ] = None,
    config: ConfigFile = None,
    state: Annotated[
        Path | None,
        option(
            metavar="FILE",
            envvar="CAIS_CONTROLLER_STATE",
            show_default=False,
            help="What survives a restart.  [default: cais/controller.sqlite in $XDG_STATE_HOME or ~/.local/state]",
        ),
    ] = None,
    grace: Annotated[
        str,
        option(envvar="CAIS_CONTROLLER_GRACE", metavar="TIME", help="Remove a group this long after its leader left."),
    ] = "30s",
    metrics: Annotated[
        str | None,
        option(envvar="CAIS_CONTROLLER_METRICS", metavar="HOST:PORT", help="Serve OpenMetrics there, at /metrics."),
    ] = None,
    log_format: Annotated[
        Literal["text", "json"], option("--log-format", envvar="CAIS_LOG_FORMAT", help="The log, on stderr.")
    ] = "text",
    take_over: Annotated[
        bool, option("--take-over", help="Become primary on the switches even if another client is.")
    ] = False,
    tls_cert: Annotated[
        Path | None,
        option(envvar="CAIS_CONTROLLER_TLS_CERT", metavar="FILE", help="Serve TLS with this certificate (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None,
        option(envvar="CAIS_CONTROLLER_TLS_KEY", metavar="FILE", help="The certificate's private key (PEM)."),
    ] = None,
    tls_client_ca: Annotated[
        Path | None,
        option(
            envvar="CAIS_CONTROLLER_TLS_CLIENT_CA",
            metavar="FILE",
            help="Let in only clients with a certificate of this CA.",
        ),
    ] = None,
    insecure: Annotated[
        bool, option("--insecure", help="Listen beyond loopback without TLS: anybody could change what is offloaded.")
    ] = False,
    json: Json = False,
) -> None:
    """Run the control plane until Ctrl-C.

    It installs the groups of training jobs on switches, reads them every 100 ms, and decides what is offloaded. Its
    state survives a restart; SIGHUP has it read cais.toml again.
    """
    if ctx.invoked_subcommand is not None:
        return
    import signal

    from cais_tools.controller.daemon import ControllerConfig, run_controller
    from cais_tools.controller.log import log_to_stderr
    from cais_tools.session import SessionOptions

    def read() -> tuple[list[Device], Mapping[str, float], str]:
        found = load_config(ctx, config)
        devices = found.select(device) if device else found.default_devices()
        return devices, *_settings(found, listen)

    devices, settings, where = read()
    log_to_stderr(log_format)
    received = run_controller(
        ControllerConfig(
            listen=where,
            devices=devices,
            settings=settings,
            state=state or _usual_state(),
            tls=_tls(tls_cert, tls_key, tls_client_ca),
            insecure=insecure,
            metrics=metrics,
            grace=parse_seconds(grace, option="--grace"),
            options=SessionOptions(timeout=2.0, take_over=take_over),
        ),
        ready=lambda running: _say_ready(running, json),
        reread=lambda: read()[:2],
    )
    if not json:
        note("stopped")
    raise typer.Exit(128 + signal.Signals(received))


def _settings(config: Config, listen: str | None) -> tuple[Mapping[str, float], str]:
    """The settings that are numbers, and where to listen."""
    from cais_tools.controller.client import parse_controller

    settings = {name: setting.value for name, setting in config.settings().items()}
    usual = parse_controller(str(settings.pop("controller")), int(settings.pop("controller_port")))
    return {name: float(value) for name, value in settings.items()}, listen or str(usual)


def _usual_state() -> Path:
    import os

    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "cais" / "controller.sqlite"


def _tls(cert: Path | None, key: Path | None, client_ca: Path | None) -> Tls | None:
    from cais_tools.controller.daemon import Tls

    if cert is None and key is None and client_ca is None:
        return None
    if cert is None or key is None:
        raise UsageError("TLS needs both --tls-cert and --tls-key", hint="--tls-client-ca comes on top of them")
    return Tls(cert, key, client_ca)


def _say_ready(running: Controller, json: bool) -> None:
    """At once, for whoever started it may read this from a pipe."""
    import sys

    names = list(running.plane.devices)
    if json:
        where = {"grpc": running.address, "metrics": running.metrics_url or None}
        emit_json("cais.controller/1", {**where, "devices": names, "state": str(running.config.state)})
    else:
        say(f"ready: controller on {running.address}, devices {', '.join(names)}")
        if running.metrics_url:
            say(f"metrics: {running.metrics_url}")
    sys.stdout.flush()


app = typer.Typer(invoke_without_command=True, callback=controller, rich_markup_mode=None)


@app.command()
@reaches()
def status(
    *,
    access: Access,
    watch: Annotated[
        str | None, option(metavar="TIME", help="Again and again, this far apart: in place, or as NDJSON in a pipe.")
    ] = None,
    count: Annotated[int | None, option("--count", "-c", metavar="N", min=1, help="End --watch after N times.")] = None,
    json: Json = False,
) -> None:
    """Show devices, groups and settings as they are now."""
    if count is not None and watch is None:
        raise UsageError("--count needs --watch", hint="for example --watch 1s --count 10")
    from cais_tools.cli.controller_text import emit_status, status_text
    from cais_tools.cli.watch import Painter

    with access.client() as client:
        if watch is None:
            found = client.statistics()
            emit_status(found) if json else say(status_text(found))
            return
        painter = Painter()
        interval = round(1000 * parse_seconds(watch, option="--watch"))
        for number, found in enumerate(client.watch_statistics(interval), 1):
            emit_status(found) if json else painter.draw(status_text(found))
            if number == count:
                return


@app.command()
@reaches()
def why(
    *,
    group: Annotated[int, _GROUP],
    access: Access,
    layer: Annotated[
        int | None, option(metavar="N", min=0, max=65535, help="Of a layer; all layers are decided alike.")
    ] = None,
    last: Annotated[str | None, option("--last", metavar="TIME", help="Only what was decided in this time.")] = None,
    json: Json = False,
) -> None:
    """Explain what a group does, and since when.

    The decisions of the last minutes with their terms, and the history of the threshold.
    """
    from cais_tools.cli.controller_text import emit_why, why_text

    seconds = 0 if last is None else max(1, round(parse_seconds(last, option="--last")))
    with access.client() as client:
        found = client.explain(group, layer=layer, last_s=seconds)
    emit_why(group, found) if json else say(why_text(group, found))


@app.command()
@reaches()
def threshold(
    *,
    group: Annotated[str, typer.Argument(metavar="GROUP|all", help="A group's number, or all, and those to come.")],
    value: Annotated[
        float, typer.Argument(metavar="VALUE", min=0.0, max=1.0, help="Offload where the score is above.")
    ],
    access: Access,
    json: Json = False,
) -> None:
    """Set offload_threshold, for a group or for all."""
    from cais_tools.controller.proto import controller_pb2 as pb

    number = None if group == "all" else _number(group)
    with access.client() as client:
        now = client.configure(pb.Settings(offload_threshold=value), number)
    which = "all groups" if number is None else f"group {number}"
    if json:
        emit_json("cais.controller-threshold/1", {"group": number, "offload_threshold": now.offload_threshold})
    else:
        say(f"{which}: offload_threshold {now.offload_threshold:g}")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 255):
        raise UsageError(f"{text!r} is no group", hint="a number from 0 to 255, or all")
    return int(text)


@app.command()
@reaches()
def offload(
    *,
    group: Annotated[str, typer.Argument(metavar="GROUP|all", help="A group's number, or all, and those to come.")],
    path: Annotated[
        Literal["auto", "switch", "endpoint"],
        typer.Argument(metavar="auto|switch|endpoint", help="auto: the controller decides."),
    ],
    access: Access,
    reason: Annotated[str, _REASON] = "",
    json: Json = False,
) -> None:
    """Choose a group's path: auto, switch or endpoint.

    Returns when it holds on all ranks, within a second. Exits with 1 where it does not hold yet.
    """
    from cais_tools.cli.controller_text import show_results
    from cais_tools.controller.proto import controller_pb2 as pb

    wanted: Any = {"auto": pb.PATH_AUTO, "switch": pb.PATH_SWITCH, "endpoint": pb.PATH_ENDPOINT}[path]
    with access.client() as client:
        results = client.set_offload([] if group == "all" else [_number(group)], wanted, reason)
    show_results(results, path, json=json)


@app.command()
@reaches()
def drain(
    *,
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="Its name in the controller's cais.toml.")],
    access: Access,
    release: Annotated[bool, option("--release", help="Take it into use again.")] = False,
    json: Json = False,
) -> None:
    """Take a switch out of use: groups on it go to their endpoints.

    Returns when that holds on all ranks, within a second. Exits with 1 where it does not hold yet.
    """
    from cais_tools.cli.controller_text import show_results

    with access.client() as client:
        results = client.drain(device, release=release)
    show_results(results, "released" if release else "drained", json=json)
