"""The gRPC service: what each call asks the control plane for."""

# pyright: reportUnknownMemberType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, ParamSpec, TypeVar, cast

import grpc

from cais_tools.config import SETTINGS as SETTING_KINDS
from cais_tools.controller.convert import (
    decision_to,
    explained_to,
    operation_from,
    settings_from,
    settings_to,
    thresholds_to,
)
from cais_tools.controller.leader import Leader
from cais_tools.controller.plane import ControlPlane, Forced
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.proto.controller_pb2_grpc import ControllerServicer
from cais_tools.controller.record import ANY, SETTINGS, GroupRecord, JobRecord
from cais_tools.controller.scoring import Path
from cais_tools.controller.statistics import statistics
from cais_tools.controller.status import abort_with
from cais_tools.errors import CaisError, UsageError

__all__ = ["ControllerService"]

log = logging.getLogger(__name__)

_LONGEST_WAIT_S: Final = 600.0
_FASTEST_MS: Final = 50
_LAYERS = "; the layer makes no difference: operations are decided by kind, type and size"

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _answering(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """Errors of the family become statuses that the client turns back into them."""

    @functools.wraps(call)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return call(*args, **kwargs)
        except CaisError as error:
            log.info("%s: %s", call.__name__, error)
            context: Any = args[-1]
            abort_with(context, error)

    return run


class ControllerService(ControllerServicer):
    """`ended` is set when the controller ends: then streams end, too."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.ended = threading.Event()

    # Jobs and groups

    @_answering
    def RegisterJob(self, request: pb.RegisterJobRequest, context: grpc.ServicerContext) -> pb.Job:  # noqa: N802
        self._plane.register_job(JobRecord(request.job_id, request.name, request.world_size))
        return pb.Job(job_id=request.job_id, settings=settings_to(self._plane.settings()))

    @_answering
    def RemoveJob(  # noqa: N802
        self, request: pb.RemoveJobRequest, context: grpc.ServicerContext
    ) -> pb.RemoveJobResponse:
        self._plane.remove_job(request.job_id)
        return pb.RemoveJobResponse()

    @_answering
    def CreateGroup(self, request: pb.CreateGroupRequest, context: grpc.ServicerContext) -> pb.Group:  # noqa: N802
        wanted = GroupRecord(
            group_id=request.group_id if request.HasField("group_id") else ANY,
            job_id=request.job_id,
            device=request.device,
            ranks=tuple(request.ranks),
            ports=tuple(request.ports),
            slots=request.slots,
            epoch=0,
            hub_address=request.hub_address,
            hub_secret=request.hub_secret.decode("latin-1"),
        )
        return self._group(self._plane.create_group(wanted))

    @_answering
    def JoinGroup(self, request: pb.JoinGroupRequest, context: grpc.ServicerContext) -> pb.Group:  # noqa: N802
        patience = cast("float | None", context.time_remaining())
        seconds = _LONGEST_WAIT_S if patience is None else min(patience, _LONGEST_WAIT_S)
        # A little less, so that the answer says why.
        given_up = time.monotonic() + seconds - min(0.2, seconds / 2)
        while True:
            left = given_up - time.monotonic()
            try:
                return self._group(self._plane.join_group(request.job_id, request.group_id, max(0.0, min(left, 0.5))))
            except CaisError:
                if left <= 0 or self.ended.is_set() or not context.is_active():
                    raise

    @_answering
    def RemoveGroup(  # noqa: N802
        self, request: pb.RemoveGroupRequest, context: grpc.ServicerContext
    ) -> pb.RemoveGroupResponse:
        self._plane.remove_group(request.job_id, request.group_id)
        return pb.RemoveGroupResponse()

    def _group(self, group: GroupRecord) -> pb.Group:
        device = self._plane.devices[group.device].device
        return pb.Group(
            group_id=group.group_id,
            device=group.device,
            ports=group.ports,
            links=[device.links.get(port, "") for port in group.ports],
            slots=group.slots,
            lanes=self._plane.lanes(group),
            epoch=group.epoch,
            hub_address=group.hub_address,
            hub_secret=group.hub_secret.encode("latin-1"),
            settings=settings_to(self._plane.settings(group.group_id)),
            decision=decision_to(self._plane.decision(group.group_id, 0)),
        )

    # A leader's stream

    def Attach(  # noqa: N802
        self, request_iterator: Iterator[pb.LeaderMessage], context: grpc.ServicerContext
    ) -> Iterator[pb.Directive]:
        first = next(request_iterator, None)
        if first is None:
            return
        hello = first.hello
        try:
            if first.WhichOneof("message") != "hello":
                raise UsageError("a leader says hello first")
            leader = Leader(hello)
            self._plane.attach(hello.job_id, hello.group_id, leader)
        except CaisError as error:
            log.warning("leader of group %d: %s", hello.group_id, error)
            abort_with(context, error)
        log.info("the leader of group %d is here, at operation %d", hello.group_id, hello.next_operation)
        if not context.add_callback(leader.close):
            leader.close()
        listener = threading.Thread(
            target=self._listen, args=(hello.group_id, leader, request_iterator), name="leader", daemon=True
        )
        listener.start()
        try:
            yield from leader.directives()
        finally:
            self._plane.detach(hello.group_id, leader)
            log.info("the leader of group %d has gone", hello.group_id)

    def _listen(self, group_id: int, leader: Leader, messages: Iterator[pb.LeaderMessage]) -> None:
        try:
            for message in messages:
                self._hear(group_id, leader, message)
        except grpc.RpcError:
            pass  # how gRPC tells the servicer that the stream was cut
        except Exception:
            log.exception("the leader of group %d has said something that cannot be dealt with", group_id)
        finally:
            leader.close()

    def _hear(self, group_id: int, leader: Leader, message: pb.LeaderMessage) -> None:
        plane = self._plane
        match message.WhichOneof("message"):
            case "need_block":
                need = message.need_block
                leader.saw([operation_from(each) for each in need.seen])
                leader.next_operation = max(leader.next_operation, need.first)
                plane.need_block(group_id, leader, need.first, need.count)
            case "need_epoch":
                plane.need_epoch(group_id, leader, message.need_epoch.request)
            case "changed":
                plane.changed(group_id, leader, message.changed)
            case "trouble":
                trouble = message.trouble
                plane.trouble(group_id, _in_words(trouble), on_endpoints=trouble.on_endpoints)
            case "proved":
                plane.proved(group_id, message.proved.request, message.proved.right, message.proved.text)
            case "usage":
                leader.used(message.usage)
            case _:
                pass  # of a version that knows more

    # People at a terminal

    @_answering
    def Configure(self, request: pb.ConfigureRequest, context: grpc.ServicerContext) -> pb.Settings:  # noqa: N802
        group_id = request.group_id if request.HasField("group_id") else None
        values = settings_from(request.settings)
        _check_settings(values)
        return settings_to(self._plane.configure(group_id, values) if values else self._plane.settings(group_id))

    @_answering
    def SetOffload(  # noqa: N802
        self, request: pb.SetOffloadRequest, context: grpc.ServicerContext
    ) -> pb.SetOffloadResponse:
        try:
            path = Path(request.path)
        except ValueError:
            raise UsageError(f"there is no path {request.path}") from None
        return _results(self._plane.set_offload(list(request.groups), path, request.reason))

    @_answering
    def Drain(self, request: pb.DrainRequest, context: grpc.ServicerContext) -> pb.SetOffloadResponse:  # noqa: N802
        return _results(self._plane.drain(request.device, release=request.release))

    @_answering
    def Explain(self, request: pb.ExplainRequest, context: grpc.ServicerContext) -> pb.ExplainResponse:  # noqa: N802
        since = time.time() - request.last_s if request.last_s else -math.inf
        found = self._plane.explain(request.group_id, since)
        return pb.ExplainResponse(
            decisions=[explained_to(row) for row in found.decisions],
            group_state=found.state + (_LAYERS if request.HasField("layer") else ""),
            thresholds=thresholds_to(found.thresholds),
        )

    def WatchStatistics(  # noqa: N802
        self, request: pb.WatchStatisticsRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.Statistics]:
        due = time.monotonic()
        while context.is_active():
            yield statistics(self._plane)
            if not request.interval_ms:
                return
            due = max(due + max(request.interval_ms, _FASTEST_MS) / 1000, time.monotonic())
            if self.ended.wait(due - time.monotonic()):
                return


def _in_words(trouble: pb.Trouble) -> str:
    what = pb.Trouble.What.Name(trouble.what) if trouble.what in pb.Trouble.What.values() else str(trouble.what)
    ranks = f", ranks {', '.join(map(str, trouble.ranks))}" if trouble.ranks else ""
    return f"{what.lower().replace('_', ' ')} at operation {trouble.operation}{ranks}: {trouble.text}"


def _results(forced: Sequence[Forced]) -> pb.SetOffloadResponse:
    return pb.SetOffloadResponse(
        results=[
            pb.SetOffloadResponse.Result(
                group_id=each.group_id,
                holds=each.from_operation is not None,
                from_operation=each.from_operation or 0,
                text=each.text,
            )
            for each in forced
        ]
    )


def _check_settings(values: dict[str, float]) -> None:
    """Raises UsageError for a value that cannot be."""
    kinds = {kind.name: kind for kind in SETTING_KINDS if kind.name in SETTINGS}
    for name, value in values.items():
        kind = kinds[name]
        if not kind.low <= value <= kind.high:
            raise UsageError(f"{name} {value:g} is not between {kind.low:g} and {kind.high:g}")
