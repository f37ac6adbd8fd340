"""finsy against the switch at ADDRESS, with the programs of FOLDER; it comes back when the switch was restarted."""

# pyright: basic, reportMissingImports=false
# The client is not in the environment in which types are checked.

import asyncio
import json
import sys
from pathlib import Path

import finsy as fy
import network
from network import receive, restart, run, send

ADDRESS, FOLDER = sys.argv[1], Path(sys.argv[2])


def options(program, **more):
    return fy.SwitchOptions(
        p4info=FOLDER / f"{program}.p4info.txtpb", p4blob=FOLDER / f"{program}.json", device_id=3, **more
    )


def frame(kind, flags=0, number=0):
    """A frame of rehearsal.p4."""
    return (kind << 4 | flags).to_bytes(2, "big") + bytes(4) + number.to_bytes(2, "big")


async def found(switch, *entities):
    return [entity async for entity in switch.read(entities)]


async def refused(call):
    """The codes of the updates that were refused."""
    try:
        await call
    except fy.P4ClientError as error:
        return [detail.canonical_code.name for detail in error.details.values()]
    raise AssertionError("not refused")


async def write_and_read():
    async with fy.Switch("rehearsal", ADDRESS, options("rehearsal")) as switch:
        assert switch.is_primary
        entry = fy.P4TableEntry("exact_kind", match=fy.Match(kind=5), action=fy.Action("counted", port=2))
        await switch.insert([entry])
        assert await refused(switch.insert([entry])) == ["ALREADY_EXISTS"]
        await asyncio.to_thread(send, 1, frame(5))
        assert await asyncio.to_thread(receive, 2) == [frame(5)]
        entry.action = fy.Action("counted", port=3)
        await switch.modify([entry])
        [read] = await found(switch, fy.P4TableEntry("exact_kind"))
        assert (read.match["kind"], read.action.args["port"]) == (5, 3)
        filtered = fy.P4TableEntry(
            "filter", match=fy.Match(kind="1/&15", number="5...7"), priority=9, action=fy.Action("discard")
        )
        await switch.write([+filtered, +fy.P4MulticastGroupEntry(7, replicas=[2, (3, 1)])])
        [read] = await found(switch, fy.P4TableEntry("filter"))
        assert read.priority == 9
        await switch.delete([filtered])
        [counter] = await found(switch, fy.P4DirectCounterEntry("hits"))
        assert counter.packet_count == 1
        await switch.write([fy.P4CounterEntry("both", index=1, data=fy.P4CounterData(packet_count=7, byte_count=8))])
        assert len(await found(switch, fy.P4CounterEntry("both"))) == 4
        await switch.write([fy.P4RegisterEntry("values", index=2, data=99)])
        [register] = await found(switch, fy.P4RegisterEntry("values", index=2))
        assert register.data == 99
        await asyncio.to_thread(send, 1, frame(9, flags=14, number=7))
        for port in (2, 3):
            assert await asyncio.to_thread(receive, port) == [frame(9, flags=14, number=7)]
        await digests(switch)
        await switch.delete([fy.P4MulticastGroupEntry(7)])
        await switch.delete_all()
        left = await found(switch, fy.P4TableEntry("exact_kind"), fy.P4MulticastGroupEntry())
        assert left == [], left


async def digests(switch):
    await switch.write([+fy.P4DigestEntry("news_t", max_list_size=1, ack_timeout_ns=10**9)])
    lists = switch.read_digests("news_t")
    following = asyncio.ensure_future(anext(lists))
    await asyncio.sleep(0)
    await asyncio.to_thread(send, 1, frame(5, number=77))
    digest = await asyncio.wait_for(following, 10)
    assert [each["number"] for each in digest] == [77]
    assert await asyncio.to_thread(receive, 3) == [frame(5, number=77)]
    await switch.write([digest.ack()])


async def come_back():
    ready = asyncio.Queue()

    async def on_ready(switch):
        await ready.put(switch)

    switch = fy.Switch("control", ADDRESS, options("control", ready_handler=on_ready))
    running = asyncio.create_task(switch.run())
    # finsy waits 10 seconds before it tries again when a switch goes away within the first two.
    for wait in (2.1, 0):
        await asyncio.wait_for(ready.get(), 30)
        started = asyncio.get_running_loop().time()
        assert len(await found(switch, fy.P4TableEntry("route"))) == 2, "the program's own entries"
        await packets(switch)
        if wait:
            await asyncio.sleep(max(0, wait - (asyncio.get_running_loop().time() - started)))
            await asyncio.to_thread(restart)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def packets(switch):
    stream = switch.read_packets()
    following = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    entry = fy.P4TableEntry("route", match=fy.Match(kind="7/&0xfff"), priority=50, action=fy.Action("to_cpu"))
    await switch.insert([entry])
    await asyncio.to_thread(send, 2, b"\x00\x70\x00\x00payload")
    packet = await asyncio.wait_for(following, 10)
    assert (packet["ingress_port"], packet.payload) == (2, b"\x00\x70\x00\x00payload")
    await switch.write([fy.P4PacketOut(b"\x00\x10\x00\x00out", egress_port=3, padding=0)])
    assert await asyncio.to_thread(receive, 3) == [b"\x00\x10\x00\x00out"]
    await stream.aclose()


async def temperature():
    path = fy.GNMIPath("components/component[name=*]/state/temperature/instant")
    async with fy.GNMIClient(ADDRESS) as client:
        [update] = await client.get(path)
        assert (update.path["name"], update.value) == ("chip", 42.0)
        subscription = client.subscribe()
        subscription.sample(path, sample_interval=100_000_000)
        [first] = [update async for update in subscription.synchronize()]
        second = await anext(aiter(subscription.updates()))
        assert json.loads(first.value) == json.loads(second.value) == 42.0


def script():
    for step in (write_and_read, temperature, come_back):
        network.step(step.__name__)
        asyncio.run(step())


run(script)
