"""The network interfaces of this machine: names, and what state they are in (netdevice(7))."""

from __future__ import annotations

import difflib
import fcntl
import socket
import struct
from dataclasses import dataclass

from cais_tools.errors import UsageError

__all__ = ["InterfaceState", "interface_names", "look", "no_such_interface"]

_SIOCGIFFLAGS, _SIOCGIFHWADDR = 0x8913, 0x8927
_IFF_UP, _IFF_LOOPBACK, _IFF_RUNNING = 0x1, 0x8, 0x40
_ARPHRD_ETHER, _ARPHRD_LOOPBACK = 1, 772
_NAME_BYTES = 15


@dataclass(frozen=True)
class InterfaceState:
    index: int
    up: bool
    running: bool
    """Whether there is a carrier too."""
    loopback: bool
    ethernet: bool


def interface_names() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def look(name: str) -> InterfaceState | None:
    """The state of an interface; None where there is none of this name."""
    encoded = name.encode("utf-8", "replace")
    if not encoded or len(encoded) > _NAME_BYTES or b"\0" in encoded:
        return None
    request = struct.pack("16s24x", encoded)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            index = socket.if_nametoindex(name)
            flags = struct.unpack_from("H", fcntl.ioctl(sock, _SIOCGIFFLAGS, request), 16)[0]
            kind = struct.unpack_from("H", fcntl.ioctl(sock, _SIOCGIFHWADDR, request), 16)[0]
        except OSError:
            return None
    return InterfaceState(
        index=index,
        up=bool(flags & _IFF_UP),
        running=bool(flags & _IFF_RUNNING),
        loopback=bool(flags & _IFF_LOOPBACK),
        ethernet=kind in (_ARPHRD_ETHER, _ARPHRD_LOOPBACK),
    )


def no_such_interface(name: str) -> UsageError:
    """The error for a name that no interface has, with those that are nearest to it."""
    names = interface_names()
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"this machine has: {', '.join(names) or 'none'}"
    return UsageError(f"no interface {name!r}", hint=hint)
