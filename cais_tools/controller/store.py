"""What must survive the controller's end, in SQLite. A change is on the disk when its call returns."""

from __future__ import annotations

import dataclasses
import json
import logging
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from cais_tools.controller.record import GroupRecord, JobRecord
from cais_tools.controller.scoring import Path
from cais_tools.errors import Refused, UsageError

__all__ = ["Store"]

log = logging.getLogger(__name__)

_VERSION = 1
_SCHEMA = """
CREATE TABLE jobs (job_id TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE groups (group_id INTEGER PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE settings (name TEXT PRIMARY KEY, value REAL NOT NULL);
CREATE TABLE drained (device TEXT PRIMARY KEY);
CREATE TABLE leftovers (device TEXT, group_id INTEGER, PRIMARY KEY (device, group_id));
"""


class Store:
    """Any thread may call it. `path` None keeps everything in memory.

    Raises UsageError where `path` is no such file, Refused where another controller has it open, or another version
    wrote it.
    """

    def __init__(self, path: FilePath | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._trouble = ""
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False, timeout=1.0)
            self._open()
        except OSError as error:
            raise UsageError(f"cannot keep the state in {path}: {error.strerror}", hint="--state FILE") from None
        except sqlite3.DatabaseError as error:
            raise self._explain(error) from None

    def _open(self) -> None:
        # One controller alone: two would install their groups over each other's.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("BEGIN IMMEDIATE")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for statement in _SCHEMA.strip().split("\n"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={_VERSION}")
        self._db.execute("COMMIT")
        if version not in (0, _VERSION):
            raise Refused(
                f"{self._path} was written by another version of the controller (format {version}, not {_VERSION})",
                hint="use that version, or begin anew with another file: --state FILE",
            )

    def _explain(self, error: sqlite3.DatabaseError) -> Refused | UsageError:
        if "locked" in str(error):
            return Refused(f"another controller is using {self._path}", hint="end it, or take another --state FILE")
        if isinstance(error, sqlite3.OperationalError) and "unable to open" in str(error):
            return UsageError(f"cannot keep the state in {self._path}", hint="is its folder writable? --state FILE")
        return UsageError(f"{self._path} is no state of a controller: {error}", hint="--state FILE takes another one")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _write(self, statement: str, *values: object) -> None:
        """A disk that is full stops no training: the log says so, and after a restart the switches are asked."""
        with self._lock:
            try:
                self._db.execute(statement, values)
            except sqlite3.Error as error:
                if str(error) != self._trouble:
                    log.error(
                        "%s cannot be written, so a restart will not know what changes now: %s", self._path, error
                    )
                self._trouble = str(error)
            else:
                self._trouble = ""

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(statement).fetchall()

    def put_job(self, job: JobRecord) -> None:
        self._write("REPLACE INTO jobs VALUES (?, ?)", job.job_id, json.dumps(dataclasses.asdict(job)))

    def drop_job(self, job_id: str) -> None:
        self._write("DELETE FROM jobs WHERE job_id = ?", job_id)

    def jobs(self) -> dict[str, JobRecord]:
        rows = self._rows("SELECT document FROM jobs")
        return {job.job_id: job for job in (JobRecord(**json.loads(row[0])) for row in rows)}

    def put_group(self, group: GroupRecord) -> None:
        document = json.dumps(dataclasses.asdict(group))
        self._write("REPLACE INTO groups VALUES (?, ?)", group.group_id, document)

    def drop_group(self, group_id: int) -> None:
        self._write("DELETE FROM groups WHERE group_id = ?", group_id)

    def groups(self) -> dict[int, GroupRecord]:
        rows = self._rows("SELECT document FROM groups ORDER BY group_id")
        return {group.group_id: group for group in (_group(json.loads(row[0])) for row in rows)}

    def put_settings(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._write("REPLACE INTO settings VALUES (?, ?)", name, value)

    def settings(self) -> dict[str, float]:
        return dict(self._rows("SELECT name, value FROM settings"))

    def set_drained(self, device: str, *, drained: bool) -> None:
        self._write("REPLACE INTO drained VALUES (?)" if drained else "DELETE FROM drained WHERE device = ?", device)

    def drained(self) -> set[str]:
        return {row[0] for row in self._rows("SELECT device FROM drained")}

    def add_leftover(self, device: str, group_id: int) -> None:
        """Note a group that is to go from a device."""
        self._write("REPLACE INTO leftovers VALUES (?, ?)", device, group_id)

    def drop_leftover(self, device: str, group_id: int) -> None:
        self._write("DELETE FROM leftovers WHERE device = ? AND group_id = ?", device, group_id)

    def leftovers(self) -> set[tuple[str, int]]:
        return set(self._rows("SELECT device, group_id FROM leftovers"))


def _group(document: dict[str, Any]) -> GroupRecord:
    document["ranks"], document["ports"] = tuple(document["ranks"]), tuple(document["ports"])
    document["wanted"] = Path(document["wanted"])
    return GroupRecord(**document)
