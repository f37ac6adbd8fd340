"""Certificates for tests, made by the openssl command."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["Authority", "Identity"]


@dataclass(frozen=True)
class Identity:
    cert: Path
    key: Path


class Authority:
    """A CA of its own in a folder; skips the test where openssl is not installed."""

    def __init__(self, folder: Path, name: str) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not on PATH")
        self._folder = folder / name
        self._folder.mkdir()
        self.cert, self._key = self._folder / "ca.pem", self._folder / "ca.key"
        self._openssl(
            "req", "-x509", *_new_key(self._key), "-out", self.cert, "-days", "2", "-subj", f"/CN={name}",
            "-addext", "basicConstraints=critical,CA:TRUE",
        )  # fmt: skip

    def issue(self, name: str) -> Identity:
        """A certificate for this machine, good for servers and clients."""
        identity = Identity(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        request, extensions = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self._openssl("req", *_new_key(identity.key), "-out", request, "-subj", f"/CN={name}")
        self._openssl(
            "x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self._key, "-CAcreateserial",
            "-out", identity.cert, "-days", "2", "-extfile", extensions,
        )  # fmt: skip
        return identity

    def _openssl(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path
