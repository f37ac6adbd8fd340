"""Subscriptions of gNMI (specification, section 3.5): what is sent, and when. Sans I/O; times in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cais_tools.gnmi import Path, from_message, gnmi_pb2, in_text
from cais_tools.switch.server.gnmi.tree import Leaf, nodes, under
from cais_tools.switch.server.status import invalid

__all__ = ["Sampler", "Subscription", "matching", "subscriptions_of"]

_SHORTEST: Final = 0.1
_USUAL: Final = 1.0
_NS: Final = 1e9
_Mode = gnmi_pb2.SubscriptionMode


@dataclass(frozen=True, slots=True)
class Subscription:
    """`path` may have wildcards. `heartbeat`: how long, at most, an unchanged value is withheld; 0: for ever."""

    path: Path
    interval: float
    only_changes: bool
    heartbeat: float


def subscriptions_of(wanted: gnmi_pb2.SubscriptionList) -> list[Subscription]:
    """Raises P4Error for what cannot be subscribed to."""
    is_stream = wanted.mode == gnmi_pb2.SubscriptionList.STREAM
    return [_subscription(wanted.prefix, each, is_stream) for each in wanted.subscription]


def _subscription(prefix: gnmi_pb2.Path, wanted: gnmi_pb2.Subscription, is_stream: bool) -> Subscription:
    path = from_message(prefix, wanted.path)
    interval = wanted.sample_interval / _NS
    if is_stream:
        if wanted.mode == _Mode.ON_CHANGE:
            raise invalid(f"{in_text(path)} cannot be sent on change; it can be sampled")
        if wanted.mode not in (_Mode.SAMPLE, _Mode.TARGET_DEFINED):
            raise invalid(f"subscription mode {wanted.mode} is not known")
        if 0 < interval < _SHORTEST:
            raise invalid(f"{in_text(path)} cannot be sampled each {interval:g} s; at most each {_SHORTEST:g} s")
    usual = _SHORTEST if wanted.mode == _Mode.SAMPLE else _USUAL
    return Subscription(path, interval or usual, wanted.suppress_redundant, wanted.heartbeat_interval / _NS)


class Sampler:
    """One streamed subscription: remembers what it has sent, and when the next sample is due."""

    def __init__(self, subscription: Subscription, now: float, leaves: Iterable[Leaf]) -> None:
        """`leaves` are what the subscriber knows already."""
        self.due = now + subscription.interval
        self._subscription = subscription
        self._sent = {in_text(leaf.path): (leaf, now) for leaf in matching(leaves, subscription.path)}

    def sample(self, now: float, leaves: Iterable[Leaf]) -> tuple[list[Leaf], list[Path]]:
        """The leaves to send, and the paths that are no longer there; the next sample is due an interval later."""
        interval = self._subscription.interval
        # In step, as long as nothing is late.
        self.due = self.due + interval if now - self.due < interval else now + interval
        current = matching(leaves, self._subscription.path)
        paths = {in_text(leaf.path) for leaf in current}
        gone = [leaf.path for text, (leaf, _) in self._sent.items() if text not in paths]
        told = [leaf for leaf in current if self._must_send(now, leaf)]
        kept = {text: sent for text, sent in self._sent.items() if text in paths}
        self._sent = kept | {in_text(leaf.path): (leaf, now) for leaf in told}
        return told, gone

    def _must_send(self, now: float, leaf: Leaf) -> bool:
        before = self._sent.get(in_text(leaf.path))
        if before is None or not self._subscription.only_changes:
            return True
        heartbeat = self._subscription.heartbeat
        return before[0].value != leaf.value or 0 < heartbeat <= now - before[1]


def matching(leaves: Iterable[Leaf], pattern: Path) -> list[Leaf]:
    """All leaves at or below the nodes that a path means."""
    there = list(leaves)
    return [leaf for node in nodes(there, pattern) for leaf in under(there, node)]
