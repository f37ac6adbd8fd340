"""`cais sniff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cais_tools.cli.options import option
from cais_tools.cli.output import emit_json, say
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cais_tools.sniff.dump import Rotation


def sniff(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[INTERFACE..] [FILTER..]", help="Interfaces, then an expression as tcpdump has it."),
    ] = None,
    interface: Annotated[
        list[str] | None,
        option("--interface", "-i", metavar="NAME", help="Capture here; may be repeated; any: everywhere."),
    ] = None,
    read: Annotated[
        list[str] | None,
        option("--read", "-r", metavar="FILE", help="Read pcap, pcapng or gzip of them; - is stdin; several merge."),
    ] = None,
    write: Annotated[
        str | None, option("--write", "-w", metavar="FILE", help="Write packets into a pcap file; - is stdout.")
    ] = None,
    group: Annotated[str | None, option("--group", metavar="LIST", help="Only these groups: 0-3,7.")] = None,
    layer: Annotated[str | None, option("--layer", metavar="LIST", help="Only these layers.")] = None,
    chunk: Annotated[str | None, option("--chunk", metavar="LIST", help="Only these chunks.")] = None,
    op: Annotated[str | None, option("--op", metavar="LIST", help="Only these: allreduce,broadcast,3-5.")] = None,
    port: Annotated[
        str | None, option("--port", metavar="LIST", help="Only at these switch ports; see --ports.")
    ] = None,
    seq: Annotated[str | None, option("--seq", metavar="LIST", help="Only these packet numbers.")] = None,
    ports: Annotated[
        str | None,
        option(envvar="CAIS_PORTS", metavar="LIST", help="Interface or file at each switch port: 1=veth1,2=veth2."),
    ] = None,
    expect: Annotated[
        str | None,
        option("--expect", metavar="SPEC", help="Mark packets that differ: group=0,layer=5,op=allreduce,ports=1-4."),
    ] = None,
    slots: Annotated[
        bool, option("--slots", help="Instead of packets, a line for each aggregate; stragglers.")
    ] = False,
    verify: Annotated[bool, option("--verify", help="Recompute each sum, and compare it with the result.")] = False,
    stats: Annotated[bool, option("--stats", help="Packets, bytes, rates and losses by group, op and port.")] = False,
    wireshark_plugin: Annotated[
        bool, option("--wireshark-plugin", help="Print the dissector for Wireshark; or: install [PATH].")
    ] = False,
    count: Annotated[int | None, option("--count", "-c", metavar="N", min=1, help="End after N packets.")] = None,
    list_interfaces: Annotated[bool, option("--list-interfaces", "-D", help="List the interfaces, and exit.")] = False,
    numeric: Annotated[bool, option("--numeric", "-n", help="Addresses and numbers instead of names.")] = False,
    link: Annotated[bool, option("--link", "-e", help="Show addresses, VLAN tags and length of the frame.")] = False,
    verbose: Annotated[
        int, option("--verbose", "-v", count=True, show_default=False, help="Show the whole header and the lanes.")
    ] = 0,
    hexadecimal: Annotated[
        int, option("--hex", "-x", count=True, show_default=False, help="Show the bytes; -xx: of the whole frame.")
    ] = 0,
    snaplen: Annotated[
        int, option("--snapshot-length", "-s", metavar="N", min=0, help="Keep N bytes of a frame; 0: all.")
    ] = 0,
    direction: Annotated[
        Literal["in", "out", "inout"], option("--direction", "-Q", help="Which way packets pass the interface.")
    ] = "inout",
    file_size: Annotated[
        str | None, option("-C", metavar="SIZE", help="With -w, next file after SIZE million bytes, or 64k, 64m, 1g.")
    ] = None,
    file_seconds: Annotated[
        int | None, option("-G", metavar="SECONDS", min=1, help="With -w, next file so often; its name: strftime.")
    ] = None,
    file_count: Annotated[
        int | None, option("-W", metavar="N", min=1, help="With -C: N files in turn; with -G: end after N.")
    ] = None,
    unbuffered: Annotated[bool, option("--packet-buffered", "-U", help="With -w, write packets at once.")] = False,
    buffer_size: Annotated[
        int, option("--buffer-size", "-B", metavar="KIB", min=512, max=2**20, help="Kernel buffer an interface.")
    ] = 32768,
    utc: Annotated[bool, option("--utc", help="Times in UTC, not in the local zone.")] = False,
    json: Annotated[bool, option("--json", help="Print NDJSON, one document a packet.")] = False,
) -> None:
    """Show the CAIS packets that pass, or those of a capture file.

    The letters are tcpdump's. Other packets are counted, and written with -w. Ctrl-C ends a capture with a summary.
    """
    if list_interfaces:
        _list_interfaces(json)
        return
    if wireshark_plugin:
        _wireshark_plugin(words or [], json)
        return
    from cais_tools.cli.sniff_run import Request, run
    from cais_tools.sniff.filters import FieldFilter
    from cais_tools.sniff.printing import Style

    request = Request(
        words=words or [],
        interfaces=interface or [],
        files=read or [],
        write=write,
        rotation=_rotation(write, file_size, file_seconds, file_count),
        unbuffered=unbuffered,
        fields=FieldFilter.parse(group=group, layer=layer, chunk=chunk, op=op, port=port, seq=seq),
        ports=ports,
        count=count,
        snaplen=snaplen or None,
        direction=direction,
        buffer=buffer_size << 10,
        style=Style(utc=utc, numeric=numeric, link=link, verbose=verbose > 0, hex=hexadecimal, colour=_colour()),
        json=json,
        expect=expect,
        views=[name for name, wanted in (("slots", slots), ("verify", verify), ("stats", stats)) if wanted],
    )
    code = run(request)
    if code:
        raise typer.Exit(code)


def _colour() -> bool:
    import sys

    from cais_tools.cli.output import coloured

    return coloured("", "red", sys.stdout) != ""


def _rotation(write: str | None, size: str | None, seconds: int | None, files: int | None) -> Rotation:
    from cais_tools.sniff.dump import Rotation, parse_size

    if write is None and (size is not None or seconds is not None or files is not None):
        raise UsageError("-C, -G and -W are about the files of -w", hint="-w FILE")
    if files is not None and size is None and seconds is None:
        raise UsageError("-W needs -C or -G: with neither there is one file")
    if write == "-" and (size is not None or seconds is not None):
        raise UsageError("standard output is one file: -C and -G need a name behind -w")
    return Rotation(None if size is None else parse_size(size), seconds, files)


def _wireshark_plugin(words: Sequence[str], json: bool) -> None:
    """Print the dissector, or with `install` put it where Wireshark looks, or into the folder or file behind it."""
    from pathlib import Path

    from cais_tools.wire import wireshark

    if not words:
        say(wireshark.dissector().rstrip("\n"))
        return
    if words[0] != "install" or len(words) > 2:
        raise UsageError(
            f"--wireshark-plugin: {' '.join(words)!r} is not install [PATH]", hint="--wireshark-plugin install"
        )
    path = wireshark.install(Path(words[1]) if len(words) == 2 else None)
    if json:
        emit_json("cais.wireshark/1", {"installed": str(path)})
    else:
        say(f"installed {path}")


def _list_interfaces(json: bool) -> None:
    """Tcpdump's list: number, name, state."""
    from cais_tools.sniff.interfaces import interface_names, look

    for number, name in enumerate(interface_names(), 1):
        state = look(name)
        if state is None:
            continue
        words = [
            "up" if state.up else "down",
            *(["running"] if state.running else []),
            *(["loopback"] if state.loopback else []),
            *([] if state.ethernet else ["no Ethernet frames"]),
        ]
        if json:
            document = {"name": name, "index": state.index, "up": state.up, "running": state.running}
            emit_json("cais.interface/1", {**document, "loopback": state.loopback, "ethernet": state.ethernet})
        else:
            say(f"{number}.{name} [{', '.join(words)}]")
