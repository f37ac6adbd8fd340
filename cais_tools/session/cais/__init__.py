"""CAIS on a switch session: groups, rules, jobs and telemetry."""

from __future__ import annotations

from cais_tools.session.cais.model import Group, Member, OutputSet, Rule, RuleSpec, Span, State, op_label
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

__all__ = [
    "BAD_FRAMES",
    "DEFAULT_SLOTS",
    "OUTCOMES",
    "CaisSwitch",
    "ChangeKind",
    "DelayHistogram",
    "Group",
    "GroupChange",
    "GroupStats",
    "Member",
    "OutputSet",
    "PortRate",
    "PortStats",
    "Rates",
    "Rule",
    "RuleChange",
    "RuleSpec",
    "Snapshot",
    "Span",
    "State",
    "op_label",
]
