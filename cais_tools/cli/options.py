"""Options that several commands share."""

from __future__ import annotations

from functools import partial
from typing import Annotated, TypeAlias

import typer

__all__ = ["DEFAULT_DEVICE", "Device", "DeviceId", "GroupId", "Json", "TakeOver", "Timeout", "option"]

option = partial(typer.Option, show_envvar=False)
"""An option whose environment variable is CAIS_ and its name; `cais --help` says so once for all."""

DEFAULT_DEVICE = "127.0.0.1:9559"

Device: TypeAlias = Annotated[
    str,
    option("--device", metavar="HOST[:PORT]", envvar="CAIS_DEVICE", help="P4Runtime address of the switch."),
]
DeviceId: TypeAlias = Annotated[
    int | None,
    option(
        "--device-id",
        metavar="N",
        envvar="CAIS_DEVICE_ID",
        min=0,
        show_default=False,
        help="P4Runtime device id.  [default: 0, else 1]",
    ),
]
TakeOver: TypeAlias = Annotated[bool, option("--take-over", help="Become primary even if another client is.")]
Json: TypeAlias = Annotated[bool, option("--json", help="Print one JSON document.")]
GroupId: TypeAlias = Annotated[
    int,
    option("--group-id", metavar="N", envvar="CAIS_GROUP_ID", min=0, max=255, help="Tensor-parallel group."),
]
Timeout: TypeAlias = Annotated[
    str,
    option("--timeout", metavar="TIME", envvar="CAIS_TIMEOUT", help="How long the switch may take to answer."),
]
