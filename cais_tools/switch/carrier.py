"""Which ports have lost their carrier: what `watch_port` and backup replicas ask (P4Runtime 1.4, 9.2.2 and 9.5.2).

Network interfaces tell, by the kernel's operational state (RFC 2863). Cables of datagrams have none to lose.
An interface is known by its index, as to the socket that a port has on it: a renamed one is the same, and one that was
deleted stays down, even where another of its name comes.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["CarrierWatch"]

_INTERFACES = Path("/sys/class/net")
_UP = ("up", "unknown")  # loopback and tunnels say "unknown"
_LOOK_EVERY = 0.1  # seconds


class CarrierWatch:
    """Looks at the links with these names, by port; `changed` gets the ports that are down whenever they are others.

    Links that are no network interface when this is made are never down. `folder` has an entry for each interface;
    `name_of` tells the name that the interface with an index has now (OSError: it is gone).
    """

    def __init__(
        self,
        names: Mapping[int, str],
        changed: Callable[[frozenset[int]], None],
        *,
        folder: Path = _INTERFACES,
        name_of: Callable[[int], str] = socket.if_indextoname,
    ) -> None:
        self._folder = folder
        self._name_of = name_of
        found = {port: folder / name.removeprefix("interface:") / "ifindex" for port, name in names.items()}
        self._indices = {port: int(each.read_text()) for port, each in found.items() if each.exists()}
        self._changed = changed
        self._down: frozenset[int] = frozenset()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="carrier", daemon=True)

    def start(self) -> None:
        """Look at once, and then all the time."""
        self.look()
        if self._indices:
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        down = frozenset(port for port, index in self._indices.items() if self._state(index) not in _UP)
        if down != self._down:
            self._down = down
            self._changed(down)

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_EVERY):
            self.look()

    def _state(self, index: int) -> str:
        try:
            return (self._folder / self._name_of(index) / "operstate").read_text().strip()
        except OSError:
            return "notpresent"
