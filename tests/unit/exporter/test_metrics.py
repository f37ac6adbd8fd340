from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from cais_tools.exporter.metrics import metric_families
from tests.unit.exporter.samples import SAMPLES


class _Fixed(Collector):
    def collect(self) -> Any:
        return metric_families(SAMPLES)


@pytest.fixture(scope="module")
def values() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What the OpenMetrics text says, as a strict parser reads it."""
    registry = CollectorRegistry()
    registry.register(_Fixed())
    text = generate_latest(registry).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _of(values: Any, metric: str, /, **labels: str) -> float | None:
    return values.get((metric, tuple(sorted(labels.items()))))


def test_who_is_up(values: Any) -> None:
    assert _of(values, "cais_up", device="tor1") == 1
    assert _of(values, "cais_up", device='to"r\\2') == 1
    assert _of(values, "cais_up", device="tor3") == 0
    names = {name for name, labels in values if ("device", "tor3") in labels}
    assert names == {"cais_up", "cais_read_duration_seconds"}


def test_the_values_of_show_stats(values: Any) -> None:
    assert _of(values, "cais_slots_in_use", device="tor1") == 85
    assert _of(values, "cais_sram_usage_ratio", device="tor1") == pytest.approx(0.85)
    assert _of(values, "cais_reduce_throughput_operations_per_second", device="tor1") == 5
    assert _of(values, "cais_fallback_ratio", device="tor1") == pytest.approx(30 / 148)
    assert (_of(values, "cais_queue_delay_average_seconds", device="tor1") or 0) == pytest.approx(4920e-6)
    assert _of(values, "cais_reduce_throughput_operations_per_second", device='to"r\\2') is None


def test_groups_and_ports(values: Any) -> None:
    group = {"device": "tor1", "group": "4"}
    assert _of(values, "cais_contributions_total", **group, outcome="answered") == 3
    assert _of(values, "cais_contribution_bytes_total", **group, outcome="opened") == 10500
    assert _of(values, "cais_operations_total", **group) == 20
    assert _of(values, "cais_group_slots_in_use", **group) == 85
    port = {"device": "tor1", "port": "1", "name": "swp1"}
    assert _of(values, "cais_port_received_packets_total", **port) == 15
    assert _of(values, "cais_port_sent_bytes_total", **port) == 15 * 290
    assert _of(values, "cais_bad_frames_total", device="tor1", kind="short") == 1


def test_the_histogram_is_cumulative_and_ends_nowhere(values: Any) -> None:
    port = {"device": "tor1", "port": "1", "name": "swp1"}
    bounds = {"1e-06": 10, "4e-06": 10, "8e-06": 14, "0.016384": 14, "+Inf": 15}
    assert {le: _of(values, "cais_queue_delay_seconds_bucket", **port, le=le) for le in bounds} == bounds
    assert _of(values, "cais_queue_delay_seconds_count", **port) == 15


def test_alarms_are_there_whether_raised_or_not(values: Any) -> None:
    raised = {
        (dict(labels)["device"], dict(labels)["alarm"]): value
        for (name, labels), value in values.items()
        if name == "cais_alarm"
    }
    assert raised[("tor1", "sram")] == raised[("tor1", "fallback")] == 1
    assert raised[("tor1", "overload")] == raised[('to"r\\2', "sram")] == 0
