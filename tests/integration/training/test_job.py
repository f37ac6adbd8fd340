"""A job whose switch, controller or rank is killed; a bad link; and people who change their minds all the time."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.integration.training.site import RANKS, a_site, results, wait_for_step


def test_every_function_of_the_api(tmp_path: Path) -> None:
    with a_site(tmp_path) as site:
        said = results(site.start_ranks("whole_api.py"))
        assert said == [{"on_switch": 8, "on_endpoints": 0}] * RANKS


def test_the_switch_is_killed_and_comes_back(tmp_path: Path) -> None:
    with a_site(tmp_path) as site:
        switch = site.processes[0]
        ranks = site.start_ranks(STEPS="200", PAUSE="0.01")
        wait_for_step(ranks[0], 20)
        switch.send_signal(signal.SIGKILL)
        wait_for_step(ranks[0], 40)
        site.start_switch()
        said = results(ranks)
        # The sums were checked by the ranks themselves.
        assert {each["on_switch"] + each["on_endpoints"] + each["handed_out"] for each in said} == {200}
        assert all(each["slowest"] < 5 for each in said)
        steps = said[0]["by_step"]
        assert steps[30] == steps[40], "nothing went through the switch that was dead"
        assert steps[-1] > steps[40] + 10, "offload came back by itself"


def test_the_controller_is_killed_and_started_again(tmp_path: Path) -> None:
    with a_site(tmp_path) as site:
        ranks = site.start_ranks(STEPS="150", PAUSE="0.01")
        wait_for_step(ranks[0], 20)
        site.processes[1].send_signal(signal.SIGKILL)
        wait_for_step(ranks[0], 60)
        site.start_controller()
        said = results(ranks)
        assert [each["error"] for each in said] == [None] * RANKS
        assert {each["fallbacks"] for each in said} == {0}
        steps = said[0]["by_step"]
        assert steps[59] > steps[20] + 30, "without a controller the last decision holds on"


def test_a_rank_is_killed(tmp_path: Path) -> None:
    with a_site(tmp_path) as site:
        ranks = site.start_ranks(STEPS="1000", PAUSE="0.01")
        wait_for_step(ranks[0], 20)
        ranks[2].send_signal(signal.SIGKILL)
        began = time.monotonic()
        said = results([ranks[0], ranks[1], ranks[3]])
        assert [each["error"] for each in said] == ["RankLost: rank 2 has ended"] * 3
        assert time.monotonic() - began < 20


def test_two_percent_of_the_frames_are_lost(tmp_path: Path) -> None:
    with a_site(tmp_path, "?loss=2%&seed=3") as site:
        said = results(site.start_ranks(STEPS="30"))
        assert [each["error"] for each in said] == [None] * RANKS
        assert len({each["on_switch"] for each in said}) == 1


def test_all_to_the_endpoints_and_back_again_and_again(tmp_path: Path) -> None:
    with a_site(tmp_path) as site:
        ranks = site.start_ranks(STEPS="200", PAUSE="0.02")
        wait_for_step(ranks[0], 5)
        for _ in range(3):
            answer = site.cais("fallback", "--all")
            assert [group["holds"] for group in answer["groups"]] == [True]
            site.cais("fallback", "--all", "--release")
        said = results(ranks)
        assert [each["error"] for each in said] == [None] * RANKS
        assert len({(each["on_switch"], each["on_endpoints"]) for each in said}) == 1
        assert said[0]["on_endpoints"] > 0
        assert said[0]["on_switch"] > 0
