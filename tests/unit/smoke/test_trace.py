from __future__ import annotations

from pathlib import Path

import numpy as np

from cais_tools.links.pcap import read_pcap
from cais_tools.smoke.capture import Chunk, save_chunk
from cais_tools.smoke.trace import TraceLink
from cais_tools.wire import Op
from cais_tools.wire.frames import Frames, build_frames
from tests.unit.links.memory import MemoryLink

CHUNK = Chunk(group_id=4, op=Op.ALLREDUCE, layer_id=1, chunk_id=7)


def _frames(rank: int, chunks: list[int], *, op: Op = Op.ALLREDUCE, group_id: int = 4, layer_id: int = 1) -> Frames:
    return build_frames(
        op=op,
        group_id=group_id,
        rank=rank,
        layer_id=layer_id,
        total_chunks=9,
        chunk_ids=chunks,
        seq_nums=np.arange(len(chunks), dtype=np.uint32),
        tags=0,
        payload_len=8,
        payload=np.full((len(chunks), 2), rank, np.int32),
    )


def test_a_chunk_is_saved_with_all_contributions_and_the_result(tmp_path: Path) -> None:
    links = [TraceLink(MemoryLink()) for _ in range(2)]
    for rank, link in enumerate(links):
        link.send_matrix(_frames(rank, [6, 7, 8]))
    result = bytes(_frames(9, [7])[0])
    link = MemoryLink()
    link.arriving += [b"\xff" * 60, result, b"short"]
    receiving = TraceLink(link)
    receiving.recv()
    capture = save_chunk(tmp_path, "step1-sum", [links[0], links[1], receiving], rank=2, chunk=CHUNK)
    assert capture.path is not None
    frames = [frame for _, frame in read_pcap(capture.path)]
    assert frames[2] == result
    assert [int.from_bytes(frame[34:38], "big") for frame in frames] == [0, 1, 9]
    assert capture.result is not None
    assert capture.result.group_id == 4


def test_nothing_is_kept_of_the_operation_before() -> None:
    link = TraceLink(MemoryLink())
    link.send([b"a" * 20])
    link.forget()
    assert not list(link.sent())


def test_a_folder_that_cannot_be_written_to_costs_only_the_file(tmp_path: Path) -> None:
    capture = save_chunk(tmp_path / "missing", "x", [TraceLink(MemoryLink())], rank=0, chunk=CHUNK)
    assert capture.path is None


def _received(*frames: Frames) -> TraceLink:
    memory = MemoryLink()
    memory.arriving += [bytes(frame[0]) for frame in frames]
    link = TraceLink(memory)
    link.recv()
    return link


def test_other_results_of_the_same_chunk_id_are_left_out(tmp_path: Path) -> None:
    """Another group's, another operation's and another layer's, all of them later than ours."""
    others = [_frames(9, [7], group_id=5), _frames(9, [7], op=Op.ALLREDUCE_MAX), _frames(9, [7], layer_id=2)]
    capture = save_chunk(tmp_path, "x", [_received(_frames(8, [7]), *others)], rank=0, chunk=CHUNK)
    assert capture.path is not None
    assert [int.from_bytes(frame[34:38], "big") for _, frame in read_pcap(capture.path)] == [8]
    assert capture.result is not None
    assert capture.result.group_id == 4


def test_where_there_is_no_result_of_ours_the_foreign_one_is_saved(tmp_path: Path) -> None:
    capture = save_chunk(tmp_path, "x", [_received(_frames(9, [7], group_id=5))], rank=0, chunk=CHUNK)
    assert capture.path is not None
    assert len(list(read_pcap(capture.path))) == 1
    assert capture.result is not None
    assert capture.result.group_id == 5
