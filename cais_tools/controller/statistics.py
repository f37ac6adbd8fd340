"""What is known of devices and groups now, as the service tells it."""

from __future__ import annotations

import time

from cais_tools.controller.convert import path_to, settings_to
from cais_tools.controller.devices import ManagedDevice
from cais_tools.controller.plane import ControlPlane
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.record import GroupRecord
from cais_tools.controller.scoring import Path

__all__ = ["statistics"]


def statistics(plane: ControlPlane) -> pb.Statistics:
    return pb.Statistics(
        time=time.time(),
        devices=[_device(plane, device) for device in list(plane.devices.values())],
        groups=[_group(plane, group) for group in plane.groups()],
        settings=settings_to(plane.settings()),
    )


def _device(plane: ControlPlane, managed: ManagedDevice) -> pb.DeviceStatistics:
    view = managed.view
    found = pb.DeviceStatistics(
        name=managed.device.name,
        address=managed.device.address,
        reachable=view.is_reachable,
        error=view.error,
        primary=view.primary,
        drained=plane.is_drained(managed.device.name),
        temperature_c=view.temperature_c,
    )
    if view.reading is None:
        return found
    found.sram_usage = view.reading.snapshot.sram_usage
    rates = view.reading.rates
    if rates is not None:
        found.queue_delay_us = rates.delay.average_us or 0.0
        found.queue_delay_p99_us = rates.delay.percentile_us(99) or 0.0
        found.operations_per_s = rates.operations_per_s
        found.fallback_ratio = rates.fallback_ratio
        for port, rate in rates.ports.items():
            found.ports.add(port=port, bytes_in_per_s=rate.bytes_in, bytes_out_per_s=rate.bytes_out)
    return found


def _group(plane: ControlPlane, group: GroupRecord) -> pb.GroupStatistics:
    decision, known = plane.present(group.group_id), plane.known(group.group_id)
    return pb.GroupStatistics(
        group_id=group.group_id,
        job_id=group.job_id,
        device=group.device,
        attached=known.attached,
        path=path_to(Path.SWITCH if decision.offload else Path.ENDPOINT),
        wanted=path_to(group.wanted),
        reason=decision.reason,
        epoch=group.epoch,
        next_operation=known.next_operation,
        operations_on_switch=known.on_switch,
        operations_on_endpoints=known.on_endpoints,
        fallbacks=known.fallbacks,
        threshold=decision.threshold,
        admitted=decision.admitted,
    )
