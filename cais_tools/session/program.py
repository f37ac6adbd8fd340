"""The program that travels with this package."""

from __future__ import annotations

from pathlib import Path

from cais_tools.errors import Refused
from cais_tools.session.pipeline import Pipeline, read_pipeline
from cais_tools.share import shared_folder

__all__ = ["load_shipped", "shipped_program"]


def shipped_program() -> tuple[Path, Path]:
    """Paths of `cais.json` and `cais.p4info.txtpb`. Raises Refused where p4/ was never built."""
    try:
        folder = shared_folder("p4") / "build"
    except FileNotFoundError as error:
        raise Refused(str(error), hint="install it again") from None
    config, p4info = folder / "cais.json", folder / "cais.p4info.txtpb"
    if not config.is_file() or not p4info.is_file():
        raise Refused(f"the compiled CAIS program is missing from {folder}", hint="build it: cais build")
    return config, p4info


def load_shipped() -> Pipeline:
    return read_pipeline(*shipped_program())
