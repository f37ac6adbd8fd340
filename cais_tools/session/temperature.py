"""How hot switches are: openconfig-platform over gNMI, where a switch offers it. That it does not is no error."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError, Message

from cais_tools.gnmi import from_message, gnmi_pb2, number, parse_path, to_message
from cais_tools.session.channel import open_channel
from cais_tools.session.target import SessionOptions, Target, Tls, parse_target

__all__ = ["Temperature", "Temperatures", "read_temperature"]

_LOG = logging.getLogger(__name__)
_INSTANT: Final = parse_path("/components/component[name=*]/state/temperature/instant")
# What says most in least comes first.
_ENCODINGS: Final = (gnmi_pb2.PROTO, gnmi_pb2.JSON_IETF, gnmi_pb2.JSON)
_PAUSE_S: Final = 10.0
_NOTHING_THERE: Final = (grpc.StatusCode.NOT_FOUND,)
# What will not be otherwise a moment later.
_LASTING: Final = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.DEADLINE_EXCEEDED)


@dataclass(frozen=True, slots=True)
class Temperature:
    """Of one component of a switch: chips, fans, power supplies and optical modules are components."""

    component: str
    celsius: float


class Temperatures:
    """One switch, read again and again over one channel. After a switch that offers no gNMI, or does not answer, has
    been asked, it is left in peace for `pause` seconds.

    Raises UsageError for a TLS file that cannot be read. Not for two threads at a time, but for `close`.
    """

    def __init__(
        self, target: Target, tls: Tls | None = None, timeout: float = 1.0, *, pause: float = _PAUSE_S
    ) -> None:
        self._timeout = timeout
        self._pause = pause
        self._quiet_until = 0.0
        self._encoding: gnmi_pb2.Encoding | None = None
        self._channel = open_channel(target, tls, timeout)
        self._capabilities = self._method("Capabilities", gnmi_pb2.CapabilityResponse)
        self._get = self._method("Get", gnmi_pb2.GetResponse)

    def _method(self, name: str, answer: type[Message]) -> Callable[..., Any]:
        return self._channel.unary_unary(f"/gnmi.gNMI/{name}", _serialize, answer.FromString)

    def read(self) -> list[Temperature] | None:
        """Of all components that tell one; None where the switch offers no gNMI, does not answer or refuses."""
        if time.monotonic() < self._quiet_until:
            return None
        try:
            return _found(self._ask())
        except grpc.RpcError as error:
            code = error.code()
            if code in _NOTHING_THERE:
                return []
            self._encoding = None
            if code in _LASTING:
                self._quiet_until = time.monotonic() + self._pause
            _LOG.debug("no temperature: %s %s", code.name, error.details())
        except (DecodeError, ValueError) as error:
            # What is no gNMI at all; or the channel was closed meanwhile.
            _LOG.debug("no temperature: %s", error)
        return None

    def hottest(self) -> Temperature | None:
        """None where none is told."""
        return max(self.read() or (), key=lambda each: each.celsius, default=None)

    def close(self) -> None:
        self._channel.close()

    def _ask(self) -> gnmi_pb2.GetResponse:
        if self._encoding is None:
            offered = self._capabilities(gnmi_pb2.CapabilityRequest(), timeout=self._timeout).supported_encodings
            self._encoding = _choice(offered)
        request = gnmi_pb2.GetRequest(
            path=[to_message(_INSTANT)], type=gnmi_pb2.GetRequest.STATE, encoding=self._encoding
        )
        return self._get(request, timeout=self._timeout)


def read_temperature(target: str | Target, options: SessionOptions | None = None) -> float | None:
    """The degrees Celsius of a switch's hottest component; None where it tells none. For one look: who looks again and
    again keeps a `Temperatures`.
    """
    options = options or SessionOptions()
    where = parse_target(target) if isinstance(target, str) else target
    reader = Temperatures(where, options.tls, options.timeout)
    try:
        hottest = reader.hottest()
    finally:
        reader.close()
    return hottest.celsius if hottest is not None else None


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _choice(offered: Sequence[gnmi_pb2.Encoding]) -> gnmi_pb2.Encoding:
    return next((each for each in _ENCODINGS if each in offered), gnmi_pb2.JSON)


def _found(response: gnmi_pb2.GetResponse) -> list[Temperature]:
    found: dict[str, float] = {}
    for told in response.notification:
        for update in told.update:
            path = from_message(told.prefix, update.path)
            celsius = number(update.val)
            name = next((elem.keys["name"] for elem in path if "name" in elem.keys), "")
            if celsius is not None:
                found[name] = celsius
    return [Temperature(*each) for each in found.items()]
