"""What can go wrong with a group, beside one operation on the switch (which falls back by itself).

CaisError
└── GroupFailed          the group cannot go on: every rank raises it, now and at every later operation
    ├── RankLost         a rank has ended, or does not answer
    ├── Diverged         ranks do not call the same operation
    └── FallbackFailed   neither the switch nor the endpoints could do an operation
"""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.errors import CaisError

__all__ = ["Diverged", "FallbackFailed", "GroupFailed", "RankLost", "failure"]


class GroupFailed(CaisError):
    """`ranks` are those of the group whose fault it is, as far as anybody knows."""

    def __init__(self, message: str, *, ranks: Sequence[int] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.ranks = tuple(ranks)


class RankLost(GroupFailed):
    exit_code = 3


class Diverged(GroupFailed):
    pass


class FallbackFailed(GroupFailed):
    pass


_KINDS = {kind.__name__: kind for kind in (GroupFailed, RankLost, Diverged, FallbackFailed)}


def failure(kind: str, text: str, ranks: Sequence[int]) -> GroupFailed:
    """The error that another process has named."""
    return _KINDS.get(kind, GroupFailed)(text, ranks=ranks)
