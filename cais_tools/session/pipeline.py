"""A compiled P4 program as it is sent to a switch, and the cookie that recognises it later."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cais_tools.errors import Refused, UsageError
from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex

__all__ = ["LoadReport", "Pipeline", "ProgramInfo", "fingerprint_of", "read_pipeline"]

# Larger than any program, small enough to be read at once: a path may be a device or a pipe without end.
_LARGEST_FILE = 256 << 20

_HALF = 32  # bits of a cookie that say which program it is; the others say which load of it


def fingerprint_of(cookie: int | None) -> int | None:
    """The fingerprint of the program that was loaded with this cookie (of ours)."""
    return None if cookie is None else cookie >> _HALF


@dataclass(frozen=True)
class Pipeline:
    """A device configuration (bmv2 JSON) and the P4Info that belongs to it."""

    config: bytes
    index: P4InfoIndex
    name: str = ""

    @property
    def p4info(self) -> p4info_pb2.P4Info:
        return self.index.message

    @property
    def fingerprint(self) -> int:
        """32 bits of a hash of both, never 0: the same on every machine, whatever the order of map fields."""
        digest = hashlib.sha256(self.config)
        digest.update(self.p4info.SerializeToString(deterministic=True))
        return int.from_bytes(digest.digest()[: _HALF // 8], "big") or 1

    def message(self) -> p4runtime_pb2.ForwardingPipelineConfig:
        """What is loaded. The cookie is another one each time, so that every client sees that entries are gone, even
        where the program is the same: the fingerprint in the upper half, a random number in the lower one.
        """
        cookie = self.fingerprint << _HALF | secrets.randbits(_HALF)
        return p4runtime_pb2.ForwardingPipelineConfig(
            p4info=self.p4info,
            p4_device_config=self.config,
            cookie=p4runtime_pb2.ForwardingPipelineConfig.Cookie(cookie=cookie),
        )


@dataclass(frozen=True, slots=True)
class ProgramInfo:
    """The program that a switch runs now. `fingerprint` is None where whoever loaded it gave no cookie."""

    name: str
    arch: str
    fingerprint: int | None
    tables: int
    entries: int

    def __str__(self) -> str:
        cookie = "none" if self.fingerprint is None else f"{self.fingerprint:08x}"
        return f"{self.name or 'unnamed'} ({self.tables} tables, {self.entries} entries, cookie {cookie})"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What was on the switch before a load and what is now. `dry_run`: only verified, `after` is what would be."""

    before: ProgramInfo | None
    after: ProgramInfo
    dry_run: bool

    @property
    def entries_dropped(self) -> int:
        """Entries of the old pipeline that the load removed (or would remove)."""
        return self.before.entries if self.before is not None else 0

    @property
    def is_same_program(self) -> bool:
        return self.before is not None and self.before.fingerprint == self.after.fingerprint


def read_pipeline(config: Path, p4info: Path) -> Pipeline:
    """Read and check the files that p4c wrote. Raises UsageError for a file that cannot be read, Refused for one that
    is no program, or when the two do not belong together: a switch would answer no more than "device update failed".
    """
    config_bytes, p4info_bytes = _read(config), _read(p4info)
    index = P4InfoIndex.parse(p4info_bytes, str(p4info))
    check_config(config_bytes, index, str(config))
    return Pipeline(config_bytes, index, index.message.pkg_info.name or config.stem)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _LARGEST_FILE:
        raise UsageError(f"{path} is too large for a P4 program: more than {_LARGEST_FILE >> 20} MiB")
    return data


def check_config(config: bytes, index: P4InfoIndex, source: str) -> None:
    """Check that `config` is bmv2 JSON of the program that the P4Info describes. Raises Refused.

    p4c optimises tables away that P4Info still lists, so only a majority must be there, with as many keys.
    """
    try:
        program: Any = json.loads(config)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{source} is no JSON: {error}", hint="give the .json file that p4c-bm2-ss wrote") from None
    if not isinstance(program, dict) or "pipelines" not in program or "parsers" not in program:
        raise Refused(f"{source} is JSON, but no program for bmv2", hint="give the .json file that p4c-bm2-ss wrote")
    if index.message.pkg_info.arch == "v1model" and not _has_v1model_metadata(program):
        raise Refused(
            f"{source} was compiled for another architecture than its P4Info says, v1model",
            hint="take both files from the same run of p4c",
        )
    keys = dict(_tables(cast("Mapping[str, Any]", program)))
    wanted = {table.preamble.name: len(table.match_fields) for table in index.message.tables}
    missing = sorted(wanted.keys() - keys.keys())
    different = sorted(name for name in wanted.keys() & keys.keys() if wanted[name] != keys[name])
    if 2 * len(missing) > len(wanted) or different:
        what = f"no table {missing[0]}" if missing else f"{keys[different[0]]} keys in table {different[0]}"
        raise Refused(
            f"the P4Info does not match {source}, which has {what}", hint="take both files from the same run of p4c"
        )


def _has_v1model_metadata(program: Any) -> bool:
    return any(header.get("name") == "standard_metadata" for header in program.get("headers", ()))


def _tables(program: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for pipeline in program["pipelines"]:
        for table in pipeline.get("tables", ()):
            yield table["name"], len(table.get("key", ()))
