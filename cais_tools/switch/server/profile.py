"""What a P4Runtime server may answer in more than one way: the specification's here, another target's in a subclass.

`ControlPlane` and the service ask a `Profile`; of each pipeline a `Front`, which stands between requests and entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.arbitration import Arbitration, Electorate
from cais_tools.switch.server.status import Ending, P4Error, batch_ending

if TYPE_CHECKING:
    from cais_tools.switch.engine import Engine
    from cais_tools.switch.server.schema import Schema

__all__ = ["Front", "Profile"]

# Entities, and bytes of them, in one ReadResponse: well below the 4 MiB that clients receive by default.
_RESPONSE = 1000
_RESPONSE_BYTES = 1 << 20


class Front:
    """One pipeline's requests on their way in, and answers on their way out. Here they pass."""

    def update(self, update: p4runtime_pb2.Update) -> p4runtime_pb2.Update:
        """The update to apply, or P4Error where it is refused before anything is looked at."""
        return update

    def request(self, wanted: p4runtime_pb2.Entity) -> p4runtime_pb2.Entity:
        """What to read for it. Raises P4Error."""
        return wanted

    def found(self, wanted: p4runtime_pb2.Entity, entity: p4runtime_pb2.Entity) -> p4runtime_pb2.Entity:
        """What to answer with for an entity that was found; it may be changed in place."""
        del wanted
        return entity

    def write_failure(self, update: p4runtime_pb2.Update, error: P4Error) -> P4Error:
        del update
        return error

    def read_failure(self, wanted: p4runtime_pb2.Entity, error: P4Error) -> P4Error | None:
        """None: the answer is that there is nothing."""
        del wanted
        return error


class Profile:
    """P4Runtime 1.4 as the specification has it."""

    api_version = "1.4.1"
    max_message = 64 << 20
    """Bytes of a request (appendix "Maximum Receive Message Size"): a program with its P4Info, or a large batch."""
    ports_must_exist = True
    """Whether replicas to ports that this switch does not have are refused."""
    reports_stream_errors = True
    """Whether a client hears what was wrong with a packet-out or an acknowledgement."""
    reports_saved_config = False
    """Whether GetForwardingPipelineConfig answers with a config that is saved but does not run yet."""
    stops_reads_at_failure = False
    """Whether the first request of a batch that fails ends the batch."""
    offers_gnmi = True
    """Whether gNMI is served beside P4Runtime."""

    def arbitration(self, device_id: int) -> Electorate:
        return Arbitration(device_id)

    def front(self, schema: Schema, engine: Engine) -> Front:
        del schema, engine
        return Front()

    def no_pipeline(self) -> P4Error:
        return P4Error(code_pb2.FAILED_PRECONDITION, "no forwarding pipeline config is set")

    def looks_loaded(self, device_id: int) -> bool:
        """Whether GetForwardingPipelineConfig answers for a device that has no config, as if it had an empty one."""
        del device_id
        return False

    def config_of_nothing(self) -> p4runtime_pb2.GetForwardingPipelineConfigResponse:
        """The answer to GetForwardingPipelineConfig before one is set (section 15). Raises P4Error."""
        return p4runtime_pb2.GetForwardingPipelineConfigResponse()

    def settles_config(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest) -> bool:
        """Look at the request first: True where nothing is left to be done. Raises P4Error."""
        del request
        return False

    def config_failure(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest, error: P4Error) -> P4Error:
        del request
        return error

    def all_or_none(self, request: p4runtime_pb2.WriteRequest) -> bool:
        """Whether the batch is applied as a whole (section 12.2). Raises P4Error."""
        kinds = p4runtime_pb2.WriteRequest
        if request.atomicity == kinds.CONTINUE_ON_ERROR:
            return False
        if request.atomicity in (kinds.ROLLBACK_ON_ERROR, kinds.DATAPLANE_ATOMIC):
            return True
        raise P4Error(code_pb2.UNIMPLEMENTED, f"atomicity {request.atomicity} is not known")

    def responses(self, entities: Sequence[p4runtime_pb2.Entity]) -> list[p4runtime_pb2.ReadResponse]:
        responses: list[p4runtime_pb2.ReadResponse] = []
        size = _RESPONSE_BYTES
        for entity in entities:
            size += entity.ByteSize()
            if size > _RESPONSE_BYTES or len(responses[-1].entities) == _RESPONSE:
                responses.append(p4runtime_pb2.ReadResponse())
                size = entity.ByteSize()
            responses[-1].entities.append(entity)
        return responses

    def write_ending(self, errors: Sequence[P4Error | None]) -> Ending:
        """How the RPC ends when something in the batch failed (section 12.3)."""
        return batch_ending(_summary("update", errors), errors)

    def read_ending(self, errors: Sequence[P4Error | None]) -> Ending:
        return batch_ending(_summary("request", errors), errors)


def _summary(what: str, errors: Sequence[P4Error | None]) -> str:
    failed = [(index, error) for index, error in enumerate(errors) if error is not None]
    index, first = failed[0]
    return f"{len(failed)} of {len(errors)} {what}s failed; {what} {index}: {first.message}"
