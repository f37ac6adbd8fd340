"""THE switch-session library: everything that talks to a switch goes through it.

    with connect("127.0.0.1:9559") as session:
        session.load(load_shipped())
        session.insert(TableEntry("mac", {"dst_addr": "02:00:00:00:00:01"}, "forward", {"port": 1}))

`cais_tools.session.cais` has groups, rules and telemetry on top of it.
"""

from __future__ import annotations

from cais_tools.session.entities import (
    ActionProfileGroup,
    ActionProfileMember,
    CloneSession,
    CounterCell,
    CounterData,
    DigestConfig,
    GroupMember,
    MeterCell,
    MeterConfig,
    MulticastGroup,
    OneShotAction,
    RegisterCell,
    Replica,
    TableEntry,
    Update,
    UpdateType,
    ValueSet,
)
from cais_tools.session.errors import BatchFailed, DeviceError, NoPipeline, SwitchRestarted
from cais_tools.session.pipeline import LoadReport, Pipeline, ProgramInfo, read_pipeline
from cais_tools.session.program import load_shipped, shipped_program
from cais_tools.session.readwrite import Applied, AppliedKind
from cais_tools.session.session import SwitchSession, connect
from cais_tools.session.target import SessionOptions, Target, Tls, parse_target
from cais_tools.session.values import Lpm, Range, Ternary
from cais_tools.session.verdicts import Verdict

__all__ = [
    "ActionProfileGroup",
    "ActionProfileMember",
    "Applied",
    "AppliedKind",
    "BatchFailed",
    "CloneSession",
    "CounterCell",
    "CounterData",
    "DeviceError",
    "DigestConfig",
    "GroupMember",
    "LoadReport",
    "Lpm",
    "MeterCell",
    "MeterConfig",
    "MulticastGroup",
    "NoPipeline",
    "OneShotAction",
    "Pipeline",
    "ProgramInfo",
    "Range",
    "RegisterCell",
    "Replica",
    "SessionOptions",
    "SwitchRestarted",
    "SwitchSession",
    "TableEntry",
    "Target",
    "Ternary",
    "Tls",
    "Update",
    "UpdateType",
    "ValueSet",
    "Verdict",
    "connect",
    "load_shipped",
    "parse_target",
    "read_pipeline",
    "shipped_program",
]
