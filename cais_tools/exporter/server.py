"""Serves metrics over HTTP: a scrape reads the switches, unless they were read within the last second."""

from __future__ import annotations

import errno
import ipaddress
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET
from socketserver import ThreadingMixIn
from typing import Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from cais_tools.errors import NotPermitted, Refused, UsageError
from cais_tools.exporter.metrics import metric_families
from cais_tools.fleet.sampling import Sample

__all__ = ["Exporter", "Listen", "Rounds", "parse_listen"]

_FRESH_S = 1.0
_REQUEST_S = 30.0
_FORM = "for example :9100, 127.0.0.1:9100 or [::1]:9100; port 0 means any free port"


@dataclass(frozen=True, slots=True)
class Listen:
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_listen(text: str, *, is_open: bool) -> Listen:
    """Read `HOST:PORT`, `[IPV6]:PORT`, `:PORT` or `PORT`.

    Without a host it is loopback, or all addresses where `is_open`: the network may be served. Raises UsageError for
    what makes no sense, and for an address beyond loopback that is not open.
    """
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host or (not colon and not port.isdigit()):
        raise UsageError(f"cannot listen at {text!r}", hint=_FORM)
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise UsageError(f"cannot listen at {text!r}: {port!r} is no TCP port", hint=_FORM)
    listen = Listen(host or ("0.0.0.0" if is_open else "127.0.0.1"), int(port))
    if not is_open and not listen.is_loopback:
        raise UsageError(
            f"{listen} is open to the network, without TLS: anybody could read the statistics",
            hint="give it --serve-cert and --serve-key, listen at 127.0.0.1, or allow it with --insecure",
        )
    return listen


class Rounds(Protocol):
    """Where samples come from: a `FleetSampler`, or whoever reads the switches anyway."""

    def take(self, patience: float) -> list[Sample]:
        """One sample for each device, after `patience` seconds at the most."""
        ...


class _Fleet(Collector):
    """The switches, read once for all who ask within a second."""

    def __init__(self, sampler: Rounds, patience: float) -> None:
        self._sampler, self._patience = sampler, patience
        self._lock = threading.Lock()
        self._samples: list[Sample] = []
        self._taken: float | None = None

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the switches, and registering must not read them."""
        return ()

    def collect(self) -> Iterator[Metric]:
        return metric_families(self.samples())

    def samples(self) -> list[Sample]:
        with self._lock:
            if self._taken is None or time.monotonic() - self._taken > _FRESH_S:
                self._samples = self._sampler.take(self._patience)
                self._taken = time.monotonic()
            return self._samples


class Exporter:
    """An HTTP server with `/metrics`, OpenMetrics or the older text format as the client asks."""

    def __init__(
        self,
        sampler: Rounds,
        listen: Listen,
        *,
        patience: float = 5.0,
        tls: tuple[Path, Path] | None = None,
        more: Collector | None = None,
    ) -> None:
        """Listens at once; `more` is shown beside the switches. Raises Refused where the address is taken or not ours,
        NotPermitted for a port below 1024, UsageError for a certificate that is none.
        """
        registry = CollectorRegistry()
        registry.register(_Fleet(sampler, patience))
        if more is not None:
            registry.register(more)
        self._server = _listening(listen)
        self._server.set_app(_pages(registry))
        self.address = Listen(listen.host, self._server.server_port)
        self.scheme = "http"
        if tls is not None:
            self.scheme = "https"
            self._server.context = _tls_context(self._server, *tls)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.address}/metrics"

    def serve(self) -> None:
        """Answer until an exception (a signal) ends it."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """End `serve`, which runs in another thread."""
        self._server.shutdown()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    context: ssl.SSLContext | None = None

    def server_bind(self) -> None:
        """As the base class, without asking DNS for our own name, which may take seconds."""
        self.socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)  # connections of one that has just ended are no obstacle
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread, so that a client that does not finish its handshake holds up nobody."""
        request.settimeout(_REQUEST_S)
        if self.context is None:
            super().finish_request(request, client_address)
        else:
            with self.context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or speaks no TLS, is no news."""


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """A line for each scrape would hide what matters."""


def _listening(listen: Listen) -> _Server:
    kind = type("_Server", (_Server,), {"address_family": AF_INET6 if ":" in listen.host else AF_INET})
    try:
        return kind((listen.host, listen.port), _Handler)
    except PermissionError:
        raise NotPermitted(f"may not listen at {listen}", hint="ports below 1024 need root") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refused(
                f"cannot listen at {listen}: the port is taken",
                hint="another exporter, or Prometheus' node_exporter (9100)? choose another port: --listen :9101",
            ) from None
        raise Refused(f"cannot listen at {listen}: {error.strerror}", hint="is it an address of this host?") from None


def _tls_context(server: WSGIServer, cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        server.server_close()
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot use the certificate {cert} with the key {key}: {reason}") from None
    return context


_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _pages(registry: CollectorRegistry) -> _App:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        status, kind, body = "200 OK", "text/plain; charset=utf-8", b"cais exporter: the metrics are at /metrics\n"
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            status = "405 Method Not Allowed"
        elif environ["PATH_INFO"] == "/metrics":
            encode, kind = choose_encoder(environ.get("HTTP_ACCEPT", ""))
            body = encode(registry)
        elif environ["PATH_INFO"] != "/":
            status = "404 Not Found"
        start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return app
