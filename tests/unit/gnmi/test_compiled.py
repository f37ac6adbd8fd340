"""The stubs in the repository are what gnmi.proto compiles to, and get along with other gNMI stubs."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool

from cais_tools.gnmi import gnmi_pb2
from tests.unit.gnmi.compiling import PROTO, compile_into

pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed")


def test_the_descriptor_is_that_of_a_fresh_compilation(tmp_path: Path) -> None:
    compile_into(tmp_path)
    fresh = runpy.run_path(str(tmp_path / PROTO.replace(".proto", "_pb2.py")))["DESCRIPTOR"]
    assert fresh.serialized_pb == gnmi_pb2.DESCRIPTOR.serialized_pb


def test_the_pool_that_all_share_has_room_for_another_s_gnmi() -> None:
    pool = descriptor_pool.Default()
    with pytest.raises(KeyError):
        pool.FindMessageTypeByName("gnmi.Notification")
    assert gnmi_pb2.DESCRIPTOR.pool is not pool
    assert gnmi_pb2.DESCRIPTOR.services_by_name["gNMI"].full_name == "gnmi.gNMI"
