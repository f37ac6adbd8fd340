"""What is shown of the packets: each of them, with marks where it is not as expected, or the views on all of them."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from cais_tools.sniff.documents import documents_of
from cais_tools.sniff.printing import Style, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["Report"]

_TICK = 0.5  # seconds between two looks of the views at the clock


class Report:
    """Lines or NDJSON on stdout, flushed with every batch: whoever waits for them may sit behind a pipe."""

    def __init__(
        self,
        expect: str | None,
        views: Sequence[str],
        interfaces: list[CaptureInterface],
        *,
        json: bool,
        style: Style,
        live: bool,
    ) -> None:
        self._interfaces = interfaces
        self._json = json
        self._style = style
        self._live = live
        self._tick_at = time.monotonic() + _TICK
        self._expect = None
        self._differs: NDArray[np.bool_] | None = None
        self._views = []
        if expect is not None or views:
            from cais_tools.cli.sniff_report import ExpectView, open_view

            self._expect = None if expect is None else ExpectView(expect, interfaces, json=json)
            self._views = [open_view(kind, interfaces, json=json, utc=style.utc, live=live) for kind in views]

    def feed(self, decoded: Decoded) -> None:
        """Hand a batch to what looks at all packets."""
        if self._expect is not None:
            self._differs = self._expect.feed(decoded)
        for view in self._views:
            view.feed(decoded)
        if self._views:
            sys.stdout.flush()

    def show_packets(self, decoded: Decoded) -> None:
        """Print the batch that was fed last."""
        if self._json:
            for i, document in enumerate(documents_of(decoded, self._interfaces, self._style)):
                if self._expect is not None:
                    document["differs"] = self._expect.mark_json(decoded, i)
                sys.stdout.write(json.dumps({"schema": "cais.packet/1", **document}) + "\n")
        else:
            for line in lines_of(decoded, self._interfaces, self._style, self._marks(decoded)):
                sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _marks(self, decoded: Decoded) -> Sequence[str] | None:
        if self._expect is None or self._differs is None:
            return None
        expect = self._expect
        return [expect.mark(decoded, i) if wrong else "" for i, wrong in enumerate(self._differs.tolist())]

    def tick(self) -> None:
        """Let the views of a live capture see that time passes, also when no packet does."""
        if self._live and self._views and time.monotonic() >= self._tick_at:
            self._tick_at = time.monotonic() + _TICK
            for view in self._views:
                view.tick(time.time_ns())
            sys.stdout.flush()

    def finish(self) -> int:
        """Print verdicts and reports; return the worst exit code."""
        parts = [*self._views, *([] if self._expect is None else [self._expect])]
        return max((part.finish() for part in parts), default=0)
