"""An action with its arguments, by names and as P4Runtime has it (section 9.1.2). Sans I/O."""

from __future__ import annotations

from collections.abc import Mapping

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4info_pb2, p4runtime_pb2, values
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.shapes import params_of
from cais_tools.session.values import Value, encode_value

__all__ = ["decode_action", "encode_action"]


def encode_action(index: P4InfoIndex, action: p4info_pb2.Action, params: Mapping[str, Value]) -> p4runtime_pb2.Action:
    """Raises UsageError for a parameter that is missing, unknown or does not fit."""
    message = p4runtime_pb2.Action(action_id=action.preamble.id)
    given = {index.param(action, key).id: value for key, value in params.items()}
    for param in action.params:
        if param.id not in given:
            wanted = ", ".join(each.name for each in action.params)
            raise UsageError(f"action {action.preamble.name} needs {param.name}", hint=f"its parameters: {wanted}")
        value = given[param.id]
        label = f"{action.preamble.name}.{param.name}"
        if index.is_string(param.type_name.name):
            encoded = str(value).encode()
        else:
            encoded = encode_value(value, param.bitwidth, label)
        message.params.append(p4runtime_pb2.Action.Param(param_id=param.id, value=encoded))
    return message


def decode_action(index: P4InfoIndex, message: p4runtime_pb2.Action) -> tuple[str, dict[str, Value]]:
    """The action's full name, and its arguments by parameter."""
    action, known = params_of(index, message.action_id)
    params: dict[str, Value] = {}
    for each in message.params:
        name, is_string = known[each.param_id]
        params[name] = each.value.decode() if is_string else values.decode(each.value)
    return action, params
