from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess

import pytest

from cais_tools.errors import CaisError
from cais_tools.links.cable import Cable
from cais_tools.smoke.process import SwitchProcess
from tests.functional.runner import command, environment, error_of, run
from tests.integration.switches import running_switch


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_it_cleanly(number: signal.Signals, code: int) -> None:
    with running_switch() as running:
        running.process.send_signal(number)
        assert running.process.wait(20) == code
        host, _, port = running.address.rpartition(":")
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind((host, int(port)))


def test_impatient_signals_end_it_too() -> None:
    with running_switch() as running:
        for _ in range(5):
            running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(20) == 143


def test_the_ready_lines() -> None:
    with running_switch("1=cable:0:9", "7=cable:0:9") as running:
        assert running.ready["schema"] == "cais.switch/1"
        assert [port["port"] for port in running.ready["ports"]] == [1, 7]
        assert all(port["link"].startswith("cable:") for port in running.ready["ports"])
        assert running.ready["device_id"] == 1
    process = subprocess.Popen(
        command("switch", "--grpc", "127.0.0.1:0", "--port", "1=cable:0:9"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("port 1: cable:")
    assert process.stdout.readline().startswith("ready: P4Runtime on 127.0.0.1:")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    assert (stdout, stderr, process.returncode) == ("", "stopped\n", 130)


def test_a_port_that_is_taken() -> None:
    with running_switch() as running:
        finished = run("switch", "--grpc", running.address, "--port", "1=cable:0:9")
        assert finished.returncode == 3
        assert running.address in finished.stderr
        assert "--grpc" in finished.stderr
        link = running.ready["ports"][0]["link"]
        finished = run("switch", "--grpc", "127.0.0.1:0", "--port", f"1={link}")
        assert finished.returncode == 5
        assert error_of(run("switch", "--grpc", "127.0.0.1:0", "--port", f"1={link}", "--json"))["exit_code"] == 5


def test_an_interface_that_does_not_exist() -> None:
    finished = run("switch", "--grpc", "127.0.0.1:0", "--port", "1=nosuchif0")
    assert finished.returncode in (2, 4)
    assert len(finished.stderr.splitlines()) <= 2


def test_packets_are_logged_on_stderr() -> None:
    with contextlib.closing(Cable()) as host:
        process = subprocess.Popen(
            command(
                "switch", "--grpc", "127.0.0.1:0", "--port", f"5=cable:0:{host.local_port}", "--log-packets", "--json"
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        (port,) = json.loads(process.stdout.readline())["ports"]
        host.connect(int(port["link"].split(":")[1]))
        host.send([bytes(64)])
        line = process.stderr.readline()
        process.terminate()
        process.communicate(timeout=20)
    assert "drop port 5, 64 bytes (no program is loaded)" in line


def test_what_keeps_it_from_starting_is_the_error_of_whoever_started_it() -> None:
    with pytest.raises(CaisError, match=r"the switch did not start: .*nosuchif0") as caught:
        SwitchProcess({1: "nosuchif0"})
    assert caught.value.exit_code in (2, 4)


def test_it_ends_with_the_process_that_it_is_for() -> None:
    """Even when that is killed: the kernel sees to it."""
    script = (
        "from cais_tools.smoke.process import SwitchProcess\n"
        "import time\n"
        "switch = SwitchProcess({1: 'cable:0:9'})\n"
        "print(switch.pid, switch.address, flush=True)\n"
        "time.sleep(60)\n"
    )
    python = command()[0]
    parent = subprocess.Popen([python, "-c", script], stdout=subprocess.PIPE, text=True, env=environment())
    assert parent.stdout is not None
    address = parent.stdout.readline().split()[1]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    host, _, port = address.rpartition(":")
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) != 0:
                return
        _sleep()
    pytest.fail("the switch has outlived its parent")


def test_it_does_not_start_for_a_process_that_has_ended() -> None:
    finished = run("switch", "--grpc", "127.0.0.1:0", "--port", "1=cable:0:9", "--parent", "1", "--json")
    assert finished.returncode == 3
    assert json.loads(finished.stderr)["error"].startswith("process 1")


def _sleep() -> None:
    import time

    time.sleep(0.05)


def test_a_recording_without_a_name() -> None:
    finished = run("switch", "--grpc", "127.0.0.1:0", "--port", "1=cable:0:9", "--record", "/")
    assert finished.returncode == 2
    assert "cannot record into /: it is a folder" in finished.stderr
