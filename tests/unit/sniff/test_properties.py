"""Any bytes as a frame, any bytes as a file: no error but ours, no hang, never a packet that is not there."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cais_tools.errors import UsageError
from cais_tools.sniff.batch import CaptureInterface, batch_of
from cais_tools.sniff.cooked import Cooked
from cais_tools.sniff.decode import TAG_TYPES, decode
from cais_tools.sniff.documents import documents_of
from cais_tools.sniff.files import open_files
from cais_tools.sniff.printing import Style, lines_of
from cais_tools.wire.header import Header
from tests.unit.sniff import captures

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TAGS = st.lists(st.sampled_from(TAG_TYPES), max_size=3).map(
    lambda types: b"".join(t.to_bytes(2) + b"\0\7" for t in types)
)
HEADERS = st.builds(lambda tags, rest: captures.ETHERNET + tags + captures.CAIS + rest, TAGS, st.binary(max_size=60))
FRAMES = st.lists(st.one_of(st.binary(max_size=80), HEADERS), max_size=8)


def header_by_hand(data: bytes) -> Header | None:
    """The CAIS header of an Ethernet frame, found one byte after the other."""
    at = 12
    while data[at : at + 2] in [kind.to_bytes(2, "big") for kind in TAG_TYPES]:
        at += 4
    if data[at : at + 2] != captures.CAIS or len(data) < at + 22:
        return None
    return Header.unpack(data, at + 2)


@given(FRAMES, st.sampled_from([1, 113, 276, 147]))
@QUICK
def test_any_bytes_as_a_frame(frames: Sequence[bytes], link_type: int) -> None:
    interfaces = [CaptureInterface("x", link_type)]
    batch = Cooked(interfaces).complete(batch_of(frames, link_type=link_type))
    decoded = decode(batch)
    for style in (Style(link=True, verbose=True, hex=2), Style(numeric=True, hex=1)):
        assert len(list(lines_of(decoded, interfaces, style))) == len(decoded) + len(decoded.malformed)
        assert len(list(documents_of(decoded, interfaces, style))) == len(decoded)
    if link_type == 1:
        by_hand = {i: header for i, data in enumerate(frames) if (header := header_by_hand(data)) is not None}
        assert dict(zip(decoded.index.tolist(), decoded.header.tolist(), strict=True)) == by_hand
    if link_type == 147:
        assert len(decoded) == len(decoded.malformed) == 0


def records_by_hand(content: bytes) -> list[bytes]:
    """The records of a little-endian pcap file, read one by one."""
    found: list[bytes] = []
    at = 24
    while at + 16 <= len(content):
        size = int.from_bytes(content[at + 8 : at + 12], "little")
        if size > 262_144 or at + 16 + size > len(content):
            break
        found.append(content[at + 16 : at + 16 + size])
        at += 16 + size
    return found


def frames_read(content: bytes) -> list[bytes]:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(content)
        try:
            batches = list(open_files([file.name], lambda _: None).batches())
        except UsageError:
            return []
    for batch in batches:
        assert ((batch.offset >= 0) & (batch.offset + batch.captured <= len(batch.data))).all()
        assert (batch.captured <= batch.length).all()
        decode(batch)
    return captures.frames_of(batches)


@given(st.binary(max_size=300), st.sampled_from([b"", b"\n\r\r\n", b"\x1f\x8b\x08\0", b"\xa1\xb2\xc3\xd4"]))
@QUICK
def test_any_bytes_as_a_file(rest: bytes, magic: bytes) -> None:
    frames_read(magic + rest)


@given(FRAMES, st.integers(1, 40), st.binary(max_size=40))
@QUICK
def test_a_pcap_file_with_any_end_holds_what_it_holds(frames: list[bytes], repeat: int, end: bytes) -> None:
    content = captures.pcap(frames * repeat) + end
    assert frames_read(content) == records_by_hand(content)


@given(FRAMES, st.sampled_from("<>"), st.data())
@QUICK
def test_a_spoilt_pcapng_file_never_has_more_packets(frames: list[bytes], order: str, data: st.DataObject) -> None:
    blocks = [captures.section(order), captures.interface(order), *(captures.packet(f, order=order) for f in frames)]
    content = bytearray(b"".join(blocks))
    assert frames_read(bytes(content)) == frames
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert len(frames_read(bytes(content))) <= len(content) // 16


@pytest.mark.parametrize("missing", range(0, 120, 7))
def test_a_pcapng_file_cut_off_anywhere(missing: int) -> None:
    blocks = [captures.section(), captures.interface(), captures.packet(captures.frame(1)), captures.packet(b"x")]
    content = b"".join(blocks)
    assert frames_read(content[: len(content) - missing]) in ([captures.frame(1), b"x"], [captures.frame(1)], [])
