"""`cais sniff --verify`: the results that are wrong, and the verdict."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cais_tools.cli.output import coloured, emit_json, say
from cais_tools.sniff.printing import op_name
from cais_tools.sniff.times import clock, rfc3339
from cais_tools.sniff.verify import Verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded
    from cais_tools.sniff.mismatch import Mismatch
    from cais_tools.sniff.verify import VerifyReport

__all__ = ["VerifyView"]

_MOST_SHOWN = 20
_CHECK_FAILED = 1


class VerifyView:
    def __init__(self, interfaces: list[CaptureInterface], *, json: bool, utc: bool, live: bool) -> None:
        self._verify = Verify(interfaces, live=live)
        self._json, self._utc = json, utc
        self._shown = 0

    def feed(self, decoded: Decoded) -> None:
        self._show(self._verify.feed(decoded))

    def tick(self, now_ns: int) -> None:
        self._show(self._verify.tick(now_ns))

    def finish(self) -> int:
        self._show(self._verify.finish())
        report = self._verify.report()
        if self._json:
            document = {name: value for name, value in vars(report).items() if name != "mismatches"}
            emit_json("cais.verify/1", {**document, "passed": report.passed})
        else:
            _say_verdict(report, self._shown)
        return 0 if report.passed else _CHECK_FAILED

    def _show(self, mismatches: Sequence[Mismatch]) -> None:
        for each in mismatches:
            if self._json:
                emit_json("cais.mismatch/1", self._document(each))
            elif self._shown < _MOST_SHOWN:
                self._shown += 1
                self._say(each)

    def _say(self, wrong: Mismatch) -> None:
        say(
            f"{clock(wrong.time_ns, utc=self._utc)} packet {wrong.number}: {op_name(wrong.op_type)} "
            f"group {wrong.group_id} layer {wrong.layer_id} chunk {wrong.chunk_id} seq {wrong.seq_num}"
        )
        more = f", and {wrong.wrong_lanes - 1} more lanes" if wrong.wrong_lanes > 1 else ""
        if wrong.value == wrong.expected:
            say(f"  {wrong.field} {_value(wrong.field, wrong.value)}")
        else:
            value, expected = _value(wrong.field, wrong.value), _value(wrong.field, wrong.expected)
            say(f"  {wrong.field}: the result is {value}, the contributions make {expected}{more}")
        for each in wrong.contributions:
            value = "no payload" if each.value is None else _value(wrong.field, each.value)
            say(f"    {each.sender:<18} {value:>11}  packet {each.number}")
        if wrong.cause:
            say(f"  {wrong.cause}")

    def _document(self, wrong: Mismatch) -> dict[str, Any]:
        return {"ts": rfc3339(wrong.time_ns, utc=self._utc), "ts_ns": wrong.time_ns, **asdict(wrong)}


def _value(field: str, value: int) -> str:
    return f"0x{value:08x}" if field == "reserved" else str(value)


def _say_verdict(report: VerifyReport, shown: int) -> None:
    import sys

    if report.mismatched > shown:
        say(f"and {report.mismatched - shown} more wrong results")
    for reason, count in report.not_verifiable.items():
        say(f"not verifiable: {count} aggregates: {reason}")
    if report.missing:
        say("missing: " + ", ".join(f"{name} {count}x" for name, count in report.missing.items()))
        say("(capture at every port: cais sniff veth1 veth2 ... --verify)")
    if report.without_result:
        say(f"without a result: {report.without_result} aggregates")
    if report.bad:
        say(f"{report.bad} packets that the switch drops: unknown operation, or payload_len over the payload")
    checked = f"{report.verified} aggregates right in every bit ({report.results} results, {report.lanes} lanes)"
    if report.mismatched:
        say(f"{coloured('WRONG', 'red', sys.stdout)}: {report.mismatched} aggregates are wrong; {checked}")
    elif report.verified:
        say(f"{coloured('OK', 'green', sys.stdout)}: {checked}")
    else:
        say("nothing could be verified")
