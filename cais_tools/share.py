"""Where the P4 program and the playbooks are: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shared_folder(name: str) -> Path:
    """Return the folder `p4` or `playbooks`; FileNotFoundError where the installation is incomplete."""
    for folder in (_PACKAGE / "share" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}/ is missing from this installation of cais-tools")


def is_checkout() -> bool:
    """Whether the package runs from a source tree, whose folders may be written to."""
    return not (_PACKAGE / "share").is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file()
