"""Endpoints without torch: the leader gathers every rank's tensor over TCP, computes, and sends the results back.

It moves n tensors into one process, so it is for what a group does seldom: falling back without `torch`. Within
`torch.distributed` gloo or NCCL takes its place.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import struct
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from cais_tools.errors import CaisError, Unreachable
from cais_tools.training.combine import combine
from cais_tools.training.operations import Operation, Tensor

__all__ = ["Endpoints", "Star", "StarServer"]

T = TypeVar("T")

_HELLO = struct.Struct("!I32s")
_HEAD = struct.Struct("!QQ")  # number of the operation, bytes


class Endpoints(Protocol):
    """How a rank does an operation with the other ranks alone. Raises CaisError where that fails, too."""

    def run(self, operation: Operation, number: int) -> Tensor:
        """The result, as the switch would have given it."""
        ...

    def close(self) -> None:
        """End the connections; whoever waits in `run` gets an error."""
        ...


class StarServer:
    """The leader's listener; `connections` has the other ranks' sockets once all have come."""

    def __init__(self, host: str, ranks: int, secret: str) -> None:
        self._listener = socket.create_server((host, 0))
        self._ranks, self._secret = ranks, secret.encode()[:32].ljust(32)
        self.connections: dict[int, socket.socket] = {}
        self.complete = threading.Event()
        if ranks == 1:
            self.complete.set()
        threading.Thread(target=self._accept, name="cais-star", daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self.complete.is_set():
                connection, _ = self._listener.accept()
                connection.settimeout(5.0)
                rank, secret = _HELLO.unpack(_receive(connection, _HELLO.size))
                if not hmac.compare_digest(secret, self._secret) or not 0 < rank < self._ranks:
                    connection.close()
                    continue
                self.connections[rank] = connection
                if len(self.connections) == self._ranks - 1:
                    self.complete.set()

    def close(self) -> None:
        self.complete.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections.values():
            _hang_up(connection)


class Star:
    """One rank's place in the star; `server` is the leader's own."""

    def __init__(
        self, rank: int, ranks: int, address: tuple[str, int], secret: str, timeout: float, server: StarServer | None
    ) -> None:
        self._rank, self._ranks, self._timeout = rank, ranks, timeout
        self._server = server
        self._socket: socket.socket | None = None
        if server is None:
            self._socket = _guarded(lambda: socket.create_connection(address, timeout))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(_HELLO.pack(rank, secret.encode()[:32].ljust(32)))

    def run(self, operation: Operation, number: int) -> Tensor:
        if self._server is not None:
            return _guarded(lambda: self._lead(operation, number))
        return _guarded(lambda: self._follow(operation, number))

    def _follow(self, operation: Operation, number: int) -> Tensor:
        assert self._socket is not None
        _send(self._socket, number, operation.array)
        return _result(operation, _receive_tensor(self._socket, number), self._ranks)

    def _lead(self, operation: Operation, number: int) -> Tensor:
        assert self._server is not None
        if not self._server.complete.wait(self._timeout):
            raise Unreachable("not all ranks have connected to rank 0")
        connections = self._server.connections
        tensors = [operation.array]
        for rank in range(1, self._ranks):
            connections[rank].settimeout(self._timeout)
            data = _receive_tensor(connections[rank], number)
            tensors.append(np.frombuffer(data, operation.array.dtype).reshape(operation.array.shape))
        results = combine(operation.kind, operation.dtype, tensors, operation.root)
        for rank in range(1, self._ranks):
            _send(connections[rank], number, results[rank])
        return results[0]

    def close(self) -> None:
        if self._socket is not None:
            _hang_up(self._socket)
        if self._server is not None:
            self._server.close()


def _result(operation: Operation, data: bytearray, ranks: int) -> Tensor:
    array, shape = operation.array, operation.array.shape
    if operation.kind == "ALL_GATHER":
        shape = (ranks, *shape)
    elif operation.kind == "REDUCE_SCATTER":
        shape = (shape[0] // ranks, *shape[1:])
    return np.frombuffer(data, array.dtype).reshape(shape)


def _guarded(call: Callable[[], T]) -> T:
    try:
        return call()
    except (OSError, ValueError) as error:
        raise Unreachable(f"the ranks cannot reach each other: {error}") from error


def _send(connection: socket.socket, number: int, array: Tensor) -> None:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    connection.sendall(_HEAD.pack(number, data.nbytes))
    connection.sendall(data.data)


def _receive_tensor(connection: socket.socket, number: int) -> bytearray:
    theirs, size = _HEAD.unpack(_receive(connection, _HEAD.size))
    if theirs != number:
        raise CaisError(f"a rank does operation {theirs} on its endpoint while another does {number}")
    return _receive(connection, size)


def _receive(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        got = connection.recv_into(view[have:])
        if not got:
            raise OSError("a rank has hung up")
        have += got
    return data


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
