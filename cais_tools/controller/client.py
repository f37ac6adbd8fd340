"""Talking to the controller: one method for each of its calls, errors of the one family.

The channel is opened with the first call, and anew in a process that was forked since: gRPC's own does not survive it.
"""

# pyright: reportUnknownMemberType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import grpc

from cais_tools.config import Target, TlsFiles, check_tls, parse_target
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.proto.controller_pb2_grpc import ControllerStub
from cais_tools.controller.status import from_rpc

__all__ = ["DEFAULT_PORT", "ControllerClient", "parse_controller"]

DEFAULT_PORT: Final = 50051

_T = TypeVar("_T")

_CLIENTS: Final[weakref.WeakSet[ControllerClient]] = weakref.WeakSet()
_INHERITED: Final[list[object]] = []


def _in_child() -> None:
    for client in list(_CLIENTS):
        client.forked()


os.register_at_fork(after_in_child=_in_child)

_OPTIONS: Final[list[tuple[str, int]]] = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.use_local_subchannel_pool", 1),
    # A controller whose machine has gone without a word is to be noticed.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
]


def parse_controller(text: str, port: int = DEFAULT_PORT) -> Target:
    """Read HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. Raises UsageError."""
    text = text.strip()
    target = parse_target(text)
    has_port = text.rpartition("]")[2].startswith(":") if text.startswith("[") else ":" in text
    return target if has_port else Target(target.host, port)


class ControllerClient:
    """`address` as `parse_controller` takes it. `timeout` in seconds holds for each call that has no other.

    Raises UsageError for an address or for TLS files that are none. Any thread may call.
    """

    def __init__(self, address: str, *, tls: TlsFiles | None = None, timeout: float = 5.0) -> None:
        self.target = parse_controller(address)
        self.timeout = timeout
        self._tls = tls
        if tls is not None:
            check_tls(tls)
        self._lock = threading.Lock()
        self._open: tuple[int, grpc.Channel, ControllerStub] | None = None
        _CLIENTS.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def stub(self) -> ControllerStub:
        """The stub of this very process."""
        with self._lock:
            if self._open is None or self._open[0] != os.getpid():
                channel = self._channel()
                self._open = (os.getpid(), channel, ControllerStub(channel))
            return self._open[2]

    def close(self) -> None:
        """End the connection, and every call that is under way. The next call opens another one."""
        with self._lock:
            opened, self._open = self._open, None
        if opened is not None and opened[0] == os.getpid():
            opened[1].close()

    def forked(self) -> None:
        """In the child: the lock may be held by a thread that is not there, and the channel is dead."""
        self._lock = threading.Lock()
        if self._open is not None:
            _INHERITED.append(self._open)  # to close it would wait for threads that are not there, either

    def _channel(self) -> grpc.Channel:
        options: list[tuple[str, Any]] = [*_OPTIONS, ("grpc.min_reconnect_backoff_ms", int(1000 * self.timeout))]
        tls = self._tls
        if tls is None:
            return grpc.insecure_channel(str(self.target), options=options)
        if tls.server_name:
            options.append(("grpc.ssl_target_name_override", tls.server_name))
        ca, key, cert = (None if path is None else path.read_bytes() for path in (tls.ca, tls.key, tls.cert))
        return grpc.secure_channel(str(self.target), grpc.ssl_channel_credentials(ca, key, cert), options=options)

    def _do(self, doing: str, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except grpc.RpcError as error:
            raise from_rpc(error, str(self.target), doing) from None

    # What processes of a job say

    def register_job(self, name: str, job_id: str, world_size: int) -> pb.Job:
        request = pb.RegisterJobRequest(name=name, job_id=job_id, world_size=world_size)
        return self._do("register the job", lambda: self.stub.RegisterJob(request, timeout=self.timeout))

    def remove_job(self, job_id: str) -> None:
        request = pb.RemoveJobRequest(job_id=job_id)
        self._do("remove the job", lambda: self.stub.RemoveJob(request, timeout=self.timeout))

    def create_group(self, request: pb.CreateGroupRequest) -> pb.Group:
        """Raises Refused: the group's number is taken, no room on the switch; Unreachable: the switch is not there."""
        return self._do("create the group", lambda: self.stub.CreateGroup(request, timeout=2 * self.timeout))

    def join_group(self, job_id: str, group_id: int, patience: float) -> pb.Group:
        """Wait up to `patience` seconds for the leader to create it. Raises DeadlineExceeded."""
        request = pb.JoinGroupRequest(job_id=job_id, group_id=group_id)
        return self._do("say where the group's leader is", lambda: self.stub.JoinGroup(request, timeout=patience))

    def remove_group(self, job_id: str, group_id: int) -> None:
        request = pb.RemoveGroupRequest(job_id=job_id, group_id=group_id)
        self._do("remove the group", lambda: self.stub.RemoveGroup(request, timeout=self.timeout))

    def attach(self, messages: Iterator[pb.LeaderMessage]) -> Any:
        """The leader's stream, as gRPC gives it: an iterator of directives with `cancel`; raises grpc.RpcError."""
        return self.stub.Attach(messages)

    # What people say

    def configure(self, settings: pb.Settings, group_id: int | None = None) -> pb.Settings:
        request = pb.ConfigureRequest(settings=settings, group_id=group_id)
        return self._do("change settings", lambda: self.stub.Configure(request, timeout=self.timeout))

    def set_offload(self, groups: Iterable[int], path: pb.Path.ValueType, reason: str) -> Sequence[_Result]:
        request = pb.SetOffloadRequest(groups=groups, path=path, reason=reason)
        return self._do("change the path", lambda: self.stub.SetOffload(request, timeout=self.timeout)).results

    def drain(self, device: str, *, release: bool = False) -> Sequence[_Result]:
        request = pb.DrainRequest(device=device, release=release)
        return self._do("drain the device", lambda: self.stub.Drain(request, timeout=self.timeout)).results

    def explain(self, group_id: int, *, layer: int | None = None, last_s: int = 0) -> pb.ExplainResponse:
        request = pb.ExplainRequest(group_id=group_id, layer=layer, last_s=last_s)
        return self._do("explain its decisions", lambda: self.stub.Explain(request, timeout=self.timeout))

    def statistics(self) -> pb.Statistics:
        """What is known now."""
        request = pb.WatchStatisticsRequest()

        def first() -> pb.Statistics:
            return next(iter(self.stub.WatchStatistics(request, timeout=self.timeout)))

        return self._do("tell its statistics", first)

    def watch_statistics(self, interval_ms: int) -> Generator[pb.Statistics]:
        """What is known, again and again, until the controller ends or nobody asks any more."""
        call = self._do("tell its statistics", lambda: self.stub.WatchStatistics(_every(interval_ms)))
        try:
            while True:
                yield self._do("tell its statistics", lambda: next(iter(call)))
        except StopIteration:
            return
        finally:
            call.cancel()


_Result = pb.SetOffloadResponse.Result


def _every(interval_ms: int) -> pb.WatchStatisticsRequest:
    return pb.WatchStatisticsRequest(interval_ms=interval_ms)
