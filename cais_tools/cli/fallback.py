"""`cais fallback`: everything on the endpoints, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from cais_tools.cli.controller_client import Access, reaches
from cais_tools.cli.options import Json, option
from cais_tools.errors import UsageError


@reaches()
def fallback(
    *,
    groups: Annotated[list[int] | None, typer.Argument(metavar="[GROUP]...", help="Groups' numbers.")] = None,
    access: Access,
    all_: Annotated[bool, option("--all", help="All groups, and those to come.")] = False,
    release: Annotated[bool, option("--release", help="Back: the controller decides again.")] = False,
    reason: Annotated[str, option(metavar="TEXT", help="Why; shown by controller why and status.")] = "",
    json: Json = False,
) -> None:
    """Put groups on their endpoints at once.

    Returns when that holds on all ranks, within a second; it holds until --release, also over a restart of the
    controller. Exits with 1 where it does not hold yet.
    """
    if all_ == bool(groups):
        raise UsageError("which groups?", hint="--all, or the numbers of some: cais fallback 0 1")
    from cais_tools.cli.controller_text import show_results
    from cais_tools.controller.proto import controller_pb2 as pb

    path = pb.PATH_AUTO if release else pb.PATH_ENDPOINT
    with access.client() as client:
        results = client.set_offload(groups or [], path, reason or ("" if release else "cais fallback"))
    show_results(results, "auto" if release else "endpoint", json=json)
