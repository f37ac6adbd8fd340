"""What waits to be sent to one client."""

from __future__ import annotations

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.streams import Client


def message(device_id: int) -> p4runtime_pb2.StreamMessageResponse:
    return p4runtime_pb2.StreamMessageResponse(arbitration={"device_id": device_id})


def test_messages_come_in_order_and_the_stream_ends() -> None:
    client = Client()
    client.send(message(1))
    assert client.offer(message(2))
    client.close()
    assert [each.arbitration.device_id for each in client.messages()] == [1, 2]
    assert client.error is None


def test_a_client_that_does_not_read_costs_no_memory() -> None:
    client = Client()
    taken = sum(client.offer(message(1)) for _ in range(5000))
    assert (taken, client.dropped) == (4096, 904)
    for _ in range(1024):
        client.send(message(2))
    assert client.error is None
    client.send(message(2))
    client.send(message(2))
    assert client.error is not None
    assert client.error.code == code_pb2.RESOURCE_EXHAUSTED
    client.close()
    assert list(client.messages()) == [], "what waited is dropped"
