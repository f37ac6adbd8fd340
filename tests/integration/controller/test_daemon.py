"""`cais controller` as a process of its own: started, killed, started again, and asked by the other commands."""

from __future__ import annotations

import json
import logging
import signal
import socket
import sqlite3
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cais_tools.cli.controller import _settings
from cais_tools.config import Config, Setting, TlsFiles
from cais_tools.controller.client import ControllerClient
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.record import SETTINGS
from cais_tools.controller.store import Store
from cais_tools.errors import Refused, Unreachable, UsageError
from cais_tools.session import SessionOptions, connect
from cais_tools.session.cais import CaisSwitch
from cais_tools.switch.embedded import EmbeddedSwitch
from tests.functional.runner import command, environment, error_of, invoke
from tests.integration.controller.lab import a_switch, until
from tests.integration.fleets import free_address
from tests.integration.switch.certificates import Authority


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Generator[None]:
    """A controller in this very process has the log for itself."""
    root, ours = logging.getLogger(), logging.getLogger("cais_tools")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@dataclass
class Daemon:
    process: subprocess.Popen[str]
    ready: dict[str, Any]
    log: Path

    @property
    def address(self) -> str:
        return str(self.ready["grpc"])

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


@contextmanager
def a_daemon(folder: Path, *arguments: str) -> Generator[Daemon]:
    log = folder / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command("controller", "--listen", "127.0.0.1:0", "--state", str(folder / "state"), "--json", *arguments),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment(),
            cwd=folder,
        )
    assert process.stdout is not None
    try:
        yield Daemon(process, json.loads(process.stdout.readline() or "{}"), log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def switch() -> Generator[EmbeddedSwitch]:
    with a_switch() as switch:
        yield switch


def test_killed_and_started_again_it_goes_on(switch: EmbeddedSwitch, tmp_path: Path) -> None:
    (tmp_path / "cais.toml").write_text(f'[devices.leaf1]\naddress = "{switch.address}"\n')
    with a_daemon(tmp_path, "--log-format", "json", "--metrics", "127.0.0.1:0") as daemon:
        with ControllerClient(daemon.address, timeout=20) as client:
            client.register_job("a test", "job-1", 4)
            group = client.create_group(
                pb.CreateGroupRequest(job_id="job-1", group_id=3, ranks=range(4), hub_address="127.0.0.1:7")
            )
            client.set_offload([3], pb.PATH_ENDPOINT, "so")
        page = urllib.request.urlopen(daemon.ready["metrics"], timeout=10).read().decode()
        assert 'cais_up{device="leaf1"} 1.0' in page
        assert 'cais_controller_attached{device="leaf1",group="3"} 0.0' in page
        daemon.end(signal.SIGKILL)
        lines = [json.loads(line) for line in daemon.log.read_text().splitlines()]
        assert {line["schema"] for line in lines} == {"cais.log/1"}
        assert any("group 3 of job job-1 on leaf1" in line["message"] for line in lines)
    with a_daemon(tmp_path) as daemon, ControllerClient(daemon.address, timeout=20) as client:
        until(lambda: client.statistics().devices[0].reachable, "the switch")
        again = client.join_group("job-1", 3, 5.0)
        assert (again.epoch, again.hub_address) == (group.epoch, "127.0.0.1:7")
        assert client.statistics().groups[0].wanted == pb.PATH_ENDPOINT
        with connect(switch.address, SessionOptions(read_only=True)) as session:
            assert CaisSwitch(session).state().groups[3].epoch == group.epoch
        _ask_by_commands(daemon.address)
        _add_a_device(daemon, client, tmp_path)
        client.remove_job("job-1")
        assert daemon.end(signal.SIGTERM) == 143
    assert "stopping: SIGTERM" in daemon.log.read_text()


def _ask_by_commands(address: str) -> None:
    where = ("--controller", address)
    text = invoke("controller", "status", *where).stdout
    assert "leaf1" in text
    assert "offload_threshold 0.2" in text
    document = json.loads(invoke("controller", "status", "--json", *where).stdout)
    assert document["groups"][0]["wanted"] == "endpoint"
    two = invoke("controller", "status", "--json", "--watch", "100ms", "-c", "2", *where).stdout.splitlines()
    assert len(two) == 2
    text = invoke("controller", "why", "3", *where).stdout
    assert (
        "group 3: on endpoints; endpoints were asked for; endpoint was asked for: so; its leader is not connected"
        in text
    )
    assert json.loads(invoke("controller", "why", "3", "--layer", "5", "--json", *where).stdout)["thresholds"]
    assert "offload_threshold 0.15" in invoke("controller", "threshold", "3", "0.15", *where).stdout
    released = invoke("fallback", "--all", "--release", *where)
    assert (released.exit_code, "group 3: auto, not yet" in released.stdout) == (1, True)
    drained = invoke("controller", "drain", "leaf1", "--json", *where)
    assert json.loads(drained.stdout)["groups"][0]["holds"] is False
    assert invoke("controller", "drain", "leaf1", "--release", *where).exit_code == 1
    assert invoke("controller", "offload", "3", "switch", "--reason", "x", *where).exit_code == 1
    unknown = invoke("controller", "why", "9", *where)
    assert (unknown.exit_code, "hint: there are: 3" in unknown.stderr) == (2, True)
    assert invoke("fallback", *where).exit_code == 2


def _add_a_device(daemon: Daemon, client: ControllerClient, folder: Path) -> None:
    file = folder / "cais.toml"
    good = file.read_text()
    file.write_text(good + "[devices.leaf2]\n")
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "address is missing" in daemon.log.read_text(), "a line about the file")
    file.write_text(good + f'[devices.leaf2]\naddress = "{free_address()}"\n')
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: [each.name for each in client.statistics().devices] == ["leaf1", "leaf2"], "another device")
    file.write_text(good)
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: len(client.statistics().devices) == 1, "one device less")


def test_a_port_that_is_taken_is_one_line_and_exit_code_3(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        state = ("--state", str(tmp_path / "state"))
        result = invoke("controller", "--listen", address, "--device", "127.0.0.1:1", *state)
        assert result.exit_code == 3
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"error: cannot listen at {address}: the port is taken")
        assert "--listen HOST:PORT" in line
        result = invoke("controller", "--listen", "127.0.0.1:0", "--metrics", address, *state)
        assert result.exit_code == 3
        assert "--metrics HOST:PORT" in result.stderr


@pytest.mark.parametrize(
    ("listen", "words"),
    [
        ("0.0.0.0:0", "open to the network"),
        ("50051", "cannot listen at '50051'"),
        ("::1:50051", "brackets are missing"),
    ],
)
def test_addresses_that_must_not_be(listen: str, words: str) -> None:
    result = invoke("controller", "--listen", listen)
    assert result.exit_code == 2
    assert words in result.stderr


def test_where_it_listens_where_nobody_says() -> None:
    settings, listen = _settings(Config(), None)
    assert listen == "127.0.0.1:50051"
    assert set(settings) == set(SETTINGS)
    written = {"controller_port": Setting(50052, "cais.toml:3")}
    assert _settings(Config(written=written), None)[1] == "127.0.0.1:50052"
    assert _settings(Config(written=written), "[::1]:7")[1] == "[::1]:7"


def test_nobody_there_is_exit_code_3() -> None:
    where = ("--controller", free_address())
    for arguments in (("controller", "status"), ("fallback", "--all"), ("controller", "drain", "leaf1")):
        failure = error_of(invoke(*arguments, *where, "--json"))
        assert failure["exit_code"] == 3
        assert "nothing listens" in failure["error"]


def test_state_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "state"
    store = Store(path)
    with pytest.raises(Refused, match="another controller is using"):
        Store(path)
    store.close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=77")
    database.close()
    with pytest.raises(Refused, match=r"another version of the controller \(format 77, not 1\)"):
        Store(path)
    path.write_bytes(b"no database at all, but a text that is long enough to be one" * 10)
    result = invoke("controller", "--listen", "127.0.0.1:0", "--state", str(path))
    assert result.exit_code == 2
    assert f"{path} is no state of a controller" in result.stderr
    with pytest.raises(UsageError, match="cannot keep the state"):
        Store(tmp_path / "state" / "below")


def test_tls_both_ways(switch: EmbeddedSwitch, tmp_path: Path) -> None:
    ours, others = Authority(tmp_path, "ours"), Authority(tmp_path, "others")
    server, client, stranger = ours.issue("server"), ours.issue("client"), others.issue("stranger")
    files = ("--tls-cert", str(server.cert), "--tls-key", str(server.key), "--tls-client-ca", str(ours.cert))
    with a_daemon(tmp_path, "--device", switch.address, *files) as daemon:
        mutual = TlsFiles(ours.cert, client.cert, client.key)
        with ControllerClient(daemon.address, tls=mutual) as known:
            assert known.statistics().devices[0].address == switch.address
        for tls in (None, TlsFiles(ours.cert), TlsFiles(ours.cert, stranger.cert, stranger.key)):
            with ControllerClient(daemon.address, tls=tls) as unknown, pytest.raises(Unreachable):
                unknown.statistics()
        assert daemon.end(signal.SIGINT) == 130
