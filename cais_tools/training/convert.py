"""The leader's messages as the controller's protocol has them, and back."""

from __future__ import annotations

from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.training import directives as d
from cais_tools.training.schedule import Decision, OperationClass

__all__ = ["decision_from", "directive_from", "path_to", "report_to"]

_PATHS = {d.Path.AUTO: pb.PATH_AUTO, d.Path.SWITCH: pb.PATH_SWITCH, d.Path.ENDPOINT: pb.PATH_ENDPOINT}
_WHAT = {
    d.What.TIMED_OUT: pb.Trouble.TIMED_OUT,
    d.What.REFUSED: pb.Trouble.REFUSED,
    d.What.RANK_LOST: pb.Trouble.RANK_LOST,
    d.What.DIVERGED: pb.Trouble.DIVERGED,
}


def path_to(path: d.Path) -> pb.Path.ValueType:
    return _PATHS[path]


def operation_to(operation: OperationClass) -> pb.OperationClass:
    return pb.OperationClass(kind=pb.Kind.Value(operation.kind), dtype=operation.dtype, bytes=operation.bytes)


def operation_from(message: pb.OperationClass) -> OperationClass:
    return OperationClass(pb.Kind.Name(message.kind), message.dtype, message.bytes)


def report_to(report: d.Report) -> pb.LeaderMessage:
    match report:
        case d.NeedBlock(first, count, seen):
            block = pb.NeedBlock(first=first, count=count, seen=map(operation_to, seen))
            return pb.LeaderMessage(need_block=block)
        case d.NeedEpoch(request):
            return pb.LeaderMessage(need_epoch=pb.NeedEpoch(request=request))
        case d.Changed(request, from_operation):
            return pb.LeaderMessage(changed=pb.Changed(request=request, from_operation=from_operation))
        case d.Proved(request, right, text):
            return pb.LeaderMessage(proved=pb.Proved(request=request, right=right, text=text))
        case d.Trouble(what, operation, ranks, text, on_endpoints):
            trouble = pb.Trouble(what=_WHAT[what], operation=operation, ranks=ranks, text=text)
            trouble.on_endpoints = on_endpoints
            return pb.LeaderMessage(trouble=trouble)


def directive_from(message: pb.Directive) -> d.Directive | None:
    """None for what this version does not know."""
    match message.WhichOneof("directive"):
        case "block":
            block = message.block
            return d.Block(block.first, block.count, decision_from(block.decision))
        case "epoch":
            return d.NewEpoch(message.epoch.request, message.epoch.epoch)
        case "force":
            path = next(path for path, value in _PATHS.items() if value == message.force.path)
            return d.Force(message.force.request, path, message.force.reason)
        case "prove":
            return d.Prove(message.prove.request, message.prove.epoch)
        case _:
            return None


def decision_from(message: pb.Decision) -> Decision:
    return Decision(
        message.offload,
        message.reason,
        tuple((operation_from(each.operation), each.path == pb.PATH_SWITCH) for each in message.overrides),
        tuple((pb.Kind.Name(each.kind), each.bytes) for each in message.break_even),
    )
