"""The controller's metrics for Prometheus: those of `cais exporter` from its own readings, and its groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cais_tools.controller.plane import ControlPlane
from cais_tools.controller.scoring import Path
from cais_tools.errors import Unreachable
from cais_tools.fleet.sampling import Sample

__all__ = ["PlaneCollector", "PlaneRounds"]

_GROUP: Final = ("device", "group")


class PlaneRounds:
    """The readings that the control plane has made anyway."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def take(self, patience: float) -> list[Sample]:
        """Samples as `cais exporter` takes them; nothing is waited for."""
        samples: list[Sample] = []
        for managed in list(self._plane.devices.values()):
            view = managed.view
            error = None if view.reading is not None else Unreachable(view.error)
            samples.append(Sample(managed.device, view.reading, error, view.seconds))
        return samples


class PlaneCollector(Collector):
    """Groups, jobs, and what has been decided for them."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the groups."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from self._of_groups()
        yield from self._of_devices()
        yield GaugeMetricFamily("cais_controller_jobs", "Jobs that are registered.", value=len(self._plane.jobs()))

    def _of_groups(self) -> Iterator[Metric]:
        attached = _gauge("attached", "Whether the group's leader is connected.")
        on_switch = _gauge("offloaded", "Whether operations of the group may go to the switch.")
        threshold = _gauge("offload_threshold", "The score over which they do.")
        admitted = _gauge("admitted", "Whether new classes of operations may enter the switch.")
        fallbacks = CounterMetricFamily(
            "cais_controller_fallbacks", "Operations after which the group left the switch.", labels=_GROUP
        )
        done = CounterMetricFamily("cais_controller_operations", "Operations by path.", labels=(*_GROUP, "path"))
        for group in self._plane.groups():
            labels = [group.device, str(group.group_id)]
            known, decision = self._plane.known(group.group_id), self._plane.present(group.group_id)
            attached.add_metric(labels, known.attached)
            on_switch.add_metric(labels, decision.offload)
            threshold.add_metric(labels, decision.threshold)
            admitted.add_metric(labels, decision.admitted)
            fallbacks.add_metric(labels, known.fallbacks)
            done.add_metric([*labels, Path.SWITCH.name.lower()], known.on_switch)
            done.add_metric([*labels, Path.ENDPOINT.name.lower()], known.on_endpoints)
        yield from (attached, on_switch, threshold, admitted, fallbacks, done)

    def _of_devices(self) -> Iterator[Metric]:
        drained = GaugeMetricFamily(
            "cais_controller_drained", "Whether people have taken the switch out of use.", labels=("device",)
        )
        heat = GaugeMetricFamily(
            "cais_controller_temperature_celsius", "Of the switch's chip.", labels=("device",), unit="celsius"
        )
        for name, managed in list(self._plane.devices.items()):
            drained.add_metric([name], self._plane.is_drained(name))
            if managed.view.temperature_c is not None:
                heat.add_metric([name], managed.view.temperature_c)
        yield from (drained, heat)


def _gauge(name: str, meaning: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"cais_controller_{name}", meaning, labels=_GROUP)
