"""Links by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cais_tools.errors import Refused, UsageError
from cais_tools.links import open_link, parse_ports
from cais_tools.links.cable import Cable
from cais_tools.links.faults import FaultModel, FaultyLink, parse_faults


def test_ports_keep_their_order() -> None:
    ports = parse_ports("2=veth2, 1=cable:0:9001,3=interface:eth0")
    assert list(ports.items()) == [(2, "veth2"), (1, "cable:0:9001"), (3, "interface:eth0")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0=veth0", "port 0 does not exist"),
        ("511=veth0", "port 511 does not exist"),
        ("1=veth1,1=veth2", "port 1 is given twice"),
        ("1=veth1,2=veth1", "ports 1 and 2 are the same link"),
        ("1=veth1,2=interface:veth1", "ports 1 and 2 are the same link"),
        ("1=cable:9001:9101,2=cable:9001:9101", "same link"),
        ("", "is no PORT=LINK"),
        ("veth1", "is no PORT=LINK"),
        ("1=", "is no PORT=LINK"),
        ("-1=veth1", "is no PORT=LINK"),
        ("x=veth1", "is no PORT=LINK"),
        ("1=veth1,", "is no PORT=LINK"),
    ],
)
def test_bad_ports_are_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_ports(text)


def test_port_0_gets_a_hint() -> None:
    with pytest.raises(UsageError) as caught:
        parse_ports("0=veth0")
    assert caught.value.hint is not None
    assert "start at 1" in caught.value.hint


def test_two_cables_may_let_the_kernel_choose() -> None:
    assert len(parse_ports("1=cable:0:9001,2=cable:0:9001")) == 2


@pytest.mark.parametrize(
    "spec",
    ["cable:", "cable:1", "cable:1:2:3", "cable:a:b", "cable:1:0", "cable:70000:1", "cable:9:9", "", "interface:"],
)
def test_bad_specs_are_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        open_link(spec)


def test_an_unknown_interface_is_named_with_those_that_exist() -> None:
    with pytest.raises(UsageError, match="no interface 'veth-nowhere'") as caught:
        open_link("veth-nowhere")
    assert caught.value.hint is not None
    assert "lo" in caught.value.hint


def test_a_cable_by_name() -> None:
    link = open_link("cable:0:9001")
    assert isinstance(link, Cable)
    assert link.name == f"cable:{link.local_port}:9001"
    link.close()


def test_a_bad_cable_by_name() -> None:
    link = open_link("cable:0:9001?loss=2%&corrupt=0.001&seed=7")
    assert isinstance(link, FaultyLink)
    assert parse_faults("loss=2%&corrupt=0.001&seed=7") == FaultModel(loss=0.02, corrupt=0.001, seed=7)
    link.close()


@pytest.mark.parametrize("faults", ["", "loss", "loss=much", "lost=2%", "loss=120%", "loss=-1"])
def test_bad_faults_are_refused(faults: str) -> None:
    with pytest.raises(UsageError):
        parse_faults(faults)


def test_a_taken_udp_port_is_refused() -> None:
    cable = Cable()
    with pytest.raises(Refused, match=f"UDP port {cable.local_port}"):
        Cable(cable.local_port, 9001)
    cable.close()


def test_the_package_imports_no_numpy() -> None:
    code = "import sys, cais_tools.links as links; links.parse_ports('1=veth1'); print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
