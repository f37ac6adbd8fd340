"""The embedded switch as a whole: links, device and P4Runtime server, started and ended together."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Literal, Self

from cais_tools.errors import UsageError
from cais_tools.links import HIGHEST_PORT, open_link
from cais_tools.switch.device import Device
from cais_tools.switch.ports import PortStats
from cais_tools.switch.server import Bmv2Profile, Limits, P4RuntimeServer, Profile, Tls
from cais_tools.switch.thermometer import Thermometer

if TYPE_CHECKING:
    from cais_tools.links import Link
    from cais_tools.switch.tracing import PassTrace

__all__ = ["EmbeddedSwitch", "SwitchConfig", "Tls", "run_switch"]


@dataclass(frozen=True)
class SwitchConfig:
    """What a switch is made of.

    `grpc_address` is HOST:PORT, port 0 for any free one; beyond loopback only with `tls` or `insecure`. `profile`: who
    the P4Runtime server answers like, the specification or bmv2's simple_switch_grpc (whose device id is usually 0,
    which the specification does not allow). `on_trace` is told about every pass of every packet (`Device`); `record`
    FILE.pcap writes what goes through each port N, both ways, into FILE-portN.pcap. `ports` are links as
    `links.open_link` takes them, by port number (1 to 510). Frames for `cpu_port` are packet-ins, and packet-outs come
    from there. `queue_depth` is in packets, for each port. `temperature` is what the switch tells over gNMI that
    its chip has, in degrees Celsius, or a file with that number, which is read each time somebody asks; None: it tells
    none. bmv2's simple_switch_grpc offers no gNMI.
    """

    grpc_address: str = "127.0.0.1:9559"
    ports: Mapping[int, str] = field(default_factory=dict[int, str])
    device_id: int = 1
    cpu_port: int = HIGHEST_PORT
    queue_depth: int = 1024
    log_packets: bool = False
    on_trace: Callable[[PassTrace], None] | None = None
    record: Path | None = None
    insecure: bool = False
    tls: Tls | None = None
    profile: Literal["spec", "bmv2"] = "spec"
    temperature: float | Path | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Raises UsageError for what cannot be."""
        lowest = 0 if self.profile == "bmv2" else 1
        if not lowest <= self.device_id < 1 << 64:
            raise UsageError(f"device id {self.device_id} is not possible: ids start at {lowest} and have 64 bits")
        if self.queue_depth < 1:
            raise UsageError(f"a queue of {self.queue_depth} packets holds nothing")
        if not 0 < self.cpu_port <= HIGHEST_PORT:
            raise UsageError(f"CPU port {self.cpu_port} is not possible: ports are 1 to {HIGHEST_PORT}")
        for number in self.ports:
            if number == 0:
                raise UsageError("port 0 does not exist", hint="ports are the switch's own numbers and start at 1")
            if not 0 < number <= HIGHEST_PORT:
                raise UsageError(f"port {number} does not exist: ports are 1 to {HIGHEST_PORT}")
        if self.cpu_port in self.ports:
            raise UsageError(f"port {self.cpu_port} is the CPU port, it cannot have a link")
        if self.temperature is not None and self.profile == "bmv2":
            raise UsageError(
                "simple_switch_grpc tells no temperature", hint="leave out --temperature or --profile bmv2"
            )


# Seconds from a signal to its effect, at most.
_LOOK_FOR_SIGNALS = 0.1


class EmbeddedSwitch:
    """A switch in this process; `with EmbeddedSwitch(config) as switch:` starts and stops it."""

    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self._stack = contextlib.ExitStack()
        self._links: dict[int, Link] = {}
        self._device: Device | None = None
        self._server: P4RuntimeServer | None = None

    def start(self) -> None:
        """Raises what `open_link` raises, Unreachable where the address is taken, UsageError where it must not be."""
        config = self.config
        thermometer = Thermometer(config.temperature)
        links: dict[int, Link] = {}
        with contextlib.ExitStack() as stack:
            for number, spec in config.ports.items():
                links[number] = _open(number, spec, config.record, stack)
            device = Device(
                links,
                cpu_port=config.cpu_port,
                queue_depth=config.queue_depth,
                log_packets=config.log_packets,
                on_trace=config.on_trace,
            )
            server = P4RuntimeServer(
                device,
                address=config.grpc_address,
                device_id=config.device_id,
                insecure=config.insecure,
                tls=config.tls,
                profile=Bmv2Profile(config.device_id) if config.profile == "bmv2" else Profile(),
                limits=config.limits,
                temperature=thermometer.read,
            )
            device.start()
            stack.callback(device.stop)
            server.start()
            stack.callback(server.stop)
            self._links, self._device, self._server = links, device, server
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """End the server, then the packets, then the links. Does nothing where the switch does not run."""
        self._stack.close()
        self._links, self._device, self._server = {}, None, None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Where the P4Runtime server listens."""
        if self._server is None:
            raise RuntimeError("the switch does not run")
        return self._server.address

    @property
    def ports(self) -> dict[int, str]:
        """Each port's link, with the UDP port that the kernel chose for a cable."""
        return {number: link.name for number, link in self._links.items()}

    @property
    def device(self) -> Device:
        if self._device is None:
            raise RuntimeError("the switch does not run")
        return self._device

    def stats(self) -> dict[int, PortStats]:
        return self.device.stats()


def _open(number: int, spec: str, record: Path | None, stack: contextlib.ExitStack) -> Link:
    link = open_link(spec)
    stack.callback(link.close)
    if record is None:
        return link
    from cais_tools.links.pcap import PcapWriter, RecordingLink

    if not record.name:
        raise UsageError(f"cannot record into {record}: it is a folder", hint="for example --record trace.pcap")
    writer = stack.enter_context(PcapWriter(record.with_name(f"{record.stem}-port{number}{record.suffix}")))
    return RecordingLink(link, writer)


def run_switch(
    config: SwitchConfig,
    *,
    ready: Callable[[EmbeddedSwitch], None] | None = None,
    stop: threading.Event | None = None,
) -> int | None:
    """Run a switch until `stop` is set, or SIGINT or SIGTERM comes (in the main thread); which signal it was.

    `ready` is called once it listens. `stop` is set before the switch ends, whatever ends it: what waits in
    `on_trace` for a reader must give up then. Everything is closed when this returns or raises.
    """
    stop = stop if stop is not None else threading.Event()
    with _noted_signals() as received, EmbeddedSwitch(config) as switch:
        if ready is not None:
            ready(switch)
        try:
            while not received and not stop.wait(_LOOK_FOR_SIGNALS):
                pass
        finally:
            stop.set()
    return received[0] if received else None


@contextlib.contextmanager
def _noted_signals() -> Generator[list[int]]:
    """SIGINT and SIGTERM are noted. Only the main thread may handle signals; others note none.

    Noting takes no lock: a second signal may come while the first is being handled, and must not wait for it.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
