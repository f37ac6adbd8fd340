"""Where the cells of registers lie in one register file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cais_tools.switch.expressions import Expr
from cais_tools.switch.primitives import RegisterRead, RegisterWrite
from cais_tools.switch.program import Action, RegisterSpec

__all__ = ["arranged"]

_Uses = frozenset[tuple[int, Expr]]


def arranged(registers: Mapping[str, RegisterSpec], actions: Mapping[int, Action]) -> dict[str, RegisterSpec]:
    """The registers with base and stride: alike ones that the same actions use at the same index are interleaved.

    So what a packet touches at once (the lanes of a slot) lies side by side; others follow each other.
    """
    uses = _uses(actions)
    groups: dict[tuple[int, int, _Uses], list[RegisterSpec]] = {}
    for each in registers.values():
        groups.setdefault((each.size, each.width, frozenset(uses.get(each.name, ()))), []).append(each)
    placed: dict[str, RegisterSpec] = {}
    base = 0
    for (size, _, shared), group in groups.items():
        interleaved = len(group) if shared else 1
        for number, each in enumerate(group):
            start = base + (number if shared else number * size)
            placed[each.name] = replace(each, base=start, stride=interleaved)
        base += size * len(group)
    return {name: placed[name] for name in registers}


def _uses(actions: Mapping[int, Action]) -> dict[str, set[tuple[int, Expr]]]:
    uses: dict[str, set[tuple[int, Expr]]] = {}
    for action in actions.values():
        for step in action.primitives:
            if isinstance(step, RegisterRead | RegisterWrite):
                uses.setdefault(step.register, set()).add((action.ident, step.index))
    return uses
