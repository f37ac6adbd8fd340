"""CAIS on a switch session: groups, rules, jobs and telemetry."""

from __future__ import annotations

from cais_tools.session.cais.alarms import ALARMS, Alarm, Severity, Thresholds, evaluate_alarms
from cais_tools.session.cais.applying import Applied, Examined, apply_wanted, examine
from cais_tools.session.cais.model import Group, Member, OutputSet, Rule, RuleSpec, Span, State, op_label
from cais_tools.session.cais.open_slots import OpenSlot
from cais_tools.session.cais.sampler import Reading, Sampler
from cais_tools.session.cais.slots import DEFAULT_SLOTS
from cais_tools.session.cais.switch import CaisSwitch, ChangeKind, GroupChange, RuleChange
from cais_tools.session.cais.telemetry import (
    BAD_FRAMES,
    OUTCOMES,
    DelayHistogram,
    GroupStats,
    PortRate,
    PortStats,
    Rates,
    Snapshot,
)
from cais_tools.session.cais.wanted import Wanted, WantedGroup, WantedRule

__all__ = [
    "ALARMS",
    "BAD_FRAMES",
    "DEFAULT_SLOTS",
    "OUTCOMES",
    "Alarm",
    "Applied",
    "CaisSwitch",
    "ChangeKind",
    "DelayHistogram",
    "Examined",
    "Group",
    "GroupChange",
    "GroupStats",
    "Member",
    "OpenSlot",
    "OutputSet",
    "PortRate",
    "PortStats",
    "Rates",
    "Reading",
    "Rule",
    "RuleChange",
    "RuleSpec",
    "Sampler",
    "Severity",
    "Snapshot",
    "Span",
    "State",
    "Thresholds",
    "Wanted",
    "WantedGroup",
    "WantedRule",
    "apply_wanted",
    "evaluate_alarms",
    "examine",
    "op_label",
]
