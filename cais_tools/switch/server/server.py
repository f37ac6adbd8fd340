"""The gRPC server around the service."""

# pyright: reportUnknownMemberType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc

from cais_tools.errors import Unreachable
from cais_tools.gnmi import gnmi_pb2
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.device import Device
from cais_tools.switch.server.address import check_address
from cais_tools.switch.server.control import ControlPlane
from cais_tools.switch.server.gnmi import GnmiService
from cais_tools.switch.server.handlers import service_handler
from cais_tools.switch.server.limits import Limits
from cais_tools.switch.server.profile import Profile
from cais_tools.switch.server.service import P4RuntimeService
from cais_tools.switch.server.stalls import StallWatch
from cais_tools.switch.server.tls import Tls

__all__ = ["P4RuntimeServer"]

_GRACE_SECONDS = 1.0


class P4RuntimeServer:
    """Serves one device at `address` (HOST:PORT, port 0: any). Only loopback, unless with `tls` or `insecure`.

    `temperature` is what gNMI tells, in degrees Celsius; where the profile offers gNMI.

    Raises UsageError for an address that must not be, and for TLS files that are none.
    """

    def __init__(
        self,
        device: Device,
        *,
        address: str,
        device_id: int,
        insecure: bool = False,
        tls: Tls | None = None,
        profile: Profile | None = None,
        limits: Limits | None = None,
        temperature: Callable[[], float | None] = lambda: None,
    ) -> None:
        limits, profile = limits or Limits(), profile or Profile()
        self._host, self._port = check_address(address, allowed=insecure or tls is not None)
        self._wanted = address
        self._credentials = tls.credentials() if tls is not None else None
        self._control = ControlPlane(device, device_id, profile, packet_bytes=limits.packet_bytes)
        self._stalls = StallWatch(limits.stalled_ms / 1000)
        self._service = P4RuntimeService(self._control, profile, self._stalls, max_streams=limits.streams)
        self._gnmi = GnmiService(temperature, self._stalls, max_subscriptions=limits.subscriptions)
        at_once = limits.streams + limits.calls + (limits.subscriptions if profile.offers_gnmi else 0)
        self._server = grpc.server(
            ThreadPoolExecutor(at_once, thread_name_prefix="p4runtime"),
            maximum_concurrent_rpcs=at_once,
            options=(
                # Without this a second switch would share the port with the first, and get every other client.
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", limits.message_bytes or profile.max_message),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_allowed_incoming_connections", limits.connections),
                ("grpc.server_handshake_timeout_ms", limits.handshake_ms),
                ("grpc.max_connection_idle_ms", limits.idle_ms),
                ("grpc.keepalive_time_ms", limits.silent_ms),
                ("grpc.keepalive_timeout_ms", limits.silent_ms),
                ("grpc.http2.ping_timeout_ms", limits.silent_ms),
            ),
        )
        self._server.add_generic_rpc_handlers(
            (service_handler(p4runtime_pb2, "P4Runtime", self._service, self._stalls),)
        )
        if profile.offers_gnmi:
            self._server.add_generic_rpc_handlers((service_handler(gnmi_pb2, "gNMI", self._gnmi, self._stalls),))

    @property
    def address(self) -> str:
        """Where it listens, with the port that the kernel chose."""
        return f"{self._host}:{self._port}"

    def start(self) -> None:
        """Raises Unreachable where the address cannot be had."""
        bound = 0
        with contextlib.suppress(RuntimeError):
            bound = self._bind()
        if bound == 0:
            raise Unreachable(
                f"cannot listen at {self._wanted}: the port is taken, or the address is not this machine's",
                hint="choose another with --grpc HOST:PORT (port 0: any free one)",
            )
        self._port = bound
        self._control.notifier.start()
        self._stalls.start()
        self._server.start()

    def _bind(self) -> int:
        if self._credentials is None:
            return self._server.add_insecure_port(self._wanted)
        return self._server.add_secure_port(self._wanted, self._credentials)

    def stop(self) -> None:
        """End streams and calls, and everything that `start` started."""
        self._service.close()
        self._gnmi.close()
        self._server.stop(_GRACE_SECONDS).wait(5 * _GRACE_SECONDS)
        self._control.notifier.stop()
        self._stalls.stop()
