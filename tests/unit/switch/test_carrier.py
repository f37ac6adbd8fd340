"""Which ports are down, from a folder like /sys/class/net."""

from __future__ import annotations

from pathlib import Path

from cais_tools.switch.carrier import CarrierWatch


def test_interfaces_that_lose_their_carrier(tmp_path: Path) -> None:
    interfaces = {1: "lo", 2: "veth1", 3: "eth0"}
    for (index, name), state in zip(interfaces.items(), ("unknown", "up", "down"), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ifindex").write_text(f"{index}\n")
        (tmp_path / name / "operstate").write_text(state + "\n")
    told: list[frozenset[int]] = []
    names = {1: "veth1", 2: "interface:lo", 3: "eth0", 4: "cable:9001:9002"}
    watch = CarrierWatch(names, told.append, folder=tmp_path, name_of=interfaces.__getitem__)
    watch.look()
    watch.look()
    assert told == [{3}]
    (tmp_path / "veth1" / "operstate").write_text("lowerlayerdown\n")
    (tmp_path / "lo" / "operstate").unlink()
    watch.look()
    assert told[-1] == {1, 2, 3}
    for name in ("veth1", "lo", "eth0"):
        (tmp_path / name / "operstate").write_text("up\n")
    watch.look()
    assert told[-1] == frozenset()
    (tmp_path / "veth1").rename(tmp_path / "renamed")
    interfaces[2] = "renamed"
    watch.look()
    assert told[-1] == frozenset()


def test_without_interfaces_nothing_is_watched(tmp_path: Path) -> None:
    watch = CarrierWatch({1: "cable:0:0"}, lambda down: None, folder=tmp_path)
    watch.start()
    watch.stop()
