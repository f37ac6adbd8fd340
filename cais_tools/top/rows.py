"""The rows of the tables: devices, groups, ports. Values only; what they look like is in `tables`. Sans I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cais_tools.session.cais import DelayHistogram, GroupStats, Member, PortRate, PortStats, op_label
from cais_tools.session.entities import CounterData
from cais_tools.top.device import DeviceState
from cais_tools.top.journal import Journal
from cais_tools.top.observation import Steered
from cais_tools.top.severity import Severity
from cais_tools.top.stragglers import waited_for

__all__ = ["DeviceRow", "GroupRow", "PortRow", "RuleRow", "device_row", "group_rows", "port_rows", "rule_rows"]

_NO_DELAYS = DelayHistogram()
_BITS = 8


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A switch. Rates and delays of the last interval are None where there is none, or the switch is gone."""

    key: str
    name: str
    address: str
    state: str  # up, DOWN, waiting
    program: str
    up_s: float | None
    up_is_least: bool
    primary: str
    sram: float | None
    slots_in_use: int | None
    pool: int | None
    ops: float | None
    bytes_per_s: float | None
    delay_us: float | None
    p99_us: float | None
    fallback: float | None
    groups: int | None
    alarms: tuple[str, ...]
    severity: Severity
    note: str


def device_row(device: DeviceState, journal: Journal, now: float) -> DeviceRow:
    active = journal.active(device.name)
    snapshot, rates, gauges = device.snapshot if device.is_up else None, device.rates, device.gauges
    return DeviceRow(
        key=device.name,
        name=device.name,
        address=device.source.address,
        state="waiting" if device.is_waited_for else "up" if device.is_up else "DOWN",
        program="" if device.program is None else device.program.name or "unnamed",
        up_s=None if snapshot is None or not device.program_since else max(0.0, now - device.program_since),
        up_is_least=not device.program_was_seen_loading,
        primary=_primary(device),
        sram=gauges.sram,
        slots_in_use=gauges.slots_in_use,
        pool=None if snapshot is None else snapshot.pool,
        ops=gauges.ops,
        bytes_per_s=None if rates is None else rates.reduced_bytes_per_s,
        delay_us=gauges.delay_us,
        p99_us=gauges.p99_us,
        fallback=gauges.fallback,
        groups=None if snapshot is None else len(snapshot.groups),
        alarms=tuple(entry.finding.name for entry in active),
        severity=max((entry.finding.severity for entry in active), default=Severity.INFO),
        note="" if device.failure is None else device.failure.message,
    )


def _primary(device: DeviceState) -> str:
    """Whether a client is primary. Empty: not known."""
    if device.primary is None or not device.is_up:
        return ""
    return "taken" if device.primary.is_taken else "free"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group. Counters since the load, or since the baseline; `bad` frames belong to no other column.

    `steered` is what the controller does with it, None where no controller says.
    """

    key: int
    group: int
    members: tuple[Member, ...]
    rules: int | None
    slots_open: int
    slots: int
    ops: float | None
    completed: int
    duplicates: int
    replayed: int
    stale: int
    rejected: int
    reopened: int
    bad: int
    oldest_us: int | None
    missing: str
    outcomes: Mapping[str, int]
    steered: Steered | None


def group_rows(device: DeviceState) -> list[GroupRow]:
    if device.snapshot is None:
        return []
    rules: dict[int, int] | None = None
    if device.rules is not None:
        rules = {}
        for rule in device.rules:
            rules[rule.group_id] = rules.get(rule.group_id, 0) + 1
    return [_group_row(device, each, rules) for each in device.snapshot.groups.values()]


def _group_row(device: DeviceState, group: GroupStats, rules: Mapping[int, int] | None) -> GroupRow:
    baseline = None if device.baseline is None else device.baseline.groups.get(group.group_id)
    counted = group.since(baseline)
    oldest, missing = waited_for(device, group.group_id)
    return GroupRow(
        key=group.group_id,
        group=group.group_id,
        members=group.members,
        rules=None if rules is None else rules.get(group.group_id, 0),
        slots_open=group.slots_in_use,
        slots=group.slots,
        ops=None if device.rates is None else device.rates.group_operations_per_s.get(group.group_id),
        completed=counted.operations,
        duplicates=counted.duplicates,
        replayed=counted.replayed,
        stale=counted.packets["stale"],
        rejected=counted.rejected,
        reopened=counted.packets["reopened"],
        bad=counted.bad,
        oldest_us=oldest,
        missing=missing,
        outcomes=counted.packets,
        steered=next((each for each in device.steered or () if each.group_id == group.group_id), None),
    )


@dataclass(frozen=True, slots=True)
class PortRow:
    """A port. `ranks` are the ranks behind it, `utilisation` the busier direction's share of the link."""

    key: int
    port: int
    name: str
    ranks: str
    packets_in: int
    bytes_in: int
    packets_out: int
    bytes_out: int
    packets_in_per_s: float | None
    bytes_in_per_s: float | None
    packets_out_per_s: float | None
    bytes_out_per_s: float | None
    utilisation: float | None
    delay_us: float | None
    p99_us: float | None


def port_rows(device: DeviceState) -> list[PortRow]:
    if device.snapshot is None:
        return []
    ranks: dict[int, list[str]] = {}
    for group in device.snapshot.groups.values():
        for member in group.members:
            ranks.setdefault(member.port, []).append(f"g{group.group_id}:r{member.rank}")
    return [_port_row(device, each, _few(ranks.get(each.port, []))) for each in device.snapshot.ports.values()]


def _few(names: list[str]) -> str:
    return " ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "")


def _port_row(device: DeviceState, port: PortStats, ranks: str) -> PortRow:
    before = None if device.baseline is None else device.baseline.ports.get(port.port)
    received = _since(port.received, before and before.received)
    sent = _since(port.sent, before and before.sent)
    rate = None if device.rates is None else device.rates.ports.get(port.port)
    delay = _NO_DELAYS if device.rates is None else device.rates.delays.get(port.port, _NO_DELAYS)
    return PortRow(
        key=port.port,
        port=port.port,
        name=device.source.ports.get(port.port, ""),
        ranks=ranks,
        packets_in=received.packets,
        bytes_in=received.bytes,
        packets_out=sent.packets,
        bytes_out=sent.bytes,
        packets_in_per_s=rate and rate.packets_in,
        bytes_in_per_s=rate and rate.bytes_in,
        packets_out_per_s=rate and rate.packets_out,
        bytes_out_per_s=rate and rate.bytes_out,
        utilisation=_utilisation(rate, device.source.link_gbps),
        delay_us=delay.average_us,
        p99_us=delay.percentile_us(99),
    )


def _since(now: CounterData, before: CounterData | None) -> CounterData:
    if before is None or now.packets < before.packets:
        return now
    return CounterData(now.packets - before.packets, max(0, now.bytes - before.bytes))


def _utilisation(rate: PortRate | None, gbps: float | None) -> float | None:
    if rate is None or not gbps:
        return None
    return max(rate.bytes_in, rate.bytes_out) * _BITS / (gbps * 1e9)


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule of a group; packets and bytes that it has matched."""

    key: int
    op: str
    layer: str
    chunk: str
    outputs: tuple[int, ...]
    priority: int
    packets: int
    bytes: int


def rule_rows(device: DeviceState, group_id: int) -> list[RuleRow]:
    rules = [rule for rule in device.rules or () if rule.group_id == group_id]
    return [
        RuleRow(
            number,
            op_label(rule.op),
            str(rule.layer),
            str(rule.chunk),
            rule.outputs,
            rule.priority,
            rule.packets,
            rule.bytes,
        )
        for number, rule in enumerate(rules)
    ]
