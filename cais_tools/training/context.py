"""One process of a training job: its rank, its controller, its links and its groups."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cais_tools.controller.client import ControllerClient
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.errors import CaisError, DeadlineExceeded, Unreachable, UsageError
from cais_tools.links import open_link
from cais_tools.links.shared import SharedLink
from cais_tools.training import directives as d
from cais_tools.training.attachment import Attachment, Usage
from cais_tools.training.convert import decision_from
from cais_tools.training.group import Group
from cais_tools.training.hub import Hub
from cais_tools.training.member import Member
from cais_tools.training.star import Endpoints, Star, StarServer
from cais_tools.training.transit import SwitchPath
from cais_tools.wire import DEFAULT_LANES
from cais_tools.worker import Membership, Timing

__all__ = ["Context", "Identity", "Joined", "Wanted"]

_ASK_AGAIN_S = 1.0
_STALLS = 6
"""Retransmissions without any result before the leader hears of it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which process of which job this is; `name` is what people call the job.

    `link` is this host's end of its link to the switch, empty: as the controller says; `host` the address at which
    other ranks reach this one.
    """

    rank: int
    world_size: int
    job_id: str
    name: str = ""
    link: str = ""
    host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A group that is to be. `ranks` are the job's; `ports` the switch's, by rank, where the controller does not know.

    `group_id` None: the controller chooses the number, and `created` tells the other ranks, who have to name it.

    `endpoints` makes a rank's way without a switch, given its number in the group; the leader's TCP star where it is
    None. `given_up` says why another rank will never come, as soon as somebody knows.
    """

    ranks: tuple[int, ...]
    group_id: int | None = None
    ports: tuple[int, ...] = ()
    device: str = ""
    endpoints: Callable[[int], Endpoints] | None = None
    given_up: Callable[[], str] = lambda: ""
    created: Callable[[int], None] = lambda _: None


@dataclass(slots=True)
class Joined:
    """A group that this rank is in; `ranks` are those of the job. Its leader has a hub and the controller's ear."""

    group: Group
    group_id: int
    ranks: tuple[int, ...]
    rank: int
    device: str
    hub: Hub | None = None
    attachment: Attachment | None = None

    def close(self, patience: float) -> None:
        self.group.close(patience)
        self._end_leading()

    def abort(self) -> None:
        self.group.abort()
        self._end_leading()

    def _end_leading(self) -> None:
        if self.attachment is not None:
            self.attachment.close()
        if self.hub is not None:
            self.hub.close()


class Context:
    """What `cais.init` sets up. `timeout`, in seconds, is for how long an operation waits for other ranks."""

    def __init__(self, identity: Identity, client: ControllerClient, timeout: float) -> None:
        self.identity, self.client, self.timeout = identity, client, timeout
        self.pid = os.getpid()
        self.groups: dict[int, Joined] = {}
        self._links: dict[str, SharedLink] = {}
        self._highest = -1
        self._lock = threading.Lock()
        client.register_job(identity.name, identity.job_id, identity.world_size)

    def new_group(self, wanted: Wanted) -> Joined:
        """Create the group (its first rank does) or join it, and wait until all of its ranks are there."""
        if wanted.group_id in self.groups:
            raise UsageError(f"group {wanted.group_id} exists already in this process")
        rank = wanted.ranks.index(self.identity.rank)
        joined = self._lead(wanted) if rank == 0 else self._join(wanted, rank, self._find(wanted))
        self.groups[joined.group_id] = joined
        return joined

    def leave(self, group_id: int, patience: float) -> None:
        """Leave a group in order; its leader has the controller remove it."""
        joined = self.groups.pop(group_id)
        joined.close(patience)
        if joined.hub is not None:
            with contextlib.suppress(CaisError):  # it removes what nobody leads, sooner or later
                self.client.remove_group(self.identity.job_id, group_id)

    def number_of(self, group_id: int | None) -> int:
        """The number of a group; one that nobody names gets that after the highest so far.

        All ranks of the job make all groups in one order, those that they are not in as well, so they agree on it.
        """
        number = self._highest + 1 if group_id is None else group_id
        self._highest = max(self._highest, number)
        return number

    def _lead(self, wanted: Wanted) -> Joined:
        secret = secrets.token_hex(16)
        usage = Usage()
        attached: list[Attachment] = []

        def report(report: d.Report) -> None:
            for each in attached:
                each.report(report)

        hub = Hub(self.identity.host, len(wanted.ranks), secret, report)
        try:
            request = pb.CreateGroupRequest(
                job_id=self.identity.job_id,
                group_id=wanted.group_id,
                ranks=wanted.ranks,
                ports=wanted.ports,
                device=wanted.device,
                hub_address=hub.address,
                hub_secret=secret.encode(),
            )
            group = self.client.create_group(request)
            wanted.created(group.group_id)
            server = None
            if wanted.endpoints is None:
                server = StarServer(self.identity.host, len(wanted.ranks), secret)
            hub.open(group.epoch, decision_from(group.decision), 0 if server is None else server.port)
            joined = self._join(wanted, 0, group, server, usage)
        except BaseException:
            hub.close()
            raise
        joined.hub = hub
        joined.attachment = Attachment(self.client.attach, self.identity.job_id, group.group_id, hub, usage)
        attached.append(joined.attachment)
        return joined

    def _find(self, wanted: Wanted) -> pb.Group:
        """The group, as soon as its leader has created it."""
        if wanted.group_id is None:
            raise UsageError("only the first rank of a group may leave its number to the controller")
        end = time.monotonic() + self.timeout
        while True:
            try:
                return self.client.join_group(self.identity.job_id, wanted.group_id, _ASK_AGAIN_S)
            except DeadlineExceeded:
                if why := wanted.given_up():
                    raise Unreachable(why) from None
                if time.monotonic() >= end:
                    raise

    def _join(
        self,
        wanted: Wanted,
        rank: int,
        group: pb.Group,
        server: StarServer | None = None,
        usage: Usage | None = None,
    ) -> Joined:
        retry = (group.settings.timeout_ms or 50) / 1000
        timing = Timing(timeout=self.timeout, first_rto=2 * retry, min_rto=retry, max_rto=max(1.0, retry))
        path, refusal = self._path(group, len(wanted.ranks), rank, timing)
        member = Member(rank, _STALLS * retry, self.timeout)
        secret = group.hub_secret.decode()
        data_port = member.join(group.hub_address, secret, refusal, wanted.given_up)
        if wanted.endpoints is not None:
            endpoints = wanted.endpoints(rank)
        else:
            address = (group.hub_address.rpartition(":")[0], data_port)
            endpoints = Star(rank, len(wanted.ranks), address, secret, self.timeout, server)
        worker = Group(member, path, endpoints, usage)
        return Joined(worker, group.group_id, wanted.ranks, rank, group.device)

    def _path(self, group: pb.Group, ranks: int, rank: int, timing: Timing) -> tuple[SwitchPath | None, str]:
        """The way of this rank through the switch; or none, and why."""
        spec = self.identity.link or (group.links[rank] if group.links else "")
        if not spec:
            return None, "nobody has said by which link this host reaches the switch (CAIS_LINK)"
        try:
            link = self._link(spec).for_group(group.group_id)
        except CaisError as error:
            return None, error.message
        # The program of a switch that is not there yet is taken for the shipped one; the test vector will show.
        lanes = group.lanes or DEFAULT_LANES
        member = Membership(group.group_id, rank, ranks, group.slots, lanes, dict(enumerate(group.ports)))
        return SwitchPath(link, member, timing), ""

    def _link(self, spec: str) -> SharedLink:
        with self._lock:
            if spec not in self._links:
                self._links[spec] = SharedLink(open_link(spec))
            return self._links[spec]

    def close(self, patience: float) -> None:
        """Leave all groups in order, and have the controller remove those that this rank leads."""
        for group_id in list(self.groups):
            self.leave(group_id, patience)
        for link in self._links.values():
            link.close()
        self.client.close()

    def abort(self) -> None:
        """Leave at once."""
        groups, self.groups = self.groups, {}
        for joined in groups.values():
            joined.abort()


def own_address(towards: str) -> str:
    """The address of this host from which `towards` is reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((towards, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
