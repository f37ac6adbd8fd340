"""What is on the switches of these tests."""

from __future__ import annotations

from cais_tools.session import SessionOptions, connect, load_shipped
from cais_tools.session.cais import CaisSwitch, RuleSpec, Span
from cais_tools.wire.header import Op

__all__ = ["furnish"]


def furnish(address: str) -> None:
    """Load the program; group 0 with four ranks, group 1 with two, a rule for each."""
    with connect(address, SessionOptions(timeout=20)) as session:
        session.load(load_shipped())
        switch = CaisSwitch(session)
        for group, ports in ((0, (1, 2, 3, 4)), (1, (1, 2))):
            switch.ensure_group(group, ports, 64)
            switch.ensure_rule(RuleSpec(group, Op.ALLREDUCE, Span(), Span(0, 15), ports, ports))
