"""One key of a table entry, as P4Runtime wants it (section 9.1.1). Sans I/O.

Keys that do not count must be left out: a prefix of length 0, a mask of zeros, the full range.
"""

from __future__ import annotations

import ipaddress

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4info_pb2, p4runtime_pb2, values
from cais_tools.session.values import Lpm, MatchValue, Range, Ternary, Value, to_int

__all__ = ["decode_match", "encode_match"]


def encode_match(
    key: p4info_pb2.MatchField, value: MatchValue, *, is_string: bool = False
) -> p4runtime_pb2.FieldMatch | None:
    """The message for one key, or None where it does not count. Raises UsageError where the value makes no sense."""
    kind = key.match_type
    message = p4runtime_pb2.FieldMatch(field_id=key.id)
    if value is None:
        if kind == p4info_pb2.MatchField.EXACT:
            raise UsageError(f"key {key.name} is missing", hint="an exact key must be given")
        return None
    if kind == p4info_pb2.MatchField.EXACT:
        message.exact.value = _encode(key, _single(key, value), is_string)
    elif kind == p4info_pb2.MatchField.OPTIONAL:
        message.optional.value = _encode(key, _single(key, value), is_string)
    elif kind == p4info_pb2.MatchField.LPM:
        return _lpm(key, value, message)
    elif kind == p4info_pb2.MatchField.TERNARY:
        return _ternary(key, value, message)
    elif kind == p4info_pb2.MatchField.RANGE:
        return _range(key, value, message)
    else:
        raise UsageError(f"key {key.name} has a match kind of its architecture, {key.other_match_type!r}")
    return message


def _encode(key: p4info_pb2.MatchField, value: Value, is_string: bool) -> bytes:
    if is_string:
        return str(value).encode()
    return values.encode(to_int(value, key.bitwidth, key.name), key.bitwidth)


def _single(key: p4info_pb2.MatchField, value: MatchValue) -> Value:
    if isinstance(value, (int, str, bytes)):
        return value
    raise UsageError(f"key {key.name} is matched exactly, not by {value}")


def _lpm(
    key: p4info_pb2.MatchField, value: MatchValue, message: p4runtime_pb2.FieldMatch
) -> p4runtime_pb2.FieldMatch | None:
    width = key.bitwidth
    if isinstance(value, str) and "/" in value:
        text, _, length = value.partition("/")
        value = Lpm(text, to_int(length, 8, f"the prefix length of {key.name}"))
    elif not isinstance(value, Lpm):
        value = Lpm(_single(key, value), width)
    if not 0 <= value.prefix_len <= width:
        raise UsageError(f"prefix length {value.prefix_len} of {key.name} is not between 0 and {width}")
    number = to_int(value.value, width, key.name)
    host_bits = width - value.prefix_len
    network = number >> host_bits << host_bits
    if number != network:
        raise UsageError(
            f"{key.name} {value.value}/{value.prefix_len} has bits beyond the prefix",
            hint=f"did you mean {_address(network, width)}/{value.prefix_len}?",
        )
    if value.prefix_len == 0:
        return None
    message.lpm.value = values.encode(number, width)
    message.lpm.prefix_len = value.prefix_len
    return message


def _address(number: int, width: int) -> str:
    if width == 32:
        return str(ipaddress.IPv4Address(number))
    if width == 128:
        return str(ipaddress.IPv6Address(number))
    return hex(number)


def _ternary(
    key: p4info_pb2.MatchField, value: MatchValue, message: p4runtime_pb2.FieldMatch
) -> p4runtime_pb2.FieldMatch | None:
    width = key.bitwidth
    if isinstance(value, str) and "&&&" in value:
        text, _, mask = value.partition("&&&")
        value = Ternary(text.strip(), mask.strip())
    elif not isinstance(value, Ternary):
        value = Ternary(_single(key, value), (1 << width) - 1)
    number = to_int(value.value, width, key.name)
    mask_bits = to_int(value.mask, width, f"the mask of {key.name}")
    if number & ~mask_bits:
        raise UsageError(
            f"{key.name} {number:#x} has bits outside its mask {mask_bits:#x}",
            hint=f"did you mean {number & mask_bits:#x}&&&{mask_bits:#x}?",
        )
    if mask_bits == 0:
        return None
    message.ternary.value = values.encode(number, width)
    message.ternary.mask = values.encode(mask_bits, width)
    return message


def _range(
    key: p4info_pb2.MatchField, value: MatchValue, message: p4runtime_pb2.FieldMatch
) -> p4runtime_pb2.FieldMatch | None:
    width = key.bitwidth
    if isinstance(value, str) and ".." in value:
        low, _, high = value.partition("..")
        value = Range(low.strip(), high.strip())
    elif not isinstance(value, Range):
        single = _single(key, value)
        value = Range(single, single)
    first, last = to_int(value.low, width, key.name), to_int(value.high, width, key.name)
    if first > last:
        raise UsageError(f"the range {first}..{last} of {key.name} is empty")
    if first == 0 and last == (1 << width) - 1:
        return None
    message.range.low = values.encode(first, width)
    message.range.high = values.encode(last, width)
    return message


def decode_match(message: p4runtime_pb2.FieldMatch, *, is_string: bool = False) -> MatchValue:
    """The value of one key as a server sent it; integers, or text for SDN strings."""
    match message.WhichOneof("field_match_type"):
        case "exact":
            data = message.exact.value
        case "optional":
            data = message.optional.value
        case "lpm":
            return Lpm(values.decode(message.lpm.value), message.lpm.prefix_len)
        case "ternary":
            return Ternary(values.decode(message.ternary.value), values.decode(message.ternary.mask))
        case "range":
            return Range(values.decode(message.range.low), values.decode(message.range.high))
        case _:
            return None
    return data.decode() if is_string else values.decode(data)
