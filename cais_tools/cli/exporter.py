"""`cais exporter`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.options import Json, option
from cais_tools.cli.output import emit_json, say
from cais_tools.errors import UsageError


@connects(changes=False)
def exporter(
    *,
    connection: Connection,
    listen: Annotated[
        str,
        option(
            envvar="CAIS_EXPORTER_LISTEN",
            metavar="[HOST]:PORT",
            help="Where to serve /metrics; without HOST only this machine can, unless with TLS or --insecure.",
        ),
    ] = ":9100",
    dashboard: Annotated[bool, option("--dashboard", help="Print the Grafana dashboard (JSON) and end.")] = False,
    serve_cert: Annotated[Path | None, option(metavar="FILE", help="Serve TLS with this certificate (PEM).")] = None,
    serve_key: Annotated[Path | None, option(metavar="FILE", help="The certificate's private key (PEM).")] = None,
    insecure: Annotated[
        bool, option("--insecure", help="Listen beyond loopback without TLS: anybody could read the statistics.")
    ] = False,
    json: Json = False,
) -> None:
    """Serve statistics to Prometheus until Ctrl-C.

    The values of show-stats as OpenMetrics, for all devices. Each scrape reads the switches, at most once a second.
    """
    from cais_tools.exporter import dashboard_text

    if dashboard:
        sys.stdout.write(dashboard_text())
        return
    if (serve_cert is None) != (serve_key is None):
        raise UsageError("TLS needs both --serve-cert and --serve-key")
    tls = (serve_cert, serve_key) if serve_cert is not None and serve_key is not None else None
    from cais_tools.exporter.server import Exporter, parse_listen
    from cais_tools.fleet.sampling import FleetSampler

    devices, options = connection.devices(), connection.options()
    sampler = FleetSampler(devices, options)
    where = parse_listen(listen, is_open=insecure or tls is not None)
    server = Exporter(sampler, where, patience=connection.timeout + 1.0, tls=tls)
    try:
        if json:
            emit_json("cais.exporter/1", {"url": server.url, "loopback_only": where.is_loopback})
        else:
            reach = " (this machine only; --insecure or TLS open it to the network)" if where.is_loopback else ""
            say(f"serving {server.url}{reach}")
            sys.stdout.flush()
        server.serve()
    finally:
        sampler.close()
