"""P4Runtime's messages and stubs, importable with every protobuf that we allow.

`from cais_tools.p4rt import p4runtime_pb2` and so on. The types are in the `.pyi` files beside this one:
protoc's `--pyi_out` of the very descriptors in the wheel.

gRPC's C core writes log lines straight to stderr, through any progress bar. A program that minds sets
`GRPC_VERBOSITY=NONE` before it imports this, as the `cais` command does; a library does not decide that.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from google.rpc import code_pb2, status_pb2

from cais_tools.p4rt import _shim

if TYPE_CHECKING:
    from cais_tools.p4rt import p4data_pb2, p4info_pb2, p4runtime_pb2, p4runtime_pb2_grpc, p4types_pb2

__all__ = [
    "code_pb2",
    "p4data_pb2",
    "p4info_pb2",
    "p4runtime_pb2",
    "p4runtime_pb2_grpc",
    "p4types_pb2",
    "status_pb2",
]

for _name in (
    "p4.config.v1.p4types_pb2",
    "p4.config.v1.p4info_pb2",
    "p4.v1.p4data_pb2",
    "p4.v1.p4runtime_pb2",
    "p4.v1.p4runtime_pb2_grpc",
):
    _module = _shim.load(_name)
    _short = _name.rpartition(".")[2]
    # Both `from cais_tools.p4rt import x` and `import cais_tools.p4rt.x` find the wheel's module.
    globals()[_short] = _module
    sys.modules[f"{__name__}.{_short}"] = _module
