"""The control-plane daemon as a whole: store, plane, gRPC server and metrics, started and ended together."""

# pyright: reportUnknownMemberType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final, Self

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from cais_tools.config import Device
from cais_tools.controller.metrics import PlaneCollector, PlaneRounds
from cais_tools.controller.plane import ControlPlane
from cais_tools.controller.proto import controller_pb2
from cais_tools.controller.proto.controller_pb2_grpc import add_ControllerServicer_to_server
from cais_tools.controller.record import SETTINGS
from cais_tools.controller.service import ControllerService
from cais_tools.controller.store import Store
from cais_tools.errors import CaisError, Refused, Unreachable, UsageError
from cais_tools.exporter.server import Exporter, parse_listen
from cais_tools.session import SessionOptions
from cais_tools.switch.server.address import is_loopback
from cais_tools.switch.server.tls import Tls

__all__ = ["Controller", "ControllerConfig", "Tls", "run_controller"]

log = logging.getLogger(__name__)

_CALLS: Final = 1024
"""Calls at a time; a stream, and a rank that waits for its leader, is one. Threads are made as they are needed."""
_GRACE_S: Final = 1.0
_LOOK_FOR_SIGNALS_S: Final = 0.1
_SERVICE: Final = controller_pb2.DESCRIPTOR.services_by_name["Controller"].full_name


@dataclass(frozen=True)
class ControllerConfig:
    """`listen` is HOST:PORT, port 0 for any free one; beyond loopback only with `tls` or `insecure`. `settings` as
    `cais_tools.config` has them. `state` None keeps nothing over a restart. `metrics` is where OpenMetrics are served.
    A group whose leader is gone for `grace` seconds is removed. `options` hold for the sessions with all devices.
    """

    listen: str
    devices: Iterable[Device]
    settings: Mapping[str, float]
    state: Path | None = None
    tls: Tls | None = None
    insecure: bool = False
    metrics: str | None = None
    grace: float = 30.0
    options: SessionOptions = field(default_factory=lambda: SessionOptions(timeout=2.0))


class Controller:
    """A controller in this process; `with Controller(config) as controller:` starts and stops it.

    Raises UsageError for what makes no sense, Unreachable where an address is taken, and what `Store` raises.
    """

    def __init__(self, config: ControllerConfig) -> None:
        self.config = config
        self._stack = contextlib.ExitStack()
        self._address = self.metrics_url = ""
        self._plane: ControlPlane | None = None

    def start(self) -> None:
        config = self.config
        host, port = _check_listen(config.listen, allowed=config.insecure or config.tls is not None)
        missing = [name for name in SETTINGS if name not in config.settings]
        if missing:
            raise UsageError(f"these settings are missing: {', '.join(missing)}")
        with contextlib.ExitStack() as stack:
            server, bound = _bind(config, f"{host}:{port}")
            stack.callback(lambda: server.stop(_GRACE_S).wait(5 * _GRACE_S))
            store = Store(config.state)
            stack.callback(store.close)
            plane = ControlPlane(config.devices, config.options, store, config.settings, grace=config.grace)
            service = ControllerService(plane)
            add_ControllerServicer_to_server(service, server)
            healthy = _add_usual_services(server)
            if config.metrics is not None:
                self._serve_metrics(config.metrics, plane, stack)
            plane.start()
            stack.callback(plane.close)
            server.start()
            # The first to be told of the end are those who would wait for it.
            stack.callback(lambda: server.stop(_GRACE_S))
            stack.callback(service.ended.set)
            stack.callback(healthy.enter_graceful_shutdown)
            self._plane, self._address = plane, f"{host}:{bound}"
            self._stack = stack.pop_all()
        log.info("listening at %s", self._address)

    def _serve_metrics(self, where: str, plane: ControlPlane, stack: contextlib.ExitStack) -> None:
        listen = parse_listen(where, is_open=self.config.insecure)
        try:
            exporter = Exporter(PlaneRounds(plane), listen, more=PlaneCollector(plane))
        except Refused as error:
            raise Unreachable(f"{error.message}; choose another with --metrics HOST:PORT") from None
        thread = threading.Thread(target=exporter.serve, name="metrics", daemon=True)
        thread.start()
        stack.callback(thread.join, 2.0)
        stack.callback(exporter.stop)
        self.metrics_url = exporter.url

    def stop(self) -> None:
        """End it all. What the switches have stays there."""
        self._stack.close()
        self._plane = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Where it listens, with the port that the kernel chose."""
        return self._address

    @property
    def plane(self) -> ControlPlane:
        if self._plane is None:
            raise RuntimeError("the controller does not run")
        return self._plane


def run_controller(
    config: ControllerConfig,
    *,
    ready: Callable[[Controller], None],
    reread: Callable[[], tuple[Iterable[Device], Mapping[str, float]]],
) -> int:
    """Run a controller until SIGINT or SIGTERM comes; which of them. SIGHUP takes over what `reread` returns.

    `ready` is called once it listens.
    """
    with _noted_signals() as received, Controller(config) as controller:
        ready(controller)
        pause = threading.Event()
        while True:
            while received:
                number = received.pop(0)
                if number != signal.SIGHUP:
                    log.info("stopping: %s", signal.Signals(number).name)
                    return number
                _reload(controller.plane, reread)
            pause.wait(_LOOK_FOR_SIGNALS_S)


def _reload(plane: ControlPlane, reread: Callable[[], tuple[Iterable[Device], Mapping[str, float]]]) -> None:
    try:
        devices, settings = reread()
        plane.reload(devices, settings)
    except CaisError as error:
        log.error("the configuration cannot be read, so the one before goes on: %s", error)
        return
    log.info("the configuration was read again")


def _bind(config: ControllerConfig, address: str) -> tuple[grpc.Server, int]:
    credentials = config.tls.credentials() if config.tls is not None else None
    server = grpc.server(
        ThreadPoolExecutor(_CALLS, thread_name_prefix="call"),
        maximum_concurrent_rpcs=_CALLS,
        options=(
            # Without this a second controller would share the port with the first.
            ("grpc.so_reuseport", 0),
            # A leader whose machine has gone without a word is to be noticed.
            ("grpc.keepalive_time_ms", 5_000),
            ("grpc.keepalive_timeout_ms", 5_000),
            ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
            ("grpc.keepalive_permit_without_calls", 1),
        ),
    )
    bound = 0
    with contextlib.suppress(RuntimeError):
        bound = (
            server.add_insecure_port(address) if credentials is None else server.add_secure_port(address, credentials)
        )
    if bound == 0:
        raise Unreachable(
            f"cannot listen at {config.listen}: the port is taken, or the address is not this machine's; "
            "choose another with --listen HOST:PORT"
        )
    return server, bound


def _add_usual_services(server: grpc.Server) -> health.HealthServicer:
    healthy = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    for name in ("", _SERVICE):
        healthy.set(name, health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection((_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return healthy


def _check_listen(text: str, *, allowed: bool) -> tuple[str, int]:
    host, separator, port = text.strip().rpartition(":")
    form = "for example 127.0.0.1:50051 or [::1]:50051; port 0 means any free port"
    if not separator or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise UsageError(f"cannot listen at {text!r}", hint=form)
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"cannot listen at {text!r}: brackets are missing", hint=f"[{host}]:{port}")
    if not allowed and not is_loopback(host):
        raise UsageError(
            f"{text} is open to the network, without TLS: anybody could stop jobs and change what is offloaded",
            hint="give it --tls-cert and --tls-key, listen at 127.0.0.1, or allow it with --insecure",
        )
    return host, int(port)


@contextlib.contextmanager
def _noted_signals() -> Generator[list[int]]:
    """Signals are noted, in the order in which they come; in the main thread only."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
