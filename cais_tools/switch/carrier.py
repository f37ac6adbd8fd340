"""Which ports have lost their carrier: what `watch_port` and backup replicas ask (P4Runtime 1.4, 9.2.2 and 9.5.2).

Network interfaces tell, by the kernel's operational state (RFC 2863). Cables of datagrams have none to lose.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["CarrierWatch"]

_INTERFACES = Path("/sys/class/net")
_UP = ("up", "unknown")  # loopback and tunnels say "unknown"
_SECONDS = 0.1


class CarrierWatch:
    """Looks at the links with these names, by port; `changed` gets the ports that are down whenever they are others.

    Links that are no network interface when this is made are never down. `folder` has an entry for each interface.
    """

    def __init__(
        self, names: Mapping[int, str], changed: Callable[[frozenset[int]], None], *, folder: Path = _INTERFACES
    ) -> None:
        states = {port: folder / name.removeprefix("interface:") / "operstate" for port, name in names.items()}
        self._states = {port: state for port, state in states.items() if state.exists()}
        self._changed = changed
        self._down: frozenset[int] = frozenset()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="carrier", daemon=True)

    def start(self) -> None:
        """Look at once, and then all the time."""
        self.look()
        if self._states:
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        down = frozenset(port for port, state in self._states.items() if _read(state) not in _UP)
        if down != self._down:
            self._down = down
            self._changed(down)

    def _run(self) -> None:
        while not self._ended.wait(_SECONDS):
            self.look()


def _read(state: Path) -> str:
    try:
        return state.read_text().strip()
    except OSError:
        return "notpresent"
