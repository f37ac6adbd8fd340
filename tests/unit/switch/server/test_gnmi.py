"""Which state a path means, how it is written, and when a subscriber hears of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cais_tools.gnmi import from_message, gnmi_pb2, in_text, parse_path, to_message
from cais_tools.switch.server.gnmi.requests import answer, check
from cais_tools.switch.server.gnmi.subscriptions import Sampler, Subscription, matching, subscriptions_of
from cais_tools.switch.server.gnmi.tree import nodes, of_type, state_of
from cais_tools.switch.server.status import P4Error

CHIP = "/components/component[name=chip]"
INSTANT = f"{CHIP}/state/temperature/instant"
Request = gnmi_pb2.GetRequest


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (INSTANT, [INSTANT]),
        ("/components/component[name=*]/state/temperature/instant", [INSTANT]),
        ("/components/component/state/temperature/instant", [INSTANT]),
        ("/components/*/state/*/instant", [INSTANT]),
        ("/components/.../instant", [INSTANT]),
        (".../instant/...", [INSTANT]),
        ("/components/component[name=chip]/...", [CHIP]),
        ("/components", ["/components"]),
        ("/", ["/"]),
        ("...", ["/"]),
        (f"{CHIP}/*", [f"{CHIP}/name", f"{CHIP}/state"]),
        (".../name", [f"{CHIP}/name", f"{CHIP}/state/name"]),
        ("/components/component[name=fan]/state", []),
        ("/components/component[slot=1]", []),
        ("/interfaces", []),
        (f"{INSTANT}/more", []),
    ],
)
def test_paths_with_wildcards(pattern: str, expected: list[str]) -> None:
    assert [in_text(node) for node in nodes(state_of(42.0), parse_path(pattern))] == expected


def test_without_a_temperature_there_is_no_leaf_for_it() -> None:
    assert nodes(state_of(None), parse_path(INSTANT)) == []
    assert len(nodes(state_of(None), parse_path(CHIP))) == 1


def test_state_and_configuration() -> None:
    leaves = state_of(42.0)
    assert of_type(leaves, Request.ALL) == leaves
    assert [in_text(leaf.path) for leaf in of_type(leaves, Request.CONFIG)] == [f"{CHIP}/name"]
    assert len(of_type(leaves, Request.STATE)) == len(of_type(leaves, Request.OPERATIONAL)) == 3


def got(path: str, encoding: gnmi_pb2.Encoding, temperature: float = 42.04) -> dict[str, Any]:
    told = answer(Request(encoding=encoding), to_message(parse_path(path)), state_of(temperature))
    assert told.timestamp > 1_700_000_000 * 10**9
    values: dict[str, Any] = {}
    for update in told.update:
        kind = update.val.WhichOneof("value")
        assert kind is not None
        value = getattr(update.val, kind)
        values[in_text(from_message(update.path))] = json.loads(value) if kind.startswith("json") else value
    return values


def test_values_in_each_encoding() -> None:
    assert got(INSTANT, gnmi_pb2.PROTO) == {INSTANT: 42.0}
    assert got(INSTANT, gnmi_pb2.JSON) == {INSTANT: 42.0}
    assert got(INSTANT, gnmi_pb2.JSON_IETF) == {INSTANT: "42.0"}
    assert got(f"{CHIP}/state/temperature", gnmi_pb2.JSON_IETF) == {
        f"{CHIP}/state/temperature": {"openconfig-platform:instant": "42.0"}
    }
    state = {"name": "chip", "type": "openconfig-platform-types:INTEGRATED_CIRCUIT", "temperature": {"instant": 42.0}}
    assert got("/", gnmi_pb2.JSON) == {"/": {"components": {"component": [{"name": "chip", "state": state}]}}}
    assert got("/components", gnmi_pb2.JSON_IETF)["/components"].keys() == {"openconfig-platform:component"}
    assert got(CHIP, gnmi_pb2.PROTO) == {
        f"{CHIP}/name": "chip",
        f"{CHIP}/state/name": "chip",
        f"{CHIP}/state/type": state["type"],
        INSTANT: 42.0,
    }


def test_the_prefix_s_target_comes_back_and_its_path_goes_before() -> None:
    prefix = gnmi_pb2.Path(target="leaf1", elem=to_message(parse_path(CHIP)).elem)
    told = answer(Request(prefix=prefix, encoding=gnmi_pb2.PROTO), to_message(parse_path("state/name")), state_of(1.0))
    assert told.prefix == gnmi_pb2.Path(target="leaf1")
    assert told.update[0].path == to_message(parse_path(f"{CHIP}/state/name"))


def test_no_node_is_an_error_only_without_wildcards() -> None:
    assert got("/interfaces/interface[name=*]/state/ifindex", gnmi_pb2.JSON) == {}
    assert got("/components/*/state/fan", gnmi_pb2.JSON) == {}
    with pytest.raises(P4Error, match=r"there is no /interfaces/interface\[name=eth0\]"):
        got("/interfaces/interface[name=eth0]", gnmi_pb2.JSON)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"encoding": gnmi_pb2.ASCII}, 12),
        ({"models": [gnmi_pb2.ModelData(name="openconfig-interfaces")]}, 3),
        ({"paths": [gnmi_pb2.Path()] * 65}, 8),
        ({"paths": [gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name="...")] * 65)]}, 8),
        ({"paths": [gnmi_pb2.Path(origin="cli")]}, 3),
        ({"prefix": gnmi_pb2.Path(origin="cli"), "paths": [gnmi_pb2.Path()]}, 3),
    ],
)
def test_what_cannot_be_asked(arguments: dict[str, Any], code: int) -> None:
    usual: dict[str, Any] = {"prefix": gnmi_pb2.Path(), "paths": [], "encoding": gnmi_pb2.PROTO, "models": []}
    check(**usual)
    with pytest.raises(P4Error) as refused:
        check(**usual | arguments)
    assert refused.value.code == code


def subscribed(mode: Any, **fields: Any) -> Subscription:
    wanted = gnmi_pb2.Subscription(path=to_message(parse_path(INSTANT)), mode=mode, **fields)
    (found,) = subscriptions_of(gnmi_pb2.SubscriptionList(subscription=[wanted]))
    return found


def test_intervals() -> None:
    assert subscribed(gnmi_pb2.SAMPLE).interval == 0.1
    assert subscribed(gnmi_pb2.TARGET_DEFINED).interval == 1.0
    assert subscribed(gnmi_pb2.SAMPLE, sample_interval=2_500_000_000).interval == 2.5
    for mode, fields in ((gnmi_pb2.ON_CHANGE, {}), (7, {}), (gnmi_pb2.SAMPLE, {"sample_interval": 99_999_999})):
        with pytest.raises(P4Error, match=r"cannot be|is not known"):
            subscribed(mode, **fields)


def sampler(**changes: Any) -> Sampler:
    usual: dict[str, Any] = {"interval": 1.0, "only_changes": False, "heartbeat": 0.0}
    return Sampler(Subscription(parse_path(INSTANT), **usual | changes), 0.0, state_of(40.0))


def told(each: Sampler, now: float, temperature: float | None) -> list[float | str]:
    values, gone = each.sample(now, state_of(temperature))
    return [leaf.value for leaf in values] + [f"gone {in_text(path)}" for path in gone]


def test_samples_are_sent_each_time() -> None:
    each = sampler()
    assert [told(each, now, 40.0) for now in (1.0, 2.0)] == [[40.0], [40.0]]


def test_unchanged_values_are_withheld_until_the_heart_beats() -> None:
    each = sampler(only_changes=True, heartbeat=3.0)
    assert [told(each, now, 40.0) for now in (1.0, 2.0, 3.0, 4.0)] == [[], [], [40.0], []]
    assert [told(each, now, 41.0) for now in (5.0, 6.0)] == [[41.0], []]
    assert told(sampler(only_changes=True), 1e9, 40.0) == []


def test_a_value_that_is_no_longer_there_is_deleted_once() -> None:
    each = sampler(only_changes=True)
    assert [told(each, now, None) for now in (1.0, 2.0)] == [[f"gone {INSTANT}"], []]
    assert told(each, 3.0, 40.0) == [40.0]


def test_samples_keep_step_and_skip_what_was_missed() -> None:
    each = sampler()
    dues: list[float] = []
    for now in (1.25, 2.5, 10.0):
        told(each, now, 40.0)
        dues.append(each.due)
    assert dues == [2.0, 3.0, 11.0]


def test_a_subtree_matches_all_its_leaves() -> None:
    assert len(matching(state_of(40.0), parse_path("/components"))) == 4
