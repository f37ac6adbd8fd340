"""What `cais sniff` prints of --expect, --slots, --verify and --stats: lines and tables, or JSON documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["ExpectView", "View", "open_view"]

CHECK_FAILED = 1


class View(Protocol):
    """Takes all packets in, and prints what it has found."""

    def feed(self, decoded: Decoded) -> None:
        """Take a batch in; print what has settled."""
        ...

    def tick(self, now_ns: int) -> None:
        """Print what has settled since; for live captures."""
        ...

    def finish(self) -> int:
        """Print the rest and the report; return the exit code."""
        ...


def open_view(kind: str, interfaces: list[CaptureInterface], *, json: bool, utc: bool, live: bool) -> View:
    """Open a view: `slots`, `verify` or `stats`. `interfaces` may grow while packets come."""
    from cais_tools.cli.sniff_slots import SlotsView
    from cais_tools.cli.sniff_stats import StatsView
    from cais_tools.cli.sniff_verify import VerifyView

    views: dict[str, Callable[..., View]] = {"slots": SlotsView, "verify": VerifyView, "stats": StatsView}
    return views[kind](interfaces, json=json, utc=utc, live=live)


class ExpectView:
    """The marks behind packets that differ from what `--expect` says, and the verdict."""

    def __init__(self, text: str, interfaces: list[CaptureInterface], *, json: bool) -> None:
        from cais_tools.sniff.expect import Expect, Expectation

        self._expect = Expect(Expectation.parse(text), interfaces)
        self._json = json

    def feed(self, decoded: Decoded) -> NDArray[np.bool_]:
        """(m,) which packets differ."""
        return self._expect.feed(decoded)

    def mark(self, decoded: Decoded, i: int) -> str:
        """Return `  ! group_id 3, expected 0 (group mixed up)`."""
        texts = [
            f"{each.field} {each.value}, expected {each.expected}" + (f" ({each.cause})" if each.cause else "")
            for each in self._expect.differences(decoded, i)
        ]
        return f"  ! {'; '.join(texts)}" if texts else ""

    def mark_json(self, decoded: Decoded, i: int) -> list[dict[str, Any]]:
        return [vars(each) for each in self._expect.differences(decoded, i)]

    def finish(self) -> int:
        from cais_tools.cli.output import emit_json, say, table

        report = self._expect.report()
        if self._json:
            document = {
                "packets": report.packets,
                "differing": report.differing,
                "malformed": report.malformed,
                "differences": [
                    {**vars(each.difference), "packets": each.packets, "first": each.first} for each in report.counts
                ],
                "silent": list(report.silent),
                "cause": report.cause,
                "passed": report.passed,
            }
            emit_json("cais.expect/1", document)
            return 0 if report.passed else CHECK_FAILED
        if report.counts:
            rows = [
                (
                    each.difference.field,
                    each.difference.value,
                    each.difference.expected,
                    str(each.packets),
                    str(each.first),
                    each.difference.cause or "",
                )
                for each in report.counts[:_MOST_ROWS]
            ]
            say(table(("field", "value", "expected", "packets", "first", "cause"), rows, left=(0, 1, 2, 5)))
            if len(report.counts) > _MOST_ROWS:
                say(f"and {len(report.counts) - _MOST_ROWS} more kinds of difference")
        if report.silent:
            say(f"no contribution from {', '.join(report.silent)}")
        if report.cause:
            say(report.cause)
        if report.passed:
            say(f"as expected: all {report.packets} packets")
            return 0
        if not report.packets and not report.malformed:
            say("not as expected: no CAIS packet at all")
            return CHECK_FAILED
        short = f", {report.malformed} too short for a header" if report.malformed else ""
        say(f"not as expected: {report.differing} of {report.packets} packets differ{short}")
        return CHECK_FAILED


_MOST_ROWS = 20
