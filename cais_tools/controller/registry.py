"""Jobs, groups and settings: in memory, and in the store as soon as they change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from cais_tools.controller.live import Live
from cais_tools.controller.record import SETTINGS, GroupRecord, JobRecord
from cais_tools.controller.scoring import Path
from cais_tools.controller.store import Store
from cais_tools.errors import Refused, UsageError

__all__ = ["Registry"]

log = logging.getLogger(__name__)

_FIRST_GRACE: Final = 20
"""A group whose leader never came, and a job without groups, is kept this many times longer than one it has left."""
_WANTED: Final = "wanted"


class Registry:
    """`lock` guards all of it; it is never held while a device is spoken to. `default` are the settings that nobody has
    changed. A group whose leader is gone for `grace` seconds is lost.
    """

    def __init__(self, store: Store, default: Mapping[str, float], grace: float) -> None:
        self.lock = threading.RLock()
        self.default = dict(default)
        self.groups = store.groups()
        self.live = {group_id: Live() for group_id in self.groups}
        self.jobs = store.jobs()
        self.drained = store.drained()
        self._store, self._grace = store, grace
        self._busy = dict.fromkeys(self.jobs, time.monotonic())
        self._kept, self._leftovers = store.settings(), store.leftovers()

    # Jobs

    def add_job(self, job: JobRecord) -> None:
        """Raises UsageError where it is known with another size."""
        if not job.job_id or job.world_size < 1:
            raise UsageError("a job needs an id and at least one rank")
        with self.lock:
            known = self.jobs.get(job.job_id)
            if known is not None and known.world_size != job.world_size:
                raise UsageError(f"job {job.job_id} has {known.world_size} ranks, not {job.world_size}")
            if known is None:
                self.jobs[job.job_id], self._busy[job.job_id] = job, time.monotonic()
                self._store.put_job(job)
                log.info("job %s (%s) with %d ranks", job.job_id, job.name, job.world_size)

    def drop_job(self, job_id: str) -> None:
        with self.lock:
            self.jobs.pop(job_id, None)
            self._busy.pop(job_id, None)
            self._store.drop_job(job_id)

    def idle_jobs(self) -> list[str]:
        """Jobs that have no group, and have had none for long."""
        with self.lock:
            now, busy = time.monotonic(), {group.job_id for group in self.groups.values()}
            self._busy.update(dict.fromkeys(busy & self._busy.keys(), now))
            return [job_id for job_id, since in self._busy.items() if now - since > _FIRST_GRACE * self._grace]

    # Groups

    def known(self, group_id: int) -> GroupRecord:
        """Raises UsageError where there is none."""
        with self.lock:
            if group_id not in self.groups:
                there = ", ".join(map(str, sorted(self.groups))) or "none"
                raise UsageError(f"there is no group {group_id}", hint=f"there are: {there}")
            return self.groups[group_id]

    def of_job(self, job_id: str, group_id: int) -> GroupRecord:
        """Raises Refused where the job has no such group."""
        with self.lock:
            group = self.groups.get(group_id)
            if group is None or group.job_id != job_id:
                raise Refused(f"job {job_id} has no group {group_id}", hint="it was removed, or never created")
            return group

    def put(self, group: GroupRecord) -> None:
        with self.lock:
            self.groups[group.group_id] = group
            self._store.put_group(group)

    def has_epoch(self, group_id: int, epoch: int) -> None:
        """The group has another epoch on its switch."""
        with self.lock:
            known = self.groups.get(group_id)
            if known is not None:
                self.put(replace(known, epoch=epoch))

    def begin(self, group: GroupRecord) -> None:
        """Take in a group that has no leader yet, or another one from now on."""
        with self.lock:
            self.put(group)
            before = self.live.get(group.group_id)
            if before is not None and before.leader is not None:
                before.leader.close()
            self.live[group.group_id] = Live(has_been_led=False, is_being_made=True)

    def made(self, group: GroupRecord) -> None:
        """What `begin` has taken in is as it will be."""
        with self.lock:
            if group.group_id in self.groups:
                self.put(group)
                self.live[group.group_id].is_being_made = False

    def is_led(self, job_id: str, group_id: int) -> bool:
        """Whether ranks of the job may ask its leader now."""
        with self.lock:
            group = self.groups.get(group_id)
            if group is None or group.job_id != job_id:
                return False
            return bool(group.hub_address) and not self.live[group_id].is_being_made

    def forget(self, group_id: int) -> None:
        with self.lock:
            self.groups.pop(group_id, None)
            self._store.drop_group(group_id)
            live = self.live.pop(group_id, None)
        if live is not None and live.leader is not None:
            live.leader.close()

    def on_device(self, device: str) -> dict[int, GroupRecord]:
        """The groups that are installed there, or were before it lost them."""
        with self.lock:
            return {key: group for key, group in self.groups.items() if group.device == device and group.epoch}

    def lost_groups(self) -> list[GroupRecord]:
        """Those whose leaders are gone for too long."""
        with self.lock:
            first = _FIRST_GRACE * self._grace
            return [self.groups[key] for key, live in self.live.items() if not live.is_alive(self._grace, first)]

    # What is still to go from devices

    def leave_over(self, device: str, group_id: int) -> None:
        """Note that a group is to go from a device."""
        with self.lock:
            self._leftovers.add((device, group_id))
            self._store.add_leftover(device, group_id)

    def is_leftover(self, device: str, group_id: int) -> bool:
        with self.lock:
            return (device, group_id) in self._leftovers

    def leftovers_on(self, device: str) -> list[int]:
        with self.lock:
            return [group_id for name, group_id in self._leftovers if name == device and group_id not in self.groups]

    def cleared(self, device: str, groups: Collection[int]) -> None:
        with self.lock:
            for group_id in groups:
                self._leftovers.discard((device, group_id))
                self._store.drop_leftover(device, group_id)

    # Settings

    def settings(self, group_id: int | None = None) -> dict[str, float]:
        """What holds for everybody, or for a group."""
        with self.lock:
            values = {name: self._kept.get(name, self.default[name]) for name in SETTINGS}
            if group_id is not None and group_id in self.groups:
                values.update(self.groups[group_id].settings)
            return values

    def set(self, group_id: int | None, values: Mapping[str, float]) -> None:
        """Change some of them. Raises UsageError for a group that is not there."""
        with self.lock:
            if group_id is None:
                self._keep(values)
                return
            group = self.known(group_id)
            self.put(replace(group, settings={**group.settings, **values}))

    @property
    def wanted_for_all(self) -> Path:
        """The path that people asked for all groups, and those to come."""
        return Path(int(self._kept.get(_WANTED, Path.AUTO)))

    @wanted_for_all.setter
    def wanted_for_all(self, path: Path) -> None:
        self._keep({_WANTED: float(path)})

    def _keep(self, values: Mapping[str, float]) -> None:
        with self.lock:
            self._kept.update(values)
            self._store.put_settings(values)

    def set_drained(self, device: str, *, drained: bool) -> None:
        with self.lock:
            (self.drained.add if drained else self.drained.discard)(device)
            self._store.set_drained(device, drained=drained)
