"""The gRPC server around the service."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import grpc

from cais_tools.errors import Unreachable
from cais_tools.p4rt import p4runtime_pb2_grpc
from cais_tools.switch.device import Device
from cais_tools.switch.server.address import check_address
from cais_tools.switch.server.control import ControlPlane
from cais_tools.switch.server.service import MAX_STREAMS, P4RuntimeService

__all__ = ["P4RuntimeServer"]

# A program with its P4Info, or a large batch (P4Runtime 1.4, appendix "Maximum Receive Message Size").
_MAX_MESSAGE = 64 << 20
_MAX_CALLS = 16
_GRACE_SECONDS = 1.0


class P4RuntimeServer:
    """Serves one device at `address` (HOST:PORT, port 0: any). Only loopback, unless `insecure`."""

    def __init__(self, device: Device, *, address: str, device_id: int, insecure: bool = False) -> None:
        self._host, self._port = check_address(address, insecure=insecure)
        self._wanted = address
        self._control = ControlPlane(device, device_id)
        self._service = P4RuntimeService(self._control)
        self._server = grpc.server(
            ThreadPoolExecutor(MAX_STREAMS + _MAX_CALLS, thread_name_prefix="p4runtime"),
            options=(
                # Without this a second switch would share the port with the first, and get every other client.
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", _MAX_MESSAGE),
                ("grpc.max_send_message_length", -1),
            ),
        )
        p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(self._service, self._server)

    @property
    def address(self) -> str:
        """Where it listens, with the port that the kernel chose."""
        return f"{self._host}:{self._port}"

    def start(self) -> None:
        """Raises Unreachable where the address cannot be had."""
        try:
            bound = self._server.add_insecure_port(self._wanted)
        except RuntimeError:
            bound = 0
        if bound == 0:
            raise Unreachable(
                f"cannot listen at {self._wanted}: the port is taken, or the address is not this machine's",
                hint="choose another with --grpc HOST:PORT (port 0: any free one)",
            )
        self._port = bound
        self._control.notifier.start()
        self._server.start()

    def stop(self) -> None:
        """End streams and calls, and everything that `start` started."""
        self._service.close()
        self._server.stop(_GRACE_SECONDS).wait()
        self._control.notifier.stop()
