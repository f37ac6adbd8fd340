"""Actions as table entries and action profile members name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cais_tools.switch.refusals import Invalid

if TYPE_CHECKING:
    from cais_tools.switch.program import Action

__all__ = ["IN_GROUP", "NO_ACTION", "ActionCall", "BoundAction", "binder"]

IN_GROUP = -1
"""The action number of an outcome whose member a selector still has to pick."""
NO_ACTION = -2
"""The action number of a miss in a table without default action."""


@dataclass(frozen=True, slots=True)
class ActionCall:
    """An action by its name in the program, and its arguments in the order of its parameters."""

    name: str
    args: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundAction:
    """An action call, checked. `number` is what generated code compares with (`Program.action_number`)."""

    call: ActionCall
    number: int


def binder(owner: str, actions: Mapping[str, tuple[int, Action]]) -> Callable[[ActionCall], BoundAction]:
    """A function that checks calls of `actions` (name -> number, action) for `owner` (for messages)."""

    def bind(call: ActionCall) -> BoundAction:
        found = actions.get(call.name)
        if found is None:
            names = ", ".join(sorted(actions)) or "none"
            raise Invalid(f"{owner} has no action {call.name}", hint=f"its actions: {names}")
        number, action = found
        if len(call.args) != len(action.params):
            raise Invalid(f"action {call.name} takes {len(action.params)} arguments, not {len(call.args)}")
        for param, value in zip(action.params, call.args, strict=True):
            if not 0 <= value < 1 << param.width:
                raise Invalid(f"{value} does not fit into {param.name} of {call.name} ({param.width} bits)")
        return BoundAction(call, number)

    return bind
