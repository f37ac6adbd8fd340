"""The commands. Each parses its options, calls one function of the rooms below, and renders what comes back."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run `cais` (or `cais-cli`, the same program) with the arguments of the process, and exit."""
    import os

    # gRPC's C core writes log lines straight to stderr, through tables and progress bars; it reads this when it loads.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from cais_tools.cli.app import app, prepare_streams

    prepare_streams()
    app(prog_name=_program_name())


def _program_name() -> str:
    import sys
    from pathlib import Path

    name = Path(sys.argv[0]).name
    return name if name in ("cais", "cais-cli") else "cais"
