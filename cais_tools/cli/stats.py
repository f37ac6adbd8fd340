"""`cais show-stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cais_tools.cli.options import DEFAULT_DEVICE, Device, DeviceId, Json, Timeout, option
from cais_tools.cli.output import emit_json, say, table
from cais_tools.cli.parse import parse_seconds

if TYPE_CHECKING:
    from cais_tools.session.cais import Rates, Snapshot

# Columns of the outcome table that are there even if nothing was counted.
_ALWAYS = ("opened", "added", "completed")


def show_stats(
    device: Device = DEFAULT_DEVICE,
    interval: Annotated[
        str, option(envvar="CAIS_INTERVAL", metavar="TIME", help="Time over which rates are measured.")
    ] = "1s",
    device_id: DeviceId = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Show what the switch does now.

    Slots in use, reduce throughput, queue delay and fallback; then outcomes by group and traffic by port.
    """
    import time

    from cais_tools.cli.devices import open_session
    from cais_tools.session.cais import CaisSwitch, Rates

    seconds = parse_seconds(interval, option="--interval")
    with open_session(device, device_id=device_id, read_only=True, timeout=timeout) as session:
        switch = CaisSwitch(session)
        before = switch.snapshot()
        time.sleep(seconds)
        after = switch.snapshot()
    rates = Rates.between(before, after)
    if json:
        emit_json("cais.stats/1", {"device": device, **_as_dict(after, rates)})
        return
    _say_summary(device, after, rates)
    if after.groups:
        say()
        say(_groups(after))
    if after.ports:
        say()
        say(_ports(after, rates))
    bad = {name: count for name, count in after.bad_frames.items() if count}
    if bad:
        say()
        say("bad frames: " + ", ".join(f"{count} {name}" for name, count in bad.items()))


def _delay_and_fallback(snapshot: Snapshot, rates: Rates) -> tuple[float | None, float]:
    """Of the interval, or of everything since the program was loaded where nothing came in the interval."""
    if rates.delay.total:
        return rates.delay.average_us, rates.fallback_ratio
    return snapshot.delay.average_us, snapshot.fallback_ratio


def _say_summary(device: str, snapshot: Snapshot, rates: Rates) -> None:
    """The original's lines, in its order."""
    delay, fallback = _delay_and_fallback(snapshot, rates)
    say(f"Device: {device}")
    say(f"SRAM Usage: {snapshot.sram_usage:.0%}")
    say(f"Reduce Throughput: {scaled(rates.operations_per_s)} ops/sec")
    say(f"Avg Queue Delay: {'-' if delay is None else f'{delay:.1f}us'}")
    say(f"Fallback Ratio: {fallback:.1%}")


def scaled(value: float) -> str:
    """Return `1.2M`, `950.0k`, `12.0`: one digit behind the point, and the unit that keeps it below 1000."""
    for unit in ("", "k", "M", "G"):
        if value < 999.95:
            return f"{value:.1f}{unit}"
        value /= 1000
    return f"{value:.1f}T"


def _groups(snapshot: Snapshot) -> str:
    groups = list(snapshot.groups.values())
    names = [name for name in groups[0].packets if name in _ALWAYS or any(group.packets[name] for group in groups)]
    rows = [
        [str(group.group_id), str(group.slots), str(group.slots_in_use), *(str(group.packets[name]) for name in names)]
        for group in groups
    ]
    return table(("group", "slots", "in use", *names), rows, left=())


def _ports(snapshot: Snapshot, rates: Rates) -> str:
    header = ("port", "packets in", "bytes in", "packets out", "bytes out", "in MB/s", "out MB/s", "p50 us", "p99 us")
    rows: list[list[str]] = []
    for number, port in snapshot.ports.items():
        counts = (port.received.packets, port.received.bytes, port.sent.packets, port.sent.bytes)
        rate = rates.ports[number]
        delays = (port.delay.percentile_us(50), port.delay.percentile_us(99))
        rows.append(
            [
                str(number),
                *map(str, counts),
                f"{rate.bytes_in / 1e6:.2f}",
                f"{rate.bytes_out / 1e6:.2f}",
                *("-" if delay is None else f"{delay:.1f}" for delay in delays),
            ]
        )
    return table(header, rows, left=())


def _as_dict(snapshot: Snapshot, rates: Rates) -> dict[str, Any]:
    delay, fallback = _delay_and_fallback(snapshot, rates)
    return {
        "interval_s": rates.seconds,
        "sram_usage": snapshot.sram_usage,
        "slots": snapshot.pool,
        "slots_allocated": snapshot.slots_allocated,
        "slots_in_use": snapshot.slots_in_use,
        "reduce_throughput_ops_per_s": rates.operations_per_s,
        "contributions_per_s": rates.contributions_per_s,
        "reduced_bytes_per_s": rates.reduced_bytes_per_s,
        "avg_queue_delay_us": delay,
        "fallback_ratio": fallback,
        "groups": [
            {
                "group_id": group.group_id,
                "slots": group.slots,
                "slots_in_use": group.slots_in_use,
                "operations_per_s": rates.group_operations_per_s[group.group_id],
                "outcomes_packets": dict(group.packets),
                "outcomes_bytes": dict(group.bytes),
            }
            for group in snapshot.groups.values()
        ],
        "ports": [
            {
                "port": port.port,
                "packets_in": port.received.packets,
                "bytes_in": port.received.bytes,
                "packets_out": port.sent.packets,
                "bytes_out": port.sent.bytes,
                "bytes_in_per_s": rates.ports[number].bytes_in,
                "bytes_out_per_s": rates.ports[number].bytes_out,
                "queue_delay_p50_us": port.delay.percentile_us(50),
                "queue_delay_p99_us": port.delay.percentile_us(99),
            }
            for number, port in snapshot.ports.items()
        ],
        "bad_frames": dict(snapshot.bad_frames),
    }
