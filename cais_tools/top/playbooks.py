"""What each alarm means, and the playbook that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cais_tools.share import shared_folder

__all__ = ["EXPLANATIONS", "Explanation", "read_playbook"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`threshold` in words; `playbook` is a file in playbooks/."""

    title: str
    meaning: str
    threshold: str
    playbook: str


EXPLANATIONS: Final = {
    "overload": Explanation(
        "Overload",
        "Packets wait in the switch's queues while nearly all slots hold an incomplete sum: more comes than it can do.",
        "average queue delay over 50us with more than 90% of the slots in use",
        "overload.md",
    ),
    "sram": Explanation(
        "Slots run out",
        "Most slots hold an incomplete sum. When none is left, ranks wait for each other.",
        "SRAM usage over 80%",
        "overload.md",
    ),
    "fallback": Explanation(
        "Contributions fall back",
        "The switch could not use contributions: no rule, no member, or a sum that was given up half-way.",
        "more than 10% of the contributions",
        "fallback.md",
    ),
    "temperature": Explanation(
        "The chip is hot", "The switch says that its chip is too hot.", "more than 85 degrees Celsius", "temperature.md"
    ),
    "gone": Explanation(
        "The device is gone",
        "The switch does not answer, or has no program. What is shown of it is what it said last.",
        "one reading that failed",
        "device-gone.md",
    ),
    "primary": Explanation(
        "Another primary",
        "A client has become primary on the switch: it may change rules and load programs.",
        "another election id than before",
        "other-primary.md",
    ),
    "program": Explanation(
        "The program has changed",
        "The switch was loaded anew: all entries that were in its tables are gone, and all counters began again.",
        "another cookie than before, or counters that went back",
        "program-changed.md",
    ),
}
"""By the name of the alarm."""


def read_playbook(name: str) -> str:
    """The playbook as Markdown. FileNotFoundError where the installation is incomplete."""
    return (shared_folder("playbooks") / name).read_text(encoding="utf-8")
