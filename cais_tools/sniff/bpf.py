"""Filter expressions as tcpdump has them (pcap-filter(7)), compiled by libpcap."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import Batch

__all__ = ["Expression", "is_expression"]

_NAMES = ("libpcap.so.0.8", "libpcap.so.1", "libpcap.so")
_SNAPLEN = 262_144
_NO_NETMASK = 0xFFFFFFFF
_INSTRUCTION_BYTES = 8
# What the kernel would look at before the VLAN tag that it took off is back in its place.
_SEES_TAGS = re.compile(
    r"\bvlan\b|\b(ether|link)\s*\[|\bproto\s+\\?(0x8100|0x88a8|0x9100|33024|34984|37120)\b", re.IGNORECASE
)
_FIRST_WORDS = """
    not ether link fddi tr wlan vlan mpls pppoed pppoes geneve vxlan host net mask port portrange src dst tcp udp icmp
    icmp6 igmp igrp pim vrrp carp ah esp sctp ip ip6 arp rarp proto protochain gateway broadcast multicast less greater
    len length inbound outbound ifindex ifname type subtype dir atalk aarp decnet iso stp ipx netbeui lat moprc mopdl
    es-is esis is-is isis clnp lane lldp
"""


def is_expression(word: str) -> bool:
    """Whether a filter expression may begin with this word, other than with a name or number."""
    return word.lower() in _FIRST_WORDS.split() or word[:1] in "(!-" or "[" in word


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint), ("instructions", ctypes.c_void_p))


@cache
def _libpcap() -> Any:
    for name in _NAMES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.pcap_open_dead.restype = ctypes.c_void_p
        library.pcap_geterr.restype = ctypes.c_char_p
        library.pcap_geterr.argtypes = library.pcap_close.argtypes = [ctypes.c_void_p]
        library.pcap_compile.argtypes = [
            ctypes.c_void_p, ctypes.POINTER(_Program), ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32
        ]  # fmt: skip
        library.bpf_filter.restype = ctypes.c_uint
        library.bpf_filter.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        return library
    raise UsageError(
        "filter expressions need libpcap, which is not installed: apt install libpcap0.8",
        hint="--group, --layer, --chunk, --op, --port and --seq work without it",
    )


class Expression:
    """An expression, compiled for each link type that it meets.

    Raises UsageError: with libpcap's own words for one that makes no sense, or where there is no libpcap.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._programs: dict[int, bytes] = {}

    @property
    def for_kernel(self) -> bool:
        """Whether the kernel's answer, which sees frames without their outer VLAN tag, is the right one."""
        return not _SEES_TAGS.search(self._text)

    def program(self, link_type: int) -> bytes:
        """The instructions, in the machine's byte order: what SO_ATTACH_FILTER takes."""
        if link_type not in self._programs:
            self._programs[link_type] = _compiled(self._text, link_type)
        return self._programs[link_type]

    def check(self, link_types: list[int]) -> None:
        """Compile ahead of the first packet."""
        for link_type in link_types:
            self.program(link_type)

    def matches(self, batch: Batch) -> NDArray[np.bool_]:
        """(n,) which records pass."""
        program, run = self.program(batch.link_type), _libpcap().bpf_filter
        addresses = batch.offset + batch.data.ctypes.data
        columns = zip(addresses.tolist(), batch.length.tolist(), batch.captured.tolist(), strict=True)
        return np.array([run(program, address, length, captured) for address, length, captured in columns], np.bool_)


def _compiled(text: str, link_type: int) -> bytes:
    library = _libpcap()
    if "\0" in text:
        raise UsageError("a filter expression has no zero bytes")
    handle = library.pcap_open_dead(link_type, _SNAPLEN)
    if not handle:
        raise UsageError(f"libpcap filters no captures of link type {link_type}")
    program = _Program()
    try:
        if library.pcap_compile(handle, ctypes.byref(program), text.encode("utf-8", "replace"), 1, _NO_NETMASK):
            reason = library.pcap_geterr(handle).decode("utf-8", "replace")
            raise UsageError(f"filter expression {text!r}: {reason}", hint="man pcap-filter")
        return ctypes.string_at(program.instructions, program.count * _INSTRUCTION_BYTES)
    finally:
        if program.instructions:
            library.pcap_freecode(ctypes.byref(program))
        library.pcap_close(handle)
