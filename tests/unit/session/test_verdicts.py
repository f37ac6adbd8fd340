from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.session.errors import BatchFailed
from cais_tools.session.verdicts import Verdict, verdicts_of

OK = p4runtime_pb2.Error()
THERE = p4runtime_pb2.Error(canonical_code=6, message="there")


def test_one_verdict_for_each_update_by_index() -> None:
    verdicts = verdicts_of(["a", "b", "c"], [OK, THERE, OK], "UNKNOWN", "")
    assert [verdict.ok for verdict in verdicts] == [True, False, True]
    assert str(verdicts[1]) == "update 1 (b): ALREADY_EXISTS, there"


def test_without_details_no_update_is_accused() -> None:
    verdicts = verdicts_of(["a", "b"], [], "UNKNOWN", "")
    assert not any(verdict.ok or verdict.certain for verdict in verdicts)
    assert "does not say which" in (verdicts[0].hint or "")


def test_without_details_a_single_update_is_certain() -> None:
    [verdict] = verdicts_of(["a"], [], "UNKNOWN", "Error when adding match entry to target")
    assert verdict.certain
    assert "full" in (verdict.hint or "")


def test_a_wrong_number_of_details_counts_as_none() -> None:
    assert not verdicts_of(["a", "b"], [THERE], "UNKNOWN", "")[0].certain


def test_the_error_says_how_many_and_the_first() -> None:
    error = BatchFailed(verdicts_of(["a", "b", "c"], [OK, THERE, THERE], "UNKNOWN", ""))
    assert str(error) == "2 of 3 updates failed; update 1 (b): ALREADY_EXISTS, there"
    assert (error.code, error.exit_code) == ("ALREADY_EXISTS", 5)
    assert [each.index for each in error.failed] == [1, 2]
    assert str(BatchFailed([Verdict(0, "a", "NOT_FOUND")])) == "update 0 (a): NOT_FOUND"
