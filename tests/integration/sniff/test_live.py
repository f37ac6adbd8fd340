"""Live captures on veth interfaces."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff.bpf import Expression
from tests.functional.runner import command, environment
from tests.integration.netns import NetworkNamespace, network_namespace
from tests.integration.sniff.veth import send, sniffing
from tests.unit.sniff import captures
from tests.unit.sniff.captures import ETHERNET, frame

OTHER = ETHERNET + b"\x08\x00" + bytes(46)
TAGGED = {
    "": "",
    "802.1Q vlan 100 p 3, ": "81006064",
    "802.1ad vlan 100 p 0, 802.1Q vlan 200 p 0, ": "88a80064810000c8",
    "QinQ vlan 100 p 0, 802.1Q vlan 200 p 0, ": "91000064810000c8",
    "802.1Q vlan 0 p 7, ": "8100e000",
}


@pytest.fixture
def namespace() -> Generator[NetworkNamespace]:
    with network_namespace() as namespace:
        namespace.veth("sn0", "sn1")
        yield namespace


def test_tags_are_restored_with_their_type_and_ctrl_c_has_a_summary(namespace: NetworkNamespace) -> None:
    frames = [frame(i, bytes.fromhex(tags)) for i, tags in enumerate(TAGGED.values())]
    with sniffing(namespace, "sn1", "-e") as sniffer:
        send(namespace, "sn0", [*frames, OTHER])
        lines = sniffer.shown(len(frames))
        assert sniffer.stop() == 130
        for i, tags in enumerate(TAGGED):
            expected = f"03:ca:15:00:00:01, {tags}ethertype 0x88b5, length {len(frames[i])}: rank 1 "
            assert expected in lines[i]
            assert " In 02:ca:15:01:00:01 > " in lines[i]
        assert sniffer.err.splitlines()[1:] == [
            f"{len(frames) + 1} packets captured: {len(frames)} CAIS, 1 other",
            f"{len(frames) + 1} packets received by filter",
            "0 packets dropped by kernel",
        ]


def test_what_was_captured_is_what_was_sent_byte_by_byte(namespace: NetworkNamespace, tmp_path: Path) -> None:
    frames = [frame(i, bytes.fromhex(tags), lanes=range(i)) for i, tags in enumerate(list(TAGGED.values()) * 8)]
    path = tmp_path / "x.pcap"
    with sniffing(namespace, "-i", "sn1", "-w", str(path), "-U", "-c", str(len(frames))) as sniffer:
        send(namespace, "sn0", frames)
        assert sniffer.process.wait(20) == 0
    batches = captures.read(path, path.read_bytes())[1]
    assert captures.frames_of(batches) == frames
    times = captures.times_of(batches)
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ether proto 0x88b5 and greater 40", [0, 1, 4]),  # in the kernel, which has taken the outer tag off
        ("vlan 100 and vlan 200", [2, 3]),
        ("not vlan", [0]),
        ("ether[12:2] = 0x88a8", [2]),
    ],
)
def test_expressions_in_the_kernel_and_behind_restored_tags(
    namespace: NetworkNamespace, expression: str, expected: list[int]
) -> None:
    try:
        Expression(expression).program(1)
    except UsageError as error:
        pytest.skip(str(error))
    frames = [frame(i, bytes.fromhex(tags)) for i, tags in enumerate(TAGGED.values())]
    with sniffing(namespace, "sn1", *expression.split()) as sniffer:
        send(namespace, "sn0", [*frames, OTHER])
        sniffer.shown(len(expected))
        assert sniffer.stop() == 130
        assert [int(line.partition(" seq ")[2].split()[0]) for line in sniffer.out.splitlines()] == expected


def test_both_directions_of_several_interfaces_in_the_order_of_time(namespace: NetworkNamespace) -> None:
    namespace.veth("sn2", "sn3")
    with sniffing(namespace, "sn1", "sn3") as sniffer:
        for i in range(0, 12, 3):
            send(namespace, "sn0", [frame(i)])
            send(namespace, "sn3", [frame(i + 1)])
            send(namespace, "sn2", [frame(i + 2)])
        lines = sniffer.shown(12)
        sniffer.stop()
        assert [line.partition(" ")[2].partition(" rank")[0] for line in lines] == ["sn1 In", "sn3 Out", "sn3 In"] * 4
        assert [line.partition(" seq ")[2].split()[0] for line in lines] == [str(i) for i in range(12)]
        assert "0 packets dropped by kernel: sn1 0 of 4, sn3 0 of 8" in sniffer.err


def test_one_direction_and_ports(namespace: NetworkNamespace) -> None:
    with sniffing(namespace, "-Q", "out", "--ports", "7=sn1", "--port", "7", "--seq", "2-9") as sniffer:
        send(namespace, "sn0", [frame(3)])
        send(namespace, "sn1", [frame(1), frame(2)])
        [line] = sniffer.shown(1)
        sniffer.stop()
        assert " Out rank 1 " in line
        assert " seq 2 " in line
        assert "2 packets captured: 2 CAIS (1 as asked for), 0 other" in sniffer.err


def test_an_interface_that_goes_down_and_comes_back(namespace: NetworkNamespace) -> None:
    with sniffing(namespace, "sn1") as sniffer:
        send(namespace, "sn0", [frame(1)])
        sniffer.shown(1)
        namespace.ip("link set sn1 down")
        sniffer.said("sn1 is down; waiting for it")
        namespace.ip("link set sn1 up")
        sniffer.said("sn1 is up again")
        namespace.wait_until_up("sn1")
        send(namespace, "sn0", [frame(2)])
        assert " seq 2 " in sniffer.shown(2)[1]
        assert sniffer.stop() == 130
        assert sniffer.number("received by filter") == 2


def test_an_interface_that_is_deleted_and_made_anew(namespace: NetworkNamespace) -> None:
    with sniffing(namespace, "sn1") as sniffer:
        send(namespace, "sn0", [frame(1)])
        sniffer.shown(1)
        namespace.ip("link del sn0")
        sniffer.said("sn1 is gone; waiting for it")
        namespace.veth("sn0", "sn1")
        sniffer.said("sn1 is up again")
        send(namespace, "sn0", [frame(2)])
        assert " seq 2 " in sniffer.shown(2)[1]
        assert sniffer.stop(signal.SIGTERM) == 143
        assert sniffer.number("received by filter") == 2


def test_an_interface_that_is_down_from_the_beginning(namespace: NetworkNamespace) -> None:
    namespace.ip("link set sn1 down")
    with sniffing(namespace, "sn1") as sniffer:
        sniffer.said("sn1 is down; waiting for it")
        namespace.ip("link set sn1 up")
        sniffer.said("sn1 is up again")
        assert sniffer.stop() == 130


def test_sigusr1_asks_for_a_summary(namespace: NetworkNamespace) -> None:
    with sniffing(namespace, "sn1") as sniffer:
        send(namespace, "sn0", [frame(1)])
        sniffer.shown(1)
        sniffer.process.send_signal(signal.SIGUSR1)
        sniffer.said("1 packet captured: 1 CAIS, 0 other\n1 packet received by filter\n0 packets dropped by kernel")
        assert sniffer.process.poll() is None


def test_loopback_shows_a_frame_once(namespace: NetworkNamespace) -> None:
    namespace.ip("link set lo up")
    with sniffing(namespace, "lo") as sniffer:
        send(namespace, "lo", [frame(1), frame(2)])
        assert [" In " in line for line in sniffer.shown(2)] == [True, True]
        sniffer.stop()
        assert sniffer.number("captured") == 2


def test_stated_drops_are_the_true_ones(namespace: NetworkNamespace) -> None:
    """The smallest buffer, and a sniffer that stands still: what was not captured was dropped, to the packet."""
    count = 20_000
    with sniffing(namespace, "sn1", "-B", "512", "-w", "/dev/null") as sniffer:
        sniffer.process.send_signal(signal.SIGSTOP)
        send(namespace, "sn0", [frame(i, lanes=[1] * 64) for i in range(count)])
        sniffer.process.send_signal(signal.SIGCONT)
        sniffer.wait_for(lambda: sniffer.process.poll() is None)
        assert sniffer.stop() == 130
        captured, dropped = sniffer.number("captured"), sniffer.number("dropped by kernel")
        assert sniffer.number("received by filter") == count
        assert captured + dropped == count
        assert 0 < captured < count


def without_privilege(*arguments: str) -> subprocess.CompletedProcess[str]:
    drop = ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw", "--ambient-caps", "-net_raw"]
    return subprocess.run(
        [*drop, *command("sniff", *arguments)], capture_output=True, text=True, env=environment(), timeout=30
    )


def test_without_the_privilege_the_command_that_helps_is_named(namespace: NetworkNamespace) -> None:
    import shutil
    import sys

    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux)")
    finished = namespace.run(lambda: without_privilege("sn1", "-c", "1"))
    assert finished.returncode == 4
    error, hint = finished.stderr.splitlines()
    assert error == "error: not permitted to capture on sn1: raw sockets need CAP_NET_RAW"
    assert hint.startswith("hint: sudo ")
    assert "sniff sn1 -c 1" in hint
    assert f"sudo setcap cap_net_raw+ep {Path(sys.executable).resolve()}" in hint
    finished = namespace.run(lambda: without_privilege("sn1", "--json"))
    assert json.loads(finished.stderr)["exit_code"] == 4


def test_no_interface_is_up() -> None:
    with network_namespace() as empty:
        finished = empty.run(
            lambda: subprocess.run(command("sniff"), capture_output=True, text=True, env=environment(), timeout=30)
        )
    assert finished.returncode == 2
    assert "no interface is up" in finished.stderr


def test_without_a_name_the_first_interface_that_is_up(namespace: NetworkNamespace) -> None:
    with sniffing(namespace) as sniffer:
        assert "listening on sn" in sniffer.err


def test_views_of_a_live_capture_see_time_pass(namespace: NetworkNamespace) -> None:
    """The line of an aggregate comes while the capture runs, without another packet."""
    with sniffing(namespace, "sn1", "--slots", "--stats") as sniffer:
        send(namespace, "sn0", [frame(1)])
        sniffer.wait_for(lambda: "rank 1" in sniffer.out)
        assert sniffer.stop() == 130
        assert "1 packet captured" in sniffer.err
