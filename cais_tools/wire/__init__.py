"""The CAIS frame: header, lanes, integrity tag. NumPy and Scapy are imported by the submodules that need them."""

from __future__ import annotations

from cais_tools.wire.header import DEFAULT_LANES, ETHERTYPE_CAIS, HEADER_BYTES, HEADER_FIELDS, Header, Op
from cais_tools.wire.job import Job

__all__ = ["DEFAULT_LANES", "ETHERTYPE_CAIS", "HEADER_BYTES", "HEADER_FIELDS", "Header", "Job", "Op"]
