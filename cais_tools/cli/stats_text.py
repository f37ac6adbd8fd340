"""Statistics as text: one switch in full, several as a table, open slots."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cais_tools.cli.output import coloured, table

if TYPE_CHECKING:
    from cais_tools.fleet.sampling import Sample
    from cais_tools.session.cais import Alarm, DelayHistogram, GroupStats, Member, OpenSlot, Rates, Reading, Snapshot

__all__ = ["fleet_text", "reading_text", "scaled", "slots_text"]

_OLDEST = 20
_DETAILS = ("completed_alone", "reopened", "diverged", "no_member", "no_rule", "unknown_op")


def scaled(value: float) -> str:
    """Return `1.2M`, `950.0k`, `12.0`: one digit behind the point, and the unit that keeps it below 1000."""
    for unit in ("", "k", "M", "G"):
        if value < 999.95:
            return f"{value:.1f}{unit}"
        value /= 1000
    return f"{value:.1f}T"


def reading_text(name: str, reading: Reading, ports: Mapping[int, str], group: int | None, *, colour: bool) -> str:
    """One switch: the original's lines, then groups, ports, percentiles, rates and alarms."""
    snapshot, rates = reading.snapshot, reading.rates
    shown = [each for each in snapshot.groups if group in (None, each)]
    blocks = ["\n".join(_summary(name, snapshot, rates))]
    if shown:
        blocks.append("\n".join([_groups(snapshot, rates, shown), *_details(snapshot, shown)]))
    elif group is not None:
        blocks.append(f"group {group}: not on this switch")
    if snapshot.ports:
        blocks.append(_ports(snapshot, rates, ports))
    blocks.append("\n".join([*_rates(snapshot, rates), *_bad_frames(snapshot)]))
    blocks.append("\n".join(_alarm(each, "", colour=colour) for each in reading.alarms) or "no alarms")
    return "\n\n".join(blocks)


def _summary(name: str, snapshot: Snapshot, rates: Rates | None) -> list[str]:
    """The original's lines, in its order; delay and fallback of the interval."""
    delay = rates.delay.average_us if rates else None
    return [
        f"Device: {name}",
        f"SRAM Usage: {snapshot.sram_usage:.0%}",
        f"Reduce Throughput: {f'{scaled(rates.operations_per_s)} ops/sec' if rates else _FIRST}",
        f"Avg Queue Delay: {'no traffic' if delay is None and rates else _us(delay) if rates else _FIRST}",
        f"Fallback Ratio: {f'{rates.fallback_ratio:.1%}' if rates else _FIRST}",
    ]


_FIRST = "with the next reading"


def _us(delay: float | None) -> str:
    return "-" if delay is None else f"{delay:.1f}us"


_GROUP_HEADER = (
    *("group", "slots", "in use", "ops/s", "opened", "completed"),
    *("duplicates", "stale", "replayed", "rejected", "bad"),
)


def _groups(snapshot: Snapshot, rates: Rates | None, shown: Sequence[int]) -> str:
    return table(_GROUP_HEADER, [_group_row(snapshot.groups[each], rates) for each in shown], left=())


def _group_row(group: GroupStats, rates: Rates | None) -> list[str]:
    rate = rates.group_operations_per_s.get(group.group_id) if rates else None
    counts = (group.packets["opened"], group.operations, group.duplicates, group.packets["stale"])
    return [
        *map(str, (group.group_id, group.slots, group.slots_in_use)),
        "-" if rate is None else scaled(rate),
        *map(str, (*counts, group.replayed, group.rejected, group.bad)),
    ]


def _details(snapshot: Snapshot, shown: Sequence[int]) -> list[str]:
    """What is behind the columns that lump several outcomes together, and what has no column."""
    lines: list[str] = []
    for group in (snapshot.groups[each] for each in shown):
        parts = [f"{group.packets[name]} {name}" for name in _DETAILS if group.packets[name]]
        if parts:
            lines.append(f"group {group.group_id}: {', '.join(parts)}")
    return lines


def _ports(snapshot: Snapshot, rates: Rates | None, names: Mapping[int, str]) -> str:
    named = any(port in names for port in snapshot.ports)
    header = ["port", *(["name"] if named else []), "packets in", "bytes in", "packets out", "bytes out"]
    header += ["in pkt/s", "out pkt/s", "in MB/s", "out MB/s", "p50 us", "p99 us"]
    rows: list[list[str]] = []
    for number, port in snapshot.ports.items():
        counts = (port.received.packets, port.received.bytes, port.sent.packets, port.sent.bytes)
        name = [names.get(number, "-")] if named else []
        rows.append([str(number), *name, *map(str, counts), *_port_rates(number, rates)])
    return table(header, rows, left=(1,) if named else ())


def _port_rates(number: int, rates: Rates | None) -> list[str]:
    if rates is None:
        return ["-"] * 6
    rate, delay = rates.ports[number], rates.delays[number]
    return [
        scaled(rate.packets_in),
        scaled(rate.packets_out),
        f"{rate.bytes_in / 1e6:.2f}",
        f"{rate.bytes_out / 1e6:.2f}",
        *("-" if value is None else f"{value:.1f}" for value in (delay.percentile_us(50), delay.percentile_us(99))),
    ]


def _rates(snapshot: Snapshot, rates: Rates | None) -> list[str]:
    lines = [f"slots: {snapshot.slots_in_use} in use, {snapshot.slots_allocated} of {snapshot.pool} given to groups"]
    if rates is not None:
        reduced = f"{scaled(rates.contributions_per_s)} contributions/s, {rates.reduced_bytes_per_s / 1e6:.2f} MB/s"
        lines += [f"in {rates.seconds:.1f} s: {reduced} reduced", f"queue delay: {_percentiles(rates.delay)}"]
    lines.append(f"queue delay since the load: {_percentiles(snapshot.delay)}")
    return lines


def _percentiles(delay: DelayHistogram) -> str:
    if not delay.total:
        return "no traffic"
    return ", ".join(f"p{percent} {_us(delay.percentile_us(percent))}" for percent in (50, 90, 99))


def _bad_frames(snapshot: Snapshot) -> list[str]:
    bad = {name: count for name, count in snapshot.bad_frames.items() if count}
    return ["bad frames: " + ", ".join(f"{count} {name}" for name, count in bad.items())] if bad else []


def _alarm(alarm: Alarm, where: str, *, colour: bool) -> str:
    word = f"ALARM {alarm.name}"
    word = coloured(word, "red" if alarm.severity.value == "critical" else "yellow", sys.stdout) if colour else word
    return f"{where}{word}: {alarm.message} (playbooks/{alarm.playbook})"


def fleet_text(samples: Sequence[Sample], group: int | None, *, colour: bool) -> str:
    """Several switches: a line for each, with a verdict; then what there is of `group`, alarms and errors."""
    header = ("device", "SRAM", "slots", "ops/s", "queue delay", "p99", "fallback", "groups", "verdict")
    blocks = [table(header, [_fleet_row(each) for each in samples], left=(0, 8))]
    if group is not None:
        blocks.append(_group_of_each(samples, group))
    below: list[str] = []
    for sample in samples:
        alarms = sample.reading.alarms if sample.reading else ()
        below += [_alarm(alarm, f"{sample.device.name}: ", colour=colour) for alarm in alarms]
        below += [f"{sample.device.name}: {sample.error}"] if sample.error else []
    if below:
        blocks.append("\n".join(below))
    return "\n\n".join(blocks)


def _fleet_row(sample: Sample) -> list[str]:
    from cais_tools.cli.fleet import verdict_word

    if sample.reading is None:
        return [sample.device.name, *["-"] * 7, verdict_word(sample.outcome)]
    snapshot, rates = sample.reading.snapshot, sample.reading.rates
    return [
        sample.device.name,
        f"{snapshot.sram_usage:.0%}",
        f"{snapshot.slots_in_use}/{snapshot.pool}",
        *([scaled(rates.operations_per_s), _or_idle(rates), _us(rates.delay.percentile_us(99))] if rates else "---"),
        f"{rates.fallback_ratio:.1%}" if rates else "-",
        str(len(snapshot.groups)),
        ", ".join(alarm.name for alarm in sample.reading.alarms) or ("ok" if rates else "just connected"),
    ]


def _group_of_each(samples: Sequence[Sample], group: int) -> str:
    have = [each for each in samples if each.reading and group in each.reading.snapshot.groups]
    if not have:
        return f"group {group}: on none of these devices"
    rows = [
        [each.device.name, *_group_row(each.reading.snapshot.groups[group], each.reading.rates)]
        for each in have
        if each.reading
    ]
    return table(("device", *_GROUP_HEADER), rows)


def _or_idle(rates: Rates) -> str:
    return _us(rates.delay.average_us) if rates.delay.total else "no traffic"


def slots_text(slots: Sequence[OpenSlot], names: Mapping[int, str]) -> str:
    """The oldest open slots, and which ranks are missing how often."""
    from cais_tools.session.cais import op_label

    if not slots:
        return "no open slots"
    rows = [
        [
            *map(str, (each.group_id, each.slot, each.seq_num)),
            op_label(each.op),
            *map(str, (each.layer, each.chunk)),
            _age(each.age_us),
            ", ".join(_member(member, names) for member in each.missing) or "-",
        ]
        for each in slots[:_OLDEST]
    ]
    header = ("group", "slot", "seq_num", "op", "layer", "chunk", "age", "missing")
    lines = [table(header, rows, left=(3, 7))]
    if len(slots) > _OLDEST:
        lines.append(f"and {len(slots) - _OLDEST} younger ones; --json has them all")
    return "\n".join([*lines, "", *_silent(slots, names)])


def _silent(slots: Iterable[OpenSlot], names: Mapping[int, str]) -> list[str]:
    """Who is missing most: the first to look at."""
    absent = Counter((slot.group_id, member) for slot in slots for member in slot.missing)
    return [
        f"group {group_id}: {_member(member, names)} is missing in {count} {'slot' if count == 1 else 'slots'}"
        for (group_id, member), count in sorted(
            absent.items(), key=lambda item: (-item[1], item[0][0], item[0][1].rank)
        )
    ]


def _member(member: Member, names: Mapping[int, str]) -> str:
    name = names.get(member.port)
    return f"rank {member.rank} (port {member.port}{f', {name}' if name else ''})"


def _age(age_us: int | None) -> str:
    if age_us is None:
        return "unknown"
    for unit, size in (("s", 1_000_000), ("ms", 1000)):
        if age_us >= size:
            return f"{age_us / size:.1f}{unit}"
    return f"{age_us}us"
