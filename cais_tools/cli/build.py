"""`cais build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cais_tools.cli.options import Json, option
from cais_tools.cli.output import emit_json, say
from cais_tools.cli.parse import parse_define
from cais_tools.errors import CheckFailed


def build(
    target: Annotated[
        Literal["bmv2", "tofino"], option(envvar="CAIS_TARGET", help="What the program is compiled for.")
    ] = "bmv2",
    define: Annotated[
        list[str] | None,
        option("--define", "-D", metavar="NAME=VALUE", help="LANES (32, 64 or 256) or SLOTS; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        option("--output", "-o", metavar="DIR", help="Folder to write to.  [default: build/ in the sources' folder]"),
    ] = None,
    json: Json = False,
) -> None:
    """Compile the P4 program with the p4c on PATH.

    The sources are those in ./p4, or the shipped ones where there are none.
    """
    from cais_tools import p4c

    defines = dict(map(parse_define, define or ()))
    if target == "tofino":
        raise CheckFailed(
            "there is no program for Tofino (TNA) yet: p4/cais.p4 is written for v1model", hint="--target bmv2"
        )
    source, base = _sources()
    folder = output or _default_folder(base, defines)
    result = p4c.build(source, folder, defines)
    if json:
        paths = {"json": str(result.json), "p4info": str(result.p4info), "manifest": str(result.manifest)}
        emit_json("cais.build/1", {"target": target, "p4c": result.p4c, "defines": defines, **paths})
        return
    say(f"compiled {source / p4c.PROGRAM} with {result.p4c}")
    for path in (result.json, result.p4info, result.manifest):
        say(f"wrote {path} ({path.stat().st_size:,} bytes)")


def _sources() -> tuple[Path, Path]:
    """The folder with the sources, and the one that build/ belongs in: never into an installed package."""
    from cais_tools import p4c, share

    here = Path("p4")
    if (here / p4c.PROGRAM).is_file():
        return here, here
    shipped = share.shared_folder("p4")
    return shipped, shipped if share.is_checkout() else Path.cwd()


def _default_folder(base: Path, defines: dict[str, str]) -> Path:
    """Variants stand beside the default build, so that none is taken for it."""
    folder = base / "build"
    return folder / ",".join(f"{name}={value}" for name, value in sorted(defines.items())) if defines else folder
