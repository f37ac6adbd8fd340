"""The tables of `cais top`: which columns, how they are written, and which go first where there is no room."""

from __future__ import annotations

from typing import Final

from cais_tools.top.columns import Column, Sort, Table, Tone
from cais_tools.top.format import MISSING, clock, count, duration, latency, percent, rate, size
from cais_tools.top.journal import Entry
from cais_tools.top.rows import DeviceRow, GroupRow, PortRow, RuleRow
from cais_tools.top.severity import Severity
from cais_tools.top.stragglers import RankRow

__all__ = ["ALARMS", "DEVICES", "GROUPS", "PORTS", "RANKS", "RULES", "running", "severity_tone"]

_TONES = {Severity.INFO: "", Severity.WARNING: "warn", Severity.CRITICAL: "bad"}
_STATES = {"up": ("● up", "good"), "DOWN": ("✖ DOWN", "bad"), "waiting": ("◌ waiting", "dim")}
_SRAM_WARN, _FALLBACK_WARN = 0.8, 0.1


def severity_tone(severity: Severity) -> Tone:
    return _TONES[severity]


def _dim_zero(value: float | None) -> Tone:
    return "" if value else "dim"


def _warn_over(value: float | None, limit: float) -> Tone:
    return "warn" if value is not None and value > limit else ""


def _up(row: DeviceRow) -> str:
    return MISSING if row.up_s is None else f"{'>' if row.up_is_least else ''}{duration(row.up_s)}"


def running(row: DeviceRow) -> str:
    """What runs on a device, for how long, and whether a client is primary; where the columns of it have no room."""
    if row.up_s is None:
        return ""
    return f"{row.program} {_up(row)}{f', primary {row.primary}' if row.primary else ''}"


def _slots(used: int | None, slots: int | None) -> str:
    return MISSING if used is None else f"{used}/{slots}"


def _alarms(row: DeviceRow) -> str:
    if not row.alarms:
        return MISSING
    return f"{'✖' if row.severity is Severity.CRITICAL else '▲'} {' '.join(row.alarms)}"


def _device_names(row: DeviceRow) -> tuple[str, ...]:
    return row.name, row.address, row.state, row.program, row.note, *row.alarms


DEVICES: Final = Table[DeviceRow](
    "device",
    (
        Column("device", "DEVICE", 10, lambda r: r.name, lambda r: r.name, rank=0, left=True, flexible=True),
        Column(
            "state",
            "STATE",
            9,
            lambda r: r.state,
            lambda r: _STATES[r.state][0],
            rank=0,
            left=True,
            tone=lambda r: _STATES[r.state][1],
        ),
        Column("program", "PROGRAM", 8, lambda r: r.program, lambda r: r.program or MISSING, rank=8, left=True),
        Column("up_s", "UP", 7, lambda r: r.up_s, _up, rank=9),
        Column("primary", "PRIMARY", 8, lambda r: r.primary, lambda r: r.primary or MISSING, rank=9, left=True),
        Column(
            "sram_usage",
            "SRAM",
            6,
            lambda r: r.sram,
            lambda r: percent(r.sram),
            rank=2,
            tone=lambda r: _warn_over(r.sram, _SRAM_WARN),
        ),
        Column("slots_in_use", "SLOTS", 9, lambda r: r.slots_in_use, lambda r: _slots(r.slots_in_use, r.pool), rank=8),
        Column(
            "ops_per_s", "OPS/S", 7, lambda r: r.ops, lambda r: rate(r.ops), rank=1, tone=lambda r: _dim_zero(r.ops)
        ),
        Column("delay_us", "DELAY", 7, lambda r: r.delay_us, lambda r: latency(r.delay_us), rank=4),
        Column("p99_us", "P99", 7, lambda r: r.p99_us, lambda r: latency(r.p99_us), rank=5),
        Column(
            "fallback_ratio",
            "FALLBK",
            7,
            lambda r: r.fallback,
            lambda r: percent(r.fallback),
            rank=3,
            tone=lambda r: _warn_over(r.fallback, _FALLBACK_WARN),
        ),
        Column("groups", "GRP", 4, lambda r: r.groups, lambda r: count(r.groups), rank=7),
        Column(
            "alarms",
            "ALARMS",
            11,
            lambda r: len(r.alarms),
            _alarms,
            rank=1,
            left=True,
            flexible=True,
            tone=lambda r: severity_tone(r.severity),
        ),
        Column("note", "NOTE", 20, lambda r: r.note, lambda r: r.note, rank=10, left=True, flexible=True),
    ),
    _device_names,
    Sort("device"),
)


def _counter(key: str, title: str, width: int, rank: int, tone: Tone = "warn") -> Column[GroupRow]:
    def value(row: GroupRow) -> int:
        return getattr(row, key)

    return Column(
        key,
        title,
        width,
        value,
        lambda row: count(value(row), width),
        rank=rank,
        tone=lambda row: tone if value(row) else "dim",
    )


def _group_names(row: GroupRow) -> tuple[str, ...]:
    return f"group {row.group}", row.missing


GROUPS: Final = Table[GroupRow](
    "group",
    (
        Column("group", "GROUP", 6, lambda r: r.group, lambda r: str(r.group), rank=0),
        Column("members", "RANKS", 6, lambda r: len(r.members), lambda r: str(len(r.members)), rank=6),
        Column("rules", "RULES", 6, lambda r: r.rules, lambda r: count(r.rules), rank=7),
        Column(
            "path",
            "PATH",
            9,
            lambda r: None if r.steered is None else r.steered.path,
            lambda r: MISSING if r.steered is None else f"{r.steered.path}{'' if r.steered.wanted == 'auto' else '!'}",
            rank=2,
            left=True,
            sometimes=True,
            tone=lambda r: "warn" if r.steered is not None and r.steered.path == "endpoint" else "",
        ),
        Column("slots_open", "OPEN", 9, lambda r: r.slots_open, lambda r: _slots(r.slots_open, r.slots), rank=2),
        Column(
            "ops_per_s", "OPS/S", 6, lambda r: r.ops, lambda r: rate(r.ops), rank=0, tone=lambda r: _dim_zero(r.ops)
        ),
        _counter("completed", "COMPLETED", 9, 1, ""),
        _counter("duplicates", "DUP", 5, 3, ""),
        _counter("replayed", "REPLAY", 7, 8, ""),
        _counter("stale", "STALE", 5, 4),
        _counter("rejected", "REJECT", 6, 3),
        _counter("reopened", "REOPEN", 7, 9),
        _counter("bad", "BAD", 5, 5),
        Column("oldest_us", "OLDEST", 7, lambda r: r.oldest_us, lambda r: latency(r.oldest_us), rank=4),
        Column(
            "missing",
            "MISSING",
            12,
            lambda r: r.missing or None,
            lambda r: r.missing or MISSING,
            rank=3,
            left=True,
            flexible=True,
            tone=lambda r: "warn" if r.missing else "dim",
        ),
    ),
    _group_names,
    Sort("group"),
)


def _port_names(row: PortRow) -> tuple[str, ...]:
    return f"port {row.port}", row.name, row.ranks


PORTS: Final = Table[PortRow](
    "port",
    (
        Column("port", "PORT", 5, lambda r: r.port, lambda r: str(r.port), rank=0),
        Column("name", "NAME", 8, lambda r: r.name or None, lambda r: r.name or MISSING, rank=5, left=True),
        Column(
            "ranks",
            "RANK",
            7,
            lambda r: r.ranks or None,
            lambda r: r.ranks or MISSING,
            rank=2,
            left=True,
            flexible=True,
        ),
        Column("packets_in", "PKTS IN", 8, lambda r: r.packets_in, lambda r: count(r.packets_in, 8), rank=3),
        Column("bytes_in", "IN", 7, lambda r: r.bytes_in, lambda r: size(r.bytes_in), rank=8),
        Column("bytes_in_per_s", "IN/S", 7, lambda r: r.bytes_in_per_s, lambda r: size(r.bytes_in_per_s), rank=1),
        Column("packets_out", "PKTS OUT", 9, lambda r: r.packets_out, lambda r: count(r.packets_out, 9), rank=3),
        Column("bytes_out", "OUT", 7, lambda r: r.bytes_out, lambda r: size(r.bytes_out), rank=8),
        Column("bytes_out_per_s", "OUT/S", 7, lambda r: r.bytes_out_per_s, lambda r: size(r.bytes_out_per_s), rank=1),
        Column(
            "packets_in_per_s", "PPS IN", 7, lambda r: r.packets_in_per_s, lambda r: rate(r.packets_in_per_s), rank=9
        ),
        Column(
            "packets_out_per_s",
            "PPS OUT",
            8,
            lambda r: r.packets_out_per_s,
            lambda r: rate(r.packets_out_per_s),
            rank=9,
        ),
        Column(
            "utilisation",
            "UTIL",
            6,
            lambda r: r.utilisation,
            lambda r: percent(r.utilisation),
            rank=4,
            tone=lambda r: _warn_over(r.utilisation, 0.9),
        ),
        Column("delay_us", "QUEUE", 7, lambda r: r.delay_us, lambda r: latency(r.delay_us), rank=2),
        Column("p99_us", "P99", 7, lambda r: r.p99_us, lambda r: latency(r.p99_us), rank=6),
    ),
    _port_names,
    Sort("port"),
)


def _since(entry: Entry) -> str:
    if entry.ended is None:
        return "active" if entry.times == 1 else f"active x{entry.times}"
    if entry.ended <= entry.time:
        return "once"
    return duration(entry.ended - entry.time)


def _alarm_names(entry: Entry) -> tuple[str, ...]:
    return entry.device, entry.finding.name, entry.finding.message, entry.finding.severity.word


ALARMS: Final = Table[Entry](
    "alarm",
    (
        Column("time", "TIME", 8, lambda e: e.time, lambda e: clock(e.time), rank=0, left=True),
        Column("device", "DEVICE", 10, lambda e: e.device, lambda e: e.device, rank=1, left=True),
        Column(
            "severity",
            "SEVERITY",
            10,
            lambda e: e.finding.severity.value,
            lambda e: f"{'✖' if e.finding.severity is Severity.CRITICAL else '▲'} {e.finding.severity.word}",
            rank=4,
            left=True,
            tone=lambda e: severity_tone(e.finding.severity) if e.is_active else "dim",
        ),
        Column("alarm", "ALARM", 11, lambda e: e.finding.name, lambda e: e.finding.name, rank=0, left=True),
        Column("value", "VALUE", 8, lambda e: e.finding.value, lambda e: e.finding.value or MISSING, rank=3),
        Column(
            "lasted",
            "LASTED",
            9,
            lambda e: None if e.ended is None else e.ended - e.time,
            _since,
            rank=2,
            left=True,
            tone=lambda e: severity_tone(e.finding.severity) if e.is_active else "dim",
        ),
        Column(
            "playbook",
            "PLAYBOOK",
            18,
            lambda e: e.finding.playbook,
            lambda e: e.finding.playbook,
            rank=6,
            left=True,
        ),
        Column(
            "message",
            "MESSAGE",
            16,
            lambda e: e.finding.message,
            lambda e: e.finding.message,
            rank=4,
            left=True,
            flexible=True,
        ),
    ),
    _alarm_names,
    Sort("time", reverse=True),
)

RANKS: Final = Table[RankRow](
    "rank",
    (
        Column("rank", "RANK", 5, lambda r: r.rank, lambda r: str(r.rank), rank=0),
        Column("port", "PORT", 5, lambda r: r.port, lambda r: str(r.port), rank=1),
        Column("name", "NAME", 8, lambda r: r.name or None, lambda r: r.name or MISSING, rank=5, left=True),
        Column("received", "RECEIVED", 9, lambda r: r.received, lambda r: count(r.received, 9), rank=2),
        Column("received_per_s", "PPS", 7, lambda r: r.received_per_s, lambda r: rate(r.received_per_s), rank=2),
        Column(
            "behind",
            "BEHIND",
            7,
            lambda r: r.behind,
            lambda r: percent(r.behind),
            rank=3,
            tone=lambda r: _warn_over(r.behind, 0.05),
        ),
        Column(
            "missing",
            "MISSING",
            8,
            lambda r: r.missing,
            lambda r: count(r.missing),
            rank=1,
            tone=lambda r: "warn" if r.missing else "dim",
        ),
        Column("oldest_us", "OLDEST", 7, lambda r: r.oldest_us, lambda r: latency(r.oldest_us), rank=3),
        Column("looks", "TIMES", 6, lambda r: r.looks, lambda r: count(r.looks), rank=4),
        Column(
            "shared",
            "",
            22,
            lambda r: float(r.shared),
            lambda r: "port of several groups" if r.shared else "",
            rank=6,
            left=True,
            tone=lambda _: "dim",
        ),
    ),
    lambda r: (f"rank {r.rank}", f"port {r.port}", r.name),
    Sort("missing", reverse=True),
)


def _ports(ports: tuple[int, ...]) -> str:
    return ",".join(map(str, ports))


RULES: Final = Table[RuleRow](
    "rule",
    (
        Column("op", "OP", 13, lambda r: r.op, lambda r: r.op, rank=0, left=True),
        Column("layer", "LAYER", 11, lambda r: r.layer, lambda r: r.layer, rank=1, left=True),
        Column("chunk", "CHUNK", 11, lambda r: r.chunk, lambda r: r.chunk, rank=1, left=True),
        Column("packets", "PACKETS", 9, lambda r: r.packets, lambda r: count(r.packets, 9), rank=2),
        Column("bytes", "BYTES", 8, lambda r: r.bytes, lambda r: size(r.bytes), rank=4),
        Column("priority", "PRIORITY", 9, lambda r: r.priority, lambda r: str(r.priority), rank=5),
        Column(
            "outputs",
            "OUTPUTS",
            10,
            lambda r: _ports(r.outputs),
            lambda r: _ports(r.outputs),
            rank=3,
            left=True,
            flexible=True,
        ),
    ),
    lambda r: (r.op, r.layer, r.chunk),
    Sort("packets", reverse=True),
)
