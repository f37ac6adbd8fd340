"""The generated code is that of `controller.proto`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from cais_tools.controller.proto import controller_pb2
from tests.functional.runner import ROOT

PROTO = "cais_tools/controller/proto/controller.proto"
HOW = (
    "generate it anew, in the repository's root, with grpcio-tools 1.80 (code for protobuf 6.31, which runs on 7, too) "
    f"and mypy-protobuf: python -m grpc_tools.protoc -I . --python_out=. --grpc_python_out=. --mypy_out=. "
    f"--mypy_grpc_out=. {PROTO}"
)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the compiler makes of the file now."""
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools")
    folder = tmp_path_factory.mktemp("generated")
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", ".", f"--python_out={folder}"]
    command += [f"--grpc_python_out={folder}", f"--descriptor_set_out={folder / 'set'}", PROTO]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    return folder


def test_the_descriptor_is_that_of_the_file(generated: Path) -> None:
    compiled = descriptor_pb2.FileDescriptorSet.FromString((generated / "set").read_bytes()).file[0]
    ours = descriptor_pb2.FileDescriptorProto.FromString(controller_pb2.DESCRIPTOR.serialized_pb)
    for message in _messages(compiled):
        for field in message.field:
            field.ClearField("json_name")  # protoc leaves it out of the code
    assert ours == compiled, HOW


@pytest.mark.parametrize("name", ["controller_pb2.py", "controller_pb2_grpc.py"])
def test_the_code_is_that_of_the_compiler(generated: Path, name: str) -> None:
    path = Path(PROTO).with_name(name)
    assert _without_versions((ROOT / path).read_text()) == _without_versions((generated / path).read_text()), HOW


@pytest.mark.parametrize("name", ["controller_pb2.pyi", "controller_pb2_grpc.pyi"])
def test_the_types_name_everything(name: str) -> None:
    """Their compiler is no dependency: what there is in the file is there in the types, and nothing else."""
    text = Path(ROOT, PROTO).with_name(name).read_text()
    if name.endswith("_grpc.pyi"):
        methods = controller_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name
        assert set(re.findall(r"^    def ([A-Z]\w+)\(", text, re.MULTILINE)) == set(methods), HOW
        return
    file = descriptor_pb2.FileDescriptorProto.FromString(controller_pb2.DESCRIPTOR.serialized_pb)
    for message in _messages(file):
        assert re.search(rf"^ *class {message.name}\(", text, re.MULTILINE), (message.name, HOW)
        for field in message.field:
            assert re.search(rf"\b{field.name.upper()}_FIELD_NUMBER", text), (field.name, HOW)
    fields = {field.name.upper() for message in _messages(file) for field in message.field}
    assert set(re.findall(r"\b(\w+)_FIELD_NUMBER", text)) == fields, HOW


def _messages(
    inside: descriptor_pb2.FileDescriptorProto | descriptor_pb2.DescriptorProto,
) -> list[descriptor_pb2.DescriptorProto]:
    own = inside.message_type if isinstance(inside, descriptor_pb2.FileDescriptorProto) else inside.nested_type
    return [each for message in own for each in (message, *_messages(message))]


def _without_versions(code: str) -> str:
    """The code, but for what only the compiler's version makes different."""
    code = code.replace("(object):", ":")
    return re.sub(r"\d+\.\d+\.\d+|(?<=PUBLIC,)[\s\d,]+", "", code)
