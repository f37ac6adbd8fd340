"""Which output set a rule gets, and which sets go. Sans I/O.

A set is a multicast group with the entries of `receivers` that give the payload to some of its ports. The rules of a
group that have the same outputs share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cais_tools.errors import Refused
from cais_tools.session.cais import changes
from cais_tools.session.cais.changes import Change, Stage
from cais_tools.session.cais.model import Group, OutputSet, State
from cais_tools.session.cais.tables import FIRST_OUTPUT_SET, LAST_OUTPUT_SET, output_group, receiver_entry

__all__ = ["choose_set", "insertion", "reclaim", "removal"]


def choose_set(state: State, group: Group, outputs: Sequence[int]) -> OutputSet:
    """A set with these outputs that the group's rules use already, or a new one. Raises Refused: none is left."""
    for each in state.sets_of(group.group_id):
        if each.receivers == frozenset(outputs):
            return each
    numbers = range(FIRST_OUTPUT_SET, LAST_OUTPUT_SET + 1)
    set_id = next((number for number in numbers if number not in state.output_sets), None)
    if set_id is None:
        raise Refused(
            f"all {len(numbers)} output sets are in use",
            hint="rules of a group with the same output ports share one",
        )
    return OutputSet(set_id, frozenset({*group.ports, *outputs}), frozenset(outputs))


def insertion(output_set: OutputSet) -> tuple[Change, list[Change]]:
    """Its multicast group, and its receivers after that."""
    receivers = [changes.insert(receiver_entry(output_set.set_id, port)) for port in sorted(output_set.receivers)]
    return changes.insert(output_group(output_set)), receivers


def removal(sets: Iterable[OutputSet]) -> list[Stage]:
    sets = list(sets)
    return [
        [changes.delete(receiver_entry(each.set_id, port)) for each in sets for port in sorted(each.receivers)],
        [changes.delete(output_group(each)) for each in sets if each.ports],
    ]


def reclaim(state: State) -> list[Stage]:
    """Remove the sets that no rule uses: what a change left that was interrupted, or could not be undone."""
    used = {rule.output_set for rule in state.rules}
    return removal(each for set_id, each in state.output_sets.items() if set_id not in used)
