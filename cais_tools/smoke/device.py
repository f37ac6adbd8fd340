"""Sessions with a device whose id need not be known."""

from __future__ import annotations

from dataclasses import replace

from cais_tools.session import DeviceError, SessionOptions, SwitchSession, connect

__all__ = ["open_device"]

_USUAL_IDS = (0, 1)
"""bmv2 has 0 unless told otherwise, the embedded switch and many others have 1."""


def open_device(address: str, device_id: int | None, options: SessionOptions) -> SwitchSession:
    """Connect as `session.connect` does; where `device_id` is None, with the first usual id that the switch has.

    0 is tried first: bmv2 takes any id until a program is loaded, and only then says that it is wrong.
    """
    if device_id is not None:
        return connect(address, replace(options, device_id=device_id))
    first, second = _USUAL_IDS
    try:
        return connect(address, replace(options, device_id=first))
    except DeviceError as error:
        if error.code != "NOT_FOUND":
            raise
    return connect(address, replace(options, device_id=second))
