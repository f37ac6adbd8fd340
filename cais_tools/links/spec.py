"""Links by name, as users write them: `veth1`, `interface:veth1`, `cable:9001:9101`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.links.link import Link

__all__ = ["HIGHEST_PORT", "open_link", "parse_ports"]

HIGHEST_PORT = 510
"""v1model's ports have nine bits, and 511 means "drop"."""

_MAX_UDP_PORT = 65535
_FORMS = "a link is an interface (veth1, interface:veth1) or a cable (cable:LOCAL:PEER, two UDP ports on 127.0.0.1)"


def open_link(spec: str) -> Link:
    """Open `cable:LOCAL:PEER` (LOCAL 0: the kernel chooses), `interface:NAME` or `NAME`.

    To see how everything behaves on a bad link, append its faults: `veth1?loss=2%&corrupt=0.1%&seed=7`, of loss,
    duplicate, reorder, corrupt (shares of the frames, in each direction) and seed.

    Raises UsageError for a spec that makes no sense or an interface that does not exist, NotPermitted without the
    privilege that raw sockets need, Refused when the kernel says no (a UDP port that is taken).
    """
    spec, mark, faults = spec.partition("?")
    if mark:
        from cais_tools.links.faults import FaultyLink, parse_faults

        return FaultyLink(open_link(spec), parse_faults(faults))
    kind, separator, rest = spec.strip().partition(":")
    if kind == "cable":
        from cais_tools.links.cable import Cable

        local, peer = _cable_ports(spec, rest)
        return Cable(local, peer)
    from cais_tools.links.interface import Interface

    name = rest if separator and kind == "interface" else spec.strip()
    if not name:
        raise UsageError(f"{spec!r} names no link", hint=_FORMS)
    return Interface(name)


def _cable_ports(spec: str, rest: str) -> tuple[int, int]:
    numbers = rest.split(":")
    if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise UsageError(f"{spec!r} is no cable", hint=_FORMS)
    local, peer = (int(number) for number in numbers)
    if local > _MAX_UDP_PORT or not 1 <= peer <= _MAX_UDP_PORT:
        raise UsageError(
            f"{spec!r}: UDP ports are 1 to {_MAX_UDP_PORT} (LOCAL may be 0: the kernel chooses)", hint=_FORMS
        )
    if local == peer:
        raise UsageError(f"{spec!r}: both ends of the cable are the same port", hint=_FORMS)
    return local, peer


def parse_ports(text: str) -> dict[int, str]:
    """Parse `1=cable:0:9001,2=veth2` into {port: link spec}, in the order given.

    Raises UsageError for port 0, a port or a link given twice, or anything that is no PORT=LINK list.
    """
    ports: dict[int, str] = {}
    for item in text.split(","):
        number, separator, spec = (part.strip() for part in item.partition("="))
        if not separator or not spec or not (number.isascii() and number.isdigit()):
            raise UsageError(f"{item.strip()!r} is no PORT=LINK", hint="for example 1=veth1,2=cable:9002:9102")
        port = int(number)
        if port == 0:
            raise UsageError("port 0 does not exist", hint="ports are the switch's own numbers and start at 1")
        if port > HIGHEST_PORT:
            raise UsageError(f"port {port} does not exist", hint=f"ports are 1 to {HIGHEST_PORT}")
        if port in ports:
            raise UsageError(f"port {port} is given twice: {ports[port]} and {spec}")
        ports[port] = spec
    _refuse_shared_links(ports)
    return ports


def _refuse_shared_links(ports: dict[int, str]) -> None:
    owner: dict[str, int] = {}
    for port, spec in ports.items():
        if spec.startswith("cable:0:"):  # each gets a local port of its own
            continue
        link = spec.removeprefix("interface:")
        if link in owner:
            raise UsageError(f"ports {owner[link]} and {port} are the same link, {spec}")
        owner[link] = port
