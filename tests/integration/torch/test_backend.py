"""torch.distributed on the backend `cais`, with a real switch and controller: four ranks, each a process."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Generator

import pytest

from tests.functional.runner import ROOT
from tests.integration.training.site import RANKS, Site, a_site

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
    pytest.mark.timeout(240),
]

NAMES = (
    "all_reduce_of_every_type",
    "a_type_that_nobody_knows_ends_nothing",
    "all_reduce_with_every_operation",
    "tensors_of_every_shape",
    "several_in_flight",
    "broadcast_from_everybody",
    "the_other_collectives",
    "functional_collectives",
    "data_parallel",
    "tensor_parallel",
    "a_group_of_its_own_beside_gloo",
    "data_parallel_with_unused_parameters_and_many_buckets",
    "compiled",
    "sequence_parallel",
    "fully_sharded",
    "two_groups_from_two_threads",
    "workers_of_a_data_loader",
    "the_rest_of_torch_distributed",
)
FAULTS = ("blocking", "waiting", "gathering", "functional", "backward")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    with a_site(tmp_path_factory.mktemp("site")) as site:
        yield site


def run(site: Site, module: str, *arguments: str, size: int = RANKS) -> list[str]:
    """What each rank writes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    ranks = [
        site.start_python(
            sys.executable,
            "-m",
            module,
            *arguments,
            RANK=str(rank),
            WORLD_SIZE=str(size),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
            OMP_NUM_THREADS="1",
        )
        for rank in range(size)
    ]
    outcomes = [rank.communicate(timeout=200) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * size, outcomes[0][1] or outcomes
    return [out for out, _ in outcomes]


@pytest.fixture(scope="module")
def lines(site: Site) -> list[list[str]]:
    out = run(site, "tests.integration.torch.checks", str(site.folder / "rendezvous"))
    return [each.strip().splitlines() for each in out]


@pytest.fixture(scope="module")
def said(lines: list[list[str]]) -> list[dict[str, str]]:
    return [json.loads(each[0]) for each in lines]


def test_all_checks_are_named(said: list[dict[str, str]]) -> None:
    assert set(NAMES) == set(said[0]) - {"went through the switch"}


@pytest.mark.parametrize("name", NAMES)
def test_check(said: list[dict[str, str]], name: str) -> None:
    assert [each[name] for each in said] == [""] * RANKS


@pytest.mark.parametrize("name", FAULTS)
def test_after_a_rank_is_gone(lines: list[list[str]], name: str) -> None:
    assert len(lines[RANKS - 1]) == 1
    assert [json.loads(each[1])[name] for each in lines[: RANKS - 1]] == [""] * (RANKS - 1)


def test_all_ranks_took_the_same_ways(said: list[dict[str, str]]) -> None:
    assert len({each["went through the switch"] for each in said}) <= 2  # two ranks were in one group more
    assert int(said[0]["went through the switch"]) > 30


def test_the_example_trains_on_four_ranks_as_on_one(site: Site) -> None:
    losses = []
    for size, backend in ((1, "gloo"), (RANKS, "cais")):
        out = run(site, "cais_tools.training.example", "--backend", backend, "--steps", "40", size=size)[0]
        losses.append(float(out.split("loss ")[1].split()[0]))
    assert "41 operations through the switch, 0 on endpoints" in out
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("megatron") is None, reason="needs megatron-core")
def test_layers_of_megatron(site: Site) -> None:
    for out in run(site, "tests.integration.torch.megatron_checks"):
        said = json.loads(out.strip().splitlines()[-1])
        assert len(said) == 4
        assert set(said.values()) == {""}, said


def test_the_entry_point_makes_the_backend_known_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, torch; from cais_tools.training import autoload\n"
        "autoload.register(); autoload.register()\n"
        "assert not {'grpc', 'scapy'} & set(sys.modules)\n"
        "import torch.distributed as dist; assert 'CAIS' in dist.Backend._plugins"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
