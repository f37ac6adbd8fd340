"""The traffic of a smoke test in a pcap file, built with the Scapy layer, to be replayed with other tools.

It is what the endpoints would send, packet for packet, on a perfect network: built a second time from the header's
definition, so that one checks the other.
"""

# Scapy carries no types that a strict checker could use.
# pyright: basic, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from cais_tools.links.pcap import PcapWriter
from cais_tools.smoke.plan import Plan
from cais_tools.smoke.rehearsal import payloads, rehearse
from cais_tools.wire import Job, tag
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import group_mac
from cais_tools.wire.scapy import CAIS
from cais_tools.worker.config import Membership
from cais_tools.worker.transfer import Transfer

__all__ = ["generate"]

# A microsecond between packets, from a fixed time on: the same options give the same file.
_FIRST_NS, _STEP_NS = 1_000_000_000_000_000_000, 1_000


def generate(path: Path, plan: Plan, *, group_id: int, lanes: int, slots: int, progress: Callable[[int], None]) -> int:
    """Write all contributions of all ranks, those of one packet together; return how many frames there are.

    `progress` is told how many operations are done.
    """
    members = [Membership(group_id, rank, plan.ranks, slots, lanes) for rank in range(plan.ranks)]
    job = Job.of_epoch(1)
    frames = seq_num = 0
    with PcapWriter(path) as writer:
        for done, step in enumerate(plan, 1):
            for transfers, _ in rehearse(step, members):
                for frame in _frames(transfers, members, job, seq_num):
                    writer.write([bytes(frame)], _FIRST_NS + frames * _STEP_NS)
                    frames += 1
                seq_num += transfers[0].packets
            progress(done)
    return frames


def _frames(transfers: Sequence[Transfer], members: Sequence[Membership], job: Job, sent: int) -> Iterator[Packet]:
    packets = transfers[0].packets
    seq_nums = np.arange(packets, dtype=np.uint32) + np.uint32((job.first_seq + sent) % 2**32)
    tags = [_tags(transfer, member, job, seq_nums) for transfer, member in zip(transfers, members, strict=True)]
    rows = [iter(zip(transfer.payload.tolist(), transfer.valid_bytes.tolist(), strict=True)) for transfer in transfers]
    for packet in range(packets):
        for transfer, member, own_tags, own_rows in zip(transfers, members, tags, rows, strict=True):
            filled = transfer.filled is None or bool(transfer.filled[packet])
            lanes, payload_len = next(own_rows) if filled else ([], 0)
            yield Ether(dst=group_mac(member.group_id), src=source_mac(member.rank)) / CAIS(
                op_type=int(transfer.op),
                group_id=member.group_id,
                layer_id=transfer.layer_id,
                chunk_id=int(transfer.chunk_ids[packet]),
                total_chunks=packets,
                seq_num=int(seq_nums[packet]),
                payload_len=payload_len,
                reserved=int(own_tags[packet]),
                lanes=lanes,
            )


def _tags(transfer: Transfer, member: Membership, job: Job, seq_nums: tag.Words) -> tag.Words:
    tags = tag.term(job.epoch, member.group_id, seq_nums, member.rank, transfer.salt)
    return tags + tag.checksum(payloads(transfer)) if transfer.op.is_linear else tags
