"""What the ranks of a group share for the length of a job, beside the group itself."""

from __future__ import annotations

from dataclasses import dataclass

SEQ_MODULUS = 1 << 32


@dataclass(frozen=True)
class Job:
    """One run of a training job on a group.

    Slots that hold another epoch count as empty, so a new job starts at once. The epoch also goes into the integrity
    tag: what a forgotten process of an earlier job still sends is refused by the receivers.
    """

    epoch: int
    first_seq: int

    @classmethod
    def of_epoch(cls, epoch: int) -> Job:
        """Number the packets of epoch e from e * 2^24 on.

        So the packets of the job before are older in serial-number arithmetic (as long as it sent fewer than
        2^24), and a late one never keeps a slot from the job that runs now.
        """
        return cls(epoch, (epoch << 24) % SEQ_MODULUS)
