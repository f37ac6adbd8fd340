from __future__ import annotations

import pytest

from cais_tools.session.cais import ALARMS, Alarm, Rates, Severity, Thresholds, evaluate_alarms
from cais_tools.share import shared_folder
from tests.unit.session.readings import group_stats, histogram, snapshot

SLOW, QUICK = histogram(b7=10), histogram(b3=10)  # 64 to 128 us, 4 to 8 us


def _names(alarms: tuple[Alarm, ...]) -> list[str]:
    return [alarm.name for alarm in alarms]


@pytest.mark.parametrize(("in_use", "raised"), [(80, []), (81, ["sram"]), (100, ["sram"])])
def test_sram_over_80_percent(in_use: int, raised: list[str]) -> None:
    alarms = evaluate_alarms(snapshot(group_stats(opened=in_use)))
    assert _names(alarms) == raised
    if alarms:
        assert (alarms[0].value, alarms[0].threshold) == (in_use / 100, 0.8)
        assert f"{in_use} of 100 slots" in alarms[0].message


@pytest.mark.parametrize(
    ("in_use", "delay", "overload"), [(90, SLOW, False), (91, SLOW, True), (91, QUICK, False), (0, SLOW, False)]
)
def test_overload_is_delay_and_sram_together(in_use: int, delay: object, overload: bool) -> None:
    alarms = evaluate_alarms(snapshot(group_stats(opened=in_use), delay=delay))  # type: ignore[arg-type]
    assert ("overload" in _names(alarms)) == overload
    if overload:
        assert alarms[0].severity is Severity.CRITICAL
        assert alarms[0].message.startswith("overload: raise offload_threshold from 0.2 to 0.4")
        assert alarms[0].value == pytest.approx(96.0)


def test_the_advice_begins_with_the_threshold_in_force() -> None:
    shot = snapshot(group_stats(opened=95), delay=SLOW)
    for threshold, words in ((0.3, "from 0.3 to 0.6"), (0.8, "from 0.8 to 1")):
        assert words in evaluate_alarms(shot, None, Thresholds(offload_threshold=threshold))[0].message


@pytest.mark.parametrize(("no_rule", "raised"), [(10, []), (11, ["fallback"])])
def test_fallback_over_10_percent(no_rule: int, raised: list[str]) -> None:
    group = group_stats(opened=100 - no_rule, completed=0, no_rule=no_rule)
    assert _names(evaluate_alarms(snapshot(group, pool=1000))) == raised


def test_delay_and_fallback_are_those_of_the_interval() -> None:
    """What was wrong an hour ago is no alarm now."""
    before = snapshot(group_stats(opened=95, no_rule=50), delay=SLOW)
    after = snapshot(group_stats(opened=195, completed=100, no_rule=50), delay=SLOW + QUICK, time=1.0)
    assert _names(evaluate_alarms(before)) == ["overload", "sram", "fallback"]
    assert _names(evaluate_alarms(after, Rates.between(before, after))) == ["sram"]


def test_thresholds_are_settings() -> None:
    shot = snapshot(group_stats(opened=50))
    assert _names(evaluate_alarms(shot, None, Thresholds(sram=0.4))) == ["sram"]


def test_an_idle_switch_and_one_without_slots_have_none() -> None:
    assert evaluate_alarms(snapshot()) == ()
    assert evaluate_alarms(snapshot(pool=0)) == ()


def test_every_alarm_has_a_name_that_is_known_and_a_playbook_that_is_there() -> None:
    alarms = evaluate_alarms(snapshot(group_stats(opened=95, no_rule=50), delay=SLOW))
    assert tuple(_names(alarms)) == ALARMS
    for alarm in alarms:
        assert f"`{alarm.name}`" in (shared_folder("playbooks") / alarm.playbook).read_text()
