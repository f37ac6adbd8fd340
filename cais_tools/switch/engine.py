"""The engine: runs packets through a program. No I/O, no threads; whoever calls it holds a lock.

The order of things is that of bmv2's simple_switch: parser, verify checksums, ingress, then clone (ingress to egress),
digest, resubmit or multicast or drop or unicast; queues are the caller's; egress, clone (egress to egress), update
checksums and deparse, recirculate or send.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cais_tools.switch.actions import ActionCall, BoundAction, binder
from cais_tools.switch.codegen import Functions, link
from cais_tools.switch.hashing import ALGORITHMS, RoundRobin
from cais_tools.switch.meters import MeterArray
from cais_tools.switch.pre import PacketReplicationEngine
from cais_tools.switch.profiles import ActionProfile
from cais_tools.switch.program import Action, Program, TableNode
from cais_tools.switch.refusals import ProgramError, StateError
from cais_tools.switch.state import CounterArray, RegisterArray
from cais_tools.switch.tables import Table

if TYPE_CHECKING:
    from cais_tools.switch.queues import Waiting
    from cais_tools.switch.tracing import PassTrace, Tracer

__all__ = ["Digest", "Engine", "InstanceType", "Kept", "Queued"]


class InstanceType:
    """Values of standard_metadata.instance_type."""

    NORMAL = 0
    INGRESS_CLONE = 1
    EGRESS_CLONE = 2
    RECIRCULATED = 4
    REPLICATION = 5
    RESUBMITTED = 6


class Queued:
    """A packet between ingress and egress: put it into the queue of `egress_port`, then hand it to process_egress.

    `priority` is what the program set. The rest is the engine's own business: `instance` is egress_rid, `size` the
    length of the packet that came in, `limit` the clone session's truncation, `state` belongs to generated code.
    """

    __slots__ = ("egress_port", "instance", "instance_type", "limit", "priority", "size", "state")

    def __init__(
        self,
        egress_port: int,
        instance: int,
        instance_type: int,
        size: int,
        state: tuple[Any, ...],
        priority: int = 0,
        limit: int = 0,
    ) -> None:
        self.egress_port = egress_port
        self.instance = instance
        self.instance_type = instance_type
        self.size = size
        self.state = state
        self.priority = priority
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Digest:
    """What a program told the control plane (P4Runtime section 9.6): the struct's fields in order."""

    name: str
    values: tuple[int, ...]


Kept = tuple[int, int, tuple[int, ...]]
"""What a packet that comes back brings along, see `codegen.functions`."""


class Engine:
    """A loaded program and its state.

    Everything is looked up by the names of the JSON, which are the full names of P4Info: `tables`, `profiles`,
    `counters` (indirect ones), `meters` (indirect ones), `registers`, `value_sets` (lists of (value, mask), to be
    changed in place); `pre` holds multicast groups and clone sessions. `digests` collects what programs report; the
    caller drains it. `on_log(text)` gets what log_msg says.
    """

    def __init__(
        self,
        program: Program,
        *,
        clock: Callable[[], int] | None = None,
        on_log: Callable[[str], None] | None = None,
    ) -> None:
        """`clock` gives microseconds since the switch started; default: a monotonic clock from now.

        Raises ProgramError where entries that the program brings are wrong.
        """
        self.program = program
        self.clock = clock or _clock_from_now()
        self.on_log = on_log
        self.pre = PacketReplicationEngine()
        self.digests: list[Digest] = []
        self.registers = {name: RegisterArray(name, spec.size, spec.width) for name, spec in program.registers.items()}
        self.counters = {
            name: CounterArray(name, spec.size) for name, spec in program.counters.items() if spec.table is None
        }
        self.meters = {
            name: MeterArray(name, spec.size, in_bytes=spec.in_bytes)
            for name, spec in program.meters.items()
            if spec.table is None
        }
        self.value_sets: dict[str, list[tuple[int, int]]] = {name: [] for name in program.value_sets}
        self._hashes = [ALGORITHMS[each.algorithm]() for each in program.hashes]
        self.profiles = {
            name: ActionProfile(name, spec.max_size, self._profile_binder(name))
            for name, spec in program.profiles.items()
        }
        self.tables = {name: self._table(spec) for name, spec in program.tables.items()}
        self._returned: deque[tuple[bytes, int, Kept]] = deque()
        self._cloned: list[Queued] = []
        self._plain = link(program, self.runtime())
        self._tracer: Tracer | None = None
        self._use(self._plain)

    @property
    def source(self) -> str:
        """The Python source that runs the program."""
        return self._functions.source

    def trace(self, sink: Callable[[PassTrace], None] | None) -> None:
        """Tell `sink` about every pass of every packet from now on; None: no more.

        That takes another variant of the code: it costs nothing while nobody traces.
        """
        if sink is None:
            self._use(self._plain)
            return
        from cais_tools.switch.tracing import Tracer

        self._tracer = self._tracer or Tracer(self)
        self._tracer.sink = sink
        self._use(self._tracer.functions)

    def lost(self, packets: Sequence[Queued], why: str) -> None:
        """The caller says that these found no place in a queue; only a trace wants to know."""
        if self._tracer is not None and self._functions is self._tracer.functions:
            for packet in packets:
                self._tracer.lost(packet, why)

    def _use(self, functions: Functions) -> None:
        self._functions = functions
        self._ingress, self._egress = functions.ingress, functions.egress

    def set_down_ports(self, down: Collection[int]) -> None:
        """These ports have no carrier: group members that watch them and replicas with backups give way."""
        self.pre.set_down_ports(down)
        for profile in self.profiles.values():
            profile.set_down_ports(down)

    def reset(self) -> None:
        """State as after loading: initial entries only, counters and registers 0, no groups, nothing pending."""
        for table in self.tables.values():
            table.reset()
        for profile in self.profiles.values():
            profile.reset()
        for register in self.registers.values():
            register.values[:] = [0] * register.size
        for counter in self.counters.values():
            for cell in counter.cells:
                cell[:] = [0, 0]
        for meter in self.meters.values():
            for each in meter.cells:
                each.configure(None)
        for members in self.value_sets.values():
            members.clear()
        for function in self._hashes:
            if isinstance(function, RoundRobin):
                function.reset()
        self.pre.reset()
        self.digests.clear()
        self._returned.clear()
        self._cloned.clear()

    # --- packets ---

    def process_ingress(self, port: int, frames: Sequence[bytes]) -> list[Queued]:
        """Parse and run ingress on frames that came in through `port`; replication is done. Never raises."""
        queued: list[Queued] = []
        held, self._cloned = self._cloned, queued
        ingress, normal = self._ingress, InstanceType.NORMAL
        for frame in frames:
            result = ingress(frame, port, None)
            if result is None:
                continue
            spec, group, priority, state = result
            if group:
                self._replicate(group, len(frame), state, priority, queued)
            else:
                queued.append(Queued(spec, 0, normal, len(frame), state, priority))
        self._cloned = held
        return queued

    def process_egress(
        self,
        queued: Queued,
        *,
        enq_timestamp: int = 0,
        enq_qdepth: int = 0,
        deq_timedelta: int = 0,
        deq_qdepth: int = 0,
    ) -> bytes | None:
        """Run egress and deparse: the frame to send through `queued.egress_port`, None where nothing is to be sent.

        Times in microseconds, depths in packets, at the moments that v1model.p4 describes. Never raises.
        """
        waiting = [(queued, enq_timestamp, enq_qdepth)]
        return self.process_egress_batch(waiting, enq_timestamp + deq_timedelta, deq_qdepth)[0]

    def process_egress_batch(self, waiting: Sequence[Waiting[Queued]], now: int, left: int) -> list[bytes | None]:
        """`process_egress` of packets that leave a queue at `now`, in order, while `left` others still wait in it."""
        frames: list[bytes | None] = []
        egress = self._egress
        left += len(waiting)
        for packet, queued_at, depth in waiting:
            left -= 1
            frame = egress(
                packet.state,
                packet.size,
                packet.egress_port,
                packet.instance,
                packet.instance_type,
                queued_at,
                depth,
                now - queued_at,
                left,
            )
            frames.append(frame[: packet.limit] if packet.limit and frame is not None else frame)
        return frames

    @property
    def pending(self) -> bool:
        """Whether process_pending has something to do (resubmit, recirculate, clone from egress)."""
        return bool(self._returned or self._cloned)

    def process_pending(self) -> list[Queued]:
        """One more pass for packets that came back; call it until `pending` is false, between other packets."""
        queued = self._cloned
        for _ in range(len(self._returned)):
            frame, port, kept = self._returned.popleft()
            result = self._ingress(frame, port, kept)
            if result is None:
                continue
            spec, group, priority, state = result
            if group:
                self._replicate(group, len(frame), state, priority, queued)
            else:
                queued.append(Queued(spec, 0, InstanceType.NORMAL, len(frame), state, priority))
        self._cloned = []
        return queued

    def _replicate(self, group: int, size: int, state: tuple[Any, ...], priority: int, queued: list[Queued]) -> None:
        kind = InstanceType.REPLICATION
        for egress_port, instance in self.pre.replicas(group):
            queued.append(Queued(egress_port, instance, kind, size, state, priority))

    # --- requests of generated code, and of nobody else ---

    def clone_ingress(self, session: int, kept: Kept, data: bytes, port: int) -> None:
        if self.pre.session(session) is not None and self._functions.reparse is not None:
            state = self._functions.reparse(data, port, kept)
            self._clone(session, InstanceType.INGRESS_CLONE, state, len(data))

    def clone_egress(self, session: int, state: tuple[Any, ...], size: int) -> None:
        self._clone(session, InstanceType.EGRESS_CLONE, state, size)

    def _clone(self, session: int, kind: int, state: tuple[Any, ...], size: int) -> None:
        config = self.pre.session(session)
        if config is None:
            return
        for port, instance in config.replicas:
            self._cloned.append(Queued(port, instance, kind, size, state, limit=config.packet_length))

    def digest_out(self, list_id: int, values: tuple[int, ...]) -> None:
        learn_list = self.program.learn_lists.get(list_id)
        if learn_list is not None:
            self.digests.append(Digest(learn_list.name, values))

    def send_back(self, data: bytes, port: int, kept: Kept) -> None:
        self._returned.append((data, port, kept))

    def log(self, text: str, values: tuple[int, ...]) -> str:
        said = _formatted(text, values)
        if self.on_log is not None:
            self.on_log(said)
        return said

    # --- construction ---

    def _table(self, spec: TableNode) -> Table:
        actions = self._numbered([self.program.actions[ident] for ident in spec.actions])
        profile = None if spec.profile is None else self.profiles[spec.profile]
        try:
            return Table(spec, binder(f"table {spec.name}", actions), clock=self.clock, profile=profile)
        except StateError as error:
            raise ProgramError(f"the program brings entries of table {spec.name} that are wrong: {error}") from None

    def _profile_binder(self, name: str) -> Callable[[ActionCall], BoundAction]:
        """A profile takes the actions of the tables that use it."""
        users = [table for table in self.program.tables.values() if table.profile == name]
        actions = [self.program.actions[ident] for table in users for ident in table.actions]
        return binder(f"action profile {name}", self._numbered(actions))

    def _numbered(self, actions: Sequence[Action]) -> dict[str, tuple[int, Action]]:
        return {action.name: (self.program.action_number(action.name), action) for action in actions}

    def runtime(self) -> dict[str, object]:
        """The names in generated code that stand for this engine's state."""
        names: dict[str, object] = {
            "clock": self.clock,
            "log": self.log,
            "clone_ingress": self.clone_ingress,
            "clone_egress": self.clone_egress,
            "digest_out": self.digest_out,
            "resubmit_packet": self.send_back,
            "recirculate_packet": self.send_back,
        }
        for number, table in enumerate(self.tables.values()):
            names[f"find_{number}"] = table.cache.get
            names[f"resolve_{number}"] = table.resolve
            names[f"pick_{number}"] = table.pick
        for number, register in enumerate(self.registers.values()):
            names[f"register_{number}"] = register.values
        for number, name in enumerate(self.program.counters):
            if name in self.counters:
                names[f"counter_{number}"] = self.counters[name].cells
        for number, name in enumerate(self.program.meters):
            if name in self.meters:
                names[f"meter_{number}"] = self.meters[name].cells
        for number, function in enumerate(self._hashes):
            names[f"hash_{number}"] = function
        for number, members in enumerate(self.value_sets.values()):
            names[f"value_set_{number}"] = members
        return names


def _clock_from_now() -> Callable[[], int]:
    start = time.monotonic_ns()
    now = time.monotonic_ns

    def clock() -> int:
        return (now() - start) // 1000

    return clock


def _formatted(text: str, values: tuple[int, ...]) -> str:
    """log_msg: each `{..}` stands for the next value."""
    parts: list[str] = []
    rest = list(values)
    for place, piece in enumerate(text.split("{")):
        if place == 0:
            parts.append(piece)
            continue
        _, _, tail = piece.partition("}")
        parts += [str(rest.pop(0)) if rest else "{}", tail]
    return "".join(parts)
