from __future__ import annotations

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.session.election import Election, uint128, uint128_value

Update = p4runtime_pb2.MasterArbitrationUpdate


def _answer(code: int, seen: int | None) -> Update:
    update = Update()
    update.status.code = code
    if seen is not None:
        update.election_id.CopyFrom(uint128(seen))
    return update


def _election(own: int | None = None, *, take_over: bool = False) -> Election:
    return Election(1, own=own, take_over=take_over, clock=lambda: 1000)


def test_ids_have_128_bits() -> None:
    assert uint128_value(uint128((7 << 64) + 3)) == (7 << 64) + 3


def test_asks_first_and_bids_where_nobody_is_primary() -> None:
    election = _election()
    assert not election.opening().HasField("election_id")
    bid = election.heard(_answer(code_pb2.NOT_FOUND, None))
    assert bid is not None
    assert uint128_value(bid.election_id) == 1000
    assert not election.settled
    assert election.heard(_answer(code_pb2.OK, 1000)) is None
    assert election.primary


def test_bids_above_the_highest_id_ever_seen() -> None:
    election = _election()
    bid = election.heard(_answer(code_pb2.NOT_FOUND, 5000))
    assert bid is not None
    assert uint128_value(bid.election_id) == 5001


def test_leaves_a_live_primary_alone() -> None:
    election = _election()
    assert election.heard(_answer(code_pb2.ALREADY_EXISTS, 77)) is None
    assert election.settled
    assert not election.primary
    assert election.reason == "the client with election id 77 is primary"


def test_takes_over_once_when_told_to() -> None:
    election = _election(take_over=True)
    bid = election.heard(_answer(code_pb2.ALREADY_EXISTS, 5000))
    assert bid is not None
    assert uint128_value(bid.election_id) == 5001
    assert election.heard(_answer(code_pb2.ALREADY_EXISTS, 6000)) is None
    assert not election.primary


def test_bmv2_makes_a_client_without_id_primary_which_is_not_enough() -> None:
    election = _election()
    bid = election.heard(_answer(code_pb2.OK, 0))
    assert bid is not None
    assert not election.primary


def test_a_given_id_is_used_as_it_is() -> None:
    election = _election(own=0)
    opening = election.opening()
    assert opening.HasField("election_id")  # 0 is not the same as none
    assert election.heard(_answer(code_pb2.NOT_FOUND, 9)) is None
    assert election.settled
    assert not election.primary
    assert "too low" in election.reason


def test_succeeds_a_primary_that_leaves() -> None:
    election = _election()
    election.heard(_answer(code_pb2.ALREADY_EXISTS, 77))
    assert election.heard(_answer(code_pb2.NOT_FOUND, 77)) is not None
    election.heard(_answer(code_pb2.OK, 1000))
    assert election.primary


def test_uses_its_id_again_on_a_new_stream() -> None:
    election = _election()
    election.heard(_answer(code_pb2.NOT_FOUND, None))
    election.heard(_answer(code_pb2.OK, 1000))
    election.lost("gone")
    assert not election.primary
    assert uint128_value(election.opening().election_id) == 1000


def test_a_probe_that_is_refused_means_other_clients() -> None:
    election = _election()
    election.opening()
    election.lost("INVALID_ARGUMENT Election id already exists")
    assert election.is_crowded_out
    assert election.reason == "other clients are connected"
    election.opening()
    election.heard(_answer(code_pb2.ALREADY_EXISTS, 77))
    election.lost("UNAVAILABLE")
    assert not election.is_crowded_out
