"""Where observations come from, as the screen sees it: switches, or a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from cais_tools.top.observation import Observation, Source

__all__ = ["Feed", "Rewound", "Sink"]


class Rewound:
    """What comes next does not follow from what came before: a recording was wound."""


Sink = Callable[[Observation | Rewound], None]
"""Takes what comes, in whatever thread; must not block."""


class Feed(Protocol):
    """Gives observations to a sink from threads of its own, between `start` and `close`."""

    @property
    def sources(self) -> Sequence[Source]: ...

    def start(self, sink: Sink) -> None: ...

    def set_interval(self, seconds: float) -> None: ...

    def look_at(self, device: str, *, closely: bool) -> None:
        """What costs more, open slots first of all, is asked of this device more often than of the others."""
        ...

    def close(self) -> None: ...
