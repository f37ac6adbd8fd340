"""The control plane itself: jobs, groups, what is decided for them every 100 ms, and who has to hear of it.

Locks: the plane's own guards jobs, groups and leaders, and is never held while a device is spoken to: a device that
answers slowly holds up nobody but who asked for it.
"""

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
from cais_tools.controller.leader import Leader
from cais_tools.controller.live import FIRST_PROOF_S, Doubt, Live, has_doubt, inputs_of
from cais_tools.controller.placing import check_group, check_room, choose_device, ports_of, slots_for
from cais_tools.controller.policy import Decision, Policy
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.record import SETTINGS, GroupRecord, JobRecord
from cais_tools.controller.scoring import Path
from cais_tools.controller.store import Store
from cais_tools.errors import CaisError, Refused, Unreachable, UsageError
from cais_tools.session import SessionOptions
from cais_tools.wire.header import DEFAULT_LANES

__all__ = ["ControlPlane", "Explanation", "Forced", "Known"]

log = logging.getLogger(__name__)

_TICK_S: Final = 0.1
_ANSWER_S: Final = 0.9
_PROOF_S: Final = 30.0
"""A proof that nobody has answered for so long is asked for anew: a group without operations cannot answer."""
_FIRST_GRACE: Final = 20
"""A group whose leader never came, and a job without groups, is kept this many times longer than one it has left."""
_WANTED = "wanted"


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

    A group whose leader is gone for `grace` seconds is removed, and a job with its last group.
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
        self._store, self._options, self._settings, self._grace = store, options, dict(settings), grace
        self._lock = threading.RLock()
        self._arrived = threading.Condition(self._lock)
        self._policy = Policy()
        self._jobs, self._groups = store.jobs(), store.groups()
        self._live = {group_id: Live() for group_id in self._groups}
        self._job_since = dict.fromkeys(self._jobs, time.monotonic())
        self._kept, self._drained, self._leftovers = store.settings(), store.drained(), store.leftovers()
        self.devices = {device.name: ManagedDevice(device, options, self) for device in devices}
        self._workers = ThreadPoolExecutor(16, thread_name_prefix="switch")
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
            leaders = [live.leader for live in self._live.values() if live.leader is not None]
        for leader in leaders:
            leader.close()
        self._workers.shutdown(wait=False, cancel_futures=True)
        for device in self.devices.values():
            device.close()

    def reload(self, devices: Iterable[Device], settings: Mapping[str, float]) -> None:
        """Take over what the file says now. A device that groups are on stays, whatever the file says."""
        wanted = {device.name: device for device in devices}
        with self._lock:
            self._settings = dict(settings)
        for name in [name for name in self.devices if name not in wanted]:
            if self.groups_on(name):
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
        if not job.job_id or job.world_size < 1:
            raise UsageError("a job needs an id and at least one rank")
        with self._lock:
            known = self._jobs.get(job.job_id)
            if known is not None and known.world_size != job.world_size:
                raise UsageError(f"job {job.job_id} has {known.world_size} ranks, not {job.world_size}")
            if known is None:
                self._jobs[job.job_id] = job
                self._job_since[job.job_id] = time.monotonic()
                self._store.put_job(job)
                log.info("job %s (%s) with %d ranks", job.job_id, job.name, job.world_size)

    def create_group(self, wanted: GroupRecord) -> GroupRecord:
        """Install the group; one that its job has already is installed anew. `ports` empty: as the file says.

        Raises UsageError for what makes no sense, Refused where another job has it, or the switch has no room.
        """
        device = self.devices[choose_device(wanted.device, self.devices.keys())]
        if wanted.job_id not in self._jobs:
            raise UsageError(f"there is no job {wanted.job_id}", hint="RegisterJob comes first")
        ports = wanted.ports or ports_of(device.device, wanted.ranks)
        group = replace(wanted, device=device.device.name, ports=ports, epoch=0)
        check_group(group, self._jobs[group.job_id].world_size)
        usable = device.is_usable() and group.device not in self._drained
        lanes = device.lanes if usable else DEFAULT_LANES
        with self._lock:
            known = self._groups.get(group.group_id)
            if known is not None and known.job_id != group.job_id:
                raise Refused(
                    f"group {group.group_id} belongs to job {known.job_id}",
                    hint="take another group_id, or end that job",
                )
            slots = group.slots or slots_for(self.settings(), lanes)
            path = known.wanted if known else Path(int(self._kept.get(_WANTED, 0)))
            group = replace(group, slots=slots, wanted=path, settings=known.settings if known else {})
            self._check_room(device, group)
            is_ours = known is not None or (group.device, group.group_id) in self._leftovers
            # Known before it is there: whatever ends us in between, the group is not forgotten on the switch.
            self._put(group)
            self._begin_anew(group.group_id)
        if known is not None and known.device != group.device:
            self._take_from_device(known.device, group.group_id)
        try:
            installed = device.install(group, is_ours=is_ours) if usable else group
        except CaisError:
            self._forget(group.group_id)
            raise
        with self._lock:
            self._put(installed)
            self.cleared(group.device, [group.group_id])
            self._decide()
            self._arrived.notify_all()
        log.info(
            "group %d of job %s on %s, ports %s, %d slots, epoch %d",
            *(group.group_id, group.job_id, group.device, list(group.ports), group.slots, installed.epoch),
        )
        return installed

    def _begin_anew(self, group_id: int) -> None:
        before = self._live.get(group_id)
        if before is not None and before.leader is not None:
            before.leader.close()
        self._live[group_id] = Live(has_been_led=False)

    def _check_room(self, device: ManagedDevice, group: GroupRecord) -> None:
        reading = device.view.reading
        if reading is not None:
            counted = {each.group_id: each.slots for each in reading.snapshot.groups.values()}
            counted |= {each.group_id: each.slots for each in self._groups.values() if each.device == group.device}
            others = sum(slots for group_id, slots in counted.items() if group_id != group.group_id)
            check_room(group, others, reading.snapshot.pool, self.settings()["sram_usage_limit"])

    def join_group(self, job_id: str, group_id: int, seconds: float) -> GroupRecord:
        """The group, when its leader has created it. Raises Unreachable where it has not within `seconds`."""

        def is_led() -> bool:
            group = self._groups.get(group_id)
            return group is not None and group.job_id == job_id and bool(group.hub_address)

        with self._arrived:
            if not self._arrived.wait_for(is_led, seconds):
                raise Unreachable(
                    f"the leader of group {group_id} of job {job_id} has not come", hint="does rank 0 of it run?"
                )
            return self._groups[group_id]

    def remove_group(self, job_id: str, group_id: int) -> None:
        """Take the group from its switch. Raises Refused where the job has no such group."""
        with self._lock:
            group = self._groups.get(group_id)
            if group is None or group.job_id != job_id:
                raise Refused(f"job {job_id} has no group {group_id}")
            self._leftovers.add((group.device, group_id))
            self._store.add_leftover(group.device, group_id)
            self._forget(group_id)
        self._take_from_device(group.device, group_id)
        log.info("group %d is gone", group_id)

    def _forget(self, group_id: int) -> None:
        with self._lock:
            self._groups.pop(group_id, None)
            self._store.drop_group(group_id)
            live = self._live.pop(group_id, None)
        if live is not None and live.leader is not None:
            live.leader.close()

    def _take_from_device(self, name: str, group_id: int) -> None:
        try:
            self.devices[name].remove(group_id)
            self.cleared(name, [group_id])
        except (CaisError, KeyError) as error:
            log.warning("group %d goes from %s when that answers: %s", group_id, name, error)

    def remove_job(self, job_id: str) -> None:
        """Remove a job with its groups; one that is not there is no error."""
        for group in self.groups():
            if group.job_id == job_id:
                self.remove_group(job_id, group.group_id)
        with self._lock:
            self._jobs.pop(job_id, None)
            self._job_since.pop(job_id, None)
            self._store.drop_job(job_id)

    def groups(self) -> list[GroupRecord]:
        with self._lock:
            return [self._groups[group_id] for group_id in sorted(self._groups)]

    def jobs(self) -> list[JobRecord]:
        with self._lock:
            return list(self._jobs.values())

    def lanes(self, group: GroupRecord) -> int:
        """Words of a packet's payload on the group's switch; 0 where it is not installed."""
        return self.devices[group.device].lanes if group.epoch else 0

    # What devices ask and tell (devices.Owner)

    def groups_on(self, device: str) -> dict[int, GroupRecord]:
        with self._lock:
            return {key: group for key, group in self._groups.items() if group.device == device and group.epoch}

    def leftovers_on(self, device: str) -> list[int]:
        with self._lock:
            return [group_id for name, group_id in self._leftovers if name == device and group_id not in self._groups]

    def mended(self, group: GroupRecord) -> None:
        """The switch has lost what the group had there: nothing goes there until it has proved itself."""
        log.warning("group %d begins anew on %s, with epoch %d", group.group_id, group.device, group.epoch)
        self._has_epoch(group.group_id, group.epoch)
        with self._lock:
            live = self._live.get(group.group_id)
            if live is None:
                return
            live.doubt = Doubt(time.monotonic() + FIRST_PROOF_S)
            if live.leader is not None:
                live.leader.force(Path.ENDPOINT, "the switch was loaded anew", awaited=False)

    def cleared(self, device: str, groups: Collection[int]) -> None:
        with self._lock:
            for group_id in groups:
                self._leftovers.discard((device, group_id))
                self._store.drop_leftover(device, group_id)

    def came_or_went(self, device: str) -> None:
        """Leaders hear of it at once: what they decide on their own follows the last that they have heard."""
        with self._lock:
            self._decide()
            for group_id in self.groups_on(device):
                leader = self._live[group_id].leader
                if leader is not None:
                    number = leader.next_operation
                    leader.block(number, 0, self._policy.hand_out(group_id, number))

    # Leaders

    def attach(self, job_id: str, group_id: int, leader: Leader) -> None:
        """Take a leader's stream up. Raises Refused where its group is not known any more."""
        with self._lock:
            group = self._groups.get(group_id)
            if group is None or group.job_id != job_id:
                raise Refused(f"job {job_id} has no group {group_id}: it was removed")
            live = self._live[group_id]
            if live.leader is not None:
                live.leader.close()
            live.leader, live.has_been_led = leader, True
            leader.totals = live.totals
            if live.doubt is not None:
                live.doubt.request, live.doubt.running = 0, False
            elif has_doubt(leader, group):
                live.doubt = Doubt(time.monotonic())
            self._decide()
            decision = self._policy.hand_out(group_id, leader.next_operation)
            leader.block(leader.next_operation, 0, decision)
            # Whatever people have asked for while nobody listened.
            if leader.next_operation > 0 or group.wanted is not Path.AUTO:
                leader.force(_path(group, decision), group.reason or decision.reason, awaited=False)

    def detach(self, group_id: int, leader: Leader) -> None:
        """The stream has ended."""
        with self._lock:
            live = self._live.get(group_id)
            if live is not None and live.leader is leader:
                live.leader, live.gone_since = None, time.monotonic()

    def decision(self, group_id: int, first: int) -> Decision:
        """What holds for a block of operations that is handed out now."""
        with self._lock:
            return self._policy.hand_out(group_id, first)

    def need_block(self, group_id: int, leader: Leader, first: int, count: int) -> None:
        leader.block(first, count, self.decision(group_id, first))

    def need_epoch(self, group_id: int, leader: Leader, request: int) -> None:
        """Tell the leader an epoch as soon as the switch has it; 0 where it has none."""

        def answer() -> None:
            leader.say(pb.Directive(epoch=pb.Epoch(request=request, epoch=self.new_epoch(group_id))))

        self._workers.submit(answer)

    def new_epoch(self, group_id: int) -> int:
        """A new job on the group's switch; 0 where it does not answer."""
        with self._lock:
            group = self._groups.get(group_id)
        if group is None or not group.epoch or group.device in self._drained:
            return 0
        try:
            epoch = self.devices[group.device].new_epoch(group_id)
        except (CaisError, KeyError) as error:
            log.warning("no new epoch for group %d: %s", group_id, error)
            return 0
        self._has_epoch(group_id, epoch)
        return epoch

    def trouble(self, group_id: int, text: str, *, on_endpoints: bool) -> None:
        """Take in that an operation went wrong."""
        log.warning("group %d: %s%s", group_id, text, "; it is on its endpoints now" if on_endpoints else "")
        with self._lock:
            live = self._live.get(group_id)
            if live is not None and on_endpoints:
                live.fallbacks += 1
                live.doubt = Doubt(time.monotonic() + FIRST_PROOF_S)
                self._decide()

    def proved(self, group_id: int, request: int, right: bool, text: str) -> None:
        """Take in how the test vector came back."""
        with self._lock:
            live = self._live.get(group_id)
            if live is None or live.doubt is None or not request or live.doubt.request != request:
                return
            if not right:
                live.doubt.failed()
                log.warning("group %d: the switch has not proved itself: %s", group_id, text)
                return
            live.doubt = None
            self._decide()
            log.info("group %d: the switch has proved itself", group_id)
            group, leader, decision = self._groups[group_id], live.leader, self._policy.decision(group_id)
            if leader is not None:
                leader.block(leader.next_operation, 0, self._policy.hand_out(group_id, leader.next_operation))
                leader.force(_path(group, decision), group.reason or decision.reason, awaited=False)

    # What people ask for

    def set_offload(self, groups: Sequence[int], path: Path, reason: str) -> list[Forced]:
        """Put groups (none named: all, and those to come) on a path; returns when it holds, within a second.

        Raises UsageError for a group that is not there.
        """
        with self._lock:
            for group_id in groups:
                self._known(group_id)
            chosen = list(dict.fromkeys(groups)) or list(self._groups)
            for group_id in chosen:
                self._put(replace(self._groups[group_id], wanted=path, reason=reason))
            if not groups:
                self._keep({_WANTED: float(path)})
        which = ", ".join(map(str, groups)) or "all groups, and those to come"
        log.info("path %s for %s%s", path.name.lower(), which, f": {reason}" if reason else "")
        return self._tell(chosen)

    def drain(self, name: str, *, release: bool) -> list[Forced]:
        """Take a device out of use, or back into it. Raises UsageError where there is none of this name."""
        choose_device(name or "?", self.devices.keys())
        with self._lock:
            (self._drained.discard if release else self._drained.add)(name)
            self._store.set_drained(name, drained=not release)
            chosen = [group.group_id for group in self._groups.values() if group.device == name]
            for group_id in chosen:
                if release and not self._groups[group_id].epoch:
                    self._live[group_id].doubt = Doubt(time.monotonic())
        log.info("device %s is %s", name, "released" if release else "drained")
        return self._tell(chosen)

    def configure(self, group_id: int | None, values: Mapping[str, float]) -> dict[str, float]:
        """Change settings of a group, or of all; those in force. Raises UsageError for a group that is not there."""
        with self._lock:
            if group_id is None:
                self._keep(values)
            else:
                group = self._known(group_id)
                self._put(replace(group, settings={**group.settings, **values}))
            self._decide()
            chosen = list(self._groups) if group_id is None else [group_id]
            leaders = [(each, self._live[each].leader) for each in chosen]
        log.info("settings of %s: %s", "all" if group_id is None else f"group {group_id}", dict(values))
        for each, leader in leaders:
            if leader is not None:
                leader.settings(self.settings(each))
        return self.settings(group_id)

    def settings(self, group_id: int | None = None) -> dict[str, float]:
        """What holds for everybody, or for a group."""
        with self._lock:
            values = {name: self._kept.get(name, self._settings[name]) for name in SETTINGS}
            if group_id is not None and group_id in self._groups:
                values.update(self._groups[group_id].settings)
            return values

    # What is known

    def explain(self, group_id: int, since: float) -> Explanation:
        """The decisions since a time, and the group in one line. Raises UsageError for an unknown group."""
        with self._lock:
            group = self._known(group_id)
            state = self._policy.state(group_id)
            told = in_one_line(state)
            if group.wanted is not Path.AUTO and group.reason:
                told += f" ({group.reason})"
            if self._live[group_id].leader is None:
                told += "; its leader is not connected"
            return Explanation(explain(state, since=since), told, threshold_history(state, since=since))

    def present(self, group_id: int) -> Decision:
        """The latest decision; only to look at."""
        with self._lock:
            return self._policy.decision(group_id)

    def known(self, group_id: int) -> Known:
        with self._lock:
            live = self._live.get(group_id) or Live()
            number = 0 if live.leader is None else live.leader.next_operation
            totals = live.totals
            return Known(live.leader is not None, number, totals.on_switch, totals.on_endpoints, live.fallbacks)

    def is_drained(self, device: str) -> bool:
        return device in self._drained

    # Inside

    def _known(self, group_id: int) -> GroupRecord:
        if group_id not in self._groups:
            there = ", ".join(map(str, sorted(self._groups))) or "none"
            raise UsageError(f"there is no group {group_id}", hint=f"there are: {there}")
        return self._groups[group_id]

    def _run(self) -> None:
        while not self._ended.wait(_TICK_S):
            try:
                with self._lock:
                    self._decide()
                    lost, idle = self._lost_groups(), self._idle_jobs()
                    due = self._due_proofs()
                for group in lost:
                    log.warning("group %d of job %s: its leader is gone, so it goes", group.group_id, group.job_id)
                    self._remove_lost(group)
                for job_id in idle:
                    self.remove_job(job_id)
                for group_id, doubt in due:
                    self._workers.submit(self._let_prove, group_id, doubt)
            except Exception:
                log.exception("this tick went wrong; the next one is tried all the same")

    def _decide(self) -> None:
        self._policy.tick(
            time.time(),
            {
                key: inputs_of(
                    group,
                    self._live[key],
                    self.devices.get(group.device),
                    self.settings(key),
                    drained=group.device in self._drained,
                )
                for key, group in self._groups.items()
            },
        )

    def _lost_groups(self) -> list[GroupRecord]:
        first = _FIRST_GRACE * self._grace
        return [self._groups[key] for key, live in self._live.items() if not live.is_alive(self._grace, first)]

    def _remove_lost(self, group: GroupRecord) -> None:
        try:
            self.remove_group(group.job_id, group.group_id)
        except Refused:
            return  # somebody was quicker
        with self._lock:
            has_others = any(each.job_id == group.job_id for each in self._groups.values())
        if not has_others:
            log.info("job %s is gone", group.job_id)
            self.remove_job(group.job_id)

    def _idle_jobs(self) -> list[str]:
        """Jobs that have no group, and have had none for long."""
        now, busy = time.monotonic(), {group.job_id for group in self._groups.values()}
        for job_id in busy & self._job_since.keys():
            self._job_since[job_id] = now
        return [each for each, since in self._job_since.items() if now - since > _FIRST_GRACE * self._grace]

    def _due_proofs(self) -> list[tuple[int, Doubt]]:
        """The groups that are to be tested now; each is given to somebody once."""
        now, due = time.monotonic(), list[tuple[int, Doubt]]()
        for key, live in self._live.items():
            doubt = live.doubt
            if doubt is None or live.leader is None or not self._is_usable(self._groups[key]):
                continue
            if doubt.request and now >= doubt.due + _PROOF_S:
                doubt.request, doubt.running = 0, False
            if now >= doubt.due and not doubt.running:
                doubt.running = True
                due.append((key, doubt))
        return due

    def _is_usable(self, group: GroupRecord) -> bool:
        """Whether the switch answers, and has for a second."""
        device = self.devices.get(group.device)
        if device is None or not device.view.is_reachable or group.device in self._drained:
            return False
        return time.monotonic() >= device.view.since + FIRST_PROOF_S

    def _let_prove(self, group_id: int, doubt: Doubt) -> None:
        with self._lock:
            group = self._groups.get(group_id)
        if group is None:
            return
        epoch = self.new_epoch(group_id) if group.epoch else self._install_late(group)
        with self._lock:
            live = self._live.get(group_id)
            if live is None or live.doubt is not doubt:
                return
            if not epoch or live.leader is None:
                doubt.failed()
            else:
                doubt.due = time.monotonic()
                doubt.request = live.leader.prove(epoch)

    def _install_late(self, group: GroupRecord) -> int:
        """Install a group that found its switch gone, or drained."""
        try:
            installed = self.devices[group.device].install(group, is_ours=True)
        except (CaisError, KeyError) as error:
            log.warning("group %d cannot be installed on %s: %s", group.group_id, group.device, error)
            return 0
        self._has_epoch(group.group_id, installed.epoch)
        return installed.epoch

    def _tell(self, groups: Sequence[int]) -> list[Forced]:
        """Have the groups' leaders take what holds now at once."""
        asked: list[tuple[int, Leader, int, str]] = []
        results: list[Forced] = []
        with self._lock:
            self._decide()
            for group_id in groups:
                live, group = self._live.get(group_id), self._groups.get(group_id)
                if live is None or group is None or live.leader is None:
                    results.append(Forced(group_id, None, "its leader is not connected: it will hear of it when it is"))
                    continue
                leader, decision = live.leader, self._policy.hand_out(group_id, live.leader.next_operation)
                leader.block(leader.next_operation, 0, decision)
                path = _path(group, decision)
                text = decision.reason if path is not group.wanted else ""
                asked.append((group_id, leader, leader.force(path, group.reason or decision.reason), text))
        end = time.monotonic() + _ANSWER_S
        for group_id, leader, request, text in asked:
            operation = leader.wait_for(request, end - time.monotonic())
            late = "its leader has not answered in time"
            results.append(Forced(group_id, operation, late if operation is None else text))
        return sorted(results, key=lambda each: each.group_id)

    def _put(self, group: GroupRecord) -> None:
        self._groups[group.group_id] = group
        self._store.put_group(group)

    def _keep(self, values: Mapping[str, float]) -> None:
        self._kept.update(values)
        self._store.put_settings(values)

    def _has_epoch(self, group_id: int, epoch: int) -> None:
        with self._lock:
            known = self._groups.get(group_id)
            if known is not None:
                self._put(replace(known, epoch=epoch))


def _path(group: GroupRecord, decision: Decision) -> Path:
    """What the leader is to be put on; a switch that cannot be used is none that people could ask for."""
    if group.wanted is Path.SWITCH and not decision.offload:
        return Path.ENDPOINT
    return group.wanted


def _same_switch(before: Device, after: Device) -> bool:
    return (before.address, before.device_id, before.tls) == (after.address, after.device_id, after.tls)
