"""What the handlers of all entity kinds share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["DELETE", "INSERT", "MODIFY", "Handler", "Ports", "Undo", "check_index", "nothing", "only_modify"]

INSERT = p4runtime_pb2.Update.INSERT
MODIFY = p4runtime_pb2.Update.MODIFY
DELETE = p4runtime_pb2.Update.DELETE

Undo = Callable[[], None]
"""Takes an update back, as long as nothing later was written."""


def nothing() -> None:
    """The Undo of an update that changed nothing."""


class Handler(Protocol):
    """Writes and reads one kind of entity. Messages are the kind's own, not wrapped in Entity.

    Both raise P4Error or StateError; `read` may do so while it is iterated.
    """

    def write(self, kind: p4runtime_pb2.Update.Type, entry: Any) -> Undo: ...

    def read(self, entry: Any) -> Iterator[p4runtime_pb2.Entity]: ...


@dataclass(frozen=True)
class Ports:
    """The ports that a packet can leave by; `cpu` is the P4Runtime client. `must_exist`: no others may be named."""

    numbers: Collection[int]
    cpu: int
    must_exist: bool = True

    def check(self, port: int, where: str) -> int:
        if port == self.cpu or port in self.numbers or not self.must_exist:
            return port
        known = ", ".join(str(number) for number in sorted(self.numbers)) or "none"
        hint = " (ports start at 1)" if port == 0 else ""
        # Ports come as bytes of any length, and Python writes no numbers of thousands of digits.
        wanted = str(port) if port.bit_length() <= 64 else f"of {port.bit_length()} bits"
        raise invalid(f"{where}: there is no port {wanted}{hint}; ports are {known}, and {self.cpu} is the CPU's")


def only_modify(kind: p4runtime_pb2.Update.Type, what: str) -> None:
    if kind != MODIFY:
        raise invalid(f"{what} can only be modified: its entries are always there")


def check_index(index: int, size: int, where: str) -> int:
    if index < 0:
        raise invalid(f"{where}: index {index} is negative")
    if index >= size:
        raise P4Error(code_pb2.OUT_OF_RANGE, f"{where}: index {index}, but its size is {size}")
    return index
