"""Bytes that each rank sends for an all-reduce, counted by its interfaces: through the switch, and over gloo's ring.

Every rank is a host of its own: a network namespace with one veth to the embedded switch and one to a bridge, for
everything else. As root, with torch installed:

    python -m tests.benchmarks.bench_volume --ranks 4,8 --mib 16
"""

# torch is an extra, and a strict checker must pass without it.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.functional.runner import command, environment

HUB = "cais-vol-hub"
NETWORK = "10.231.77"
LINK, OTHER = "cais0", "eth0"


def ip(arguments: str, namespace: str | None = None) -> None:
    prefix = ["ip", *(["-n", namespace] if namespace else [])]
    subprocess.run([*prefix, *arguments.split()], check=True)


def build(ranks: int, stack: ExitStack) -> list[str]:
    """The hosts' namespaces, each with LINK to port r + 1 of the switch and OTHER to the bridge."""
    names = [f"cais-vol-{rank}" for rank in range(ranks)]
    for name in (HUB, *names):
        ip(f"netns add {name}")
        stack.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        ip("link set lo up", name)
    ip("link add br0 type bridge", HUB)
    ip(f"addr add {NETWORK}.1/24 dev br0", HUB)
    ip("link set br0 up", HUB)
    for rank, name in enumerate(names):
        for inside, outside in ((LINK, f"sw{rank + 1}"), (OTHER, f"br{rank + 1}")):
            ip(f"link add {outside} netns {HUB} type veth peer name {inside} netns {name}")
            ip(f"link set {outside} up", HUB)
            ip(f"link set {inside} up", name)
        ip(f"link set br{rank + 1} master br0", HUB)
        ip(f"addr add {NETWORK}.{rank + 10}/24 dev {OTHER}", name)
    return names


def within(namespace: str, arguments: Sequence[str], **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["ip", "netns", "exec", namespace, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment(), **environ},
    )


def start(folder: Path, ranks: int, stack: ExitStack) -> None:
    """Switch and controller; from so slow a link on that everything goes through the switch."""
    (folder / "cais.toml").write_text('[devices.lab]\naddress = "127.0.0.1:9559"\nlink_gbps = 0.0001\n')
    ports = [f"--port={rank + 1}=sw{rank + 1}" for rank in range(ranks)]
    state = ("--state", str(folder / "state.sqlite"), "--config", str(folder / "cais.toml"))
    for arguments in (
        ("switch", "--json", "--grpc", "127.0.0.1:9559", *ports),
        ("controller", "--json", "--listen", f"{NETWORK}.1:50051", "--insecure", *state),
    ):
        process = within(HUB, command(*arguments))
        stack.callback(process.wait, 10)
        stack.callback(process.terminate)
        assert process.stdout is not None
        assert process.stdout.readline()
    time.sleep(3.0)


def measure(ranks: int, mib: int) -> list[dict[str, list[int]]]:
    """What each rank has counted."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hosts = build(ranks, stack)
        start(folder, ranks, stack)
        processes = [
            within(
                host,
                [sys.executable, "-m", "tests.benchmarks.bench_volume", "--rank", str(rank), "--mib", str(mib)],
                RANK=str(rank),
                WORLD_SIZE=str(ranks),
                MASTER_ADDR=f"{NETWORK}.10",
                MASTER_PORT="29500",
                CAIS_CONTROLLER=f"{NETWORK}.1:50051",
                CAIS_HOST=f"{NETWORK}.{rank + 10}",
                CAIS_LINK=LINK,
                GLOO_SOCKET_IFNAME=OTHER,
            )
            for rank, host in enumerate(hosts)
        ]
        out = [process.communicate(timeout=600)[0] for process in processes]
        return [json.loads(each.strip().splitlines()[-1]) for each in out]


def sent(interface: str) -> int:
    return int(Path(f"/sys/class/net/{interface}/statistics/tx_bytes").read_text())


def rank_main(mib: int) -> None:
    """One rank: the bytes that each interface has sent, by type and way."""
    import torch
    import torch.distributed as dist

    from cais_tools.training import autoload

    autoload.register()
    dist.init_process_group("cais")
    ring: Any = dist.new_group(backend="gloo")
    counted: dict[str, list[int]] = {}
    for dtype in (torch.float32, torch.bfloat16):
        tensor = torch.randn(mib * 2**20 // dtype.itemsize).to(dtype)
        for name, group in (("switch", None), ("ring", ring)):
            dist.barrier(ring)
            before = sent(LINK), sent(OTHER)
            dist.all_reduce(tensor.clone(), group=group)
            counted[f"{name} {str(dtype).removeprefix('torch.')}"] = [sent(LINK) - before[0], sent(OTHER) - before[1]]
    dist.barrier(ring)
    sys.stdout.write(json.dumps(counted) + "\n")
    sys.stdout.flush()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="4,8")
    parser.add_argument("--mib", type=int, default=16)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank is not None:
        rank_main(given.mib)
        return
    for ranks in map(int, given.ranks.split(",")):
        counted = measure(ranks, given.mib)
        for key in counted[0]:
            totals = [sum(each[key]) / 2**20 for each in counted]
            line = f"n={ranks} {key:16} MiB sent by a rank: {min(totals):.2f} to {max(totals):.2f}"
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
