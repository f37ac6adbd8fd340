"""DigestEntry: which digests the client wants, and how (P4Runtime 1.4, section 9.8)."""

from __future__ import annotations

from collections.abc import Iterator

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.digests import DigestBuffers, DigestConfig
from cais_tools.switch.server.entities.base import DELETE, INSERT, Undo
from cais_tools.switch.server.schema import Schema
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["DigestEntries"]


class DigestEntries:
    def __init__(self, schema: Schema, buffers: DigestBuffers) -> None:
        self._schema = schema
        self._buffers = buffers

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.DigestEntry) -> Undo:
        digest = self._schema.digest(entry.digest_id)
        old = self._buffers.configs().get(digest.id)
        if kind == INSERT and old is not None:
            raise P4Error(code_pb2.ALREADY_EXISTS, f"digest {digest.name} is configured already")
        if kind != INSERT and old is None:
            raise P4Error(code_pb2.NOT_FOUND, f"digest {digest.name} is not configured")
        if kind == DELETE:
            ended = self._buffers.end(digest.id)
            return lambda: self._buffers.put_back(digest.id, ended)
        config = _config(entry, digest.name)
        if old is None:
            self._buffers.begin(digest.id, config)
            return lambda: _ignore(self._buffers.end(digest.id))
        self._buffers.change(digest.id, config)
        return lambda: self._buffers.change(digest.id, old)

    def read(self, entry: p4runtime_pb2.DigestEntry) -> Iterator[p4runtime_pb2.Entity]:
        configs = self._buffers.configs()
        if entry.digest_id:
            digest = self._schema.digest(entry.digest_id)
            if digest.id not in configs:
                raise P4Error(code_pb2.NOT_FOUND, f"digest {digest.name} is not configured")
            configs = {digest.id: configs[digest.id]}
        for digest_id, config in configs.items():
            entity = p4runtime_pb2.Entity()
            message = entity.digest_entry
            message.digest_id = digest_id
            message.config.max_timeout_ns = config.max_timeout_ns
            message.config.max_list_size = config.max_list_size
            message.config.ack_timeout_ns = config.ack_timeout_ns
            yield entity


def _ignore(_: object) -> None:
    """What an Undo has no use for."""


def _config(entry: p4runtime_pb2.DigestEntry, name: str) -> DigestConfig:
    config = entry.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid(f"digest {name}: negative times or sizes")
    return DigestConfig(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)
