"""simple_switch_grpc's ways with configs and batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cais_tools.p4rt import p4runtime_pb2, status_pb2
from cais_tools.switch.server.arbitration import Electorate
from cais_tools.switch.server.bmv2.arbitration import Bmv2Arbitration
from cais_tools.switch.server.bmv2.front import Bmv2Front
from cais_tools.switch.server.bmv2.refusal import UNIMPLEMENTED, UNKNOWN, invalid, no_pipeline, refusal
from cais_tools.switch.server.profile import Front, Profile
from cais_tools.switch.server.schema import build_schema
from cais_tools.switch.server.status import Ending, P4Error, batch_ending

if TYPE_CHECKING:
    from cais_tools.switch.engine import Engine
    from cais_tools.switch.server.schema import Schema

__all__ = ["Bmv2Profile"]

_SPACE = "ALL-sswitch-p4org"
_Set = p4runtime_pb2.SetForwardingPipelineConfigRequest


class Bmv2Profile(Profile):
    api_version = "1.3.0"
    max_message = 256 << 20
    ports_must_exist = False
    reports_stream_errors = False
    reports_saved_config = True
    stops_reads_at_failure = True
    offers_gnmi = False

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        # Devices that were refused a config look as if they had an empty one. (bmv2 ends when such a one is read.)
        self._refused: set[int] = set()

    def looks_loaded(self, device_id: int) -> bool:
        return device_id in self._refused

    def arbitration(self, device_id: int) -> Electorate:
        return Bmv2Arbitration(device_id)

    def front(self, schema: Schema, engine: Engine) -> Front:
        return Bmv2Front(schema, engine)

    def no_pipeline(self) -> P4Error:
        return no_pipeline()

    def config_of_nothing(self) -> p4runtime_pb2.GetForwardingPipelineConfigResponse:
        raise no_pipeline()

    def settles_config(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest) -> bool:
        """VERIFY looks at the P4Info and not at the program; another device's config gets that far too."""
        if request.action == _Set.UNSPECIFIED:
            raise invalid("Invalid SetForwardingPipeline action")
        if request.action != _Set.COMMIT:
            try:
                build_schema(request.config.p4info)
            except P4Error as error:
                raise refusal(UNKNOWN, "Error when importing p4info") from error
        if request.action == _Set.VERIFY:
            return True
        if request.device_id != self._device_id:
            self._refused.add(request.device_id)
            raise refusal(UNKNOWN, "Error when trying to assign device")
        # PI takes no notice of a config that comes with COMMIT.
        if request.action == _Set.COMMIT:
            request.ClearField("config")
        return False

    def config_failure(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest, error: P4Error) -> P4Error:
        del error
        self._refused.add(request.device_id)
        match request.action:
            case _Set.COMMIT:
                return refusal(UNKNOWN, "Error in second phase of device update")
            case _Set.RECONCILE_AND_COMMIT:
                return refusal(UNKNOWN, "Error when reconciling config")
            case _ if not _is_json_object(request.config.p4_device_config):
                return refusal(UNKNOWN, "Unexpected error in RPC handling")
            case _:
                # simple_switch_grpc says this only to the config after: it takes the broken one, and answers
                # everything with UNKNOWN from then on. A rehearsal had better say so at once.
                return refusal(UNKNOWN, "Error in first phase of device update")

    def all_or_none(self, request: p4runtime_pb2.WriteRequest) -> bool:
        if request.atomicity != p4runtime_pb2.WriteRequest.CONTINUE_ON_ERROR:
            raise refusal(UNIMPLEMENTED, "Support for atomic write modes has not been implemented yet")
        return False

    def responses(self, entities: Sequence[p4runtime_pb2.Entity]) -> list[p4runtime_pb2.ReadResponse]:
        """One, whatever its size; also where nothing was found."""
        return [p4runtime_pb2.ReadResponse(entities=entities)]

    def write_ending(self, errors: Sequence[P4Error | None]) -> Ending:
        return batch_ending("", errors, space=_SPACE, target_codes=False)

    def read_ending(self, errors: Sequence[P4Error | None]) -> Ending:
        """The status of the request that failed."""
        error = next(error for error in errors if error is not None)
        return Ending(error.code, error.message, status_pb2.Status(code=error.code, message=error.message))


def _is_json_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False
