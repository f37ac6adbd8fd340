"""The share of packets that a live `cais sniff` sees on a veth pair, and whether the drops it states are the true ones.

`python -m tests.benchmarks.bench_sniff_live` (as root): in a network namespace of its own, a process sends frames of
290 bytes at each rate for some seconds and counts those that the kernel took. What the sniffer says it captured and
what it says was dropped must add up to that, to the packet.
"""

from __future__ import annotations

import argparse
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from cais_tools.links.mmsg import BATCH, send_batch
from cais_tools.wire.frames import build_frames
from cais_tools.wire.header import Op
from tests.functional.runner import command, environment
from tests.integration.netns import NetworkNamespace, network_namespace

RATES = (1_000, 10_000, 50_000, 200_000)
LANES = 64
MODES: dict[str, Sequence[str]] = {
    "lines": (),
    "-w /dev/null": ("-w", "/dev/null"),
    "--stats": ("--stats",),
}


def blast(interface: str, rate: int, seconds: float) -> tuple[int, float]:
    """Send at a rate; how many frames the kernel took, and how long it took."""
    count = int(rate * seconds)
    numbers = np.arange(BATCH, dtype=np.uint32)
    payload = np.ones((BATCH, LANES), np.int32)
    frames = build_frames(
        op=Op.ALLREDUCE, group_id=1, rank=1, layer_id=5, total_chunks=BATCH, chunk_ids=numbers, seq_nums=numbers,
        tags=0, payload_len=4 * LANES, payload=payload,
    )  # fmt: skip
    lengths = np.full(BATCH, frames.shape[1], np.intp)
    offsets = np.cumsum(lengths) - lengths
    sent = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind((interface, 0))
        start = time.perf_counter()
        while sent < count:
            due = min(count, int((time.perf_counter() - start) * rate) + 1) - sent
            if due <= 0:
                time.sleep(0.0002)
                continue
            due = min(due, BATCH)
            sent += send_batch(sock.fileno(), frames, offsets[:due], lengths[:due])
        return sent, time.perf_counter() - start


def sender(rate: int, seconds: float) -> list[str]:
    script = f"from tests.benchmarks.bench_sniff_live import blast; print(*blast('bs0', {rate}, {seconds}))"
    return [sys.executable, "-c", script]


def measure(namespace: NetworkNamespace, mode: Sequence[str], rate: int, seconds: float) -> tuple[int, float, int, int]:
    """Frames sent, their true rate, captured, stated as dropped."""
    with open("/dev/null", "wb") as nowhere:
        sniffer = namespace.run(
            lambda: subprocess.Popen(
                command("sniff", "bs1", *mode),
                stdout=nowhere,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
        )
    assert sniffer.stderr is not None
    assert "listening" in sniffer.stderr.readline()
    text = namespace.run(
        lambda: subprocess.run(sender(rate, seconds), stdout=subprocess.PIPE, text=True, env=environment(), check=True)
    ).stdout
    sent, took = int(text.split()[0]), float(text.split()[1])
    time.sleep(1.0)
    sniffer.send_signal(signal.SIGINT)
    closing = sniffer.stderr.read()
    sniffer.wait()
    captured, dropped = (int(re.findall(rf"(\d+) packets? {what}", closing)[0]) for what in ("captured", "dropped"))
    return sent, sent / took, captured, dropped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--modes", default=",".join(MODES))
    options = parser.parse_args()
    right = True
    with network_namespace() as namespace:
        namespace.veth("bs0", "bs1")
        for mode in options.modes.split(","):
            for rate in RATES:
                sent, true_rate, captured, dropped = measure(namespace, MODES[mode], rate, options.seconds)
                true = captured + dropped == sent
                right &= true
                sys.stdout.write(
                    f"{mode:14} {rate:>8,} packets/s (sent at {true_rate:>9,.0f}): seen {captured / sent:>8.3%}, "
                    f"dropped {dropped} of {sent}, {'true' if true else 'NOT TRUE'}\n"
                )
                sys.stdout.flush()
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
