"""The host's ends of a device's links."""

from __future__ import annotations

from pathlib import Path

from cais_tools.config import check_config


def _file(folder: Path, links: str) -> Path:
    path = folder / "cais.toml"
    path.write_text(
        f'[devices.leaf1]\naddress = "127.0.0.1:1"\nports = {{ swp1 = 11, swp2 = 12 }}\n[devices.leaf1.links]\n{links}'
    )
    return path


def test_by_name_and_by_number_in_the_order_of_the_file(tmp_path: Path) -> None:
    config, findings = check_config(_file(tmp_path, 'swp2 = "eth2"\n3 = "cable:9101:9001"\nswp1 = "eth1"\n'))
    assert not findings
    assert list(config.devices["leaf1"].links.items()) == [(12, "eth2"), (3, "cable:9101:9001"), (11, "eth1")]


def test_what_is_no_port_or_no_link(tmp_path: Path) -> None:
    _, findings = check_config(_file(tmp_path, 'swp9 = "eth1"\n0 = "eth1"\n511 = "eth1"\n4 = 5\n'))
    assert [(each.location.line, each.key) for each in findings] == [
        (5, "devices.leaf1.links.swp9"),
        (6, "devices.leaf1.links.0"),
        (7, "devices.leaf1.links.511"),
        (8, "devices.leaf1.links.4"),
    ]
