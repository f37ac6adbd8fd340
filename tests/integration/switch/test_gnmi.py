"""gNMI of a real embedded switch, beside P4Runtime: what it answers to any client, and what our reader makes of it."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Self

import grpc
import pytest

from cais_tools.errors import UsageError
from cais_tools.gnmi import gnmi_pb2, parse_path, to_message
from cais_tools.p4rt import p4runtime_pb2, p4runtime_pb2_grpc
from cais_tools.session import SessionOptions, Tls, parse_target
from cais_tools.session.temperature import Temperature, Temperatures, read_temperature
from cais_tools.switch import embedded
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from cais_tools.switch.server import Limits
from tests.functional.runner import run
from tests.integration.switch.certificates import Authority
from tests.integration.switches import running_switch

PATIENCE = 20.0
INSTANT = "/components/component[name=*]/state/temperature/instant"


@contextlib.contextmanager
def switch(**config: Any) -> Generator[EmbeddedSwitch]:
    with EmbeddedSwitch(SwitchConfig(grpc_address="127.0.0.1:0", **config)) as running:
        yield running


def _serialize(message: Any) -> bytes:
    return message.SerializeToString()


class Client:
    """A bare gNMI client."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def call(self, method: str, request: Any, answer: Any) -> Any:
        call = self.channel.unary_unary(f"/gnmi.gNMI/{method}", _serialize, answer.FromString)
        return call(request, timeout=PATIENCE)

    def get(self, path: str = INSTANT, **fields: Any) -> Any:
        request = gnmi_pb2.GetRequest(path=[to_message(parse_path(path))], **fields)
        return self.call("Get", request, gnmi_pb2.GetResponse)

    def subscribe(self, requests: Iterator[Any]) -> Any:
        call = self.channel.stream_stream("/gnmi.gNMI/Subscribe", _serialize, gnmi_pb2.SubscribeResponse.FromString)
        return call(requests, timeout=PATIENCE)


def subscription(mode: Any, path: str = INSTANT, **fields: Any) -> gnmi_pb2.SubscribeRequest:
    each = gnmi_pb2.Subscription(path=to_message(parse_path(path)), mode=gnmi_pb2.SAMPLE, **fields)
    wanted = gnmi_pb2.SubscriptionList(mode=mode, subscription=[each], encoding=gnmi_pb2.PROTO)
    return gnmi_pb2.SubscribeRequest(subscribe=wanted)


def told(response: gnmi_pb2.SubscribeResponse) -> object:
    """A temperature, "sync", or "gone"."""
    if response.sync_response:
        return "sync"
    return response.update.update[0].val.double_val if response.update.update else "gone"


def code(failed: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as refused:
        failed()
    return refused.value.code()  # pyright: ignore[reportAttributeAccessIssue]


POLL = gnmi_pb2.SubscribeRequest(poll=gnmi_pb2.Poll())
MODES = gnmi_pb2.SubscriptionList


def test_capabilities_and_get_beside_p4runtime() -> None:
    with switch(temperature=42.0) as running, Client(running.address) as client:
        offered = client.call("Capabilities", gnmi_pb2.CapabilityRequest(), gnmi_pb2.CapabilityResponse)
        assert [model.name for model in offered.supported_models] == ["openconfig-platform"]
        assert gnmi_pb2.JSON_IETF in offered.supported_encodings
        (notification,) = client.get(encoding=gnmi_pb2.JSON_IETF).notification
        assert notification.update[0].val.json_ietf_val == b'"42.0"'
        assert code(lambda: client.get("/interfaces")) is grpc.StatusCode.NOT_FOUND
        assert code(lambda: client.get(encoding=gnmi_pb2.ASCII)) is grpc.StatusCode.UNIMPLEMENTED
        stub = p4runtime_pb2_grpc.P4RuntimeStub(client.channel)
        assert stub.Capabilities(p4runtime_pb2.CapabilitiesRequest(), timeout=PATIENCE).p4runtime_api_version


def test_once() -> None:
    with switch(temperature=42.0) as running, Client(running.address) as client:
        assert [told(each) for each in client.subscribe(iter([subscription(MODES.ONCE)]))] == [42.0, "sync"]
        nothing = client.subscribe(iter([subscription(MODES.ONCE, "/interfaces")]))
        assert [told(each) for each in nothing] == ["sync"]


def test_poll(tmp_path: Path) -> None:
    file = tmp_path / "temperature"
    file.write_text("40\n")
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with switch(temperature=file) as running, Client(running.address) as client:
        requests.put(subscription(MODES.POLL))
        responses = client.subscribe(iter(requests.get, None))
        assert [told(next(responses)) for _ in range(2)] == [40.0, "sync"]
        file.write_text("41.25")
        requests.put(POLL)
        assert [told(next(responses)) for _ in range(2)] == [41.2, "sync"]
        file.unlink()
        requests.put(POLL)
        assert told(next(responses)) == "sync"
        requests.put(None)
        assert list(responses) == []


def test_a_stream_of_samples(tmp_path: Path) -> None:
    file = tmp_path / "temperature"
    file.write_text("40")
    with switch(temperature=file) as running, Client(running.address) as client:
        # The client has said all that it has to say: samples come all the same.
        responses = client.subscribe(iter([subscription(MODES.STREAM, sample_interval=100_000_000)]))
        assert [told(next(responses)) for _ in range(4)] == [40.0, "sync", 40.0, 40.0]
        # Another name and then a move: nobody reads a file that is half written.
        (tmp_path / "next").write_text("50")
        (tmp_path / "next").rename(file)
        assert 50.0 in (told(next(responses)) for _ in range(100))
        file.unlink()
        assert "gone" in (told(next(responses)) for _ in range(100))
        responses.cancel()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], grpc.StatusCode.INVALID_ARGUMENT),
        ([POLL], grpc.StatusCode.INVALID_ARGUMENT),
        ([subscription(MODES.STREAM)] * 2, grpc.StatusCode.INVALID_ARGUMENT),
        ([subscription(MODES.POLL)] * 2, grpc.StatusCode.INVALID_ARGUMENT),
        ([subscription(MODES.STREAM, sample_interval=1)], grpc.StatusCode.INVALID_ARGUMENT),
        ([subscription(7)], grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_conversations_that_go_wrong(said: list[Any], expected: grpc.StatusCode) -> None:
    with switch(temperature=40.0) as running, Client(running.address) as client:
        assert code(lambda: list(client.subscribe(iter(said)))) is expected


def test_bytes_that_are_no_message() -> None:
    with switch(temperature=40.0) as running, Client(running.address) as client:
        for method, kind in (("Get", client.channel.unary_unary), ("Subscribe", client.channel.stream_stream)):
            call = kind(f"/gnmi.gNMI/{method}")
            request: Any = b"\xff" if method == "Get" else iter([b"\xff"])
            assert code(lambda call=call, request=request: list(call(request))) is grpc.StatusCode.INVALID_ARGUMENT


def test_subscriptions_are_counted_and_end_with_the_switch() -> None:
    with switch(temperature=40.0, limits=Limits(subscriptions=1)) as running, Client(running.address) as client:
        held = client.subscribe(iter([subscription(MODES.STREAM, sample_interval=10**18)]))
        assert [told(next(held)) for _ in range(2)] == [40.0, "sync"]
        assert code(lambda: list(client.subscribe(iter([subscription(MODES.ONCE)])))) is (
            grpc.StatusCode.RESOURCE_EXHAUSTED
        )
        running.stop()
        assert code(lambda: list(held)) is grpc.StatusCode.UNAVAILABLE


def test_a_client_that_goes_away_makes_room() -> None:
    with switch(temperature=40.0, limits=Limits(subscriptions=1)) as running:
        with Client(running.address) as client:
            held = client.subscribe(iter([subscription(MODES.POLL)]))
            assert told(next(held)) == 40.0
        end = time.monotonic() + PATIENCE
        with Client(running.address) as client:
            while time.monotonic() < end:
                with contextlib.suppress(grpc.RpcError):
                    assert len(list(client.subscribe(iter([subscription(MODES.ONCE)])))) == 2
                    return
        pytest.fail("the place of a client that is gone is not given to others")


def test_the_reader_in_plaintext(tmp_path: Path) -> None:
    file = tmp_path / "temperature"
    file.write_text("86.5")
    with switch(temperature=file) as running:
        assert read_temperature(running.address) == 86.5
        reader = Temperatures(parse_target(running.address), timeout=PATIENCE)
        assert reader.read() == [Temperature("chip", 86.5)]
        file.write_text("ninety")
        assert (reader.read(), reader.hottest()) == ([], None)
        file.write_text("90")
        assert reader.hottest() == Temperature("chip", 90.0)
        reader.close()
        assert reader.read() is None


def test_the_reader_over_tls(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    server, client = ours.issue("server"), ours.issue("client")
    with switch(temperature=42.0, tls=embedded.Tls(server.cert, server.key, ours.cert)) as running:
        known = SessionOptions(tls=Tls(ours.cert, client.cert, client.key), timeout=PATIENCE)
        assert read_temperature(running.address, known) == 42.0
        assert read_temperature(running.address, SessionOptions(tls=Tls(ours.cert), timeout=1.0)) is None
        assert read_temperature(running.address, SessionOptions(timeout=1.0)) is None


def test_switches_that_tell_none() -> None:
    with switch() as running:
        assert read_temperature(running.address) is None
    with switch(profile="bmv2", device_id=0) as running:
        address = running.address
        assert read_temperature(address) is None
    assert read_temperature(address, SessionOptions(timeout=1.0)) is None


def test_a_switch_without_gnmi_is_left_in_peace() -> None:
    asked = 0

    class Counting(grpc.ServerInterceptor):
        def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
            nonlocal asked
            asked += 1
            return continuation(handler_call_details)

    from concurrent.futures import ThreadPoolExecutor

    server = grpc.server(ThreadPoolExecutor(1), interceptors=[Counting()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        for pause, expected in ((60.0, 1), (0.0, 3)):
            asked = 0
            reader = Temperatures(parse_target(f"127.0.0.1:{port}"), timeout=PATIENCE, pause=pause)
            assert [reader.read() for _ in range(3)] == [None] * 3
            assert asked == expected
            reader.close()
    finally:
        server.stop(None)


def test_a_host_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        assert read_temperature(f"127.0.0.1:{port}", SessionOptions(timeout=0.3)) is None


def test_a_switch_that_comes_back() -> None:
    with switch(temperature=40.0) as running:
        address = running.address
        reader = Temperatures(parse_target(address), timeout=PATIENCE)
        assert reader.hottest() == Temperature("chip", 40.0)
        running.stop()
        assert reader.hottest() is None
        with EmbeddedSwitch(SwitchConfig(grpc_address=address, temperature=41.0)):
            end = time.monotonic() + PATIENCE
            while (found := reader.hottest()) is None and time.monotonic() < end:
                threading.Event().wait(0.05)
            assert found == Temperature("chip", 41.0)
        reader.close()


@pytest.mark.parametrize("temperature", [float("nan"), float("inf"), -300.0, Path("/nonexistent"), Path("/")])
def test_what_is_no_temperature(temperature: float | Path) -> None:
    with pytest.raises(UsageError, match=r"not possible|neither a number nor a file"), switch(temperature=temperature):
        pass


def test_bmv2_has_no_temperature() -> None:
    with pytest.raises(UsageError, match="simple_switch_grpc tells no temperature"):
        SwitchConfig(profile="bmv2", temperature=42.0)


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "temperature"
    file.write_text("61.5")
    with running_switch(options=["--temperature", str(file)]) as running:
        assert read_temperature(running.address, SessionOptions(timeout=PATIENCE)) == 61.5
        file.write_text("62")
        assert read_temperature(running.address, SessionOptions(timeout=PATIENCE)) == 62.0
    refused = run("switch", "--port", "1=cable:0:9", CAIS_TEMPERATURE="42C")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the temperature is neither a number nor a file: 42C" in refused.stderr
