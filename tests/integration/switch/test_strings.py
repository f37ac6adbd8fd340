"""data/strings.p4: values that clients write as strings (@p4runtime_translation)."""

from __future__ import annotations

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.integration.switch.client import DATA, INSERT, Names, Network, SetConfig, exact, primary, program, refused


def test_strings_in_keys_and_parameters() -> None:
    config = program("strings", DATA)
    names = Names(config.p4info)

    def red(port: bytes) -> p4runtime_pb2.Entity:
        match = p4runtime_pb2.FieldMatch(field_id=1, optional=p4runtime_pb2.FieldMatch.Optional(value=b"red"))
        return names.entry("FrameIngress.ports", match, priority=1, action=names.action("FrameIngress.send", port))

    with Network([1, 2]) as network, primary(network, "strings", DATA) as client:
        entries = [
            names.entry("FrameIngress.vrfs", exact(b"\x05"), action=names.action("FrameIngress.set_vrf", b"red")),
            names.entry("FrameIngress.vrfs", exact(b"\x06"), action=names.action("FrameIngress.set_vrf", b"blue")),
            red(b"2"),
        ]
        client.write(INSERT, *entries)
        network.send(1, b"\x06 blue", b"\x05 red")
        assert network.receive(2) == [b"\x05 red"]
        everything = p4runtime_pb2.Entity(table_entry={})
        assert client.read(everything) == entries, "as they were written"
        assert refused(client.write, INSERT, red(b"2"))[0][0] == code_pb2.ALREADY_EXISTS
        assert refused(client.write, INSERT, red(b"512"))[0][0] == code_pb2.INVALID_ARGUMENT
        client.load(config, SetConfig.RECONCILE_AND_COMMIT)
        assert client.read(everything) == entries
        network.send(1, b"\x05 red")
        assert network.receive(2) == [b"\x05 red"]
