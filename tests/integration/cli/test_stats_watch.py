"""show-stats --watch: in pipes and on terminals, with switches that die and come back, and for several at once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO, Any

import pytest

from cais_tools.session import SessionOptions, connect, load_shipped
from tests.functional.runner import command, environment, error_of, invoke, run
from tests.integration.cli.terminals import in_terminal
from tests.integration.session.targets import Embedded

DOWN = "127.0.0.1:1"


def _load(address: str) -> None:
    with connect(address, SessionOptions(timeout=10)) as session:
        session.load(load_shipped())


@pytest.fixture
def embedded() -> Generator[Embedded]:
    switch = Embedded("spec")
    switch.start()
    _load(switch.address)
    yield switch
    switch.close()


def _watch(address: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("show-stats", "--device", address, "--watch", "100ms", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def _next(stream: IO[str], condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The next document for which the condition holds; the test's own time-out ends what never comes."""
    for line in stream:
        document = json.loads(line)
        if condition(document):
            return document
    raise AssertionError("the output has ended")


def test_a_pipe_gets_a_document_a_tick(embedded: Embedded) -> None:
    finished = run("show-stats", "--device", embedded.address, "--watch", "50ms", "--count", "3")
    assert (finished.returncode, finished.stderr) == (0, "")
    documents = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [document["schema"] for document in documents] == ["cais.stats/1"] * 3
    assert all(document["device"] == embedded.address for document in documents)
    assert all(document["reduce_throughput_ops_per_s"] == 0 for document in documents)
    assert all(document["avg_queue_delay_us"] is None for document in documents)
    times = [document["ts_ns"] for document in documents]
    assert times == sorted(times)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", documents[0]["ts"])


def test_a_switch_that_dies_has_its_line_and_comes_back(embedded: Embedded) -> None:
    watch = _watch(embedded.address)
    assert watch.stdout is not None
    assert watch.stderr is not None
    try:
        assert _next(watch.stdout, lambda document: "error" not in document)["alarms"] == []
        embedded.stop()
        lost = _next(watch.stdout, lambda document: "error" in document)
        assert lost["exit_code"] == 3
        assert lost["device"] == embedded.address
        embedded.start()
        bare = _next(watch.stdout, lambda document: "no P4 program" in document.get("error", ""))
        assert bare["exit_code"] == 5
        _load(embedded.address)
        first = _next(watch.stdout, lambda document: "error" not in document)
        assert first["interval_s"] is None
        back = _next(watch.stdout, lambda document: "error" not in document)
        assert back["reduce_throughput_ops_per_s"] == 0
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(20) == 143
        assert watch.stderr.read() == ""
    finally:
        watch.kill()
        watch.communicate()


def test_head_1(embedded: Embedded) -> None:
    line = (
        f'"$0" -m cais_tools.cli show-stats --device {embedded.address} --watch 20ms | head -1; echo ${{PIPESTATUS[0]}}'
    )
    finished = subprocess.run(
        ["bash", "-c", line, sys.executable], capture_output=True, text=True, env=environment(), timeout=60, check=False
    )
    document, status = finished.stdout.splitlines()
    assert json.loads(document)["device"] == embedded.address
    assert status == "141"
    assert finished.stderr == ""


@pytest.mark.parametrize("columns", [60, 200])
def test_a_terminal_is_redrawn_in_place(embedded: Embedded, columns: int) -> None:
    with in_terminal(
        "show-stats", "--device", embedded.address, "--watch", "50ms", "-c", "3", columns=columns, NO_COLOR="1"
    ) as shown:
        assert shown.wait() == 0
    blocks = shown.output.decode().split("Device: ")[1:]
    assert len(blocks) == 3
    sequences = set(re.findall(r"\x1b[^A-Za-z]*[A-Za-z]", shown.output.decode()))
    assert {re.sub(r"\d+", "", each) for each in sequences} == {"\x1b[A", "\x1b[K", "\x1b[J"}
    lines = re.sub(r"\x1b[^A-Za-z]*[A-Za-z]|\r", "", blocks[0]).splitlines()
    assert "no alarms" in lines
    assert max(map(len, lines)) <= columns


def test_ctrl_c_leaves_the_terminal_as_it_was(embedded: Embedded) -> None:
    with in_terminal("show-stats", "--device", embedded.address, "--watch", "50ms") as shown:
        before = shown.modes()
        shown.read_until(lambda output: output.count(b"no alarms") >= 2)
        shown.press(b"\x03")
        assert shown.wait() == 130
        assert shown.modes() == before
    assert b"Traceback" not in shown.output
    assert not re.findall(rb"\x1b\[\?|\x1b\[[0-9]*m", shown.output)


def test_no_terminal_no_decoration(embedded: Embedded) -> None:
    finished = run("show-stats", "--device", embedded.address, "--interval", "20ms", LANG="C", LC_ALL="C", COLUMNS="60")
    assert finished.returncode == 0
    assert "\x1b" not in finished.stdout
    assert finished.stdout.isascii()


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[tuple[Path, list[Embedded]]]:
    """Two switches, of which one has no program, and one that is down."""
    switches = [Embedded("spec"), Embedded("spec")]
    for switch in switches:
        switch.start()
    _load(switches[0].address)
    config = tmp_path / "cais.toml"
    addresses = {"tor-a": switches[0].address, "tor-ß": switches[1].address, "tor-c": DOWN}
    config.write_text(
        "".join(f'[devices."{name}"]\naddress = "{address}"\n' for name, address in addresses.items()), "utf-8"
    )
    yield config, switches
    for switch in switches:
        switch.close()


def test_several_devices_have_a_line_each_and_the_exit_code_of_the_worst(fleet: tuple[Path, list[Embedded]]) -> None:
    arguments = ("show-stats", "--config", str(fleet[0]), "--device", "all", "--interval", "20ms")
    finished = run(*arguments, PYTHONIOENCODING="ascii")
    assert finished.returncode == 5
    header, *rows = finished.stdout.splitlines()[:4]
    assert header.split()[0] == "device"
    assert [row.split()[0] for row in rows] == ["tor-a", "tor-?", "tor-c"]
    assert [row.split()[-1] for row in rows] == ["ok", "refused", "unreachable"]
    assert f"nothing listens at {DOWN}" in finished.stdout
    document = json.loads(run(*arguments, "--json").stdout)
    assert document["schema"] == "cais.fleet/1"
    assert [each["exit_code"] for each in document["devices"]] == [0, 5, 3]
    assert document["devices"][0]["sram_usage"] == 0


def test_a_watch_of_several_goes_on_without_those_that_fail(fleet: tuple[Path, list[Embedded]]) -> None:
    finished = run("show-stats", "--config", str(fleet[0]), "--watch", "50ms", "--count", "2")
    assert finished.returncode == 5
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [line["device"] for line in lines] == ["tor-a", "tor-ß", "tor-c"] * 2
    assert ["error" in line for line in lines] == [False, True, True] * 2


def test_a_watch_of_nothing_ends_at_once() -> None:
    finished = run("show-stats", "--device", DOWN, "--watch", "10s", "--json")
    assert finished.returncode == 3
    assert error_of(finished)["exit_code"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--count", "3"], "--count needs --watch"),
        (["--watch", "soon"], "--watch: 'soon' is no time"),
        (["--group", "256"], "--group"),
        (["--slots", "--device", f"{DOWN},127.0.0.1:2"], "one device at a time"),
    ],
)
def test_what_makes_no_sense(arguments: list[str], message: str) -> None:
    result = invoke("show-stats", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) <= 2


def test_a_long_watch_needs_no_more_threads_or_files(embedded: Embedded) -> None:
    watch = _watch(embedded.address, "--watch", "20ms")
    assert watch.stdout is not None
    folder = Path("/proc") / str(watch.pid)
    try:
        used: list[int] = []
        for _ in range(2):
            for _ in range(15):
                watch.stdout.readline()
            used.append(len(list((folder / "fd").iterdir())) + len(list((folder / "task").iterdir())))
        assert used[1] <= used[0] + 4
    finally:
        watch.kill()
        watch.communicate()
