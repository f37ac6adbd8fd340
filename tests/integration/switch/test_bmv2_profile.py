"""`profile="bmv2"` answers as simple_switch_grpc does: the same questions to both, the same code and text from both."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

import grpc
import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.p4rt.status import code_name, decode_status
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.functional.runner import command, environment
from tests.integration.switch.client import (
    DATA,
    INSERT,
    PATIENCE,
    Client,
    SetConfig,
    code,
    multicast_group,
    program,
    text,
    verdicts,
)
from tests.integration.switch.questions import CONFIG, QUESTIONS, Question
from tests.integration.switch.questions.builders import A_DEFAULT, Entity, entry_of, kind_entry, kinds

DEVICE = 1
TARGETS = ["embedded", "bmv2"]


@contextmanager
def started(target: str) -> Generator[str]:
    """The address of a switch that was never asked anything."""
    if target == "embedded":
        config = SwitchConfig(grpc_address="127.0.0.1:0", device_id=DEVICE, profile="bmv2")
        with EmbeddedSwitch(config) as switch:
            yield switch.address
        return
    if shutil.which("simple_switch_grpc") is None:
        pytest.skip("simple_switch_grpc is not on PATH")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    program_line = ["simple_switch_grpc", "--no-p4", "--device-id", str(DEVICE), "-L", "off"]
    process = subprocess.Popen(
        [*program_line, "--", "--grpc-server-addr", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with grpc.insecure_channel(address, options=(("grpc.enable_http_proxy", 0),)) as channel:
            grpc.channel_ready_future(channel).result(PATIENCE)
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module", params=TARGETS)
def shared(request: pytest.FixtureRequest) -> Generator[str]:
    with started(request.param) as address:
        yield address


@pytest.fixture(params=TARGETS)
def fresh(request: pytest.FixtureRequest) -> Generator[str]:
    with started(request.param) as address:
        yield address


@pytest.fixture(scope="module")
def client(shared: str) -> Generator[Client]:
    with Client(shared, device_id=DEVICE) as client:
        assert client.status() == code_pb2.OK
        yield client


def failure(call: Callable[[], object]) -> tuple[str, str]:
    """(code, text) of an RPC that must fail."""
    with pytest.raises(grpc.RpcError) as failed:
        call()
    return _read_answer(failed.value)


def ask(client: Client, question: Question) -> tuple[tuple[str, str], list[Entity]]:
    """The answer, and what a read found."""
    client.load(CONFIG)
    for kind, entity in question.before:
        client.write(kind, entity)
    try:
        if question.kind is None:
            return ("OK", ""), client.read(question.entity)
        client.write(question.kind, question.entity)
    except grpc.RpcError as error:
        return (_read_answer if question.kind is None else _verdict)(error), []
    return ("OK", ""), []


def _read_answer(error: grpc.RpcError) -> tuple[str, str]:
    return code(error).name, text(error)


def _verdict(error: grpc.RpcError) -> tuple[str, str]:
    """What became of the only update of a batch, in bmv2's form."""
    assert (code(error), text(error)) == (grpc.StatusCode.UNKNOWN, "")
    [verdict] = verdicts(error)
    assert (verdict.space, verdict.code) == ("ALL-sswitch-p4org", 0)
    return code_name(verdict.canonical_code), verdict.message


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_the_answer(client: Client, question: Question) -> None:
    answer, found = ask(client, question)
    assert answer == question.answer
    assert len(found) == question.finds


def test_reads_find_the_same() -> None:
    with ExitStack() as stack:
        clients = [
            stack.enter_context(Client(stack.enter_context(started(target)), device_id=DEVICE)) for target in TARGETS
        ]
        for client in clients:
            assert client.status() == code_pb2.OK
        for question in QUESTIONS:
            if question.finds:
                ours, theirs = (ask(client, question)[1] for client in clients)
                assert sorted(map(str, ours)) == sorted(map(str, theirs)), question.name


def test_before_a_config_is_set(fresh: str) -> None:
    nothing = ("FAILED_PRECONDITION", "No forwarding pipeline config set for this device")
    with Client(fresh, device_id=DEVICE) as client:
        assert client.status() == code_pb2.OK
        assert failure(client.get_config) == nothing
        assert failure(lambda: client.read(Entity(table_entry={}))) == nothing
        assert failure(lambda: client.write(INSERT, kind_entry())) == nothing
        broken = p4runtime_pb2.ForwardingPipelineConfig(p4info=CONFIG.p4info, p4_device_config=b"{")
        client.load(broken, SetConfig.VERIFY)
        client.load(None, SetConfig.VERIFY)
        assert client.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest()).p4runtime_api_version == "1.3.0"


def test_configs(fresh: str) -> None:
    with Client(fresh, device_id=DEVICE) as client:
        assert client.status() == code_pb2.OK
        client.load(CONFIG)
        assert failure(lambda: client.load(CONFIG, SetConfig.UNSPECIFIED)) == (
            "INVALID_ARGUMENT",
            "Invalid SetForwardingPipeline action",
        )
        client.write(INSERT, kind_entry())
        config = client.get_config().config
        assert (config.cookie.cookie, config.p4_device_config) == (42, CONFIG.p4_device_config)
        other = program("control", DATA)
        client.load(other, SetConfig.VERIFY_AND_SAVE)
        assert client.get_config().config.p4_device_config == other.p4_device_config
        client.load(None, SetConfig.COMMIT)
        client.write(INSERT, multicast_group(1, (1, 0)))
        client.load(CONFIG, SetConfig.VERIFY_AND_SAVE)
        assert client.read(entry_of("exact_kind")) == []
        client.write(INSERT, kind_entry())
        client.load(None, SetConfig.COMMIT)
        assert client.read(entry_of("exact_kind")) == [kind_entry()]
        client.write(INSERT, kind_entry(b"\x06"))  # bmv2 is ready for the next config only after something else
        second_phase = ("UNKNOWN", "Error in second phase of device update")
        assert failure(lambda: client.load(None, SetConfig.COMMIT)) == second_phase
        assert failure(lambda: client.load(CONFIG, SetConfig.COMMIT)) == second_phase
        broken = p4runtime_pb2.ForwardingPipelineConfig(p4info=CONFIG.p4info, p4_device_config=b"no program")
        assert failure(lambda: client.load(broken)) == ("UNKNOWN", "Unexpected error in RPC handling")


def test_a_program_that_cannot_be_loaded() -> None:
    # bmv2 itself says OK to this one, and then fails at everything.
    broken = p4runtime_pb2.ForwardingPipelineConfig(p4info=CONFIG.p4info, p4_device_config=b"{}")
    with started("embedded") as address, Client(address, device_id=DEVICE) as client:
        assert client.status() == code_pb2.OK
        assert failure(lambda: client.load(broken)) == ("UNKNOWN", "Error in first phase of device update")


def test_a_device_that_was_refused_a_program_looks_loaded(fresh: str) -> None:
    broken = p4runtime_pb2.ForwardingPipelineConfig(p4info=CONFIG.p4info, p4_device_config=b"no program")
    empty = p4runtime_pb2.GetForwardingPipelineConfigResponse(config={})
    for device, config in ((7, CONFIG), (DEVICE, broken)):
        with Client(fresh, device_id=device) as client:
            assert client.status() == code_pb2.OK
            assert failure(client.get_config)[0] == "FAILED_PRECONDITION"
            assert failure(lambda config=config: client.load(config))[0] == "UNKNOWN"
            assert [client.get_config(kind) for kind in range(4)] == [empty] * 4


def test_counters_of_colours_are_taken_no_notice_of(client: Client) -> None:
    client.load(CONFIG)
    meter = Entity()
    meter.meter_entry.meter_id = CONFIG.p4info.meters[0].preamble.id
    meter.meter_entry.index.index = 1
    meter.meter_entry.counter_data.SetInParent()
    assert client.read(meter) == [meter]
    meter.meter_entry.counter_data.green.packet_count = 4
    client.write(p4runtime_pb2.Update.MODIFY, meter)


def test_reconcile_keeps_entries(fresh: str) -> None:
    with Client(fresh, device_id=DEVICE) as client:
        assert client.status() == code_pb2.OK
        try:
            config = program("ternary")
        except pytest.skip.Exception:
            pytest.skip("needs ../shared/conformance")
        client.load(config)
        [table] = config.p4info.tables
        entry = Entity(table_entry={"table_id": table.preamble.id, "priority": 5})
        entry.table_entry.action.action.action_id = table.action_refs[0].id
        client.write(INSERT, entry)
        client.load(config, SetConfig.RECONCILE_AND_COMMIT)
        assert client.read(Entity(table_entry={})) == [entry]


def test_batches(client: Client) -> None:
    client.load(CONFIG)
    updates = [
        p4runtime_pb2.Update(type=INSERT, entity=entity)
        for entity in (kind_entry(b"\x01"), kind_entry(b"\x01"), kind_entry(b"\x02"))
    ]
    for atomicity in (1, 2, 7):
        assert failure(lambda atomicity=atomicity: client.update(updates, atomicity=atomicity)) == (
            "UNIMPLEMENTED",
            "Support for atomic write modes has not been implemented yet",
        )
    with pytest.raises(grpc.RpcError) as failed:
        client.update(updates)
    assert (code(failed.value), text(failed.value)) == (grpc.StatusCode.UNKNOWN, "")
    found = [(each.canonical_code, each.space) for each in verdicts(failed.value)]
    assert found == [(0, ""), (code_pb2.ALREADY_EXISTS, "ALL-sswitch-p4org"), (0, "")]
    client.update([])


def test_a_read_is_one_message_and_ends_at_the_first_failure(client: Client) -> None:
    client.load(CONFIG)

    def sizes(*entities: Entity) -> list[int]:
        request = p4runtime_pb2.ReadRequest(device_id=DEVICE, entities=entities)
        return [len(response.entities) for response in client.stub.Read(request)]

    fixed = entry_of("fixed")
    assert sizes() == [0]
    assert sizes(fixed, A_DEFAULT) == [3]
    request = p4runtime_pb2.ReadRequest(device_id=DEVICE, entities=[fixed, multicast_group(9), fixed])
    responses = iter(client.stub.Read(request))
    assert len(next(responses).entities) == 2
    with pytest.raises(grpc.RpcError) as failed:
        next(responses)
    assert _read_answer(failed.value) == ("NOT_FOUND", "Multicast group does not exist")
    status = decode_status(failed.value.trailing_metadata())  # pyright: ignore[reportAttributeAccessIssue]
    assert status is not None
    assert (status.code, status.message) == (code_pb2.NOT_FOUND, "Multicast group does not exist")


def test_entries_of_the_program_are_unknown_to_it(client: Client) -> None:
    config = program("control", DATA)
    client.load(config)
    table = Entity(table_entry={"table_id": config.p4info.tables[0].preamble.id})
    assert failure(lambda: client.read(table)) == ("INTERNAL", "Table state out-of-sync with target")


def test_another_device(shared: str, client: Client) -> None:
    client.load(CONFIG)
    with Client(shared, device_id=7) as other:
        update = other.receive("arbitration")
        assert (update.device_id, update.status.message) == (7, "Is primary")
        assert failure(other.get_config)[0] == "FAILED_PRECONDITION"
        other.load(CONFIG, SetConfig.VERIFY)
        assert failure(lambda: other.load(CONFIG)) == ("UNKNOWN", "Error when trying to assign device")
    try:
        client.device_id = 8
        assert failure(lambda: client.write(INSERT, kind_entry())) == ("PERMISSION_DENIED", "Not primary")
        assert failure(lambda: client.load(CONFIG)) == ("PERMISSION_DENIED", "Not primary")
        assert failure(lambda: client.read(Entity(table_entry={})))[0] == "FAILED_PRECONDITION"
    finally:
        client.device_id = DEVICE


def test_who_may_write(shared: str, client: Client) -> None:
    client.load(CONFIG)
    stub = client.stub
    updates = [p4runtime_pb2.Update(type=kind, entity=entity) for kind, entity in kinds(1)]
    wrong = p4runtime_pb2.WriteRequest(device_id=DEVICE, updates=updates, election_id={"low": 9})
    assert failure(lambda: stub.Write(wrong)) == ("PERMISSION_DENIED", "Not primary")
    without = p4runtime_pb2.WriteRequest(device_id=DEVICE, updates=updates)
    assert failure(lambda: stub.Write(without)) == ("PERMISSION_DENIED", "Not primary")
    roles = p4runtime_pb2.WriteRequest(device_id=DEVICE, updates=updates, election_id={"low": 1}, role="any")
    stub.Write(roles)


def test_without_streams_whoever_has_no_election_id_may_write(fresh: str) -> None:
    with grpc.insecure_channel(fresh, options=(("grpc.enable_http_proxy", 0),)) as channel:
        stub = Client.stub_of(channel)
        request = SetConfig(device_id=DEVICE, action=SetConfig.VERIFY_AND_COMMIT, config=CONFIG)
        request.election_id.low = 1
        assert failure(lambda: stub.SetForwardingPipelineConfig(request)) == ("PERMISSION_DENIED", "Not primary")
        request.ClearField("election_id")
        stub.SetForwardingPipelineConfig(request)
        updates = [p4runtime_pb2.Update(type=kind, entity=entity) for kind, entity in kinds(1)]
        stub.Write(p4runtime_pb2.WriteRequest(device_id=DEVICE, updates=updates))


def heard(client: Client) -> tuple[int, int, str]:
    """(highest election id, status code, status text) of the next arbitration message."""
    update = client.receive("arbitration")
    assert update.HasField("election_id")
    assert not update.HasField("role")
    return update.election_id.low, update.status.code, update.status.message


def test_arbitration(fresh: str) -> None:
    backup = code_pb2.ALREADY_EXISTS
    with Client(fresh, 5, device_id=DEVICE) as first:
        assert heard(first) == (5, 0, "Is primary")
        # No election id is 0, and a role is taken no notice of.
        with Client(fresh, None, device_id=DEVICE) as zero, Client(fresh, 9, device_id=DEVICE, role="r") as third:
            while heard(zero) != (9, backup, "Is backup"):
                pass
            assert heard(third) == (9, 0, "Is primary")
            assert heard(first) == (9, backup, "Is backup")
            for election_id in (0, 5):
                with Client(fresh, election_id, device_id=DEVICE) as same:
                    assert same.ended_with() == grpc.StatusCode.INVALID_ARGUMENT
            third.arbitrate(2)
            assert heard(third) == (5, backup, "Is backup")
            assert heard(first) == (5, 0, "Is primary")
            assert heard(zero) == (5, backup, "Is backup")
            first.close()
            # The next is promoted: nobody ever hears NOT_FOUND.
            assert heard(third) == (2, 0, "Is primary")
            assert heard(zero) == (2, backup, "Is backup")
            zero.device_id = 3
            zero.arbitrate(0)
            assert zero.ended_with() == grpc.StatusCode.FAILED_PRECONDITION


def test_seventeen_streams(fresh: str) -> None:
    with ExitStack() as stack:
        for number in range(16):
            stack.enter_context(Client(fresh, number, device_id=DEVICE)).receive("arbitration")
        extra = stack.enter_context(Client(fresh, 99, device_id=DEVICE))
        assert extra.ended_with() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_bad_stream_messages_are_dropped(fresh: str) -> None:
    with Client(fresh, device_id=DEVICE) as client:
        assert client.status() == code_pb2.OK
        client.load(CONFIG)
        packet = p4runtime_pb2.PacketOut(payload=b"1234", metadata=[{"metadata_id": 1, "value": b"\x01"}])
        client.send(p4runtime_pb2.StreamMessageRequest(packet=packet))
        client.send(p4runtime_pb2.StreamMessageRequest())
        client.send(p4runtime_pb2.StreamMessageRequest(digest_ack=p4runtime_pb2.DigestListAck(digest_id=1)))
        client.arbitrate(2)
        assert heard(client) == (2, 0, "Is primary"), "and nothing about the others before"


def test_the_command() -> None:
    process = subprocess.Popen(
        command("switch", "--grpc", "127.0.0.1:0", "--port", "1=cable:0:9", "--profile", "bmv2", "--json"),
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    try:
        ready = json.loads(process.stdout.readline())
        assert ready["device_id"] == 0
        with Client(ready["grpc"], device_id=0) as client:
            assert heard(client) == (1, 0, "Is primary")
            assert client.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest()).p4runtime_api_version == "1.3.0"
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
