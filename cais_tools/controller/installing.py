"""Puts groups on switches and takes them away, whatever ends in between: what is not done is noted to be done later."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from cais_tools.controller.devices import ManagedDevice
from cais_tools.controller.placing import check_group, check_room, choose_device, ports_of, slots_for
from cais_tools.controller.record import ANY, GroupRecord
from cais_tools.controller.registry import Registry
from cais_tools.errors import CaisError, Refused, UsageError
from cais_tools.wire.header import DEFAULT_LANES

__all__ = ["Installer"]

log = logging.getLogger(__name__)


class Installer:
    """Does the slow part of everything that concerns a group and its switch; without the registry's lock."""

    def __init__(self, registry: Registry, devices: Mapping[str, ManagedDevice]) -> None:
        self._registry, self._devices = registry, devices

    def create(self, wanted: GroupRecord) -> GroupRecord:
        """Install the group; one that its job has already is installed anew. `ports` empty: as the file says.

        Where the switch does not answer, or is drained, the group has the epoch 0 and uses its endpoints. Raises
        UsageError for what makes no sense, Refused where another job has it, or the switch has no room.
        """
        device = self._devices[choose_device(wanted.device, self._devices.keys())]
        job = self._registry.jobs.get(wanted.job_id)
        if job is None:
            raise UsageError(f"there is no job {wanted.job_id}", hint="RegisterJob comes first")
        ports = wanted.ports or ports_of(device.device, wanted.ranks)
        group = replace(wanted, device=device.device.name, ports=ports, epoch=0)
        usable = device.is_usable() and group.device not in self._registry.drained
        lanes = device.lanes if usable else DEFAULT_LANES
        with self._registry.lock:
            if group.group_id == ANY:
                group = replace(group, group_id=self._free_number(device))
            check_group(group, job.world_size)
            known = self._registry.groups.get(group.group_id)
            group = self._claim(group, known, lanes)
            self._check_room(device, group)
            is_ours = known is not None or self._registry.is_leftover(group.device, group.group_id)
            # Known before it is there: whatever ends us in between, the group is not forgotten on the switch. And no
            # longer left over: whoever is about to remove an earlier one must not take this one away.
            self._registry.begin(group)
            self._registry.cleared(group.device, [group.group_id])
        if known is not None and known.device != group.device:
            self._registry.leave_over(known.device, group.group_id)
            self.take_away(known.device, group.group_id)
        try:
            installed = device.install(group, is_ours=is_ours) if usable else group
        except CaisError:
            with self._registry.lock:
                if is_ours:
                    self._registry.leave_over(group.device, group.group_id)
                self._registry.forget(group.group_id)
            raise
        self._registry.made(installed)
        return installed

    def _free_number(self, device: ManagedDevice) -> int:
        """The lowest number that no group has, here or on the device."""
        reading = device.view.reading
        taken = set(self._registry.groups)
        if reading is not None:
            taken.update(reading.snapshot.groups)
        return next((number for number in range(256) if number not in taken), 256)

    def _claim(self, group: GroupRecord, known: GroupRecord | None, lanes: int) -> GroupRecord:
        if known is not None and known.job_id != group.job_id:
            raise Refused(
                f"group {group.group_id} belongs to job {known.job_id}", hint="take another group_id, or end that job"
            )
        return replace(
            group,
            slots=group.slots or slots_for(self._registry.settings(), lanes),
            wanted=known.wanted if known else self._registry.wanted_for_all,
            settings=known.settings if known else {},
        )

    def _check_room(self, device: ManagedDevice, group: GroupRecord) -> None:
        reading = device.view.reading
        if reading is None:
            return
        slots = {each.group_id: each.slots for each in reading.snapshot.groups.values()}
        slots |= {key: each.slots for key, each in self._registry.on_device(group.device).items()}
        others = sum(count for group_id, count in slots.items() if group_id != group.group_id)
        check_room(group, others, reading.snapshot.pool, self._registry.settings()["sram_usage_limit"])

    def let_go(self, job_id: str, group_id: int) -> GroupRecord:
        """Know the group no more; it is left over on its switch. Raises Refused where the job has no such group."""
        with self._registry.lock:
            group = self._registry.of_job(job_id, group_id)
            self._registry.leave_over(group.device, group_id)
            self._registry.forget(group_id)
        log.info("group %d is gone", group_id)
        return group

    def take_away(self, device: str, group_id: int) -> None:
        """Remove what has been left over, now or when the switch answers; unless it is in use again."""
        try:
            self._devices[device].remove(group_id, only_if=lambda: self._registry.is_leftover(device, group_id))
            self._registry.cleared(device, [group_id])
        except (CaisError, KeyError) as error:
            log.warning("group %d goes from %s when that answers: %s", group_id, device, error)

    def new_epoch(self, group: GroupRecord) -> int:
        """A new job on the group's switch; 0 where it does not answer, or does not have the group."""
        if not group.epoch or group.device in self._registry.drained:
            return 0
        try:
            epoch = self._devices[group.device].new_epoch(group.group_id)
        except (CaisError, KeyError) as error:
            log.warning("no new epoch for group %d: %s", group.group_id, error)
            return 0
        self._registry.has_epoch(group.group_id, epoch)
        return epoch

    def install_late(self, group: GroupRecord) -> int:
        """Install a group that found its switch gone, or drained; its epoch, 0 where that is not possible now."""
        try:
            installed = self._devices[group.device].install(group, is_ours=True)
        except (CaisError, KeyError) as error:
            log.warning("group %d cannot be installed on %s: %s", group.group_id, group.device, error)
            return 0
        self._registry.has_epoch(group.group_id, installed.epoch)
        return installed.epoch
