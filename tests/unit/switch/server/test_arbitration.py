from __future__ import annotations

import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.arbitration import Arbitration, Notification
from cais_tools.switch.server.status import P4Error

DEVICE = 7


def update(
    election_id: int | None, *, device_id: int = DEVICE, role: str = ""
) -> p4runtime_pb2.MasterArbitrationUpdate:
    message = p4runtime_pb2.MasterArbitrationUpdate(device_id=device_id)
    if election_id is not None:
        message.election_id.high, message.election_id.low = election_id >> 64, election_id & (2**64 - 1)
    if role:
        message.role.name = role
    return message


def codes(notifications: list[Notification]) -> dict[object, int]:
    return {client: response.arbitration.status.code for client, response in notifications}


def test_the_highest_election_id_is_primary_and_the_others_are_told() -> None:
    arbitration = Arbitration(DEVICE)
    assert codes(arbitration.update("a", update(5))) == {"a": code_pb2.OK}
    assert codes(arbitration.update("b", update(3))) == {"b": code_pb2.ALREADY_EXISTS}
    told = arbitration.update("c", update(9))
    assert codes(told) == {"a": code_pb2.ALREADY_EXISTS, "b": code_pb2.ALREADY_EXISTS, "c": code_pb2.OK}
    assert told[-1][0] == "c", "the new primary is told last"
    assert {response.arbitration.election_id.low for _, response in told} == {9}
    assert arbitration.primaries() == ["c"]


def test_election_ids_have_128_bits() -> None:
    arbitration = Arbitration(DEVICE)
    arbitration.update("low", update(2**64 - 1))
    told = arbitration.update("high", update(2**64))
    assert arbitration.primaries() == ["high"]
    assert told[-1][1].arbitration.election_id.high == 1
    arbitration.check_primary("", 2**64)


def test_nobody_is_promoted_when_the_primary_is_gone() -> None:
    arbitration = Arbitration(DEVICE)
    arbitration.update("a", update(5))
    arbitration.update("b", update(3))
    told = arbitration.leave("a")
    assert codes(told) == {"b": code_pb2.NOT_FOUND}
    assert told[0][1].arbitration.election_id.low == 5, "the highest id ever seen"
    with pytest.raises(P4Error, match="there is none") as refused:
        arbitration.check_primary("", 3)
    assert refused.value.code == code_pb2.PERMISSION_DENIED
    # Only an id as high as the highest ever seen makes a primary again.
    assert codes(arbitration.update("b", update(4))) == {"b": code_pb2.NOT_FOUND}
    assert codes(arbitration.update("c", update(5))) == {"b": code_pb2.ALREADY_EXISTS, "c": code_pb2.OK}


def test_a_backup_that_leaves_is_no_news() -> None:
    arbitration = Arbitration(DEVICE)
    arbitration.update("a", update(5))
    arbitration.update("b", update(3))
    assert arbitration.leave("b") == []
    assert arbitration.leave("never came") == []


def test_a_primary_can_step_down() -> None:
    arbitration = Arbitration(DEVICE)
    arbitration.update("a", update(5))
    arbitration.update("b", update(3))
    assert codes(arbitration.update("a", update(1))) == {"a": code_pb2.NOT_FOUND, "b": code_pb2.NOT_FOUND}
    assert arbitration.primaries() == []


def test_a_client_without_election_id_is_never_primary_and_zero_is_an_id() -> None:
    arbitration = Arbitration(DEVICE)
    told = arbitration.update("none", update(None))
    assert codes(told) == {"none": code_pb2.NOT_FOUND}
    assert not told[0][1].arbitration.HasField("election_id")
    assert codes(arbitration.update("zero", update(0)))["zero"] == code_pb2.OK
    assert arbitration.primaries() == ["zero"]
    arbitration.check_primary("", 0)
    with pytest.raises(P4Error, match="election id none"):
        arbitration.check_primary("", None)
    # Any number of clients may have no id.
    arbitration.update("none too", update(None))


def test_an_election_id_in_use_ends_the_stream() -> None:
    arbitration = Arbitration(DEVICE)
    arbitration.update("a", update(5))
    with pytest.raises(P4Error, match="already used") as refused:
        arbitration.update("b", update(5))
    assert refused.value.code == code_pb2.INVALID_ARGUMENT
    assert codes(arbitration.update("a", update(5))) == {"a": code_pb2.OK}, "its own id is no duplicate"
    arbitration.update("b", update(3))
    with pytest.raises(P4Error, match="already used"):
        arbitration.update("b", update(5))


def test_an_unknown_device_and_changes_of_device_or_role() -> None:
    arbitration = Arbitration(DEVICE)
    with pytest.raises(P4Error, match="no device 8") as refused:
        arbitration.update("a", update(5, device_id=8))
    assert refused.value.code == code_pb2.NOT_FOUND
    arbitration.update("a", update(5))
    for wrong in (update(5, device_id=8), update(5, role="other")):
        with pytest.raises(P4Error) as refused:
            arbitration.update("a", wrong)
        assert refused.value.code == code_pb2.FAILED_PRECONDITION


def test_each_role_has_a_primary_of_its_own() -> None:
    arbitration = Arbitration(DEVICE)
    arbitration.update("a", update(5))
    told = arbitration.update("b", update(5, role="stats"))
    assert codes(told) == {"b": code_pb2.OK}
    assert told[0][1].arbitration.role.name == "stats"
    assert arbitration.primaries() == ["a", "b"]
    arbitration.check_primary("stats", 5)
    with pytest.raises(P4Error, match="no client has the role") as refused:
        arbitration.check_primary("unheard of", 5)
    assert refused.value.code == code_pb2.NOT_FOUND


def test_a_role_config_is_refused_rather_than_ignored() -> None:
    message = update(5, role="stats")
    message.role.config.SetInParent()
    with pytest.raises(P4Error, match=r"role\.config") as refused:
        Arbitration(DEVICE).update("a", message)
    assert refused.value.code == code_pb2.INVALID_ARGUMENT


def test_too_many_clients() -> None:
    arbitration = Arbitration(DEVICE, max_clients=2)
    arbitration.update("a", update(1))
    arbitration.update("b", update(2))
    with pytest.raises(P4Error) as refused:
        arbitration.update("c", update(3))
    assert refused.value.code == code_pb2.RESOURCE_EXHAUSTED
    arbitration.leave("a")
    arbitration.update("c", update(3))


def test_who_may_write() -> None:
    arbitration = Arbitration(DEVICE)
    with pytest.raises(P4Error, match="StreamChannel"):
        arbitration.check_primary("", 1)
    arbitration.update("a", update(5))
    arbitration.check_primary("", 5)
    with pytest.raises(P4Error, match="the primary's is 5") as refused:
        arbitration.check_primary("", 4)
    assert refused.value.code == code_pb2.PERMISSION_DENIED
    with pytest.raises(P4Error) as refused:
        arbitration.check_device(1)
    assert refused.value.code == code_pb2.NOT_FOUND


def test_a_role_that_cannot_be() -> None:
    arbitration = Arbitration(DEVICE, max_roles=2)
    arbitration.update("a", update(1, role="r" * 256))
    with pytest.raises(P4Error) as refused:
        arbitration.update("b", update(1, role="r" * 257))
    assert refused.value.code == code_pb2.INVALID_ARGUMENT
    arbitration.update("b", update(1))
    arbitration.leave("b")
    with pytest.raises(P4Error) as refused:
        arbitration.update("c", update(1, role="another"))
    assert refused.value.code == code_pb2.RESOURCE_EXHAUSTED
    # Its highest election id is remembered although nobody is left.
    [(_, response)] = arbitration.update("d", update(0))
    assert response.arbitration.status.code == code_pb2.NOT_FOUND
    assert response.arbitration.election_id.low == 1
