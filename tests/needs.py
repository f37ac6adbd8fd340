"""Marks of tests that need what not every machine has; they skip, saying so."""

from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff.bpf import Expression

__all__ = ["needs_libpcap"]


def _has_libpcap() -> bool:
    try:
        Expression("ether proto 0x88b5").program(1)
    except UsageError:
        return False
    return True


needs_libpcap = pytest.mark.skipif(not _has_libpcap(), reason="libpcap is not installed")
