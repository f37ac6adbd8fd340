"""TLS and mutual TLS between the session library and the embedded switch, and what is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cais_tools.errors import Unreachable, UsageError
from cais_tools.session import SessionOptions, connect
from cais_tools.session import Tls as ClientTls
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig, Tls
from tests.functional.runner import command, environment
from tests.integration.switch.certificates import Authority, Identity


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "theirs")


@pytest.fixture(scope="module")
def server(ours: Authority) -> Identity:
    return ours.issue("server")


@pytest.fixture(scope="module")
def client(ours: Authority) -> Identity:
    return ours.issue("client")


@contextmanager
def serving(identity: Identity, client_ca: Path | None = None, host: str = "127.0.0.1") -> Generator[str]:
    tls = Tls(identity.cert, identity.key, client_ca)
    with EmbeddedSwitch(SwitchConfig(grpc_address=f"{host}:0", tls=tls)) as switch:
        yield switch.address.replace("0.0.0.0", "127.0.0.1")


def is_primary(address: str, tls: ClientTls | None) -> bool:
    with connect(address, SessionOptions(tls=tls, timeout=10)) as session:
        return session.is_primary


def test_tls(ours: Authority, server: Identity) -> None:
    with serving(server) as address:
        assert is_primary(address, ClientTls(ca=ours.cert))
        assert is_primary(address, ClientTls(ca=ours.cert, server_name="localhost"))


def test_a_server_that_the_client_does_not_trust(theirs: Authority, server: Identity) -> None:
    with serving(server) as address:
        for tls in (ClientTls(ca=theirs.cert), ClientTls()):
            with pytest.raises(Unreachable):
                is_primary(address, tls)


def test_a_server_under_another_name(ours: Authority, server: Identity) -> None:
    with serving(server) as address, pytest.raises(Unreachable):
        is_primary(address, ClientTls(ca=ours.cert, server_name="somebody.else"))


def test_plaintext_to_a_tls_server(server: Identity) -> None:
    with serving(server) as address, pytest.raises(Unreachable):
        is_primary(address, None)


def test_tls_to_a_plaintext_server(ours: Authority) -> None:
    with EmbeddedSwitch(SwitchConfig(grpc_address="127.0.0.1:0")) as switch, pytest.raises(Unreachable):
        is_primary(switch.address, ClientTls(ca=ours.cert))


def test_mutual_tls(ours: Authority, theirs: Authority, server: Identity, client: Identity) -> None:
    stranger = theirs.issue("stranger")
    with serving(server, ours.cert) as address:
        with pytest.raises(Unreachable):
            is_primary(address, ClientTls(ca=ours.cert))
        with pytest.raises(Unreachable):
            is_primary(address, ClientTls(ours.cert, stranger.cert, stranger.key))
        assert is_primary(address, ClientTls(ours.cert, client.cert, client.key))


def test_tls_may_listen_beyond_loopback(ours: Authority, server: Identity) -> None:
    with serving(server, host="0.0.0.0") as address:
        assert is_primary(address, ClientTls(ca=ours.cert))


def test_files_that_are_no_certificate_and_key(tmp_path: Path, ours: Authority, server: Identity) -> None:
    client = ours.issue("another")
    junk, missing = tmp_path / "junk", tmp_path / "missing"
    junk.write_text("-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    locked = tmp_path / "locked"
    subprocess.run(
        ["openssl", "ec", "-aes128", "-passout", "pass:secret", "-in", server.key, "-out", locked],
        check=True,
        capture_output=True,
    )
    for tls, says in (
        (Tls(missing, server.key), "cannot read"),
        (Tls(server.cert, missing), "cannot read"),
        (Tls(junk, server.key), "are no certificate and its private key"),
        (Tls(server.cert, junk), "are no certificate and its private key"),
        (Tls(server.cert, client.key), "are no certificate and its private key"),
        (Tls(server.cert, locked), "are no certificate and its private key"),
        (Tls(server.cert, server.key, missing), "cannot read"),
        (Tls(server.cert, server.key, junk), "holds no certificate"),
    ):
        with pytest.raises(UsageError, match=says):
            EmbeddedSwitch(SwitchConfig(grpc_address="127.0.0.1:0", tls=tls)).start()


def test_the_command(ours: Authority, server: Identity, client: Identity) -> None:
    arguments = ["--tls-cert", server.cert, "--tls-key", server.key, "--tls-client-ca", ours.cert]
    process = subprocess.Popen(
        command("switch", "--grpc", "127.0.0.1:0", "--port", "1=cable:0:9", *map(str, arguments)),
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        address = process.stdout.readline().split("P4Runtime on ")[1].partition(",")[0]
        assert is_primary(address, ClientTls(ours.cert, client.cert, client.key))
        with pytest.raises(Unreachable):
            is_primary(address, ClientTls(ca=ours.cert))
    finally:
        process.terminate()
        process.communicate(timeout=20)
    refused = subprocess.run(
        command("switch", "--port", "1=cable:0:9", "--tls-cert", str(server.cert)),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert refused.returncode == 2
    assert "--tls-key" in refused.stderr
