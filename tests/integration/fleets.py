"""A fleet of eight switches in this process, three of them not as they should be, and the cais.toml that names them."""

from __future__ import annotations

import socket
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cais_tools.session import SessionOptions, connect, load_shipped
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.benchmarks.traffic import router

__all__ = ["DOWN", "FINE", "OTHER_PROGRAM", "TAKEN", "Fleet", "a_fleet", "free_address", "toml"]

NAMES = tuple(f"leaf{number}" for number in range(1, 9))
DOWN, OTHER_PROGRAM, TAKEN = "leaf3", "leaf5", "leaf7"
FINE = tuple(name for name in NAMES if name not in (DOWN, OTHER_PROGRAM, TAKEN))


@dataclass(frozen=True)
class Fleet:
    """`file` names all of them; nothing listens at the address of DOWN, OTHER_PROGRAM routes, and another client is
    primary on TAKEN. Every port N is called swpN.
    """

    file: Path
    addresses: Mapping[str, str]


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def toml(addresses: Mapping[str, str], ports: int = 4) -> str:
    names = ", ".join(f"swp{port} = {port}" for port in range(1, ports + 1))
    return "".join(
        f'[devices.{name}]\naddress = "{address}"\nports = {{ {names} }}\n' for name, address in addresses.items()
    )


@contextmanager
def a_fleet(folder: Path) -> Generator[Fleet]:
    """All but DOWN run the shipped program (TAKEN's primary has loaded it), OTHER_PROGRAM another one."""
    with ExitStack() as stack:
        ports: dict[int, str] = dict.fromkeys((1, 2, 3, 4), "cable:0:9")
        switches = {
            name: stack.enter_context(EmbeddedSwitch(SwitchConfig("127.0.0.1:0", ports)))
            for name in NAMES
            if name != DOWN
        }
        addresses = {name: switches[name].address if name in switches else free_address() for name in NAMES}
        for name in switches:
            session = connect(addresses[name], SessionOptions(timeout=20))
            if name == TAKEN:
                stack.enter_context(session)
            session.load(router(1).pipeline() if name == OTHER_PROGRAM else load_shipped())
            if name != TAKEN:
                session.close()
        file = folder / "cais.toml"
        file.write_text(toml(addresses))
        yield Fleet(file, addresses)
