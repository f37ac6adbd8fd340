"""Routes follow from the operation alone."""

from __future__ import annotations

from cais_tools.training.schedule import Decision, OperationClass, Schedule, Segment

SMALL, LARGE = OperationClass("ALL_REDUCE", "float32", 100), OperationClass("ALL_REDUCE", "float32", 4096)
GATHER = OperationClass("ALL_GATHER", "float32", 4096)
DECISION = Decision(True, "", ((SMALL, True),), (("ALL_REDUCE", 1000),))


def test_overrides_come_before_sizes_and_unknown_kinds_stay() -> None:
    assert DECISION.offloads(SMALL)
    assert DECISION.offloads(LARGE)
    assert not DECISION.offloads(OperationClass("ALL_REDUCE", "int32", 100))
    assert not DECISION.offloads(GATHER)
    assert not Decision(False, "", ((SMALL, True),)).offloads(SMALL)


def test_a_route_says_why_it_leads_to_the_endpoints() -> None:
    schedule = Schedule([Segment(0, 8, DECISION, 5), Segment(8, 8, DECISION, 0), Segment(16, 8, Decision(False, "x"))])
    route = schedule.route(3, LARGE)
    assert route is not None
    assert (route.is_switch, route.epoch) == (True, 5)
    reasons = [route.reason for number in (3, 8, 16) if (route := schedule.route(number, GATHER)) is not None]
    assert reasons == ["the endpoints are as fast for this size"] * 2 + ["x"]
    assert schedule.route(24, LARGE) is None


def test_a_new_segment_replaces_what_follows() -> None:
    schedule = Schedule([Segment(0, 8, DECISION, 5), Segment(8, 8, DECISION, 5)])
    schedule.append(Segment(4, 2, Decision(False, "forced")))
    assert schedule.horizon == 6
    routes = [schedule.route(number, LARGE) for number in range(7)]
    assert [route and route.is_switch for route in routes] == [True] * 4 + [False] * 2 + [None]
