"""What cais.toml may say, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from cais_tools.config import SETTINGS, Config, TlsFiles, check_config, find_config, read_config
from cais_tools.config.example import EXAMPLE
from cais_tools.errors import UsageError


def written(folder: Path, text: str) -> Path:
    path = folder / "cais.toml"
    path.write_text(text)
    return path


def findings(folder: Path, text: str) -> list[str]:
    """What is found, without the folder."""
    return [str(each).removeprefix(f"{folder}/") for each in check_config(written(folder, text))[1]]


def test_devices(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    config = read_config(
        written(
            tmp_path,
            '[devices.leaf1]\naddress = "10.0.0.1"\n'
            '[devices.leaf2]\naddress = "[::1]:9559"\ndevice_id = 3\ntls = { ca = "ca.pem", server_name = "leaf2" }\n'
            "ports = { swp1 = 132, swp2 = 133, 1 = 132 }\nlink_gbps = 100\nrtt_us = 10\n",
        )
    )
    leaf1, leaf2 = config.devices.values()
    assert (leaf1.name, leaf1.address, leaf1.device_id, leaf1.tls, leaf1.ports) == ("leaf1", "10.0.0.1", None, None, {})
    assert (leaf2.address, leaf2.device_id, leaf2.link_gbps, leaf2.hold_us) == ("[::1]:9559", 3, 100.0, None)
    assert leaf2.tls == TlsFiles(tmp_path / "ca.pem", server_name="leaf2")
    assert leaf2.ports == {"swp1": 132, "swp2": 133, "1": 132}
    assert str(leaf2.location) == f"{tmp_path}/cais.toml:3"


def test_groups_and_rules_keep_their_places(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, "[[groups]]\nid = 0\n[[rules]]\n[[rules]]\ngroup = 0\n"))
    assert [rule.values for rule in config.rules] == [{}, {"group": 0}]
    assert str(config.rules[1].location("group")).endswith("cais.toml:5")
    assert str(config.rules[1].location("chunk")).endswith("cais.toml:4")
    assert config.groups[0].values == {"id": 0}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[defaults]\nchunksize = 1", "cais.toml:2: defaults.chunksize: there is no such key"),
        ("\n[device.x]\n", "cais.toml:2: device: there is no such key"),
        ("[defaults]\n\nchunk_size = 0", "cais.toml:3: defaults.chunk_size: 0 is not between 4 and 1073741824"),
        ("defaults.chunk_size = 1.5", "cais.toml:1: defaults.chunk_size: 1.5 is no whole number"),
        ("defaults.timeout_ms = true", "cais.toml:1: defaults.timeout_ms: True is no whole number"),
        ("defaults.offload_threshold = 1.5", "cais.toml:1: defaults.offload_threshold: 1.5 is not between 0 and 1"),
        ("defaults.sram_usage_limit = nan", "cais.toml:1: defaults.sram_usage_limit: nan is no number"),
        ("defaults.sram_usage_limit = '75%'", "cais.toml:1: defaults.sram_usage_limit: '75%' is no number"),
        ("defaults.controller_port = 65536", "cais.toml:1: defaults.controller_port: 65536 is not between 1 and 65535"),
        ("defaults = 3", "cais.toml:1: defaults: this must be a table"),
        ("controller.address = '::1'", "cais.toml:1: controller.address: '::1' does not say where the address ends"),
        ("[devices.a]\n", "cais.toml:1: devices.a: address is missing"),
        ("devices.a.address = 1", "cais.toml:1: devices.a.address: 1 is no text"),
        ("devices.a.address = 'a:b'", "cais.toml:1: devices.a.address: 'b' in 'a:b' is no TCP port"),
        ("devices.all.address = 'a'", "cais.toml:1: devices.all: 'all' cannot be the name of a device"),
        ("devices.'a,b'.address = 'a'", "cais.toml:1: devices.a,b: 'a,b' cannot be the name of a device"),
        ("[devices.a]\naddress = 'a'\nports.x = 0", "cais.toml:3: devices.a.ports.x: 0 is not between 1 and 510"),
        ("[devices.a]\naddress = 'a'\nports = {x = 1, y = 1}", "cais.toml:3: devices.a.ports.y: x is port 1, too"),
        ("[devices.a]\naddress = 'a'\ntls.ca = 'no.pem'", "cais.toml:3: devices.a.tls.ca: there is no file"),
        ("[devices.a]\naddress = 'a'\ntls.key = 'cais.toml'", "cais.toml:3: devices.a.tls: cert and key"),
        ("[devices]\na.address = 'a'\nb.address = 'a:9559'", "cais.toml:3: devices.b.address: a has the same address"),
        ("rules = 1", "cais.toml:1: rules: this must be an array of tables"),
        ("groups = [\n 1\n]", "cais.toml:2: groups[0]: 1 is no table"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, wanted: str) -> None:
    (found,) = findings(tmp_path, text)
    assert found.startswith(wanted)


def test_all_is_told_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    text = "[defaults]\ntimeout_ms = 0\n[devices.a]\naddress = ''\nx = 1\n"
    assert [each.split(":")[1] for each in findings(tmp_path, text)] == ["2", "4", "5"]
    with pytest.raises(UsageError, match=r"cais\.toml:2: defaults\.timeout_ms: 0 ") as caught:
        read_config(tmp_path / "cais.toml")
    assert caught.value.hint == f"there is more: cais config check {tmp_path / 'cais.toml'}"


def test_the_nearest_known_name(tmp_path: Path) -> None:
    _, (found,) = check_config(written(tmp_path, "[defaults]\nchunksize = 1"))
    assert found.hint == "did you mean chunk_size?"


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "cais.json"
    path.write_text('{"defaults": {\n"timeout_ms": 20}}')
    assert read_config(path).settings({})["timeout_ms"].source == f"{path}:2"


def test_flag_environment_file_default(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, "[defaults]\ntimeout_ms = 20\nchunk_size = 1024\n"))
    found = config.settings({"CAIS_CHUNK_SIZE": "2048", "CAIS_OFFLOAD_THRESHOLD": ""})
    assert (found["chunk_size"].value, found["chunk_size"].source) == (2048, "CAIS_CHUNK_SIZE")
    assert (found["timeout_ms"].value, found["timeout_ms"].source) == (20, f"{tmp_path}/cais.toml:2")
    assert (found["offload_threshold"].value, found["offload_threshold"].source) == (0.2, "default")
    flagged = config.settings({"CAIS_CHUNK_SIZE": "2048"}, {"chunk_size": 4096})["chunk_size"]
    assert (flagged.value, flagged.source) == (4096, "flag")


def test_the_defaults_are_the_originals() -> None:
    assert {name: each.value for name, each in Config().settings({}).items()} == {
        "controller": "127.0.0.1",
        "controller_port": 50051,
        "chunk_size": 65536,
        "offload_threshold": 0.2,
        "timeout_ms": 50,
        "max_pending_chunks": 128,
        "sram_usage_limit": 0.75,
    }


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("CAIS_CHUNK_SIZE", "64KiB", "no whole number"),
        ("CAIS_TIMEOUT_MS", "0", "not between 1 and"),
        ("CAIS_SRAM_USAGE_LIMIT", "nan", "not between"),
        ("CAIS_OFFLOAD_THRESHOLD", "high", "no number"),
        ("CAIS_CONTROLLER", "http://x", "is a URL"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(variable: str, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"^{variable}: .*{words}"):
        Config().settings({variable: text})


def test_every_setting_has_a_meaning_and_a_variable() -> None:
    assert all(kind.meaning and kind.variable.startswith("CAIS_") for kind in SETTINGS)


def test_where_the_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    xdg = tmp_path / "xdg" / "cais" / "cais.toml"
    home = tmp_path / "home" / ".config" / "cais" / "cais.toml"
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path / "home")}
    assert find_config(None, environ) is None
    for path in (home, xdg):
        path.parent.mkdir(parents=True)
        path.touch()
    assert find_config(None, environ) == xdg
    assert find_config(None, {"HOME": environ["HOME"]}) == home
    assert find_config(None, {}) is None
    Path("cais.toml").touch()
    assert find_config(None, environ) == Path("cais.toml")
    assert find_config(Path("xdg/cais/cais.toml"), environ) == Path("xdg/cais/cais.toml")
    with pytest.raises(UsageError, match=r"there is no file no\.toml"):
        find_config(Path("no.toml"), environ)
    with pytest.raises(UsageError, match="is a directory"):
        find_config(Path("xdg"), environ)


def test_the_example_is_right_and_says_the_defaults(tmp_path: Path) -> None:
    path = written(tmp_path, EXAMPLE)
    config, found = check_config(path)
    assert not found
    assert {name: each.value for name, each in config.settings({}).items()} == {
        name: each.value for name, each in Config().settings({}).items()
    }
    assert set(config.written) == {kind.name for kind in SETTINGS}
