"""Compiles gnmi.proto: `python -m tests.unit.gnmi.compiling` writes the stubs of cais_tools.gnmi anew.

Take the grpcio-tools whose protobuf is the lowest one in pyproject: generated code refuses older ones. One thing is
changed in what protoc writes: the messages live in a pool of their own (see `cais_tools.gnmi`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["PROTO", "compile_into"]

_ROOT = Path(__file__).parents[3]
PROTO = "cais_tools/gnmi/gnmi.proto"

_DEFAULT_POOL = "_descriptor_pool.Default()"
_OWN_POOL = "_descriptor_pool.DescriptorPool()"


def compile_into(folder: Path) -> None:
    """Write gnmi_pb2.py and gnmi_pb2.pyi."""
    outputs = (f"--python_out={folder}", f"--pyi_out={folder}")
    command = [sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", f"--proto_path={_ROOT}", *outputs, PROTO]
    subprocess.run(command, check=True, cwd=_ROOT)
    written = folder / PROTO.replace(".proto", "_pb2.py")
    written.write_text(written.read_text().replace(_DEFAULT_POOL, _OWN_POOL))


if __name__ == "__main__":
    compile_into(_ROOT)
