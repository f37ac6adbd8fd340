"""`cais version`."""

from __future__ import annotations

from cais_tools import __version__
from cais_tools.cli.options import Json
from cais_tools.cli.output import emit_json, say


def version(json: Json = False) -> None:
    """Show versions: cais-tools, libraries, P4 program."""
    import platform
    from importlib import metadata

    names = ("grpcio", "numpy", "p4runtime", "protobuf", "rich", "scapy", "torch", "typer")
    installed: dict[str, str | None] = {}
    for name in names:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed[name] = None
    program = _program()
    if json:
        python = platform.python_version()
        emit_json("cais.version/1", {"cais": __version__, "python": python, "packages": installed, "program": program})
        return
    say(f"cais {__version__}")
    say(f"python {platform.python_version()}")
    for name, found in installed.items():
        say(f"{name} {found or 'not installed'}")
    say(f"program {program['sha256'][:12]} built by {program['p4c']}")


def _program() -> dict[str, str]:
    """The shipped build: which sources it was made from, and by what."""
    import json

    from cais_tools import p4c, share

    manifest = json.loads((share.shared_folder("p4") / "build" / p4c.MANIFEST_NAME).read_text())
    return {"sha256": manifest["sources"], "p4c": manifest["p4c"]}
