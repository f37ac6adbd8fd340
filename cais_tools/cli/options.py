"""Options that several commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "SWITCH_PANEL",
    "ConfigFile",
    "DeviceId",
    "Devices",
    "GroupId",
    "Json",
    "TakeOver",
    "Timeout",
    "TlsCa",
    "TlsCert",
    "TlsKey",
    "TlsServerName",
    "option",
]

SWITCH_PANEL = "Which switch, and how"
"""The heading of the options that all commands that talk to a switch have."""

option = partial(typer.Option, show_envvar=False)
"""An option whose environment variable is CAIS_ and its name; `cais --help` says so once for all."""

_switch_option = partial(option, rich_help_panel=SWITCH_PANEL)

Devices: TypeAlias = Annotated[
    list[str] | None,
    _switch_option(
        "--device",
        metavar="NAME|HOST[:PORT]",
        envvar="CAIS_DEVICE",
        show_default=False,
        help="Switches: names of cais.toml, addresses, several with commas, or all.  [default: those of cais.toml, "
        "else 127.0.0.1:9559]",
    ),
]
DeviceId: TypeAlias = Annotated[
    int | None,
    _switch_option(
        "--device-id",
        metavar="N",
        envvar="CAIS_DEVICE_ID",
        min=0,
        show_default=False,
        help="P4Runtime device id.  [default: 0, else 1]",
    ),
]
TakeOver: TypeAlias = Annotated[bool, _switch_option("--take-over", help="Become primary even if another client is.")]
Json: TypeAlias = Annotated[bool, option("--json", help="Print one JSON document.")]
GroupId: TypeAlias = Annotated[
    int,
    option("--group-id", metavar="N", envvar="CAIS_GROUP_ID", min=0, max=255, help="Tensor-parallel group."),
]
Timeout: TypeAlias = Annotated[
    str,
    _switch_option("--timeout", metavar="TIME", envvar="CAIS_TIMEOUT", help="How long the switch may take to answer."),
]
TlsCa: TypeAlias = Annotated[
    Path | None,
    _switch_option(
        "--tls-ca", metavar="FILE", envvar="CAIS_TLS_CA", help="TLS: who has signed the switch's certificate (PEM)."
    ),
]
TlsCert: TypeAlias = Annotated[
    Path | None,
    _switch_option("--tls-cert", metavar="FILE", envvar="CAIS_TLS_CERT", help="TLS: our certificate (PEM)."),
]
TlsKey: TypeAlias = Annotated[
    Path | None, _switch_option("--tls-key", metavar="FILE", envvar="CAIS_TLS_KEY", help="TLS: its private key (PEM).")
]
TlsServerName: TypeAlias = Annotated[
    str | None,
    _switch_option(
        "--tls-server-name",
        metavar="NAME",
        envvar="CAIS_TLS_SERVER_NAME",
        help="TLS: whom the switch's certificate is for, where that is not the address.",
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    _switch_option("--config", metavar="FILE", help="Instead of ./cais.toml (also before the command)."),
]
