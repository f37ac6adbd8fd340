"""What the ranks of a group and its leader say to each other, and how it looks on a TCP stream.

A message is two lengths (JSON, payload; 32 bits each, network byte order), a JSON object and the payload's bytes.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from cais_tools.errors import CaisError
from cais_tools.training.schedule import Decision, OperationClass, Segment

__all__ = [
    "Answer",
    "Began",
    "Bye",
    "Commit",
    "Failed",
    "Finished",
    "Go",
    "Hold",
    "Join",
    "Message",
    "Need",
    "Ping",
    "Plan",
    "Proof",
    "Query",
    "Raise",
    "Result",
    "Stalled",
    "State",
    "Stream",
    "Welcome",
    "Where",
    "encode",
]

_LENGTHS = struct.Struct("!II")
_LARGEST_JSON = 1 << 24
_LONGEST_GREETING = 1 << 12


@dataclass(frozen=True, slots=True)
class Join:
    """First of a rank; `refusal` is why it can use no switch."""

    rank: int
    secret: str
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Welcome:
    """First of the leader, when all ranks have joined; tensors are reduced by it at `data_port`."""

    data_port: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Began:
    """The rank begins operation `number`."""

    number: int
    operation: OperationClass
    fingerprint: int


@dataclass(frozen=True, slots=True)
class Need:
    """The route of operation `horizon` is wanted soon."""

    horizon: int


@dataclass(frozen=True, slots=True)
class Stalled:
    """Operation `number` brings no new result any more; with `refused`, it brought a damaged one."""

    number: int
    text: str
    refused: bool = False


class Where(enum.StrEnum):
    """Where a rank is with an operation."""

    NOT_BEGUN = "not begun"
    BUSY = "busy"
    WAITING = "waiting"
    """Nothing comes back from the switch."""
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Query:
    """Some rank has stalled in operation `number`; where are you with it?"""

    number: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answers Query."""

    number: int
    where: Where


@dataclass(frozen=True, slots=True)
class Finished:
    """The rank has its own part of the result of operation `number`, which nobody else could give to another rank."""

    number: int


@dataclass(frozen=True, slots=True)
class Commit:
    """All ranks have finished operation `number`."""

    number: int


@dataclass(frozen=True, slots=True)
class State:
    """Answers Hold: operations below `completed` are done, those below `began` begun."""

    round: int
    completed: int
    began: int


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the test vector came back right."""

    request: int
    right: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The rank could do operation `number` neither way."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Bye:
    """The rank leaves in order."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Routes of operations to come."""

    segment: Segment


@dataclass(frozen=True, slots=True)
class Hold:
    """Begin no operation, and say where you are; with `interrupt`, leave the one that is on the switch."""

    round: int
    interrupt: bool


@dataclass(frozen=True, slots=True)
class Go:
    """Go on. With `giver`, that rank has the result of operation `number` and hands it out to those who lack it."""

    round: int
    segment: Segment
    number: int = 0
    giver: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of operation `number`; its bytes are the message's payload."""

    number: int


@dataclass(frozen=True, slots=True)
class Raise:
    """The group cannot go on; `kind` is the name of an error."""

    kind: str
    text: str
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ping:
    """Whoever hears nothing for long takes the other for lost."""


FromRank: TypeAlias = Join | Began | Need | Stalled | Answer | Finished | State | Proof | Failed | Bye | Result | Ping
FromLeader: TypeAlias = Welcome | Plan | Query | Commit | Hold | Go | Result | Raise | Bye | Ping
Message: TypeAlias = FromRank | FromLeader
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(FromRank) + get_args(FromLeader)}


def encode(message: Message, payload: bytes | memoryview = b"") -> bytes:
    """The message's bytes on the stream."""
    document = {"message": type(message).__name__, **dataclasses.asdict(message)}
    text = json.dumps(document, separators=(",", ":")).encode()
    return b"".join((_LENGTHS.pack(len(text), len(payload)), text, payload))


class Stream:
    """Cuts what arrives into messages with their payloads; without `trust` no more than a short message is taken in."""

    def __init__(self, *, trust: bool = True) -> None:
        self.trust = trust
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Message, bytes]]:
        """Raises CaisError for what is no message."""
        self._data += data
        while len(self._data) >= _LENGTHS.size:
            text_bytes, payload_bytes = _LENGTHS.unpack_from(self._data)
            if text_bytes > _LARGEST_JSON or (not self.trust and text_bytes + payload_bytes > _LONGEST_GREETING):
                raise CaisError("what arrives from another rank is no message of this group")
            end = _LENGTHS.size + text_bytes + payload_bytes
            if len(self._data) < end:
                return
            text = bytes(self._data[_LENGTHS.size : _LENGTHS.size + text_bytes])
            payload = bytes(self._data[_LENGTHS.size + text_bytes : end])
            del self._data[:end]
            yield _decode(text), payload


def _decode(text: bytes) -> Message:
    try:
        document = json.loads(text)
        return _build(_KINDS[document.pop("message")], document)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CaisError("what arrives from another rank is no message of this group") from None


def _build(kind: type[Any], document: dict[str, Any]) -> Any:
    if "segment" in document:
        document["segment"] = _segment(document["segment"])
    if "segments" in document:
        document["segments"] = tuple(map(_segment, document["segments"]))
    if "operation" in document:
        document["operation"] = OperationClass(**document["operation"])
    if "where" in document:
        document["where"] = Where(document["where"])
    if "ranks" in document:
        document["ranks"] = tuple(document["ranks"])
    return kind(**document)


def _segment(document: dict[str, Any]) -> Segment:
    decision = document.pop("decision")
    overrides = tuple((OperationClass(**each), bool(offload)) for each, offload in decision.pop("overrides"))
    break_even = tuple((str(kind), int(least)) for kind, least in decision.pop("break_even"))
    return Segment(decision=Decision(overrides=overrides, break_even=break_even, **decision), **document)
