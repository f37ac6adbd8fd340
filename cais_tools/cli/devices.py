"""Sessions with the switch that `--device` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cais_tools.cli.parse import parse_seconds

if TYPE_CHECKING:
    from cais_tools.session import SwitchSession

__all__ = ["open_session"]


def open_session(
    device: str, *, device_id: int | None, timeout: str, take_over: bool = False, read_only: bool = False
) -> SwitchSession:
    """Connect. What only reads needs no primary role, and disturbs nobody who has it."""
    seconds = parse_seconds(timeout, option="--timeout")
    from cais_tools.session import SessionOptions, connect

    options = SessionOptions(device_id=device_id, take_over=take_over, read_only=read_only, timeout=seconds)
    return connect(device, options)
