"""p4runtime-shell against the switch at ADDRESS, with the programs of FOLDER: all that the shell can do."""

# pyright: basic, reportMissingImports=false
# The client is not in the environment in which types are checked.

import sys

import network
import p4runtime_sh.shell as sh
from network import receive, receive_any, run, send
from p4runtime_sh.p4runtime import P4RuntimeException, P4RuntimeWriteException

ADDRESS, FOLDER = sys.argv[1:]


def connect(program, election_id=(0, 1)):
    config = sh.FwdPipeConfig(f"{FOLDER}/{program}.p4info.txtpb", f"{FOLDER}/{program}.json")
    sh.setup(device_id=3, grpc_addr=ADDRESS, election_id=election_id, config=config, verbose=False)


def frame(kind, flags=0, number=0, rest=b""):
    """A frame of rehearsal.p4."""
    return (kind << 4 | flags).to_bytes(2, "big") + bytes(4) + number.to_bytes(2, "big") + rest


def refusal(call):
    """The codes with which updates were refused."""
    try:
        call()
    except P4RuntimeWriteException as error:
        return [detail.canonical_code for _, detail in error.errors]
    except P4RuntimeException as error:
        return [error.grpc_error.code().value[0]]
    raise AssertionError("not refused")


def tables():
    entry = sh.TableEntry("exact_kind")(action="counted")
    entry.match["kind"] = "5"
    entry.action["port"] = "2"
    entry.insert()
    assert refusal(entry.insert) == [6], "ALREADY_EXISTS"
    send(1, frame(5, rest=b"first"))
    assert receive(2) == [frame(5, rest=b"first")]
    entry.action["port"] = "3"
    entry.modify()
    send(1, frame(5))
    assert receive(3) == [frame(5)]
    [found] = list(sh.TableEntry("exact_kind").read())
    assert found.match["kind"].exact.value == b"\x05"
    assert found.action["port"].value == b"\x03"

    route = sh.TableEntry("route")(action="metered")
    route.match["address"] = "10.0.0.0/8"
    route.action["port"] = "1"
    route.meter_config.cir = 1
    route.meter_config.cburst = 2
    route.meter_config.pir = 3
    route.meter_config.pburst = 4
    route.insert()
    [found] = list(sh.TableEntry("route").read())
    assert found.match["address"].lpm.prefix_len == 8

    filtered = sh.TableEntry("filter")(action="discard")
    filtered.match["kind"] = "1&&&0x0f"
    filtered.match["number"] = "5..7"
    filtered.match["flags"] = "3"
    filtered.priority = 9
    filtered.insert()
    [found] = list(sh.TableEntry("filter").read())
    assert found.priority == 9
    filtered.delete()
    assert list(sh.TableEntry("filter").read()) == []

    default = sh.TableEntry("exact_kind")(is_default=True)
    default.action = sh.Action("counted")
    default.action["port"] = "1"
    default.modify()
    assert len(list(sh.TableEntry("fixed").read())) == 2, "const entries"


def counters():
    entry = sh.TableEntry("exact_kind")
    _ = entry.counter_data  # asks for it
    [found] = list(entry.read())
    assert found.counter_data.packet_count == 2
    direct = sh.DirectCounterEntry("hits")
    direct.table_entry.match["kind"] = "5"
    direct.packet_count = 100
    direct.modify()
    [found] = list(direct.read())
    assert found.packet_count == 100
    cell = sh.CounterEntry("both")(index=1)
    cell.packet_count, cell.byte_count = 7, 700
    cell.modify()
    [found] = list(cell.read())
    assert (found.packet_count, found.byte_count) == (7, 700)
    assert len(list(sh.CounterEntry("both").read())) == 4
    meter = sh.MeterEntry("rate")(index=1)
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    [found] = list(meter.read())
    assert (found.cir, found.pburst) == (1, 4)
    meter = sh.DirectMeterEntry("color")
    meter.table_entry.match["address"] = "10.0.0.0/8"
    [found] = list(meter.read())
    assert (found.cir, found.pburst) == (1, 4)


def replication():
    group = sh.MulticastGroupEntry(7)
    group.add(2, 1).add(3, 2)
    group.insert()
    assert refusal(group.insert) == [6]
    send(1, frame(9, flags=14, number=7))
    assert receive(2) == receive(3) == [frame(9, flags=14, number=7)]
    [found] = list(sh.MulticastGroupEntry(7).read())
    assert [(each.egress_port, each.instance) for each in found.replicas] == [(2, 1), (3, 2)]
    group.delete()
    session = sh.CloneSessionEntry(9)
    session.add(3, 1)
    session.packet_length_bytes = 8
    session.insert()
    send(1, frame(5, flags=13, number=9, rest=b"more"))
    assert receive(3, 2) in (
        [frame(5, flags=13, number=9), frame(5, flags=13, number=9, rest=b"more")],
        [frame(5, flags=13, number=9, rest=b"more"), frame(5, flags=13, number=9)],
    )
    session.delete()
    bad = sh.MulticastGroupEntry(8)
    bad.add(77)
    assert refusal(bad.insert) == [3], "INVALID_ARGUMENT: there is no port 77"


def action_profiles():
    for number in (1, 2):
        member = sh.ActionProfileMember("members")(member_id=number, action="send")
        member.action["port"] = str(number)
        member.insert()
    group = sh.ActionProfileGroup("members")(group_id=4)
    group.add(1, 1).add(2, 1)
    group.insert()
    entry = sh.TableEntry("spread")(group_id=4)
    entry.match["kind"] = "6"
    entry.insert()
    send(3, *[frame(6, number=number) for number in range(60)])
    assert min(receive_any([1, 2], 60)) > 0, "members of the group share the packets"
    assert len(list(sh.ActionProfileMember("members").read())) == 2
    [found] = list(sh.ActionProfileGroup("members").read())
    assert [member.member_id for member in found.members] == [1, 2]
    assert refusal(sh.ActionProfileGroup("members")(group_id=4).delete) == [9], "FAILED_PRECONDITION: it is used"
    entry.delete()
    group.delete()
    for number in (1, 2):
        sh.ActionProfileMember("members")(member_id=number, action="send").delete()
    one_shot = sh.TableEntry("spread")
    one_shot.match["kind"] = "6"
    for number in (1, 2):
        action = sh.Action("send")
        action["port"] = str(number)
        one_shot.oneshot.add(action, weight=number)
    one_shot.insert()
    send(3, *[frame(6, number=number) for number in range(60)])
    assert min(receive_any([1, 2], 60)) > 0
    [found] = list(sh.TableEntry("spread").read())
    assert [each.weight for each in found.oneshot.actions] == [1, 2]
    one_shot.delete()


def digests():
    digest = sh.DigestEntry("news_t")
    digest.max_list_size = 1
    digest.ack_timeout_ns = 10**9
    digest.insert()
    lists = sh.DigestList()
    send(1, frame(5, number=77))
    receive(3)
    [found] = list(lists.sniff(timeout=2))
    [data] = found.digest.data
    assert [each.bitstring for each in data.struct.members] == [b"\x05", b"\x4d"]
    digest.delete()


def packets():
    # control.p4: whatever goes to port 510 comes here, with its port; what is sent says where it goes.
    sniffer = sh.PacketIn()
    entry = sh.TableEntry("route")(action="to_cpu")
    entry.match["kind"] = "7&&&0xfff"
    entry.priority = 50
    entry.insert()
    send(2, b"\x00\x70\x00\x00payload")
    [found] = list(sniffer.sniff(timeout=1))
    assert found.packet.payload == b"\x00\x70\x00\x00payload"
    assert [each.value for each in found.packet.metadata] == [b"\x02", b"\x05"]
    out = sh.PacketOut(payload=b"\x00\x10\x00\x00out", egress_port="3", padding="0")
    out.send()
    assert receive(3) == [b"\x00\x10\x00\x00out"]


def script():
    connect("rehearsal")
    assert sh.APIVersion() == "1.4.1"
    for step in (tables, counters, replication, action_profiles, digests):
        network.step(step.__name__)
        step()
    sh.teardown()
    connect("control", election_id=(0, 2))
    network.step("packets")
    packets()
    sh.teardown()


run(script)
