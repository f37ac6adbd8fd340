"""The control plane itself: what is decided for groups every 100 ms, and who has to hear of it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from cais_tools.config import Device
from cais_tools.controller.devices import ManagedDevice
from cais_tools.controller.explain import Explained, ThresholdChange, explain, in_one_line, threshold_history
from cais_tools.controller.installing import Installer
from cais_tools.controller.leader import Leader
from cais_tools.controller.live import FIRST_PROOF_S, Doubt, Live, has_doubt, inputs_of
from cais_tools.controller.placing import choose_device
from cais_tools.controller.policy import Decision, Policy
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.proving import Prover
from cais_tools.controller.record import GroupRecord, JobRecord
from cais_tools.controller.registry import Registry
from cais_tools.controller.scoring import Path
from cais_tools.controller.store import Store
from cais_tools.errors import DeadlineExceeded, Refused
from cais_tools.session import SessionOptions

__all__ = ["ControlPlane", "Explanation", "Forced", "Known"]

log = logging.getLogger(__name__)

_TICK_S: Final = 0.1
_ANSWER_S: Final = 0.9


@dataclass(frozen=True, slots=True)
class Forced:
    """What became of a request for one group. `from_operation` None: it does not hold yet, for `text`."""

    group_id: int
    from_operation: int | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What a group's leaders have told of it."""

    attached: bool
    next_operation: int
    on_switch: int
    on_endpoints: int
    fallbacks: int


@dataclass(frozen=True, slots=True)
class Explanation:
    decisions: Sequence[Explained]
    state: str
    thresholds: Sequence[ThresholdChange]


class ControlPlane:
    """`settings` are those of flags, environment and file; what people configure while it runs is kept in the store.

    A group whose leader is gone for `grace` seconds is removed, and a job with its last group. Locks: the registry's
    guards all that changes, and is never held while a device is spoken to: one that answers slowly holds up nobody but
    who asked for it.
    """

    def __init__(
        self,
        devices: Iterable[Device],
        options: SessionOptions,
        store: Store,
        settings: Mapping[str, float],
        *,
        grace: float = 30.0,
    ) -> None:
        self._options = options
        self._registry = Registry(store, settings, grace)
        self._lock = self._registry.lock
        self._arrived = threading.Condition(self._lock)
        self._policy = Policy()
        self.devices = {device.name: ManagedDevice(device, options, self) for device in devices}
        self._installer = Installer(self._registry, self.devices)
        self._prover = Prover(self._registry, self._installer, self.devices)
        self._workers = ThreadPoolExecutor(16, thread_name_prefix="switch")
        self._cleaner = ThreadPoolExecutor(1, thread_name_prefix="clean")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="decide", daemon=True)

    def start(self) -> None:
        for device in self.devices.values():
            device.start()
        self._thread.start()

    def close(self) -> None:
        """End everything but what the switches have: the groups go on under the next controller."""
        self._ended.set()
        self._thread.join(2.0)
        with self._lock:
            leaders = [live.leader for live in self._registry.live.values() if live.leader is not None]
        for leader in leaders:
            leader.close()
        for pool in (self._workers, self._cleaner):
            pool.shutdown(wait=False, cancel_futures=True)
        for device in self.devices.values():
            device.close()

    def reload(self, devices: Iterable[Device], settings: Mapping[str, float]) -> None:
        """Take over what the file says now. A device that groups are on stays, whatever the file says."""
        wanted = {device.name: device for device in devices}
        with self._lock:
            self._registry.default = dict(settings)
        for name in [name for name in self.devices if name not in wanted]:
            if self._registry.on_device(name):
                log.warning("device %s is not in the file any more, but groups are on it: it stays", name)
                continue
            log.info("device %s is not in the file any more", name)
            self.devices.pop(name).close()
        for name, device in wanted.items():
            before = self.devices.get(name)
            if before is not None and _same_switch(before.device, device):
                before.device = device
                continue
            log.info("device %s: %s", name, device.address)
            if before is not None:
                before.close()
            self.devices[name] = ManagedDevice(device, self._options, self)
            self.devices[name].start()

    # Jobs and groups

    def register_job(self, job: JobRecord) -> None:
        """Know a job. Raises UsageError where it is known with another size."""
        self._registry.add_job(job)

    def create_group(self, wanted: GroupRecord) -> GroupRecord:
        """As `Installer.create`; whoever waits for the group goes on."""
        group = self._installer.create(wanted)
        with self._lock:
            self._decide()
            self._arrived.notify_all()
        log.info(
            "group %d of job %s on %s, ports %s, %d slots, epoch %d",
            *(group.group_id, group.job_id, group.device, list(group.ports), group.slots, group.epoch),
        )
        return group

    def join_group(self, job_id: str, group_id: int, seconds: float) -> GroupRecord:
        """The group, when its leader has created it. Raises DeadlineExceeded where it has not within `seconds`."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._registry.is_led(job_id, group_id), seconds):
                raise DeadlineExceeded(
                    f"the leader of group {group_id} of job {job_id} has not come", hint="does rank 0 of it run?"
                )
            return self._registry.groups[group_id]

    def remove_group(self, job_id: str, group_id: int) -> None:
        """Take the group from its switch. Raises Refused where the job has no such group."""
        group = self._installer.let_go(job_id, group_id)
        self._installer.take_away(group.device, group_id)

    def remove_job(self, job_id: str) -> None:
        """Remove a job with its groups; one that is not there is no error."""
        for group in self.groups():
            if group.job_id == job_id:
                self.remove_group(job_id, group.group_id)
        self._registry.drop_job(job_id)

    def groups(self) -> list[GroupRecord]:
        """All groups, in the order of their numbers."""
        with self._lock:
            return [self._registry.groups[group_id] for group_id in sorted(self._registry.groups)]

    def jobs(self) -> list[JobRecord]:
        with self._lock:
            return list(self._registry.jobs.values())

    def lanes(self, group: GroupRecord) -> int:
        """Words of a packet's payload on the group's switch; 0 where it is not installed."""
        return self.devices[group.device].lanes if group.epoch else 0

    # What devices ask and tell (devices.Owner)

    def groups_on(self, device: str) -> dict[int, GroupRecord]:
        return self._registry.on_device(device)

    def leftovers_on(self, device: str) -> list[int]:
        return self._registry.leftovers_on(device)

    def cleared(self, device: str, groups: Collection[int]) -> None:
        self._registry.cleared(device, groups)

    def mended(self, group: GroupRecord) -> None:
        """The switch has lost what the group had there: nothing goes there until it has proved itself."""
        log.warning("group %d begins anew on %s, with epoch %d", group.group_id, group.device, group.epoch)
        with self._lock:
            self._registry.has_epoch(group.group_id, group.epoch)
            live = self._registry.live.get(group.group_id)
            if live is None:
                return
            live.doubt = Doubt(time.monotonic() + FIRST_PROOF_S, FIRST_PROOF_S)
            if live.leader is not None:
                live.leader.force(Path.ENDPOINT, "the switch was loaded anew", awaited=False)

    def came_or_went(self, device: str) -> None:
        """Leaders hear of it at once: what they decide on their own follows the last that they have heard."""
        with self._lock:
            self._decide()
            for group_id in self._registry.on_device(device):
                leader = self._registry.live[group_id].leader
                if leader is not None:
                    leader.block(leader.next_operation, 0, self._policy.decision(group_id))

    # Leaders

    def attach(self, job_id: str, group_id: int, leader: Leader) -> None:
        """Take a leader's stream up. Raises Refused where its group is not known any more."""
        device = self.devices.get(self._registry.of_job(job_id, group_id).device)
        if device is not None:
            device.is_usable()  # just after the start: a switch that was not asked yet is no switch that is gone
        with self._lock:
            group = self._registry.of_job(job_id, group_id)
            live = self._registry.live[group_id]
            if live.leader is not None:
                live.leader.close()
            live.leader, live.has_been_led = leader, True
            leader.totals = live.totals
            if live.doubt is not None:
                live.doubt.request, live.doubt.running = 0, False
            elif has_doubt(leader, group):
                live.doubt = Doubt(time.monotonic())
            self._decide()
            # Whatever people have asked for while nobody listened.
            self._announce(group, leader, force=leader.next_operation > 0 or group.wanted is not Path.AUTO)

    def detach(self, group_id: int, leader: Leader) -> None:
        """The stream has ended."""
        with self._lock:
            live = self._registry.live.get(group_id)
            if live is not None and live.leader is leader:
                live.leader, live.gone_since = None, time.monotonic()

    def decision(self, group_id: int, first: int) -> Decision:
        """What holds for a block of operations that is handed out now."""
        with self._lock:
            return self._policy.hand_out(group_id, first)

    def need_block(self, group_id: int, leader: Leader, first: int, count: int) -> None:
        leader.block(first, count, self.decision(group_id, first))

    def changed(self, group_id: int, leader: Leader, changed: pb.Changed) -> None:
        """Take in that what was decided last holds from an operation on."""
        self.decision(group_id, changed.from_operation)
        leader.changed(changed)

    def need_epoch(self, group_id: int, leader: Leader, request: int) -> None:
        """Tell the leader an epoch as soon as the switch has it; 0 where it has none."""

        def answer() -> None:
            group = self._registry.groups.get(group_id)
            epoch = 0 if group is None else self._installer.new_epoch(group)
            leader.say(pb.Directive(epoch=pb.Epoch(request=request, epoch=epoch)))

        self._workers.submit(answer)

    def trouble(self, group_id: int, text: str, *, on_endpoints: bool) -> None:
        """Take in that an operation went wrong."""
        log.warning("group %d: %s%s", group_id, text, "; it is on its endpoints now" if on_endpoints else "")
        with self._lock:
            live = self._registry.live.get(group_id)
            if live is not None and on_endpoints:
                live.fallbacks += 1
                live.doubt = Doubt(time.monotonic() + FIRST_PROOF_S, FIRST_PROOF_S)
                self._decide()

    def proved(self, group_id: int, request: int, right: bool, text: str) -> None:
        """Take in how the test vector came back."""
        with self._lock:
            live = self._registry.live.get(group_id)
            if live is None or live.doubt is None or not request or live.doubt.request != request:
                return
            if not right:
                live.doubt.failed()
                log.warning("group %d: the switch has not proved itself: %s", group_id, text)
                return
            live.doubt = None
            log.info("group %d: the switch has proved itself", group_id)
            self._decide()
            if live.leader is not None:
                self._announce(self._registry.groups[group_id], live.leader, force=True)

    def _announce(self, group: GroupRecord, leader: Leader, *, force: bool) -> None:
        """Tell the latest decision, which AUTO falls back on, and then the path."""
        decision = self._policy.decision(group.group_id)
        leader.block(leader.next_operation, 0, decision)
        if force:
            leader.force(_path(group, decision), group.reason or decision.reason, awaited=False)

    # What people ask for

    def set_offload(self, groups: Sequence[int], path: Path, reason: str) -> list[Forced]:
        """Put groups (none named: all, and those to come) on a path; returns when it holds, within a second.

        Raises UsageError for a group that is not there.
        """
        with self._lock:
            for group_id in groups:
                self._registry.known(group_id)
            chosen = list(dict.fromkeys(groups)) or list(self._registry.groups)
            for group_id in chosen:
                self._registry.put(replace(self._registry.groups[group_id], wanted=path, reason=reason))
            if not groups:
                self._registry.wanted_for_all = path
        which = ", ".join(map(str, groups)) or "all groups, and those to come"
        log.info("path %s for %s%s", path.name.lower(), which, f": {reason}" if reason else "")
        return self._tell(chosen)

    def drain(self, name: str, *, release: bool) -> list[Forced]:
        """Take a device out of use, or back into it. Raises UsageError where there is none of this name."""
        choose_device(name or "?", self.devices.keys())
        with self._lock:
            self._registry.set_drained(name, drained=not release)
            chosen = [group for group in self._registry.groups.values() if group.device == name]
            for group in chosen:
                if release and not group.epoch:
                    self._registry.live[group.group_id].doubt = Doubt(time.monotonic())
        log.info("device %s is %s", name, "released" if release else "drained")
        return self._tell([group.group_id for group in chosen])

    def configure(self, group_id: int | None, values: Mapping[str, float]) -> dict[str, float]:
        """Change settings of a group, or of all; those in force. Raises UsageError for a group that is not there."""
        with self._lock:
            self._registry.set(group_id, values)
            self._decide()
            for each in self._registry.groups if group_id is None else [group_id]:
                leader = self._registry.live[each].leader
                if leader is not None:
                    leader.settings(self.settings(each))
        log.info("settings of %s: %s", "all" if group_id is None else f"group {group_id}", dict(values))
        return self.settings(group_id)

    def settings(self, group_id: int | None = None) -> dict[str, float]:
        """What holds for everybody, or for a group."""
        return self._registry.settings(group_id)

    def _tell(self, groups: Sequence[int]) -> list[Forced]:
        """Have the groups' leaders take what holds now at once."""
        asked: list[tuple[int, Leader, int, str]] = []
        results: list[Forced] = []
        with self._lock:
            self._decide()
            for group_id in groups:
                live, group = self._registry.live.get(group_id), self._registry.groups.get(group_id)
                if live is None or group is None or live.leader is None:
                    results.append(Forced(group_id, None, "its leader is not connected: it will hear of it when it is"))
                    continue
                self._announce(group, live.leader, force=False)
                decision = self._policy.decision(group_id)
                path = _path(group, decision)
                request = live.leader.force(path, group.reason or decision.reason)
                asked.append((group_id, live.leader, request, decision.reason if path is not group.wanted else ""))
        end = time.monotonic() + _ANSWER_S
        for group_id, leader, request, text in asked:
            operation = leader.wait_for(request, end - time.monotonic())
            late = "its leader has not answered in time"
            results.append(Forced(group_id, operation, late if operation is None else text))
        return sorted(results, key=lambda each: each.group_id)

    # What is known

    def explain(self, group_id: int, since: float) -> Explanation:
        """The decisions since a time, and the group in one line. Raises UsageError for an unknown group."""
        with self._lock:
            group, state = self._registry.known(group_id), self._policy.state(group_id)
            told = in_one_line(state)
            if group.wanted is not Path.AUTO and group.reason:
                told += f"; {group.wanted.name.lower()} was asked for: {group.reason}"
            if self._registry.live[group_id].leader is None:
                told += "; its leader is not connected"
            return Explanation(explain(state, since=since), told, threshold_history(state, since=since))

    def present(self, group_id: int) -> Decision:
        """The latest decision; only to look at."""
        with self._lock:
            return self._policy.decision(group_id)

    def known(self, group_id: int) -> Known:
        with self._lock:
            live = self._registry.live.get(group_id) or Live()
            number = 0 if live.leader is None else live.leader.next_operation
            totals = live.totals
            return Known(live.leader is not None, number, totals.on_switch, totals.on_endpoints, live.fallbacks)

    def is_drained(self, device: str) -> bool:
        return device in self._registry.drained

    # Every 100 ms

    def _run(self) -> None:
        while not self._ended.wait(_TICK_S):
            try:
                with self._lock:
                    self._decide()
                for group_id, doubt in self._prover.due():
                    self._workers.submit(self._prover.prove, group_id, doubt)
                for group in self._registry.lost_groups():
                    log.warning("group %d of job %s: its leader is gone, so it goes", group.group_id, group.job_id)
                    self._remove_lost(group)
                for job_id in self._registry.idle_jobs():
                    self.remove_job(job_id)
            except Exception:
                log.exception("this tick went wrong; the next one is tried all the same")

    def _decide(self) -> None:
        registry = self._registry
        inputs = {
            key: inputs_of(
                group,
                registry.live[key],
                self.devices.get(group.device),
                registry.settings(key),
                drained=group.device in registry.drained,
            )
            for key, group in registry.groups.items()
        }
        self._policy.tick(time.time(), inputs)

    def _remove_lost(self, group: GroupRecord) -> None:
        try:
            self._installer.let_go(group.job_id, group.group_id)
        except Refused:
            return  # somebody was quicker
        self._cleaner.submit(self._installer.take_away, group.device, group.group_id)
        if not any(each.job_id == group.job_id for each in self.groups()):
            log.info("job %s is gone", group.job_id)
            self.remove_job(group.job_id)


def _path(group: GroupRecord, decision: Decision) -> Path:
    """What the leader is to be put on; a switch that cannot be used is none that people could ask for."""
    if group.wanted is Path.SWITCH and not decision.offload:
        return Path.ENDPOINT
    return group.wanted


def _same_switch(before: Device, after: Device) -> bool:
    return (before.address, before.device_id, before.tls) == (after.address, after.device_id, after.tls)
