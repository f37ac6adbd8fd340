"""Commands to switches that want TLS: options, environment and device file, and what is said where it fails."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig, Tls
from tests.functional.runner import error_of, invoke
from tests.integration.switch.certificates import Authority, Identity


@dataclass(frozen=True)
class Secure:
    """A switch that lets in whom `ca` has signed; `stranger` is somebody of another one."""

    address: str
    ca: Path
    client: Identity
    other_ca: Path
    stranger: Identity


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Generator[Secure]:
    folder = tmp_path_factory.mktemp("tls")
    ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
    server, client, stranger = ours.issue("server"), ours.issue("client"), theirs.issue("stranger")
    config = SwitchConfig("127.0.0.1:0", {1: "cable:0:9", 2: "cable:0:9"}, tls=Tls(server.cert, server.key, ours.cert))
    with EmbeddedSwitch(config) as switch:
        yield Secure(switch.address, ours.cert, client, theirs.cert, stranger)


def options(secure: Secure) -> list[str]:
    files = {"--tls-ca": secure.ca, "--tls-cert": secure.client.cert, "--tls-key": secure.client.key}
    return [text for name, path in files.items() for text in (name, str(path))]


def test_every_command_that_connects(secure: Secure) -> None:
    where = ["--device", secure.address, *options(secure)]
    rule = ["--group-id", "0", "--input-ports", "1,2", "--output-ports", "1,2"]
    for command in (
        ["load"],
        ["add-rule", *rule],
        ["dump-rules"],
        ["show-stats", "--interval", "10ms"],
        ["switch", "inspect"],
        ["delete-rule", "--group-id", "0"],
    ):
        result = invoke(*command, *where)
        assert (result.exit_code, result.stderr) == (0, ""), command


def test_the_environment(secure: Secure) -> None:
    env = {
        "CAIS_DEVICE": secure.address,
        "CAIS_TLS_CA": str(secure.ca),
        "CAIS_TLS_CERT": str(secure.client.cert),
        "CAIS_TLS_KEY": str(secure.client.key),
    }
    assert invoke("load", env=env).exit_code == 0
    named = invoke("dump-rules", env={**env, "CAIS_TLS_SERVER_NAME": "localhost"})
    assert named.exit_code == 0, named.stderr
    other = invoke("dump-rules", "--tls-server-name", "somebody.else", env=env)
    assert other.exit_code == 3


def test_the_device_file_with_paths_relative_to_it(secure: Secure, tmp_path: Path) -> None:
    for name, source in (("ca.pem", secure.ca), ("c.pem", secure.client.cert), ("c.key", secure.client.key)):
        (tmp_path / name).write_bytes(source.read_bytes())
    file = tmp_path / "cais.toml"
    file.write_text(
        f'[devices.a]\naddress = "{secure.address}"\ntls = {{ ca = "ca.pem", cert = "c.pem", key = "c.key" }}\n'
        '[devices.b]\naddress = "127.0.0.1:1"\n'
    )
    assert invoke("load", "--config", str(file), "--device", "a").exit_code == 0
    both = invoke("dump-rules", "--config", str(file))
    assert both.exit_code == 3
    assert "1 of 2 devices failed: b" in both.stderr


def test_what_does_not_fit(secure: Secure) -> None:
    stranger = ["--tls-cert", str(secure.stranger.cert), "--tls-key", str(secure.stranger.key)]
    ca, cert, key = str(secure.ca), str(secure.client.cert), str(secure.client.key)
    for arguments, code, message in (
        ([], 3, "TLS"),
        (["--tls-ca", ca], 3, ""),
        (["--tls-ca", ca, *stranger], 3, ""),
        (["--tls-ca", str(secure.other_ca), "--tls-cert", cert, "--tls-key", key], 3, "signed by nobody we trust"),
        (["--tls-ca", key], 2, "holds no certificate"),
        (["--tls-ca", ca, "--tls-cert", cert], 2, "belong together"),
        (
            ["--tls-ca", ca, "--tls-cert", cert, "--tls-key", str(secure.stranger.key)],
            2,
            "no certificate and its private",
        ),
        (["--tls-ca", "/no/ca.pem"], 2, "there is no file /no/ca.pem"),
    ):
        error = error_of(invoke("dump-rules", "--device", secure.address, "--timeout", "2s", "--json", *arguments))
        assert error["exit_code"] == code, error
        assert message in str(error["error"]) + str(error["hint"])


def test_tls_to_a_switch_that_has_none(secure: Secure) -> None:
    with EmbeddedSwitch(SwitchConfig("127.0.0.1:0", {1: "cable:0:9"})) as plain:
        error = error_of(invoke("dump-rules", "--device", plain.address, *options(secure), "--json"))
    assert error["exit_code"] == 3
    assert "does not speak TLS" in error["error"]


def test_a_clients_certificate_is_not_taken_for_the_servers(secure: Secure) -> None:
    """`cais switch` and the commands to it may run in one shell: without TLS it must not listen to the network."""
    env = {"CAIS_TLS_CERT": str(secure.client.cert), "CAIS_TLS_KEY": str(secure.client.key)}
    error = error_of(invoke("switch", "--port", "1=cable:0:9", "--grpc", "0.0.0.0:0", "--json", env=env))
    assert error["exit_code"] == 2
    assert "open to the network" in error["error"]
