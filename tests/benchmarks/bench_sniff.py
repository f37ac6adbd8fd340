"""How many packets a second `cais sniff -r --stats` counts, beside tshark with the Lua dissector and Scapy's reader.

`python -m tests.benchmarks.bench_sniff`: a capture of a million packets (four ranks' contributions and the results, of
different sizes) is generated and read by each of them, one after the other, in processes of their own; all must count
the same packets in each group. Rates include the start of the program. Scapy reads a part of the file only, for it
needs minutes for the whole; its rate is that of the part.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cais_tools.sniff.batch import LinkType, batch_of
from cais_tools.sniff.dump import Rotation, Writer
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import ETHERTYPE_CAIS, SWITCH_MAC, Header, group_mac, mac_bytes

RANKS, GROUPS, LANES = 4, 4, 64
START_NS = 1_700_000_000 * 10**9
SCAPY_SHARE = 50
_SCAPY = """
import collections, sys
from cais_tools.wire.scapy import CAIS
from scapy.utils import PcapReader
groups = collections.Counter()
for packet in PcapReader(sys.argv[1]):
    if CAIS in packet:
        groups[packet[CAIS].group_id] += 1
print(dict(groups))
"""


def generate(path: Path, packets: int) -> collections.Counter[int]:
    """Write the capture; how many packets there are of each group."""
    counts: collections.Counter[int] = collections.Counter()
    writer = Writer(str(path), Rotation(), LinkType.ETHERNET)
    payload = struct.pack(f">{LANES}i", *range(LANES))
    addresses = [mac_bytes(source_mac(rank)) for rank in range(RANKS)] + [mac_bytes(SWITCH_MAC)]
    frames: list[bytes] = []
    for number in range(packets):
        seq, sender = divmod(number, RANKS + 1)
        group, chunk = seq % GROUPS, seq // GROUPS % 1024
        body = payload if sender != seq % RANKS or seq % 3 else b""  # now and then a rank joins with a header alone
        header = Header(0, group, seq // 4096 % 32, chunk, 1024, seq, len(body), number & 0xFFFFFFFF).pack()
        frames.append(
            mac_bytes(group_mac(group)) + addresses[sender] + ETHERTYPE_CAIS.to_bytes(2, "big") + header + body
        )
        counts[group] += 1
        if len(frames) == 10_000 or number == packets - 1:
            first = number + 1 - len(frames)
            times = (START_NS + 1000 * np.arange(first, number + 1)).tolist()
            writer.write(batch_of(frames, time_ns=times))
            frames.clear()
    writer.close()
    return counts


def timed(command: Sequence[str]) -> tuple[float, str]:
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    if finished.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {finished.returncode}")
    return time.perf_counter() - start, finished.stdout


def by_sniff(path: Path) -> tuple[float, dict[int, int]]:
    seconds, text = timed([sys.executable, "-m", "cais_tools.cli", "sniff", "-r", str(path), "--stats", "--json"])
    document = json.loads(text.splitlines()[-1])
    counts: collections.Counter[int] = collections.Counter()
    for group in document["groups"]:
        counts[group["group_id"]] += group["contributions"] + group["results"]
    return seconds, dict(counts)


def by_tshark(path: Path, folder: Path) -> tuple[float, dict[int, int]]:
    plugin = folder / "cais.lua"
    plugin.write_text(timed([sys.executable, "-m", "cais_tools.cli", "sniff", "--wireshark-plugin"])[1])
    fields = ["-T", "fields", "-e", "cais.group_id"]
    seconds, text = timed(["tshark", "-n", "-X", f"lua_script:{plugin}", "-r", str(path), *fields])
    return seconds, {int(group): count for group, count in collections.Counter(text.split()).items()}


def by_scapy(path: Path) -> tuple[float, dict[int, int]]:
    seconds, text = timed([sys.executable, "-c", _SCAPY, str(path)])
    return seconds, dict(eval(text))  # our own script's dictionary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, part = folder / "whole.pcap", folder / "part.pcap"
        counts = {whole: dict(generate(whole, options.packets))}
        counts[part] = dict(generate(part, max(1, options.packets // SCAPY_SHARE)))
        sys.stdout.write(f"{options.packets:,} packets, {whole.stat().st_size / 1e6:,.0f} MB\n")
        by_sniff(part)  # so that what is compiled once is compiled
        runs = [("cais sniff --stats", whole, by_sniff(whole))]
        if shutil.which("tshark"):
            runs.append(("tshark, Lua dissector", whole, by_tshark(whole, folder)))
        runs.append((f"Scapy's reader (1/{SCAPY_SHARE} of it)", part, by_scapy(part)))
    ours = options.packets / runs[0][2][0]
    right = True
    for what, path, (seconds, found) in runs:
        rate = sum(counts[path].values()) / seconds
        right &= found == counts[path]
        verdict = "" if found == counts[path] else f", WRONG: {found}"
        sys.stdout.write(f"{what:32} {rate:>12,.0f} packets/s   {ours / rate:>8.1f} times slower{verdict}\n")
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
