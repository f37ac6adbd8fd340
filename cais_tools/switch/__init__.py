"""The embedded switch: runs any v1model program that p4c compiles. Knows P4 and P4Runtime, nothing of CAIS.

`Switch` runs a program in this process, without sockets: what a test of a P4 program wants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cais_tools.switch.api import Switch

__all__ = ["Switch"]


def __getattr__(name: str) -> Any:
    # Only when it is asked for: whoever imports a module of this package does not want all of it.
    if name == "Switch":
        from cais_tools.switch.api import Switch

        return Switch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
