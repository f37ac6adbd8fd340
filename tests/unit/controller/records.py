"""A group as the controller keeps it."""

from __future__ import annotations

from typing import Any

from cais_tools.controller.record import GroupRecord

__all__ = ["a_group"]


def a_group(**more: Any) -> GroupRecord:
    values: dict[str, Any] = {
        "group_id": 3,
        "job_id": "job-1",
        "device": "leaf1",
        "ranks": (0, 1, 2, 3),
        "ports": (1, 2, 3, 4),
        "slots": 256,
        "epoch": 7,
        "hub_address": "127.0.0.1:7",
        "hub_secret": "\xff\x00",
    }
    return GroupRecord(**{**values, **more})
