"""finsy drives our server: pipeline, entities, packet streams, gNMI, and again after a restart."""

from __future__ import annotations

from pathlib import Path

from tests.integration.switch.client import DATA, Network
from tests.integration.third_party.environment import Environment, converse
from tests.integration.third_party.hosts import Hosts


def test_finsy(finsy: Environment, tmp_path: Path) -> None:
    with Network([1, 2, 3], temperature=42.0) as network:
        hosts = Hosts(network)
        converse(finsy, "finsy_client.py", [network.switch.address, str(DATA)], hosts.answer, tmp_path / "log")
