"""What the controller keeps over a restart. (Locks and damaged files: tests/integration/controller.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from cais_tools.controller import scoring
from cais_tools.controller.record import JobRecord
from cais_tools.controller.store import Store
from tests.unit.controller.records import a_group


def test_all_of_it_comes_back(tmp_path: Path) -> None:
    group = a_group(wanted=scoring.Path.ENDPOINT, reason="so", settings={"timeout_ms": 80.0})
    job = JobRecord("job-1", "a test", 4)
    store = Store(tmp_path / "below" / "state")
    store.put_job(job)
    store.put_group(a_group())
    store.put_group(group)
    store.put_group(a_group(group_id=4))
    store.drop_group(4)
    store.put_settings({"offload_threshold": 0.3})
    store.put_settings({"offload_threshold": 0.4})
    store.set_drained("leaf1", drained=True)
    store.set_drained("leaf2", drained=True)
    store.set_drained("leaf1", drained=False)
    store.add_leftover("leaf1", 9)
    store.add_leftover("leaf1", 9)
    store.add_leftover("leaf2", 9)
    store.drop_leftover("leaf2", 9)
    store.close()
    again = Store(tmp_path / "below" / "state")
    assert again.jobs() == {"job-1": job}
    assert again.groups() == {3: group}
    assert again.settings() == {"offload_threshold": 0.4}
    assert again.drained() == {"leaf2"}
    assert again.leftovers() == {("leaf1", 9)}
    again.drop_job("job-1")
    assert not again.jobs()
    again.close()


def test_a_disk_that_is_full_is_told_of_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(None)
    store._db.execute("PRAGMA query_only=ON")
    store.put_group(a_group())
    store.put_group(a_group(group_id=4))
    assert caplog.text.count("cannot be written") == 1
    store._db.execute("PRAGMA query_only=OFF")
    store.put_group(a_group())
    assert store.groups() == {3: a_group()}
    store.close()


def test_without_a_file_it_is_all_in_memory() -> None:
    store = Store(None)
    store.put_group(a_group())
    assert store.groups() == {3: a_group()}
    store.close()
