"""PI between the client and the entities."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.server.bmv2.failures import read_failure, write_failure
from cais_tools.switch.server.bmv2.groups import FIRST_RESERVED_ID
from cais_tools.switch.server.bmv2.reads import as_bmv2_has_it, check_request
from cais_tools.switch.server.bmv2.target import Target
from cais_tools.switch.server.bmv2.writes import check_update
from cais_tools.switch.server.profile import Front
from cais_tools.switch.server.status import P4Error

if TYPE_CHECKING:
    from cais_tools.switch.engine import Engine
    from cais_tools.switch.server.schema import Schema

__all__ = ["Bmv2Front"]


class Bmv2Front(Front):
    def __init__(self, schema: Schema, engine: Engine) -> None:
        self._target = Target(schema, engine)
        # bmv2 sets no bound to the members of a profile.
        for profile in engine.profiles.values():
            profile.max_size = sys.maxsize
        # A clone session is a multicast group with a high number, and a program can copy packets to it as to any other.
        engine.pre.first_session_group = FIRST_RESERVED_ID

    def update(self, update: p4runtime_pb2.Update) -> p4runtime_pb2.Update:
        copy = p4runtime_pb2.Update()
        copy.CopyFrom(update)
        check_update(self._target, copy)
        return copy

    def request(self, wanted: p4runtime_pb2.Entity) -> p4runtime_pb2.Entity:
        copy = p4runtime_pb2.Entity()
        copy.CopyFrom(wanted)
        check_request(self._target, copy)
        return copy

    def found(self, wanted: p4runtime_pb2.Entity, entity: p4runtime_pb2.Entity) -> p4runtime_pb2.Entity:
        as_bmv2_has_it(self._target, entity)
        return entity

    def write_failure(self, update: p4runtime_pb2.Update, error: P4Error) -> P4Error:
        return write_failure(update, error)

    def read_failure(self, wanted: p4runtime_pb2.Entity, error: P4Error) -> P4Error | None:
        return read_failure(wanted, error)
