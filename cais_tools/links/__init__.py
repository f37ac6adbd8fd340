"""Ethernet links for switch ports and hosts alike.

Here is what takes a link by its name. The kinds of link have modules of their own (`cable.Cable`,
`interface.Interface`, `faults.FaultyLink`, `pcap.RecordingLink`), which need NumPy; this package does not import them
before a link is opened.
"""

from __future__ import annotations

from cais_tools.links.link import Link
from cais_tools.links.spec import HIGHEST_PORT, open_link, parse_ports

__all__ = ["HIGHEST_PORT", "Link", "open_link", "parse_ports"]
