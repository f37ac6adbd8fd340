"""What `cais sniff` is asked to look at: interfaces or files, and the filter expression behind them."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from cais_tools.errors import NotPermitted, UsageError
from cais_tools.sniff.bpf import Expression, is_expression
from cais_tools.sniff.interfaces import interface_names, look, no_such_interface

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cais_tools.sniff.files import FileSource, FilesSource
    from cais_tools.sniff.live import LiveSource

__all__ = ["capture_on", "names_and_filter", "read_from"]

_SUFFIXES = (".pcap", ".pcapng", ".cap", ".gz")
_ANY = "any"


def read_from(
    files: Sequence[str], words: Sequence[str], tell: Callable[[str], None], stopped: Callable[[], bool]
) -> tuple[FileSource | FilesSource, Expression | None]:
    """Open the files of `-r`, and what a shell has made of `-r port*.pcap`; the other words are the filter."""
    from cais_tools.sniff.files import open_files

    rest = list(words)
    more: list[str] = []
    while rest and rest[0].endswith(_SUFFIXES) and os.path.exists(rest[0]):
        more.append(rest.pop(0))
    return open_files([*files, *more], tell, stopped), _expression(rest)


def names_and_filter(
    options: Sequence[str], words: Sequence[str], ports: Mapping[str, int]
) -> tuple[list[str], Expression | None]:
    """Find the interfaces to capture on, and the filter expression.

    Without `-i` they are the words up to the first that is none; without any, those of `--ports`; without these, the
    first one that is up, as with tcpdump.
    """
    rest = list(words)
    names = list(options)
    if not names:
        known = {*interface_names(), _ANY}
        while rest and rest[0] in known:
            names.append(rest.pop(0))
        if rest and not names and not is_expression(rest[0]):
            raise no_such_interface(rest[0])
    names = list(dict.fromkeys(names or ports or [_first_up()]))
    if _ANY in names:
        names = _usable()
    missing = sorted(set(ports) - set(names))
    if missing:
        raise UsageError(f"--ports names {missing[0]}, but that is not captured", hint=f"-i {missing[0]}")
    return names, _expression(rest)


def _expression(words: Sequence[str]) -> Expression | None:
    text = " ".join(words).strip()
    return Expression(text) if text else None


def _usable() -> list[str]:
    states = {name: look(name) for name in interface_names()}
    return [name for name, state in states.items() if state is not None and state.up and state.ethernet]


def _first_up() -> str:
    for name in interface_names():
        state = look(name)
        if state is not None and state.up and state.running and state.ethernet and not state.loopback:
            return name
    raise UsageError("no interface is up", hint="name one: cais sniff INTERFACE; cais sniff -D lists them")


def capture_on(
    names: Sequence[str],
    expression: Expression | None,
    tell: Callable[[str], None],
    stopped: Callable[[], bool],
    buffer: int,
) -> LiveSource:
    """Start to capture; the kernel filters where it can tell what the expression asks for."""
    from cais_tools.sniff.batch import LinkType
    from cais_tools.sniff.live import LiveSource

    program = expression.program(LinkType.ETHERNET) if expression is not None else None
    if expression is not None and not expression.for_kernel:
        program = None
    try:
        return LiveSource(names, tell, stopped, buffer=buffer, program=program)
    except NotPermitted as error:
        again = shlex.join(["sudo", *_own_command()])
        interpreter = shlex.quote(os.path.realpath(sys.executable))
        raise NotPermitted(error.message, hint=f"{again}, or once: sudo setcap cap_net_raw+ep {interpreter}") from error


def _own_command() -> list[str]:
    """The command line that ran this, as sudo, which has a PATH of its own, will find it."""
    program, *arguments = sys.argv or ["cais"]
    if program.endswith(".py"):
        return [sys.executable, "-m", "cais_tools.cli", *arguments]
    return [os.path.abspath(program) if os.path.exists(program) else program, *arguments]
