"""The server's end of a StreamChannel: what waits to be sent to one client."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.status import P4Error

__all__ = ["Client", "stream_error"]

# Packet-ins, digests and stream errors beyond this are dropped: a client that does not read must cost no memory.
_MAX_WAITING = 4096
_MAX_ARBITRATION = 1024


class Client:
    """One open StreamChannel. Any thread sends; the RPC's own thread takes."""

    def __init__(self) -> None:
        self.error: P4Error | None = None
        self.dropped = 0
        self._waiting: deque[p4runtime_pb2.StreamMessageResponse] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def send(self, message: p4runtime_pb2.StreamMessageResponse) -> None:
        """Send what must arrive: arbitration. A client that does not even take that has its stream ended."""
        with self._changed:
            if self._closed:
                return
            if len(self._waiting) < _MAX_WAITING + _MAX_ARBITRATION:
                self._waiting.append(message)
            else:
                self._waiting.clear()
                self._closed = True
                self.error = P4Error(code_pb2.RESOURCE_EXHAUSTED, "too many messages wait: this client does not read")
            self._changed.notify()

    def offer(self, message: p4runtime_pb2.StreamMessageResponse) -> bool:
        """Send what may be lost when the client is slow; whether it was taken."""
        with self._changed:
            if len(self._waiting) >= _MAX_WAITING:
                self.dropped += 1
                return False
            self._waiting.append(message)
            self._changed.notify()
            return True

    def close(self, error: P4Error | None = None) -> None:
        """No more messages: the stream ends once those that wait are sent, with the first error if there is one."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self.error = error
            self._changed.notify()

    def messages(self) -> Iterator[p4runtime_pb2.StreamMessageResponse]:
        """What to send, as it comes, until the stream is closed."""
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                message = self._waiting.popleft()
            yield message


def stream_error(error: P4Error, request: p4runtime_pb2.StreamMessageRequest) -> p4runtime_pb2.StreamMessageResponse:
    """What was wrong with a message of the client, and which one it was (section 16.7)."""
    response = p4runtime_pb2.StreamMessageResponse()
    response.error.canonical_code = error.code
    response.error.message = error.message
    match request.WhichOneof("update"):
        case "packet":
            response.error.packet_out.packet_out.CopyFrom(request.packet)
        case "digest_ack":
            response.error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
        case _:
            response.error.other.other.CopyFrom(request.other)
    return response
