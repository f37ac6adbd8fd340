"""p4runtime-shell drives our server: what it can write, read, send and hear."""

from __future__ import annotations

from pathlib import Path

from tests.integration.switch.client import DATA, Network
from tests.integration.third_party.environment import Environment, converse
from tests.integration.third_party.hosts import Hosts


def test_the_shell(p4runtime_shell: Environment, tmp_path: Path) -> None:
    with Network([1, 2, 3]) as network:
        hosts = Hosts(network)
        converse(
            p4runtime_shell, "shell_client.py", [network.switch.address, str(DATA)], hosts.answer, tmp_path / "log"
        )
