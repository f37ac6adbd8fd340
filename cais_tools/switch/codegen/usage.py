"""What each stage of a program does to headers: the effects of its actions, tables, checksums and lists together.

Headers that a stage does not look into travel through it as bytes; headers that ingress does not write leave as the
bytes that came in.
"""

from __future__ import annotations

from cais_tools.switch.effects import Effects, effects_of, target_effects
from cais_tools.switch.expressions import FieldValue
from cais_tools.switch.program import ActionCallNode, Pipeline, Program, TableNode

__all__ = ["egress_usage", "ingress_usage", "pipeline_actions"]


def pipeline_actions(program: Program, pipeline: Pipeline) -> list[int]:
    """The actions that a pipeline may run."""
    actions: dict[int, None] = {}
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            actions |= dict.fromkeys(node.actions)
        elif isinstance(node, ActionCallNode):
            actions[node.action] = None
    return [ident for ident in actions if ident in program.actions]


def ingress_usage(program: Program) -> Effects:
    """Parser, verification of checksums, ingress."""
    usage = _pipeline_effects(program, program.ingress)
    usage |= effects_of([(state.ops, state.keys) for state in program.parser.states.values()])
    for checksum in program.checksums:
        if checksum.verify:
            usage |= effects_of(FieldValue(checksum.target), checksum.calculation, checksum.condition)
    lists = (*program.learn_lists.values(), *program.field_lists.values())
    return usage | effects_of([each.elements for each in lists])


def egress_usage(program: Program) -> Effects:
    """Egress, update of checksums, primitives of the deparser."""
    usage = _pipeline_effects(program, program.egress) | effects_of(program.deparser_primitives)
    for checksum in program.checksums:
        if checksum.update:
            usage |= target_effects(checksum.target) | effects_of(checksum.calculation, checksum.condition)
    return usage | effects_of([each.elements for each in program.field_lists.values()])


def _pipeline_effects(program: Program, pipeline: Pipeline) -> Effects:
    usage = Effects()
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            usage |= effects_of([key.source for key in node.keys])
            if node.direct_meter is not None:
                usage |= target_effects(program.meters[node.direct_meter].result)
            if node.profile is not None:
                usage |= effects_of(program.profiles[node.profile].selector)
        elif not isinstance(node, ActionCallNode):
            usage |= effects_of(node.condition)
    for ident in pipeline_actions(program, pipeline):
        usage |= program.actions[ident].effects
    return usage
