"""TLS for the gRPC server: who it is, and whom it lets in."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from cais_tools.errors import UsageError

__all__ = ["Tls"]


@dataclass(frozen=True)
class Tls:
    """PEM files: `cert` (with the chain that leads to the clients' CA) and `key` of the server.

    With `client_ca` only clients come in whose certificate that CA has signed (mutual TLS).
    """

    cert: Path
    key: Path
    client_ca: Path | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Raises UsageError for files that cannot be read, or are no certificate and its key: gRPC itself would start
        and refuse every client.
        """
        cert, key = _read(self.cert), _read(self.key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise UsageError(
                f"{self.cert} and {self.key} are no certificate and its private key ({_reason(error)})",
                hint="both must be in PEM form, the key without a password",
            ) from None
        client_ca = _read(self.client_ca) if self.client_ca is not None else None
        if self.client_ca is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(self.client_ca)
            except ssl.SSLError as error:
                raise UsageError(f"{self.client_ca} holds no certificate ({_reason(error)})") from None
        return grpc.ssl_server_credentials(
            [(key, cert)], root_certificates=client_ca, require_client_auth=client_ca is not None
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _no_password() -> str:
    raise ValueError("the key has a password")


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or str(error)
