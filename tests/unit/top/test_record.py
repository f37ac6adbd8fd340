"""Recordings: what is written is what is read, at any place of the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cais_tools.errors import UsageError
from cais_tools.top.model import Model
from cais_tools.top.observation import Observation
from cais_tools.top.record import decode, encode
from cais_tools.top.recording import Recorder, Recording
from cais_tools.top.replay import Player
from cais_tools.top.rounds import exit_code, replayed_rounds
from tests.unit.top.scenes import START, a_fleet, sources


def written(path: Path, seen: Sequence[Observation]) -> Path:
    recorder = Recorder(path, sources(), 1.0)
    for each in seen:
        recorder.take(each)
    recorder.close()
    assert recorder.error is None
    return path


@pytest.fixture(scope="module")
def fleet() -> Sequence[Observation]:
    return a_fleet(80)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, fleet: Sequence[Observation]) -> Path:
    return written(tmp_path_factory.mktemp("record") / "fleet.ndjson", fleet)


def test_an_observation_survives(fleet: Sequence[Observation]) -> None:
    for seen in (fleet[0], fleet[1], fleet[-1]):
        assert decode(encode(seen)) == seen
        assert "\n" not in encode(seen)


def test_a_file_is_read_at_any_place(file: Path, fleet: Sequence[Observation]) -> None:
    with Recording(file) as recording:
        assert len(recording) == len(fleet)
        assert recording.sources == sources()
        assert recording[200] == fleet[200]
        assert recording[0] == fleet[0]
        assert (recording.start, recording.end) == (START + 1, START + 80)
        assert (recording.before(START + 10), recording.until(START + 10)) == (27, 30)


@pytest.mark.parametrize("line", ["", "{}", "[1]", '{"schema":"cais.stats/1"}', '{"schema":"cais.record/1"}', "\xff"])
def test_what_is_no_recording(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x"
    path.write_text(line)
    with pytest.raises(UsageError, match="does not begin as a recording") as caught:
        Recording(path)
    assert "cais top --record" in (caught.value.hint or "")


def test_files_that_are_not_there_or_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        Recording(tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot write"):
        Recorder(tmp_path / "no" / "folder", sources(), 1.0)
    with pytest.raises(UsageError, match="no observation in it"):
        Recording(written(tmp_path / "empty", []))


def test_a_last_line_that_is_cut_off_is_left_out_and_others_are_told(
    tmp_path: Path, fleet: Sequence[Observation]
) -> None:
    path = written(tmp_path / "cut", fleet[:5])
    path.write_text(path.read_text()[:-40])
    with Recording(path) as recording:
        assert len(recording) == 4
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "rubbish\n" + "".join(lines[1:]))
    with pytest.raises(UsageError, match=r"cut:2: it is no observation"):
        Recording(path)
    path.write_text(lines[0] + '{"time":1,"device":"leaf1","snapshot":{}}\n')
    with Recording(path) as recording, pytest.raises(UsageError, match=r"cut:2: it is no observation: 'time'"):
        recording[0]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("snapshot.pool", "4096"),
        ("snapshot.time", None),
        ("snapshot.time", 10**400),
        ("snapshot.bad_frames.0", -1),
        ("snapshot.groups.0.0", 1.5),
        ("snapshot.groups.0.1.0", [0, True]),
        ("snapshot.groups.0.2.0", None),
        ("snapshot.groups.0.3.1", 1 << 200),
        ("snapshot.ports.1.0", ""),
        ("snapshot.ports.1.4", [0] * 17),
        ("program.cookie", "NaN"),
        ("primary.is_taken", 1),
        ("time", 2**70),
        ("device", None),
        ("temperature_c", "hot"),
        ("rules.0.priority", None),
        ("rules.0.layer", [5, 1]),
        ("open_slots.0.age_us", "old"),
    ],
)
def test_values_of_another_kind_are_told(fleet: Sequence[Observation], place: str, value: object) -> None:
    document = json.loads(encode(fleet[0]))
    *path, last = [int(each) if each.isdigit() else each for each in place.split(".")]
    holder = document
    for each in path:
        holder = holder[each if isinstance(holder, list) else str(each)]
    holder[last if isinstance(holder, list) else str(last)] = value
    with pytest.raises(UsageError, match="it is no observation"):
        decode(json.dumps(document))


def test_a_header_with_values_of_another_kind_is_none(tmp_path: Path) -> None:
    for old, new in (('"link_gbps":100.0', '"link_gbps":"fast"'), ('"interval_s":1.0', '"interval_s":1e999')):
        path = written(tmp_path / "x", [])
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(UsageError, match="does not begin as a recording"):
            Recording(path)


def test_a_file_without_lines_is_not_read_whole() -> None:
    with pytest.raises(UsageError, match="does not begin as a recording"):
        Recording(Path("/dev/zero"))


def test_a_name_that_is_no_text_is_recorded(tmp_path: Path) -> None:
    (one,) = sources(1)
    recorder = Recorder(tmp_path / "x", [replace(one, name="leaf\udcff")], 1.0)
    recorder.close()
    assert '"name":"leaf?"' in (tmp_path / "x").read_text("utf-8")


def test_a_full_disk_is_said() -> None:
    with pytest.raises(UsageError, match="No space left"):
        Recorder(Path("/dev/full"), sources(), 1.0)


def test_a_disk_that_fills_up_ends_the_recording(tmp_path: Path, fleet: Sequence[Observation]) -> None:
    recorder = Recorder(tmp_path / "x", sources(), 1.0)
    recorder._file.close()
    recorder._file = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - the recorder closes it
    recorder.take(fleet[0])
    assert "No space left" in (recorder.error or "")
    recorder.take(fleet[1])
    recorder.close()


def test_a_player_gives_what_is_due(file: Path) -> None:
    with Recording(file) as recording:
        player = Player(recording, speed=2.0)
        assert player.pass_time(0.0) == range(3)
        assert player.pass_time(0.4) == range(3, 3)
        assert player.pass_time(0.6) == range(3, 9)
        assert player.step() == range(9, 12)
        assert player.pass_time(1e6) == range(12, 240)
        assert (player.is_at_end, player.now) == (True, recording.end)
        assert player.step() == range(240, 240)


def test_winding_shows_again_what_made_the_curves(file: Path) -> None:
    with Recording(file) as recording:
        player = Player(recording)
        assert player.wind_to(START + 60) == range(180)
        assert not player.is_at_end
        assert player.wind_to(START - 100) == range(3)
        assert player.wind_to(START + 1000) == range(240)


def test_rounds_of_a_recording(file: Path) -> None:
    with Recording(file) as recording:

        def times(start: float | None, count: int) -> list[float]:
            return [model.time - START for model in replayed_rounds(recording, start, count)]

        assert times(None, 1) == [80]
        assert times(None, 3) == [78, 79, 80]
        assert times(9.0, 2) == [10, 11]
        assert times(-5.0, 0) == [75, 76, 77, 78, 79, 80]
        assert times(1e9, 2) == [80]
        assert len(times(None, 0)) == 80


def test_the_exit_code_is_that_of_the_alarms_or_of_the_failures(file: Path) -> None:
    with Recording(file) as recording:

        def model_at(start: float) -> Model:
            return next(iter(replayed_rounds(recording, start, 1)))

        fine, warned, lost = model_at(10.0), model_at(50.0), model_at(75.0)
        assert [exit_code(model, check=True) for model in (fine, warned, lost)] == [0, 1, 3]
        assert [exit_code(model, check=False) for model in (fine, warned, lost)] == [0, 0, 3]


def test_every_line_is_json_with_the_time_first(file: Path) -> None:
    for line in file.read_text().splitlines()[1:]:
        assert next(iter(json.loads(line))) == "time"
