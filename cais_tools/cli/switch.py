"""`cais switch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cais_tools.cli.options import Json, option
from cais_tools.cli.output import emit_json, note, say
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.switch.embedded import EmbeddedSwitch


def switch(
    grpc: Annotated[
        str, option(envvar="CAIS_GRPC", metavar="HOST:PORT", help="Where the P4Runtime server listens.")
    ] = "127.0.0.1:9559",
    port: Annotated[
        list[str] | None,
        option("--port", "-p", metavar="N=LINK", help="1=veth1 or 1=cable:LOCAL:PEER (UDP); may be repeated."),
    ] = None,
    device_id: Annotated[int, option(envvar="CAIS_DEVICE_ID", metavar="N", min=1, help="P4Runtime device id.")] = 1,
    queue_depth: Annotated[
        int, option(envvar="CAIS_QUEUE_DEPTH", metavar="N", min=1, help="Packets that a port's queue holds.")
    ] = 1024,
    log_packets: Annotated[bool, option("--log-packets", help="Log every packet on stderr.")] = False,
    insecure: Annotated[
        bool, option("--insecure", help="Listen beyond loopback, though anybody could program the switch.")
    ] = False,
    parent: Annotated[int | None, option(hidden=True, help="End with this process.")] = None,
    json: Json = False,
) -> None:
    """Run the embedded switch until Ctrl-C.

    It serves P4Runtime and moves packets between its ports: network interfaces, or cables over UDP on 127.0.0.1.
    """
    import signal

    from cais_tools.links import parse_ports
    from cais_tools.switch.embedded import SwitchConfig, run_switch

    if not port:
        raise UsageError("a switch needs ports", hint="for example --port 1=veth1 --port 2=veth2")
    if parent is not None:
        from cais_tools.smoke.process import end_with_parent

        end_with_parent(parent)
    _log_to_stderr(log_packets)
    config = SwitchConfig(
        grpc_address=grpc,
        ports=parse_ports(",".join(port)),
        device_id=device_id,
        queue_depth=queue_depth,
        log_packets=log_packets,
        insecure=insecure,
    )

    received = run_switch(config, ready=lambda running: _say_ready(running, device_id, json))
    if received is not None:
        if not json:
            note("stopped")
        raise typer.Exit(128 + signal.Signals(received))


def _say_ready(running: EmbeddedSwitch, device_id: int, json: bool) -> None:
    if json:
        ports = [{"port": number, "link": link} for number, link in running.ports.items()]
        emit_json("cais.switch/1", {"grpc": running.address, "device_id": device_id, "ports": ports})
        return
    for number, link in running.ports.items():
        say(f"port {number}: {link}")
    say(f"ready: P4Runtime on {running.address}, device id {device_id}")
    import sys

    sys.stdout.flush()


def _log_to_stderr(log_packets: bool) -> None:
    import logging

    logging.basicConfig(
        level=logging.INFO if log_packets else logging.WARNING,
        format="%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s",
        datefmt="%H:%M:%S",
    )
