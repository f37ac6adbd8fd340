"""Build the P4 program with the p4c on PATH, and tell whether a build still belongs to its sources."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cais_tools.errors import CheckFailed

PROGRAM = "cais.p4"
JSON_NAME = "cais.json"
P4INFO_NAME = "cais.p4info.txtpb"
MANIFEST_NAME = "cais.build.json"

INSTALL_HINT = "p4c comes from https://github.com/p4lang/p4c (packages and sources); the README says how it is built"


@dataclass(frozen=True)
class Build:
    """What one run of p4c has left."""

    json: Path
    p4info: Path
    manifest: Path
    p4c: str
    """What `p4c --version` says."""


def source_hash(source: Path) -> str:
    """Return the SHA-256 over names and contents of all `.p4` files in the folder `source`."""
    digest = hashlib.sha256()
    for path in sorted(source.glob("*.p4")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build(source: Path, output: Path, defines: Mapping[str, str]) -> Build:
    """Compile `source`/cais.p4 for v1model into the folder `output`.

    CheckFailed carries p4c's own words where it refuses the program, and says what to install where there is none.
    """
    p4c = shutil.which("p4c")
    if p4c is None:
        raise CheckFailed("there is no p4c on PATH", hint=INSTALL_HINT)
    with tempfile.TemporaryDirectory() as scratch:
        _run_p4c(p4c, source, Path(scratch), defines)
        program = json.loads((Path(scratch) / JSON_NAME).read_text())
        p4info = (Path(scratch) / P4INFO_NAME).read_text()
    output.mkdir(parents=True, exist_ok=True)
    result = Build(output / JSON_NAME, output / P4INFO_NAME, output / MANIFEST_NAME, _version(p4c))
    program["program"] = PROGRAM
    result.json.write_text(json.dumps(without_source_info(program), separators=(",", ":")) + "\n")
    result.p4info.write_text(p4info)
    manifest = {
        "sources": source_hash(source),
        "defines": dict(defines),
        "p4c": result.p4c,
        JSON_NAME: file_hash(result.json),
        P4INFO_NAME: file_hash(result.p4info),
    }
    result.manifest.write_text(json.dumps(manifest, indent=1) + "\n")
    return result


def without_source_info(node: Any) -> Any:
    """Return bmv2 JSON without the source positions, which change with every comment."""
    if isinstance(node, dict):
        members = cast(dict[str, Any], node).items()
        return {key: without_source_info(value) for key, value in members if key != "source_info"}
    if isinstance(node, list):
        return [without_source_info(item) for item in cast(list[Any], node)]
    return node


def _run_p4c(p4c: str, source: Path, output: Path, defines: Mapping[str, str]) -> None:
    command = [p4c, "--target", "bmv2", "--arch", "v1model", "--p4runtime-files", str(output / P4INFO_NAME)]
    command += [f"-D{name}={value}" for name, value in defines.items()]
    command += ["-o", str(output), PROGRAM]
    finished = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise CheckFailed(f"p4c refused {PROGRAM}:\n{(finished.stderr or finished.stdout).strip()}")


def _version(p4c: str) -> str:
    lines = subprocess.run([p4c, "--version"], capture_output=True, text=True, check=False).stdout.strip().splitlines()
    return lines[-1] if lines else "unknown"
