"""The wanted state read from files, and written to them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from cais_tools.config import parse_document
from cais_tools.session.cais.findings import Document
from cais_tools.session.cais.model import Span
from cais_tools.session.cais.reading import DeviceFacts, read_wanted
from cais_tools.session.cais.wanted import Link, Wanted, WantedGroup, wanted_of
from cais_tools.session.cais.writing import as_json, as_toml, merged_tables
from cais_tools.wire.header import Op
from tests.unit.session.cais.strategies import wanted_states
from tests.unit.session.cais.tables import Tables
from tests.unit.session.cais.test_difference import bring

GROUP = "[[groups]]\nid = 0\nports = [1, 2, 3]\n"


def _read(text: str, device: DeviceFacts | None = None, file: str = "w.toml") -> Wanted:
    wanted, findings = read_wanted(Document(file, *parse_document(text, file)), device)
    assert not findings, findings
    return wanted


def _error(text: str, device: DeviceFacts | None = None) -> tuple[int | None, str, str | None]:
    _, [finding, *_] = read_wanted(Document("w.toml", *parse_document(text, "w.toml")), device)
    return finding.line, finding.message, finding.hint


def test_what_is_left_out() -> None:
    wanted = _read(GROUP + "[[rules]]\ngroup = 0\n")
    assert wanted.groups[0] == WantedGroup(0, (1, 2, 3), 256, (0, 1, 2))
    [rule] = wanted.rules
    assert (rule.op, rule.layer, rule.chunk) == (Op.ALLREDUCE, Span(), Span())
    assert (rule.inputs, rule.outputs, rule.priority) == ((1, 2, 3), (1, 2, 3), 1)


def test_ports_by_name_and_links_by_device() -> None:
    device = DeviceFacts(ports={"swp1": 132, "swp2": 136, "1": 7}, link=Link(100, 10))
    wanted = _read('[[groups]]\nid = 0\nports = ["swp2", "1", 1]\nrtt_us = 5\nhold_us = 1\n', device)
    assert (wanted.groups[0].ports, wanted.groups[0].link) == ((136, 7, 1), Link(100, 5, 1))


def test_what_is_for_other_devices() -> None:
    text = GROUP + 'devices = ["leaf1"]\n[[rules]]\ngroup = 0\ndevices = ["leaf1"]\n'
    everybody = frozenset({"leaf1", "leaf2"})
    assert len(_read(text, DeviceFacts(("leaf1",), all_names=everybody)).rules) == 1
    assert _read(text, DeviceFacts(("leaf2",), all_names=everybody)) == Wanted()
    line, message, hint = _error(text, DeviceFacts(("leaf3",), all_names=frozenset({"leaf3"})))
    assert (line, message, hint) == (4, "there is no device 'leaf1'", "did you mean leaf3?")
    wrong = text.replace('devices = ["leaf1"]\n', "", 1).replace('["leaf1"]', '["leaf1", "leaf2"]')
    elsewhere = text.replace('group = 0\ndevices = ["leaf1"]', "group = 0")
    assert _error(elsewhere, DeviceFacts(("leaf2",), all_names=everybody))[1] == "group 0 is not for leaf2"
    assert len(_read(wrong, DeviceFacts(("leaf2",), all_names=everybody)).rules) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GROUP + "slot = 2\n", 4, "unknown key 'slot' in groups"),
        (GROUP + GROUP, 5, "group 0 is there twice (first at w.toml:2)"),
        ("[[groups]]\nports = [1]\n", 1, "id is missing"),
        ("[[groups]]\nid = 256\nports = [1]\n", 2, "id = 256 is no number from 0 to 255"),
        ("[[groups]]\nid = true\nports = [1]\n", 2, "id = True is no number from 0 to 255"),
        ("[[groups]]\nid = 0\n", 1, "ports is missing"),
        ("[[groups]]\nid = 0\nports = 4\n", 3, "ports is no list of ports"),
        ("[[groups]]\nid = 0\nports = [1, 1]\n", 3, "port 1 is in ports twice"),
        ("[[groups]]\nid = 0\nports = [1, 999]\n", 3, "port 999 in ports is not between 1 and 510"),
        ("[[groups]]\nid = 0\nports = ['swp1']\n", 3, "port 'swp1' in ports: the device has no port of this name"),
        (GROUP + "ranks = [0, 1]\n", 4, "ranks is no list of one number"),
        (GROUP + "ranks = [0, 1, 1]\n", 4, "a rank is there twice"),
        (GROUP + "rtt_us = nan\n", 4, "rtt_us = nan is no positive number"),
        (GROUP + "devices = 'leaf1'\n", 4, "devices is no list of names"),
        ("groups = 3\n", 1, "groups is no list of tables"),
        ("groups = [3]\n", 1, "this is no table of groups"),
        (GROUP + "[[rules]]\ngroup = 1\n", 5, "there is no group 1 in this file"),
        (GROUP + "[[rules]]\ngroup = 0\nop = 'allreduse'\n", 6, "op = 'allreduse' is no operation"),
        (GROUP + "[[rules]]\ngroup = 0\nlayer = '9-3'\n", 6, "layer: the range 9-3 is empty"),
        (GROUP + "[[rules]]\ngroup = 0\nchunk = 1.5\n", 6, "chunk = 1.5 is no chunk"),
        (GROUP + "[[rules]]\ngroup = 0\npriority = 0\n", 6, "priority = 0 is no number from 1 to 2147483647"),
        (GROUP + "[[rules]]\ngroup = 0\ninputs = [1]\n", 6, "inputs [1] are not the ports of group 0, [1, 2, 3]"),
        (
            GROUP + "[[rules]]\ngroup = 0\nop = 'broadcast'\ninputs = [9]\n",
            7,
            "inputs [9] are not the ports of group 0",
        ),
    ],
)
def test_errors_with_their_lines(text: str, line: int, message: str) -> None:
    found = _error(text)
    assert found[0] == line
    assert found[1].startswith(message)


def test_the_owner_of_a_broadcast() -> None:
    wanted = _read(GROUP + '[[rules]]\ngroup = 0\nop = "broadcast"\ninputs = [2]\noutputs = [1, 3]\n')
    assert wanted.rules[0].inputs == (2,)


@settings(max_examples=50, deadline=None)
@given(wanted_states())
def test_what_a_switch_has_is_written_and_read_unchanged(wanted: Wanted) -> None:
    tables = Tables()
    bring(tables, wanted)
    have = wanted_of(tables.state)
    written = merged_tables({"leaf1": have})
    assert _read(as_toml(written, "dumped")) == have
    assert _read(as_json(written, "cais.wanted/1"), file="w.json") == have


@settings(max_examples=30, deadline=None)
@given(wanted_states(), wanted_states())
def test_what_two_switches_have_is_one_file(first: Wanted, second: Wanted) -> None:
    switches: dict[str, Wanted] = {}
    for name, wanted in (("leaf1", first), ("leaf2", second)):
        tables = Tables()
        bring(tables, wanted)
        switches[name] = wanted_of(tables.state)
    text = as_toml(merged_tables(switches), "dumped")
    for name, wanted in switches.items():
        read = _read(text, DeviceFacts((name,), all_names=frozenset(switches)))
        assert (dict(read.groups), set(read.rules)) == (dict(wanted.groups), set(wanted.rules))
