"""Commands on a fleet of eight, of which one is down, one runs another program, and one has another primary."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.runner import command, environment, error_of, invoke, run
from tests.integration.fleets import DOWN, FINE, NAMES, OTHER_PROGRAM, TAKEN, Fleet, a_fleet, toml

RULE = ("--group-id", "0", "--input-ports", "swp1,swp2", "--output-ports", "swp1-2")


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[Fleet]:
    with a_fleet(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    """For tests that change nothing."""
    with a_fleet(tmp_path_factory.mktemp("fleet")) as running:
        yield running


def verdicts(text: str) -> dict[str, tuple[str, str]]:
    """Verdict and result by device, from the table that stands last."""
    lines = text.splitlines()
    header = max(number for number, line in enumerate(lines) if line.split() == ["device", "verdict", "result"])
    at_verdict, at_result = lines[header].index("verdict"), lines[header].index("result")
    return {
        line[:at_verdict].strip(): (line[at_verdict:at_result].strip(), line[at_result:])
        for line in lines[header + 1 :]
    }


def test_load(fleet: Fleet) -> None:
    result = invoke("--config", str(fleet.file), "load", "--device", "all", "--ports", "swp1-swp4")
    assert result.exit_code == 4, result.stderr
    found = verdicts(result.stdout)
    assert tuple(found) == NAMES
    assert {name: found[name][0] for name in (*FINE, OTHER_PROGRAM)} == dict.fromkeys((*FINE, OTHER_PROGRAM), "ok")
    assert found[OTHER_PROGRAM][1].startswith("loaded cais (cookie ")
    assert found[FINE[0]][1].startswith("loaded cais again (cookie ")
    assert (found[DOWN][0], "connection refused" in found[DOWN][1]) == ("unreachable", True)
    assert (found[TAKEN][0], "is primary" in found[TAKEN][1]) == ("not permitted", True)
    error, hint = result.stderr.splitlines()
    assert error == f"error: 2 of 8 devices failed: {DOWN}, {TAKEN}"
    assert f"{TAKEN}: end the other client, or take over from it: --take-over" in hint
    taken = invoke("load", "--config", str(fleet.file), "--device", TAKEN, "--take-over")
    assert (taken.exit_code, taken.stdout.splitlines()[-1]) == (0, f"loaded cais on {TAKEN} (the same program again)")


def test_rules_by_the_names_of_ports(fleet: Fleet) -> None:
    config = ("--config", str(fleet.file))
    added = invoke("add-rule", *RULE, *config, "--device", "all")
    assert added.exit_code == 5, added.stderr
    found = verdicts(added.stdout)
    assert "added rule for group 0" in found[FINE[0]][1]
    assert found[OTHER_PROGRAM][0] == "refused"
    assert [name for name, (verdict, _) in found.items() if verdict == "ok"] == list(FINE)
    words = ("--config", str(fleet.file), "dump-rules", "--device", FINE[0], "--group-id", "")
    assert invoke("complete", "--", *words).stdout == "0\ton the switch\n"
    some = ",".join(FINE[:2])
    dumped = invoke("dump-rules", *config, "--device", some, "--device", FINE[2])
    assert dumped.exit_code == 0, dumped.stderr
    header, *rows = dumped.stdout.partition("\n\n")[0].splitlines()
    assert header.split()[:3] == ["device", "group", "op"]
    assert [row.split()[0] for row in rows] == list(FINE[:3])
    assert [result for _, result in verdicts(dumped.stdout).values()] == ["1 rule"] * 3
    deleted = invoke("delete-rule", "--group-id", "0", *config, "--device", some)
    assert deleted.exit_code == 0, deleted.stderr
    assert all("removed group 0" in result for _, result in verdicts(deleted.stdout).values())


def test_one_device_of_the_file_is_as_ever(lasting: Fleet) -> None:
    config = {"CAIS_CONFIG": str(lasting.file)}
    by_name = invoke("dump-rules", "--device", FINE[0], env=config)
    assert (by_name.exit_code, by_name.stdout, by_name.stderr) == (0, "no rules\n", "")
    by_address = invoke("dump-rules", "--device", lasting.addresses[FINE[0]], "--json", env=config)
    assert json.loads(by_address.stdout)["device"] == FINE[0]


def test_reading_without_device_reads_all(lasting: Fleet) -> None:
    result = invoke("dump-rules", "--config", str(lasting.file))
    assert result.exit_code == 5
    found = verdicts(result.stdout)
    assert [found[name][0] for name in (DOWN, OTHER_PROGRAM, TAKEN)] == ["unreachable", "refused", "ok"]


def test_changing_without_device_asks_which(lasting: Fleet) -> None:
    result = invoke("load", "--config", str(lasting.file))
    assert result.exit_code == 2
    assert "names 8 devices" in result.stderr
    assert "--device all" in result.stderr


def test_json_is_one_document_with_the_errors_in_it(lasting: Fleet) -> None:
    result = invoke("dump-rules", "--config", str(lasting.file), "--json", "--device", "all")
    document: dict[str, Any] = json.loads(result.stdout)
    assert (document["schema"], document["exit_code"]) == ("cais.fleet/1", 5)
    found = {each["device"]: each for each in document["devices"]}
    assert tuple(found) == NAMES
    assert (found[FINE[0]]["error"], found[FINE[0]]["rules"]) == (None, [])
    assert (found[DOWN]["exit_code"], found[DOWN]["verdict"]) == (3, "unreachable")
    assert found[DOWN]["hint"]
    assert json.loads(result.stderr)["exit_code"] == result.exit_code == 5


def test_statistics(lasting: Fleet) -> None:
    result = invoke("show-stats", "--config", str(lasting.file), "--device", "all", "--interval", "10ms")
    assert result.exit_code == 5, result.stderr
    rows = {
        line.split()[0]: line
        for line in result.stdout.splitlines()
        if line.startswith("leaf") and ":" not in line.split()[0]
    }
    assert tuple(rows) == NAMES
    assert rows[DOWN].endswith("unreachable")
    assert rows[OTHER_PROGRAM].endswith("refused")
    assert not [name for name in (*FINE, TAKEN) if rows[name].split()[-1] in ("unreachable", "refused")]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["dump-rules", "--device", "leef1"], "has no device 'leef1'", "leaf1"),
        (["dump-rules", "--device", "leaf1,"], "address is empty", "HOST:PORT"),
        (["add-rule", "--group-id", "0", "--input-ports", "swp9", "--output-ports", "1"], "no port 'swp9'", "swp"),
        (["switch", "inspect", "--device", "leaf1,leaf2"], "one device at a time", "leaf1, leaf2"),
        (["smoke", "--ports", "1=veth1,2=veth2", "--device", "all"], "one device at a time", "leaf1"),
    ],
)
def test_what_cannot_be_meant(lasting: Fleet, arguments: list[str], message: str, hint: str) -> None:
    which = [] if "--device" in arguments else ["--device", "leaf1"]
    error = error_of(invoke(*arguments, *which, "--config", str(lasting.file), "--json"))
    assert error["exit_code"] == 2
    assert message in error["error"]
    assert hint in error["hint"]


@pytest.mark.parametrize(
    "env", [{"COLUMNS": "60"}, {"COLUMNS": "200"}, {"NO_COLOR": "1"}, {"LANG": "C", "LC_ALL": "C"}]
)
def test_the_table_is_the_same_for_every_reader(lasting: Fleet, env: dict[str, str]) -> None:
    """No colour, nothing cut, whatever the terminal says that is not there."""
    plain = invoke("dump-rules", "--config", str(lasting.file))
    finished = subprocess.run(
        command("dump-rules", "--config", str(lasting.file)),
        capture_output=True,
        env=environment(**env),
        check=False,
    )
    assert (finished.stdout.decode("ascii"), finished.returncode) == (plain.stdout, plain.exit_code)
    assert b"\x1b" not in finished.stdout + finished.stderr


def test_a_reader_that_reads_one_line(lasting: Fleet) -> None:
    finished = subprocess.run(
        ["sh", "-c", '"$@" | head -1', "sh", *command("dump-rules", "--config", str(lasting.file))],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert finished.stdout.split() == ["device", "verdict", "result"]
    assert "Traceback" not in finished.stderr


def test_two_devices_of_which_one_never_answers_do_not_wait_for_each_other(lasting: Fleet, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        file = tmp_path / "cais.toml"
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        file.write_text(toml({"silent": address, "fine": lasting.addresses[FINE[0]]}))
        result = invoke("dump-rules", "--config", str(file), "--timeout", "500ms")
    assert result.exit_code == 3
    found = verdicts(result.stdout)
    assert (found["silent"][0], found["fine"][0]) == ("unreachable", "ok")


def test_ctrl_c_waits_for_nobody_who_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        names = {name: f"127.0.0.1:{each.getsockname()[1]}" for name, each in (("a", first), ("b", second))}
        (tmp_path / "cais.toml").write_text(toml(names))
        process = subprocess.Popen(
            command("dump-rules", "--timeout", "10min"),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for silent in (first, second):
            silent.settimeout(30)
            silent.accept()[0].close()  # by now it is waiting
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 130


def test_the_file_in_the_current_folder_is_found(lasting: Fleet) -> None:
    finished = run("dump-rules", "--device", FINE[0], cwd=lasting.file.parent)
    assert (finished.stdout, finished.returncode) == ("no rules\n", 0)
    elsewhere = run("dump-rules", "--device", FINE[0], cwd=Path(os.sep))
    assert elsewhere.returncode == 3
