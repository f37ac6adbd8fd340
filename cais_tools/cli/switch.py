"""`cais switch`: runs the embedded switch, or what its sub-commands do with one that runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cais_tools.cli import inspect
from cais_tools.cli.options import Json, option
from cais_tools.cli.output import emit_json, note, say
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from cais_tools.switch.embedded import EmbeddedSwitch, Tls
    from cais_tools.switch.tracing import PassTrace

# Seconds from the switch's end to that of a trace nobody takes, at most.
_LOOK_FOR_STOP = 0.1


def switch(
    ctx: typer.Context,
    grpc: Annotated[
        str, option(envvar="CAIS_GRPC", metavar="HOST:PORT", help="Where the P4Runtime server listens.")
    ] = "127.0.0.1:9559",
    port: Annotated[
        list[str] | None,
        option("--port", "-p", metavar="N=LINK", help="1=veth1 or 1=cable:LOCAL:PEER (UDP); may be repeated."),
    ] = None,
    device_id: Annotated[
        int | None,
        option(envvar="CAIS_DEVICE_ID", metavar="N", min=0, help="P4Runtime device id; 1, or 0 with --profile bmv2."),
    ] = None,
    queue_depth: Annotated[
        int, option(envvar="CAIS_QUEUE_DEPTH", metavar="N", min=1, help="Packets that a port's queue holds.")
    ] = 1024,
    log_packets: Annotated[bool, option("--log-packets", help="Log every packet on stderr.")] = False,
    trace: Annotated[
        bool, option("--trace", help="Say on stdout what happens to every packet; with --json one document a pass.")
    ] = False,
    record: Annotated[
        Path | None,
        option(envvar="CAIS_RECORD", metavar="FILE.pcap", help="Write what passes each port into FILE-portN.pcap."),
    ] = None,
    profile: Annotated[
        Literal["spec", "bmv2"],
        option(envvar="CAIS_PROFILE", help="Answer as the P4Runtime specification, or as simple_switch_grpc."),
    ] = "spec",
    temperature: Annotated[
        str | None,
        option(
            envvar="CAIS_TEMPERATURE",
            metavar="CELSIUS|FILE",
            help="What the switch tells over gNMI that its chip has; a file is read each time somebody asks.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        option(envvar="CAIS_SWITCH_TLS_CERT", metavar="FILE", help="Serve TLS with this certificate (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None, option(envvar="CAIS_SWITCH_TLS_KEY", metavar="FILE", help="The certificate's private key (PEM).")
    ] = None,
    tls_client_ca: Annotated[
        Path | None,
        option(
            envvar="CAIS_SWITCH_TLS_CLIENT_CA",
            metavar="FILE",
            help="Let in only clients with a certificate of this CA.",
        ),
    ] = None,
    insecure: Annotated[
        bool, option("--insecure", help="Listen beyond loopback without TLS: anybody could program the switch.")
    ] = False,
    parent: Annotated[int | None, option(hidden=True, help="End with this process.")] = None,
    json: Json = False,
) -> None:
    """Run the embedded switch until Ctrl-C.

    It serves P4Runtime and moves packets between its ports: network interfaces, or cables over UDP on 127.0.0.1.
    """
    if ctx.invoked_subcommand is not None:
        return
    import signal
    import threading

    from cais_tools.links import parse_ports
    from cais_tools.switch.embedded import SwitchConfig, run_switch
    from cais_tools.switch.thermometer import parse_temperature

    if not port:
        raise UsageError("a switch needs ports", hint="for example --port 1=veth1 --port 2=veth2")
    if parent is not None:
        from cais_tools.smoke.process import end_with_parent

        end_with_parent(parent)
    _log_to_stderr(log_packets)
    if device_id is None:
        device_id = 0 if profile == "bmv2" else 1
    stop = threading.Event()
    config = SwitchConfig(
        grpc_address=grpc,
        ports=parse_ports(",".join(port)),
        device_id=device_id,
        queue_depth=queue_depth,
        log_packets=log_packets,
        insecure=insecure,
        tls=_tls(tls_cert, tls_key, tls_client_ca),
        profile=profile,
        on_trace=_tracer(stop, json) if trace else None,
        record=record,
        temperature=parse_temperature(temperature) if temperature is not None else None,
    )

    received = run_switch(config, ready=lambda running: _say_ready(running, config.device_id, json), stop=stop)
    if received is None:
        # No signal: nobody reads the trace any more.
        raise BrokenPipeError
    if not json:
        note("stopped")
    raise typer.Exit(128 + signal.Signals(received))


def _tls(cert: Path | None, key: Path | None, client_ca: Path | None) -> Tls | None:
    from cais_tools.switch.embedded import Tls

    if cert is None and key is None and client_ca is None:
        return None
    if cert is None or key is None:
        raise UsageError("TLS needs both --tls-cert and --tls-key", hint="--tls-client-ca comes on top of them")
    return Tls(cert, key, client_ca)


def _tracer(stop: threading.Event, json: bool) -> Callable[[PassTrace], None]:
    """Says what happened to packets. When nobody reads it any more, the switch ends; a slow reader is waited for."""
    import io

    from cais_tools.switch.tracing import text_of

    def tell(trace: PassTrace) -> None:
        text = io.StringIO()
        if json:
            emit_json("cais.trace/1", trace.as_dict(), text)
        else:
            text.write(text_of(trace) + "\n")
        try:
            _write_until(stop, text.getvalue().encode())
        except BrokenPipeError:
            stop.set()

    return tell


def _write_until(stop: threading.Event, data: bytes) -> None:
    """Write to stdout, but for `stop`: a reader that takes nothing must not keep the switch from ending."""
    import os
    import select
    import sys

    stdout = sys.stdout.fileno()
    while data and not stop.is_set():
        _, writable, _ = select.select([], [stdout], [], _LOOK_FOR_STOP)
        if writable:
            # A pipe that is writable takes this much at once (POSIX).
            data = data[os.write(stdout, data[: select.PIPE_BUF]) :]


def _say_ready(running: EmbeddedSwitch, device_id: int, json: bool) -> None:
    """Say where the switch listens; at once, for whoever started it may read this from a pipe."""
    import sys

    if json:
        ports = [{"port": number, "link": link} for number, link in running.ports.items()]
        emit_json("cais.switch/1", {"grpc": running.address, "device_id": device_id, "ports": ports})
    else:
        for number, link in running.ports.items():
            say(f"port {number}: {link}")
        say(f"ready: P4Runtime on {running.address}, device id {device_id}")
    sys.stdout.flush()


def _log_to_stderr(log_packets: bool) -> None:
    import logging

    logging.basicConfig(
        level=logging.INFO if log_packets else logging.WARNING,
        format="%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s",
        datefmt="%H:%M:%S",
    )


app = typer.Typer(invoke_without_command=True, callback=switch, rich_markup_mode=None)
app.command("inspect")(inspect.inspect)
