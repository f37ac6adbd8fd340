"""The dashboard against what Grafana wants of a file, and against a real set of metrics."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cais_tools.exporter import dashboard_text
from cais_tools.exporter.metrics import metric_families
from tests.unit.exporter.samples import SAMPLES

DASHBOARD: dict[str, Any] = json.loads(dashboard_text())
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"]}


def _queries() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return panels + [each["definition"] for each in VARIABLES.values() if each["type"] == "query"]


def test_it_is_a_dashboard_that_grafana_imports() -> None:
    assert DASHBOARD["schemaVersion"] >= 36
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", DASHBOARD["uid"])
    assert DASHBOARD["title"]
    assert "id" not in DASHBOARD or DASHBOARD["id"] is None
    assert "__inputs" not in DASHBOARD
    assert DASHBOARD["time"] == {"from": "now-30m", "to": "now"}


def test_every_panel_has_its_place_and_asks_the_chosen_data_source() -> None:
    assert VARIABLES["datasource"]["type"] == "datasource"
    assert VARIABLES["datasource"]["query"] == "prometheus"
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert panel["type"] in ("stat", "gauge", "timeseries")
        assert panel["title"]
        assert {each["datasource"]["uid"] for each in (panel, *panel["targets"])} == {"${datasource}"}
        assert panel["fieldConfig"]["overrides"] == []
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("query", _queries())
def test_every_metric_label_and_variable_exists(query: str) -> None:
    samples = [sample for family in metric_families(SAMPLES) for sample in family.samples]
    labels: dict[str, set[str]] = {}
    for sample in samples:
        labels.setdefault(sample.name, set()).update(sample.labels)
    names = re.findall(r"\bcais_\w+", query)
    assert names
    assert set(names) <= labels.keys()
    for name, selector in re.findall(r"\b(cais_\w+)\{([^}]*)\}", query):
        assert set(re.findall(r"(\w+)=~?\"", selector)) <= labels[name]
    for by in re.findall(r"by \(([^)]*)\)", query):
        assert {each.strip() for each in by.split(",")} <= set.union(*(labels[name] for name in names))
    assert set(re.findall(r"\$(\w+)", query)) <= {*VARIABLES, "__rate_interval"}
    assert query.count("(") == query.count(")")


def test_outcomes_that_fall_back_are_those_of_the_telemetry() -> None:
    from cais_tools.session.cais import telemetry

    query = next(each for each in _queries() if "outcome=~" in each)
    assert set(re.findall(r'outcome=~"([^"]*)"', query)[0].split("|")) == set(telemetry.FELL_BACK)
