from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cais_tools.p4rt import _shim, p4data_pb2, p4info_pb2, p4runtime_pb2, p4runtime_pb2_grpc, p4types_pb2

_GENERATED = """
from google.protobuf import any_pb2, descriptor_pool
from google.protobuf.internal import builder
from google.rpc import status_pb2
{imports}
DESCRIPTOR = descriptor_pool.Default().AddSerializedFile({serialized!r})
builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, {name!r}, globals())
"""


def test_messages_refer_to_each_other() -> None:
    request = p4runtime_pb2.SetForwardingPipelineConfigRequest()
    request.config.p4info.tables.add().preamble.name = "t"
    request.config.p4info.type_info.serializable_enums["e"].members.add()
    again = p4runtime_pb2.SetForwardingPipelineConfigRequest.FromString(request.SerializeToString())
    assert again == request
    assert isinstance(again.config.p4info, p4info_pb2.P4Info)
    assert isinstance(p4runtime_pb2.DigestList().data.add(), p4data_pb2.P4Data)
    assert p4runtime_pb2.Update.DELETE == 3
    assert hasattr(p4runtime_pb2_grpc, "P4RuntimeStub")


def test_messages_run_on_the_c_implementation() -> None:
    from google.protobuf.internal import api_implementation

    assert api_implementation.Type() == "upb"


def test_a_file_without_descriptor_is_named() -> None:
    with pytest.raises(ImportError, match="p4\\.x holds no serialized descriptor"):
        _shim.serialized_descriptor(compile("DESCRIPTOR = other(b'p4')", "x.py", "exec"), "p4.x")


def test_steps_aside_for_regenerated_code(tmp_path: Path) -> None:
    modules = {
        "p4.config.v1.p4types_pb2": p4types_pb2,
        "p4.config.v1.p4info_pb2": p4info_pb2,
        "p4.v1.p4data_pb2": p4data_pb2,
        "p4.v1.p4runtime_pb2": p4runtime_pb2,
        "p4.v1.p4runtime_pb2_grpc": None,
    }
    earlier = ""
    (tmp_path / "p4").mkdir()
    (tmp_path / "p4" / "__init__.py").touch()
    for name, module in modules.items():
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for package in path.parent, path.parent.parent:
            (package / "__init__.py").touch()
        if module is None:
            path.write_text("")
            continue
        serialized = module.DESCRIPTOR.serialized_pb
        path.write_text(_GENERATED.format(imports=earlier, serialized=serialized, name=name))
        earlier += f"import {name}\n"
    script = (
        "import cais_tools.p4rt as p; from cais_tools.p4rt import _shim, p4runtime_pb2 as m; "
        "print(m.__file__); print(m.TableEntry(table_id=3).table_id)"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[3]}"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path / "p4/v1/p4runtime_pb2.py"), "3"]


def test_importing_the_library_leaves_grpcs_log_to_the_program() -> None:
    script = "import os, cais_tools.p4rt; print(os.environ.get('GRPC_VERBOSITY'))"
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
