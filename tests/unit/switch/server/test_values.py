"""Controller headers, P4Data, digests, addresses: what turns messages into values and back."""

from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.p4rt import code_pb2, p4data_pb2, p4runtime_pb2, p4types_pb2
from cais_tools.switch.server.address import check_address
from cais_tools.switch.server.digests import DigestBuffer, DigestBuffers, DigestConfig, DigestList
from cais_tools.switch.server.p4data import data_of, value_of_data
from cais_tools.switch.server.packetio import frame_of, packet_in_of
from cais_tools.switch.server.schema import Field, HeaderSchema
from cais_tools.switch.server.status import P4Error

HEADER = HeaderSchema("packet_out", (Field(1, "port", 9), Field(2, "queue", 5), Field(3, "flags", 2)))


def packet(payload: bytes, **values: bytes) -> p4runtime_pb2.PacketOut:
    message = p4runtime_pb2.PacketOut(payload=payload)
    for name, value in values.items():
        message.metadata.add(metadata_id=int(name[1:]), value=value)
    return message


def test_a_packet_out_and_back_as_packet_in() -> None:
    frame = frame_of(packet(b"data", m1=b"\x01\x03", m3=b"\x02", m2=b"\x11"), HEADER)
    assert frame == bytes([0b10000001, 0b11000110]) + b"data"
    back = packet_in_of(frame, HEADER)
    assert back.payload == b"data"
    assert [(m.metadata_id, m.value) for m in back.metadata] == [(1, b"\x01\x03"), (2, b"\x11"), (3, b"\x02")]


def test_without_a_controller_header_the_payload_is_the_frame() -> None:
    assert frame_of(packet(b"data"), None) == b"data"
    assert packet_in_of(b"data", None) == p4runtime_pb2.PacketIn(payload=b"data")
    with pytest.raises(P4Error, match="unknown metadata field id 1"):
        frame_of(packet(b"data", m1=b"\x01"), None)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"m1": b"\x01", "m2": b"\x01"}, "needs a value for flags"),
        ({"m1": b"\x01", "m2": b"\x01", "m3": b""}, "needs a value for flags"),
        ({"m1": b"\x02\x00", "m2": b"\x01", "m3": b"\x01"}, "port = 0x200 does not fit into 9 bits"),
        ({"m1": b"\x01", "m2": b"\x01", "m3": b"\x01", "m7": b"\x01"}, "unknown metadata field id 7"),
    ],
)
def test_metadata_that_is_not_what_p4info_says(values: dict[str, bytes], says: str) -> None:
    with pytest.raises(P4Error, match=says) as refused:
        frame_of(packet(b"", **values), HEADER)
    assert refused.value.code == code_pb2.INVALID_ARGUMENT


def test_a_frame_too_short_for_its_header_comes_as_it_is() -> None:
    assert packet_in_of(b"\x01", HEADER) == p4runtime_pb2.PacketIn(payload=b"\x01")


# --- P4Data ---

NO_TYPES = p4types_pb2.P4TypeInfo()


def bits(width: int, *, signed: bool = False) -> p4types_pb2.P4DataTypeSpec:
    spec = p4types_pb2.P4DataTypeSpec()
    if signed:
        spec.bitstring.int.bitwidth = width
    else:
        spec.bitstring.bit.bitwidth = width
    return spec


@pytest.mark.parametrize(
    ("width", "signed", "value", "data"),
    [
        (16, False, 0, b"\x00"),
        (16, False, 99, b"\x63"),
        (16, False, 12388, b"\x30\x64"),
        (8, True, 99, b"\x63"),
        (8, True, -99 & 0xFF, b"\x9d"),
        (12, True, -739 & 0xFFF, b"\xfd\x1d"),
        (16, True, 200, b"\x00\xc8"),
        (16, True, 0, b"\x00"),
    ],
)
def test_bitstrings_as_in_the_tables_of_the_specification(width: int, signed: bool, value: int, data: bytes) -> None:
    spec = bits(width, signed=signed)
    message = data_of(spec, NO_TYPES, iter([value]))
    assert message.bitstring == data
    assert value_of_data(spec, NO_TYPES, message, "here") == value


@pytest.mark.parametrize(
    ("width", "signed", "data"),
    [
        (8, False, b"\x01\x63"),
        (8, False, b""),
        (12, False, b"\x10\x63"),
        (8, True, b"\x00\x9d"),
        (12, True, b"\x8d\x1d"),
    ],
)
def test_bitstrings_that_the_specification_calls_invalid(width: int, signed: bool, data: bytes) -> None:
    with pytest.raises(P4Error, match="here"):
        value_of_data(bits(width, signed=signed), NO_TYPES, p4data_pb2.P4Data(bitstring=data), "here")


def test_structs_and_new_types() -> None:
    types = p4types_pb2.P4TypeInfo()
    types.structs["s"].members.add(name="mac", type_spec=bits(48))
    types.structs["s"].members.add(name="port").type_spec.new_type.name = "Port"
    types.new_types["Port"].original_type.CopyFrom(bits(9))
    spec = p4types_pb2.P4DataTypeSpec()
    spec.struct.name = "s"
    data = data_of(spec, types, iter([5, 300]))
    assert [member.bitstring for member in data.struct.members] == [b"\x05", b"\x01\x2c"]
    spec.Clear()
    spec.bool.SetInParent()
    assert value_of_data(spec, types, p4data_pb2.P4Data(bool=True), "here") == 1
    with pytest.raises(P4Error, match="holds a bool, not bitstring"):
        value_of_data(spec, types, p4data_pb2.P4Data(bitstring=b"\x01"), "here")
    spec.header_stack.SetInParent()
    with pytest.raises(P4Error, match="header_stack") as refused:
        data_of(spec, types, iter([]))
    assert refused.value.code == code_pb2.UNIMPLEMENTED


# --- digests ---


def test_a_list_is_sent_when_it_is_full_and_holds_no_duplicates() -> None:
    buffer = DigestBuffer(DigestConfig(max_timeout_ns=1000, max_list_size=2))
    assert buffer.add((1,), 0) is None
    assert buffer.add((1,), 1) is None
    assert buffer.add((2,), 2) == DigestList(1, ((1,), (2,)))
    assert buffer.deadline() is None
    assert buffer.add((1,), 3) is None
    assert buffer.deadline() == 1003


def test_a_list_is_sent_when_its_first_message_has_waited_long_enough() -> None:
    buffer = DigestBuffer(DigestConfig(max_timeout_ns=1000, max_list_size=10))
    buffer.add((1,), 100)
    buffer.add((2,), 900)
    assert buffer.due(1099) is None
    assert buffer.due(1100) == DigestList(1, ((1,), (2,)))
    assert buffer.due(5000) is None


def test_without_a_time_out_each_message_is_sent_at_once() -> None:
    buffer = DigestBuffer(DigestConfig())
    assert buffer.add((1,), 0) == DigestList(1, ((1,),))
    assert buffer.add((1,), 0) == DigestList(2, ((1,),))


def test_what_is_not_acknowledged_is_not_sent_again_until_its_time_is_over() -> None:
    buffer = DigestBuffer(DigestConfig(ack_timeout_ns=1000))
    assert buffer.add((1,), 0) is not None
    assert buffer.add((1,), 500) is None
    buffer.acknowledge(99)
    assert buffer.add((1,), 600) is None
    buffer.acknowledge(1)
    assert buffer.add((1,), 700) == DigestList(2, ((1,),))
    assert buffer.add((1,), 1699) is None
    assert buffer.add((1,), 1700) == DigestList(3, ((1,),))


def test_digests_that_nobody_acknowledges_are_not_kept_without_end() -> None:
    buffer = DigestBuffer(DigestConfig(max_list_size=1, ack_timeout_ns=10**18))
    sent = sum(buffer.add((number,), number) is not None for number in range(20_000))
    assert sent == 1 << 14
    buffer.acknowledge(1)
    assert buffer.add((30_000,), 30_000) is not None


def test_digests_that_nobody_asked_for_are_not_kept() -> None:
    buffers = DigestBuffers()
    assert buffers.add(1, (1,), 0) is None
    buffers.begin(1, DigestConfig(max_timeout_ns=10))
    buffers.add(1, (1,), 0)
    assert buffers.deadline() == 10
    assert buffers.due(10) == [(1, DigestList(1, ((1,),)))]
    buffers.end(1)
    assert buffers.configs() == {}
    buffers.acknowledge(1, 1)


def test_another_config_keeps_what_waits_and_what_is_not_acknowledged() -> None:
    buffers = DigestBuffers()
    buffers.begin(1, DigestConfig(max_timeout_ns=100, max_list_size=10, ack_timeout_ns=1000))
    for number in range(5):
        buffers.add(1, (number,), 0)
    assert buffers.due(100) == [(1, DigestList(1, tuple((number,) for number in range(5))))]
    for number in range(3, 8):
        buffers.add(1, (number,), 200)
    buffers.change(1, DigestConfig(max_timeout_ns=50, max_list_size=2, ack_timeout_ns=1000))
    assert buffers.due(249) == []
    # Never more than the largest list, and still without what was sent.
    assert buffers.due(250) == [(1, DigestList(2, ((5,), (6,)))), (1, DigestList(3, ((7,),)))]
    ended = buffers.end(1)
    buffers.begin(1, DigestConfig())
    assert buffers.add(1, (9,), 260) == DigestList(4, ((9,),))
    buffers.put_back(1, ended)
    assert buffers.add(1, (9,), 260) is None
    assert buffers.add(1, (8,), 260) == DigestList(5, ((9,), (8,)))


# --- addresses ---


@pytest.mark.parametrize("address", ["127.0.0.1:0", "127.1.2.3:9559", "[::1]:9559", "localhost:1"])
def test_loopback_needs_no_permission(address: str) -> None:
    host, port = check_address(address, allowed=False)
    assert f"{host}:{port}" == address


@pytest.mark.parametrize("address", ["0.0.0.0:9559", "[::]:9559", "192.0.2.1:9559", "switch.example:9559"])
def test_anything_else_does(address: str) -> None:
    with pytest.raises(UsageError, match="without TLS") as refused:
        check_address(address, allowed=False)
    assert "--insecure" in (refused.value.hint or "")
    check_address(address, allowed=True)


@pytest.mark.parametrize(
    "address", ["", ":9559", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1:9559"]
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="cannot listen"):
        check_address(address, allowed=True)
