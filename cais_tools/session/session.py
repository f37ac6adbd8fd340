"""A session with one switch: the connection, who is primary, what is loaded, and what is written and read."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

import grpc

from cais_tools.errors import CaisError, DeadlineExceeded, NotPrimary, Refused
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session import stream_messages
from cais_tools.session.election import Election, uint128
from cais_tools.session.entities import Entity, Update, UpdateType
from cais_tools.session.errors import DeviceError, NoPipeline, SwitchRestarted, WrongDevice, from_rpc
from cais_tools.session.event_queue import EventQueue
from cais_tools.session.events import Event, PrimaryChanged, Reconnected, Restarted, StreamLost
from cais_tools.session.pipeline import LoadReport, Pipeline, ProgramInfo, fingerprint_of
from cais_tools.session.readwrite import ReadWrite
from cais_tools.session.rpc import Rpc
from cais_tools.session.stream import Stream
from cais_tools.session.target import SessionOptions, Target, parse_target
from cais_tools.session.values import Value

__all__ = ["SwitchSession", "connect"]

logger = logging.getLogger(__name__)

_USUAL_DEVICE_IDS = (0, 1)

# What a switch may answer to somebody who takes it for what it was before it was loaded anew.
_PUZZLING = (
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNKNOWN,
)


def connect(address: str, options: SessionOptions | None = None) -> SwitchSession:
    """Open a session with the switch at `address` (see `parse_target`).

    Raises UsageError for an address that is none, Unreachable, DeadlineExceeded, and DeviceError for a wrong device
    id or an election id that another client uses. Where another client is primary the session opens all the same,
    for reading; see `is_primary`.
    """
    session = SwitchSession(parse_target(address), options or SessionOptions())
    try:
        session.open()
    except BaseException:
        session.close()
        raise
    return session


class SwitchSession(ReadWrite):
    """An open session. Made by `connect`; a context manager. Calls may come from several threads."""

    def __init__(self, target: Target, options: SessionOptions) -> None:
        self.target = target
        self.options = options
        self.api_version = ""
        self.device_id = options.device_id or 0
        self.changing = threading.RLock()
        """Held by whoever reads, plans and writes, so that changes from several threads do not mix."""
        self._rpc = Rpc(target, options.tls, self.device_id, options.role, options.timeout)
        self._rpc.explain = self._explain
        self._election = self._new_election()
        self._stream: Stream | None = None
        self._untried_ids: list[int] = []  # device ids that the switch may have instead of ours
        self._index: P4InfoIndex | None = None
        self._cookie: int | None = None
        self._restarted: SwitchRestarted | None = None
        # A load of ours must not look like somebody else's to the thread of the stream.
        self._pipeline_lock = threading.RLock()
        self._events = EventQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        self.api_version = self._rpc.capabilities()
        given = self.options.device_id
        self._untried_ids = self._possible_device_ids() if given is None else [given]
        self._attach_next()

    def _possible_device_ids(self) -> list[int]:
        """The id that has a program, else all that the switch does not refuse.

        bmv2 refuses none before a load, and one that it refuses a program looks loaded afterwards. So the search for
        a program begins with bmv2's own default, and what is tried first without one is the other.
        """
        possible: list[int] = []
        for device_id in _USUAL_DEVICE_IDS:
            self._rpc.device_id = device_id
            try:
                if self._rpc.get_pipeline(cookie_only=True) is not None:
                    return [device_id]
            except DeviceError as error:
                logger.debug("device id %d: %s", device_id, error)
            else:
                possible.append(device_id)
        return possible[::-1] or list(_USUAL_DEVICE_IDS[:1])

    def _attach_next(self) -> None:
        """Attach to the first device of those left to try that the switch admits to."""
        while True:
            try:
                return self._attach(self._untried_ids.pop(0))
            except WrongDevice:
                if not self._untried_ids:
                    raise

    def _attach(self, device_id: int) -> None:
        """Open the stream to a device, in place of any other, and take in what it runs."""
        if self._stream is not None:
            self._stream.close()
        self.device_id = self._rpc.device_id = device_id
        self._election = self._new_election()
        if not self.options.read_only:
            self._open_stream()
        self.refresh()

    def _new_election(self) -> Election:
        options = self.options
        return Election(self.device_id, options.role, options.election_id, take_over=options.take_over)

    def close(self) -> None:
        """End the session; nothing is left behind, and a switch that hangs does not hold it up."""
        if self._stream is not None:
            self._stream.close()
        self._rpc.close()

    # -- who is primary

    @property
    def is_primary(self) -> bool:
        return self._election.primary

    @property
    def election_id(self) -> int | None:
        return self._election.own

    def require_primary(self, doing: str) -> None:
        """Raises NotPrimary where nothing can be written now, and SwitchRestarted."""
        self._require_primary(doing)

    def _open_stream(self) -> None:
        self._stream = Stream(
            self._rpc.open_stream,
            self._election,
            on_response=self._on_response,
            on_primary=self._on_primary,
            on_lost=lambda reason: self._events.put(StreamLost(reason)),
            on_back=self._on_back,
        )
        self._stream.start()
        try:
            failure = self._stream.wait_settled(self.options.timeout)
        except TimeoutError:
            raise DeadlineExceeded(
                f"{self.target} took the stream but did not say who is primary", hint="is it a P4Runtime server?"
            ) from None
        if failure is not None and not self._election.is_crowded_out:
            raise self._stream_error(failure)

    def _stream_error(self, failure: grpc.RpcError) -> CaisError:
        details = failure.details() or ""
        if "lection id" in details:
            return DeviceError(
                f"election id {self.options.election_id} is taken: {details}",
                code=failure.code().name,
                details=details,
                hint="choose another, or give none",
            )
        return from_rpc(failure, str(self.target), "open the stream")

    def _require_primary(self, doing: str) -> p4runtime_pb2.Uint128:
        """The election id to write with. Raises NotPrimary, SwitchRestarted."""
        self._require_unchanged()
        if self.options.read_only:
            raise NotPrimary(f"cannot {doing}: this session is read-only", hint="connect without read_only")
        if not self._election.primary or self._election.own is None:
            raise NotPrimary(
                f"cannot {doing} on {self.target}: {self._election.reason}",
                hint="end the other client, or take over from it",
            )
        return uint128(self._election.own)

    # -- what is loaded

    @property
    def index(self) -> P4InfoIndex:
        """The P4Info of the loaded program. Raises NoPipeline."""
        if self._index is None:
            self.refresh()  # another client may have loaded one since
        if self._index is None:
            raise NoPipeline(
                f"no P4 program is loaded on {self.target}", hint=f"load one: cais load --device {self.target}"
            )
        return self._index

    @property
    def cookie(self) -> int | None:
        """The cookie of the pipeline that this session knows; another load, even of the same program, has another."""
        return self._cookie

    def refresh(self) -> None:
        """Take over what is loaded now, whatever was before."""
        with self._pipeline_lock:
            config = self._rpc.get_pipeline()
            self._restarted = None
            self._index = P4InfoIndex(config.p4info) if config is not None and config.HasField("p4info") else None
            self._cookie = _cookie_of(config)

    def program_info(self) -> ProgramInfo | None:
        """What is loaded now, and how many entries its tables hold; None when nothing is."""
        config = self._rpc.get_pipeline()
        if config is None or not config.HasField("p4info"):
            return None
        info = config.p4info
        index = P4InfoIndex(info)
        return ProgramInfo(
            name=info.pkg_info.name,
            arch=info.pkg_info.arch,
            fingerprint=fingerprint_of(_cookie_of(config)),
            tables=len(info.tables),
            entries=self._count_entries(index),
        )

    def _count_entries(self, index: P4InfoIndex) -> int:
        wanted = [
            p4runtime_pb2.Entity(table_entry=p4runtime_pb2.TableEntry(table_id=table.preamble.id))
            for table in index.message.tables
            if not table.is_const_table
        ]
        if not wanted:
            return 0
        doing = "count its table entries"
        try:
            entities = self._rpc.read(wanted, doing)
        except DeviceError as error:
            if "out-of-sync" not in error.details:
                raise
            # bmv2 shows no table that the program brings entries for: those of the others count.
            entities = [entity for each in wanted for entity in self._read_or_nothing(each, doing)]
        return sum(not entity.table_entry.is_default_action for entity in entities)

    def _read_or_nothing(self, wanted: p4runtime_pb2.Entity, doing: str) -> list[p4runtime_pb2.Entity]:
        try:
            return self._rpc.read([wanted], doing)
        except DeviceError as error:
            logger.debug("%s: %s", doing, error)
            return []

    def load(self, pipeline: Pipeline, *, dry_run: bool = False) -> LoadReport:
        """Load a program (VERIFY_AND_COMMIT), or with `dry_run` only let the switch verify it.

        All entries, groups and counters of the old program are gone afterwards; the report says how many entries.
        """
        if self._restarted is not None:
            self.refresh()
        election_id = self._require_primary("load a program")
        before = self.program_info()
        copies = [] if dry_run else self._forget_copies()
        try:
            with self._pipeline_lock:
                self._rpc.set_pipeline(pipeline.message(), election_id, verify_only=dry_run)
                if not dry_run:
                    self.refresh()
        except WrongDevice:
            if not self._untried_ids:
                raise
            self._attach_next()
            return self.load(pipeline, dry_run=dry_run)
        except Refused:
            self.try_write([Update(UpdateType.INSERT, each) for each in copies])
            raise
        after = ProgramInfo(
            name=pipeline.p4info.pkg_info.name,
            arch=pipeline.p4info.pkg_info.arch,
            fingerprint=pipeline.fingerprint,
            tables=len(pipeline.p4info.tables),
            entries=0,
        )
        return LoadReport(before, after, dry_run)

    def _forget_copies(self) -> list[Entity]:
        """Remove all multicast groups and clone sessions, and return them.

        bmv2 goes on copying for those of an earlier program, though it shows them no more: each packet would leave
        once for every load.
        """
        if self._index is None:
            return []
        copies: list[Entity] = [*self.read_multicast_groups(), *self.read_clone_sessions()]
        self.try_write([Update(UpdateType.DELETE, each) for each in copies])
        return copies

    def has_loaded(self, pipeline: Pipeline) -> bool:
        """Whether exactly this program is loaded, whoever loaded it."""
        return fingerprint_of(_cookie_of(self._rpc.get_pipeline(cookie_only=True))) == pipeline.fingerprint

    def check_pipeline(self) -> None:
        """Raises SwitchRestarted when the switch no longer has the pipeline that this session knows, or has the
        program, but from another load: what was written and counted is gone either way.
        """
        with self._pipeline_lock:
            self._require_unchanged()
            if self._index is None:
                return
            config = self._rpc.get_pipeline(cookie_only=self._cookie is not None)
            cookie = _cookie_of(config)
            if config is not None and cookie == self._cookie:
                return
            self._restarted = SwitchRestarted(
                f"{self.target} {self._describe_change(cookie)}, and all entries are gone",
                hint=f"load the program and the rules again: cais load --device {self.target}",
            )
            self._events.put(Restarted(str(self._restarted)))
            raise self._restarted

    def _describe_change(self, cookie: int | None) -> str:
        if cookie is None:
            return "has no program now: it was restarted"
        if fingerprint_of(cookie) == fingerprint_of(self._cookie):
            return "was loaded anew by another client"
        return f"runs another program now (cookie {fingerprint_of(cookie):08x}): it was restarted or loaded anew"

    def _require_unchanged(self) -> None:
        if self._restarted is not None:
            raise self._restarted

    def _explain(self, error: grpc.RpcError, doing: str) -> CaisError:
        """The first error after a restart is a puzzle (no pipeline, not primary): look whether that is why."""
        if error.code() in _PUZZLING and self._index is not None:
            try:
                self.check_pipeline()
            except SwitchRestarted as restarted:
                return restarted
            except CaisError:
                logger.debug("could not ask for the cookie after %s", error.code().name)
        return from_rpc(error, str(self.target), doing)

    # -- the stream

    def next_event(self, timeout: float | None = None) -> Event | None:
        """The next event, oldest first; None when none comes within `timeout` seconds (0: look, do not wait)."""
        return self._events.get(timeout)

    @property
    def events_dropped(self) -> int:
        """Events that were thrown away, the oldest first, because nobody fetched them (8192 are kept)."""
        return self._events.dropped

    def send_packet(self, payload: bytes, **metadata: Value) -> None:
        """Send a packet out through the switch (only a primary's packets are taken)."""
        self._require_primary("send a packet")
        request = stream_messages.packet_out(self._index, payload, metadata)
        if self._stream is not None:
            self._stream.send(request)

    def _on_response(self, response: p4runtime_pb2.StreamMessageResponse) -> None:
        event = stream_messages.decode_event(self._index, response)
        if event is not None:
            self._events.put(event)
        acknowledgement = stream_messages.acknowledge(response)
        if acknowledgement is not None and self._stream is not None:
            self._stream.send(acknowledgement)

    def _on_primary(self, primary: bool, reason: str) -> None:
        self._events.put(PrimaryChanged(primary, reason))
        if primary:
            self._look_at_pipeline("after becoming primary")  # who was primary before us may have loaded one

    def _on_back(self) -> None:
        if self._look_at_pipeline("after reconnecting"):
            self._events.put(Reconnected())

    def _look_at_pipeline(self, when: str) -> bool:
        """Whether the pipeline is still the one that we know; where it is not, there is an event now."""
        try:
            self.check_pipeline()
        except CaisError as error:
            logger.info("%s: %s", when, error)
            return False
        return True


def _cookie_of(config: p4runtime_pb2.ForwardingPipelineConfig | None) -> int | None:
    """The cookie of a pipeline; None for no pipeline or one that was loaded without."""
    if config is None or not config.HasField("cookie"):
        return None
    return config.cookie.cookie
