"""One Subscribe, from its first message to its end (gNMI specification, section 3.5)."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

from cais_tools.gnmi import Path, gnmi_pb2
from cais_tools.p4rt import code_pb2
from cais_tools.switch.server.gnmi.requests import check, notification
from cais_tools.switch.server.gnmi.subscriptions import Sampler, Subscription, matching, subscriptions_of
from cais_tools.switch.server.gnmi.tree import Leaf, leaf_value
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["End", "Inbox", "responses"]

_LOG = logging.getLogger(__name__)
_MAX_WAITING: Final = 64
# Seconds; a queue takes no time-out that is much longer than a lifetime.
_LONGEST_WAIT: Final = 3600.0

_Mode = gnmi_pb2.SubscriptionList.Mode


class End(Enum):
    """DONE: the client has said all that it has to say, and listens. GONE: it does not even listen any more."""

    DONE = "done"
    GONE = "gone"


class Inbox:
    """What one client has said, and whether it is still there. Any thread puts; the RPC's own thread takes."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[gnmi_pb2.SubscribeRequest | P4Error | End] = queue.SimpleQueue()

    def put(self, said: gnmi_pb2.SubscribeRequest | P4Error | End) -> None:
        """An error ends the conversation."""
        self._waiting.put(said)

    def fill(self, requests: Iterable[gnmi_pb2.SubscribeRequest]) -> None:
        """Take from the client as long as it says something."""
        try:
            for request in requests:
                if self._waiting.qsize() >= _MAX_WAITING:
                    raise P4Error(code_pb2.RESOURCE_EXHAUSTED, "too many polls wait for their answers")
                self.put(request)
            self.put(End.DONE)
        except P4Error as error:
            self.put(error)
        except Exception as broken:
            # gRPC raises where the client is gone; nobody is left to be told.
            _LOG.debug("a subscription has ended: %r", broken)
            self.put(End.GONE)

    def get(self, patience: float | None = None) -> gnmi_pb2.SubscribeRequest | End | None:
        """The next; None where nothing came for so many seconds. Raises the P4Error that was put in."""
        try:
            said = self._waiting.get(timeout=patience)
        except queue.Empty:
            return None
        if isinstance(said, P4Error):
            raise said
        return said

    def first(self) -> gnmi_pb2.SubscriptionList:
        """What is subscribed to. Raises P4Error where it is something else."""
        said = self.get()
        if not isinstance(said, gnmi_pb2.SubscribeRequest) or said.WhichOneof("request") != "subscribe":
            raise invalid("the first message must say what is subscribed to")
        return said.subscribe


def responses(
    wanted: gnmi_pb2.SubscriptionList, inbox: Inbox, read: Callable[[], list[Leaf]]
) -> Iterator[gnmi_pb2.SubscribeResponse]:
    """What to send, as it comes; `read` gives the state. Raises P4Error."""
    check(wanted.prefix, [each.path for each in wanted.subscription], wanted.encoding, wanted.use_models)
    subscriptions = subscriptions_of(wanted)
    match wanted.mode:
        case _Mode.ONCE:
            return _all(wanted, subscriptions, read())
        case _Mode.POLL:
            return _polled(wanted, subscriptions, inbox, read)
        case _Mode.STREAM:
            return _streamed(wanted, subscriptions, inbox, read)
        case _:
            raise invalid(f"subscription list mode {wanted.mode} is not known")


def _all(
    wanted: gnmi_pb2.SubscriptionList, subscriptions: Iterable[Subscription], leaves: Sequence[Leaf]
) -> Iterator[gnmi_pb2.SubscribeResponse]:
    if not wanted.updates_only:
        for each in subscriptions:
            yield from _told(wanted, matching(leaves, each.path))
    yield gnmi_pb2.SubscribeResponse(sync_response=True)


def _polled(
    wanted: gnmi_pb2.SubscriptionList,
    subscriptions: Sequence[Subscription],
    inbox: Inbox,
    read: Callable[[], list[Leaf]],
) -> Iterator[gnmi_pb2.SubscribeResponse]:
    yield from _all(wanted, subscriptions, read())
    while isinstance(said := inbox.get(), gnmi_pb2.SubscribeRequest):
        if said.WhichOneof("request") != "poll":
            raise invalid("only polls may follow the first message")
        yield from _all(wanted, subscriptions, read())


def _streamed(
    wanted: gnmi_pb2.SubscriptionList,
    subscriptions: Sequence[Subscription],
    inbox: Inbox,
    read: Callable[[], list[Leaf]],
) -> Iterator[gnmi_pb2.SubscribeResponse]:
    leaves = read()
    samplers = [Sampler(each, time.monotonic(), leaves) for each in subscriptions]
    yield from _all(wanted, subscriptions, leaves)
    while True:
        due = min((sampler.due for sampler in samplers), default=float("inf"))
        said = inbox.get(max(0.0, min(due - time.monotonic(), _LONGEST_WAIT)))
        if said is End.GONE:
            return
        if isinstance(said, gnmi_pb2.SubscribeRequest):
            raise invalid("nothing may follow the first message of a streamed subscription")
        now = time.monotonic()
        late = [sampler for sampler in samplers if sampler.due <= now]
        leaves = read() if late else []
        for sampler in late:
            yield from _told(wanted, *sampler.sample(now, leaves))


def _told(
    wanted: gnmi_pb2.SubscriptionList, leaves: Sequence[Leaf], gone: Sequence[Path] = ()
) -> Iterator[gnmi_pb2.SubscribeResponse]:
    """Leaf by leaf, whatever the encoding; nothing where there is nothing to tell."""
    if leaves or gone:
        values = ((leaf.path, leaf_value(leaf.value, wanted.encoding)) for leaf in leaves)
        yield gnmi_pb2.SubscribeResponse(update=notification(values, gone, wanted.prefix))
