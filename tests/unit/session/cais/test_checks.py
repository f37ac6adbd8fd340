"""What the checks find, and with which line of the file."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cais_tools.config import parse_document
from cais_tools.session.cais.checks import SwitchFacts, check_wanted, slots_for_link
from cais_tools.session.cais.findings import Document, Finding, Severity
from cais_tools.session.cais.model import Span
from cais_tools.session.cais.overlaps import overlaps
from cais_tools.session.cais.reading import DeviceFacts, read_wanted
from cais_tools.session.cais.wanted import Link, Wanted, WantedRule

FACTS = SwitchFacts("leaf1", ports=frozenset(range(1, 9)))
TWO_GROUPS = """\
[[groups]]
id = 0
ports = [1, 2, 3, 4]
[[groups]]
id = 1
ports = [5, 6, 7, 8]
"""


def _check(text: str, facts: SwitchFacts = FACTS, device: DeviceFacts | None = None) -> list[Finding]:
    wanted, findings = read_wanted(Document("w.toml", *parse_document(text, "w.toml")), device)
    return findings or check_wanted(wanted, facts)


def _only(text: str, facts: SwitchFacts = FACTS, device: DeviceFacts | None = None) -> Finding:
    [finding] = _check(text, facts, device)
    return finding


def test_nothing_is_wrong() -> None:
    assert not _check(TWO_GROUPS + "[[rules]]\ngroup = 0\n[[rules]]\ngroup = 1\nlayer = 3\n")


@pytest.mark.parametrize(
    ("ports", "known", "message", "hint"),
    [
        (
            "[0, 1, 2, 3]",
            None,
            "port 0 does not exist",
            "perhaps these are numbers from 0 on: did you mean 1, 2, 3, 4?",
        ),
        ("[0, 1]", {1, 2}, "port 0 does not exist: leaf1 has 1, 2", "numbers from 0 on: did you mean 1, 2?"),
        ("[2, 3, 4, 5]", {1, 2, 3, 4}, "port 5 does not exist", "off by one: did you mean 1, 2, 3, 4?"),
        ("[128, 132]", {132, 136}, "port 128 does not exist", "the switch's own numbers"),
        ("[8, 9]", {1, 2}, "ports 8, 9 do not exist: leaf1 has 1, 2", "the switch's own numbers"),
    ],
)
def test_ports(ports: str, known: set[int] | None, message: str, hint: str) -> None:
    facts = SwitchFacts("leaf1", ports=None if known is None else frozenset(known), busy_ports=frozenset({1, 2, 3}))
    finding = _only(f"[[groups]]\nid = 0\nports = {ports}\n", facts)
    assert (finding.severity, finding.where) == (Severity.ERROR, "w.toml:3")
    assert finding.message.startswith(message)
    assert hint in (finding.hint or "")


def test_ports_of_which_nothing_tells() -> None:
    facts = SwitchFacts("leaf1", busy_ports=frozenset({1, 2}))
    finding = _only("[[groups]]\nid = 0\nports = [1, 2, 3]\n", facts)
    assert finding.severity is Severity.NOTE
    assert "does not tell whether ports 3 exist and are up" in finding.message


def test_outputs_that_do_not_exist() -> None:
    finding = _only(TWO_GROUPS + "[[rules]]\ngroup = 0\noutputs = [1, 99]\n")
    assert (finding.where, finding.severity) == ("w.toml:9", Severity.ERROR)


@pytest.mark.parametrize(
    ("text", "severity", "where", "message"),
    [
        (TWO_GROUPS.replace("5, 6", "4, 6"), Severity.WARNING, "w.toml:6", "port 4 is in group 0 and in group 1"),
        ("[[groups]]\nid = 3\nports = [1]\n", Severity.WARNING, "w.toml:3", "group 3 has one port only"),
        ("[[groups]]\nid = 3\nports = [1, 2]\nslots = 100\n", Severity.ERROR, "w.toml:4", "no power of two"),
        (
            "[[groups]]\nid = 3\nports = [1, 2]\nslots = 8192\n",
            Severity.ERROR,
            "w.toml:4",
            "want 8192 slots; leaf1 has 4096",
        ),
        ("[[groups]]\nid = 3\nports = [1, 2]\nslots = 4096\n", Severity.WARNING, "w.toml:4", "sram_usage_limit = 0.75"),
    ],
)
def test_groups(text: str, severity: Severity, where: str, message: str) -> None:
    finding = _only(text)
    assert (finding.severity, finding.where) == (severity, where)
    assert message in finding.message


def test_more_ranks_than_bits() -> None:
    ports = list(range(1, 34))
    finding = _only(f"[[groups]]\nid = 3\nports = {ports}\n", SwitchFacts(ports=frozenset(ports)))
    assert "has 33 ports, over 32" in finding.message


@pytest.mark.parametrize(("lanes", "rtt", "packets"), [(64, 5, 200), (64, 10, 399), (64, 20, 797), (256, 5, 58)])
def test_the_figures_of_the_design_notes(lanes: int, rtt: float, packets: int) -> None:
    assert slots_for_link(Link(100, rtt), lanes) == packets


def test_a_window_that_is_too_small_for_its_link() -> None:
    text = "[[groups]]\nid = 3\nports = [1, 2]\nslots = 256\nrtt_us = 5\n"
    assert not _check(text)
    finding = _only(text, device=DeviceFacts(link=Link(100, 10)))
    assert (finding.severity, finding.where) == (Severity.WARNING, "w.toml:4")
    assert finding.message == (
        "group 3 has a window of 128 packets, half its slots; a link of 100 Gb/s and 5 us needs 200"
    )
    assert finding.hint == "slots = 512 fills it"
    assert not _check(text.replace("256", "512"), device=DeviceFacts(link=Link(100, 10)))


RULES = (
    TWO_GROUPS + "[[rules]]\ngroup = 0\nlayer = 5\nchunk = {}\n{}\n[[rules]]\ngroup = 0\nlayer = 5\nchunk = {}\n{}\n"
)


@pytest.mark.parametrize(
    ("rules", "severity", "where", "message"),
    [
        (("3", "", "3", ""), Severity.ERROR, "w.toml:14", "is there twice (first at w.toml:7)"),
        (('"0-7"', "", '"4-11"', ""), Severity.WARNING, "w.toml:14", "with the same priority"),
        (('"0-7"', "", '"4-11"', "outputs = [1]"), Severity.ERROR, "w.toml:14", "and other outputs"),
        (('"0-7"', "", "7", "outputs = [1]\npriority = 509"), Severity.ERROR, "w.toml:17", "same priority 509"),
    ],
)
def test_rules_that_overlap(rules: tuple[str, ...], severity: Severity, where: str, message: str) -> None:
    text = RULES.format(*rules)
    if "509" in text:
        text = text.replace('chunk = "0-7"\n', 'chunk = "0-7"\npriority = 509')
    finding = _only(text)
    assert message in finding.message
    assert (finding.severity, finding.where) == (severity, where)


def test_rules_that_a_priority_tells_apart() -> None:
    assert not _check(RULES.format('"0-7"', "", "7", "outputs = [1]"))


def test_more_rules_than_the_table_holds() -> None:
    text = TWO_GROUPS + "[[rules]]\ngroup = 0\n[[rules]]\ngroup = 1\n"
    finding = _only(text, replace(FACTS, table_sizes={"rules": 1}))
    assert finding.message == "2 rules are wanted; leaf1 holds 1"


def test_overlaps_are_not_told_without_end() -> None:
    rules = "".join(f'[[rules]]\ngroup = 0\nlayer = "{each}-{each + 63}"\n' for each in range(30))
    assert len(_check(TWO_GROUPS + rules)) == 21


@st.composite
def _rules(draw: st.DrawFn) -> WantedRule:
    ends = st.integers(0, 12)
    layer, chunk = (Span(min(pair), max(pair)) for pair in (draw(st.tuples(ends, ends)), draw(st.tuples(ends, ends))))
    return WantedRule(draw(st.integers(0, 1)), 0, layer, chunk, (1, 2), (1,), draw(st.integers(1, 2)))


@settings(deadline=None)
@given(st.lists(_rules(), max_size=14))
def test_the_sweep_finds_what_comparing_all_pairs_finds(rules: list[WantedRule]) -> None:
    placed = [replace(rule, inputs=(place,)) for place, rule in enumerate(rules)]
    pairs = [
        (first, second)
        for first, second in itertools.combinations(placed, 2)
        if (first.group_id, first.op, first.priority) == (second.group_id, second.op, second.priority)
        and first.layer.overlaps(second.layer)
        and first.chunk.overlaps(second.chunk)
    ]
    order = {rule.inputs: place for place, rule in enumerate(placed)}
    found = sorted(overlaps(placed), key=lambda pair: (order[pair[0].inputs], order[pair[1].inputs]))
    assert found == pairs


def test_nothing_wanted_is_nothing_wrong() -> None:
    assert not check_wanted(Wanted(), FACTS)
