"""How an RPC ends when something goes wrong in it."""

from __future__ import annotations

import logging

import grpc

from cais_tools.p4rt import code_pb2
from cais_tools.switch.server.status import P4Error, abort

__all__ = ["Guard"]

_LOG = logging.getLogger(__name__)


class Guard:
    """Turns errors into the RPC's status, and faults of ours into INTERNAL with their text."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, P4Error):
            abort(self._context, error)
        # gRPC's own way out of `abort` is a bare Exception.
        if isinstance(error, Exception) and type(error) is not Exception:
            _LOG.error("an RPC failed", exc_info=error)
            abort(self._context, P4Error(code_pb2.INTERNAL, f"{type(error).__name__}: {error}"))
