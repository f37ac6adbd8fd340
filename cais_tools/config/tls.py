"""Whether TLS files are what they should be, before a handshake fails that says nothing of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.config.devices import TlsFiles

__all__ = ["check_tls"]


def check_tls(files: TlsFiles) -> None:
    """Raises UsageError for a file that cannot be read or holds no certificate, and for a key of another one."""
    import ssl

    for path in (files.ca, files.cert, files.key):
        if path is not None:
            _check_readable(path)
    if (files.cert is None) != (files.key is None):
        raise UsageError("a client's certificate and its key belong together", hint="--tls-cert and --tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if files.ca is not None:
            context.load_verify_locations(files.ca)
    except ssl.SSLError as error:
        raise UsageError(f"{files.ca} holds no certificate ({_reason(error)})", hint="it must be in PEM form") from None
    try:
        if files.cert is not None:
            context.load_cert_chain(files.cert, files.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            f"{files.cert} and {files.key} are no certificate and its private key ({_reason(error)})",
            hint="both must be in PEM form, the key without a password",
        ) from None


def _check_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _no_password() -> str:
    raise ValueError("the key has a password")


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or str(error)
