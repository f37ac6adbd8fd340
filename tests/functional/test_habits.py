"""What holds for every command: help, usage errors, exit codes, pipes, terminals and locales (design, section 8)."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from cais_tools import __version__
from tests.functional.runner import ROOT, command, environment, error_of, invoke, run

COMMANDS = (
    "build",
    "controller",
    "fallback",
    "load",
    "add-rule",
    "delete-rule",
    "dump-rules",
    "show-stats",
    "exporter",
    "switch",
    "smoke",
    "sniff",
    "top",
    "version",
)


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['cais', *sys.argv[1:]]\n"
        "from cais_tools.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: code = stop.code\n"
        "print(code, sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    heavy = {"grpc", "scapy", "textual", "numpy", "torch", "rich", "google", "p4"}
    for arguments in (["--help"], ["smoke", "--help"], ["--version"]):
        finished = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            capture_output=True,
            text=True,
            env=environment(),
            check=True,
        )
        assert finished.stderr.startswith("0 ")
        assert not {name for name in heavy if f"'{name}'" in finished.stderr}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_says_what_every_option_is(name: str) -> None:
    result = invoke(name, "--help", env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "--json" in result.stdout
    assert "..." not in invoke("--help", env={"COLUMNS": "80"}).stdout.replace("COMMAND [ARGS]...", "")


def test_all_commands_are_there() -> None:
    text = invoke("--help").stdout
    assert all(f"  {name} " in text for name in (*COMMANDS, "completion", "config", "exporter", "rules"))
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings[1:] == [
        "Set up a switch:",
        "Say what it reduces:",
        "Control what is offloaded:",
        "Watch it:",
        "Prove it:",
        "The program itself:",
    ]
    assert "Exit codes" in text


def test_no_command_is_a_usage_error_with_the_help() -> None:
    result = invoke()
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Set up a switch:" in result.stderr


def test_version() -> None:
    assert invoke("--version").stdout == f"cais {__version__}\n"
    assert invoke("version").stdout.startswith(f"cais {__version__}\n")
    document = json.loads(invoke("version", "--json").stdout)
    assert document["schema"] == "cais.version/1"
    assert document["cais"] == __version__
    assert document["packages"]["grpcio"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["frobnicate"], "No such command", "cais --help"),
        (["lod"], "Did you mean", "cais --help"),
        (["load", "--devise", "x"], "--devise", "load --help"),
        (["add-rule"], "--group-id", "add-rule --help"),
        (["dump-rules", "--group-id", "256"], "--group-id", "dump-rules --help"),
        (["add-rule", "--group-id", "0", "--input-ports", "0,1", "--output-ports", "1"], "port 0", "from 1 on"),
        (["add-rule", "--group-id", "0", "--input-ports", "1,x", "--output-ports", "1"], "--input-ports", "1-4"),
        (["show-stats", "--interval", "soon"], "--interval", "500ms"),
        (["show-stats", "--device", ""], "address is empty", "HOST:PORT"),
        (["show-stats", "--device", "::1:9559"], "::1:9559", "[::1]:9559"),
        (["dump-rules", "--timeout", "0"], "--timeout", "1s"),
        (["switch"], "needs ports", "--port 1="),
        (["switch", "--port", "0=veth0"], "port 0", "start at 1"),
        (["switch", "--port", "1=cable:1:2", "--port", "1=cable:3:4"], "given twice", ""),
        (["switch", "--port", "1=cable:0:9001", "--grpc", "0.0.0.0:9559"], "open to the network", "--insecure"),
        (["switch", "--port", "1=cable:0:9001", "--grpc", "9559"], "cannot listen", "HOST:PORT"),
        (["smoke", "--ops", "sum,median"], "median", "all-gather"),
        (["smoke", "--size", "big"], "--size", "16KiB"),
        (["smoke", "--size", "8"], "less than a word", "--size 16"),
        (["smoke", "--ranks", "1"], "1 rank is no group", "2 to 32"),
        (["smoke", "--ranks", "0"], "--ranks", "smoke --help"),
        (["smoke", "--ranks", "33"], "33 ranks", "2 to 32"),
        (["smoke", "--loss", "101%"], "--loss", "5%"),
        (["smoke", "--steps", "0"], "--steps", "smoke --help"),
        (["smoke", "--device", "127.0.0.1:1"], "which link", "1=veth1"),
        (["smoke", "--ports", "0=veth1,1=veth2"], "port 0", "start at 1"),
        (["smoke", "--ports", "1=veth1,2=veth2", "--ranks", "3"], "3 ranks", "--ranks"),
        (["smoke", "--timeout", "0", "--corrupt", "1%"], "--timeout", "500ms"),
        (["smoke", "--generate", "x.pcap", "--write", "y.pcap"], "--write", "--seed"),
        (["smoke", "--generate", "x.pcap", "--against", "gloo"], "--against", "--seed"),
        (["smoke", "--generate", "x.pcap", "--loss", "5%"], "--loss", "--seed"),
        (["smoke", "--generate", "x.pcap", "--duplicate", "0%"], "--duplicate", "--seed"),
        (["smoke", "--generate", "x.pcap", "--reorder", "5%"], "--reorder", "--seed"),
        (["smoke", "--generate", "x.pcap", "--corrupt", "5%"], "--corrupt", "--seed"),
        (["smoke", "--generate", "x.pcap", "--device", "x"], "--device", "--seed"),
        (["smoke", "--generate", "x.pcap", "--device-id", "1"], "--device-id", "--seed"),
        (["smoke", "--generate", "x.pcap", "--ports", "1=a,2=b"], "--ports", "--seed"),
        (["smoke", "--generate", "x.pcap", "--timeout", "1s"], "--timeout", "--seed"),
        (["build", "-D", "LANES=48"], "LANES=48", "32, 64, 256"),
        (["load", "--p4info", "x.txtpb"], "--p4info", "shipped"),
    ],
)
def test_usage_errors_say_what_to_do(arguments: list[str], message: str, hint: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert len(lines) <= 2
    assert hint in lines[-1]


@pytest.mark.parametrize("arguments", [["load", "--devise", "x"], ["smoke", "--ops", "median"]])
def test_usage_errors_are_json_in_json_mode(arguments: list[str]) -> None:
    result = invoke(*arguments, "--json")
    document = error_of(result)
    assert document["exit_code"] == result.exit_code == 2
    assert document["hint"]


def test_options_come_from_the_environment_too() -> None:
    result = invoke("dump-rules", env={"CAIS_DEVICE": "::1:9559"})
    assert "::1:9559" in result.stderr
    assert "--size" in invoke("smoke", env={"CAIS_SIZE": "big"}).stderr
    assert "--ranks" in invoke("smoke", env={"CAIS_RANKS": "0"}).stderr


def test_no_variable_has_two_meanings() -> None:
    """Links of the smoke test are no list of ports to flood, and its patience is not that of an answer."""
    links = {"CAIS_PORTS": "1=veth1,2=veth2", "CAIS_DEVICE": "127.0.0.1:1"}
    assert "--ports" not in invoke("load", env=links).stderr
    assert "--timeout" in invoke("dump-rules", env={"CAIS_TIMEOUT": "soon"}).stderr
    assert "--timeout" in invoke("smoke", env={"CAIS_SMOKE_TIMEOUT": "soon"}).stderr
    assert "--size" in invoke("smoke", "--size", "8", env={"CAIS_TIMEOUT": "soon"}).stderr


def test_the_environment_is_no_option_of_generate(tmp_path: Path) -> None:
    path = tmp_path / "traffic.pcap"
    result = invoke(
        "smoke", "--generate", str(path), "--ops", "max", "--size", "64", env={"CAIS_DEVICE": "x", "CAIS_PORTS": "1=a"}
    )
    assert result.exit_code == 0, result.stderr
    assert path.stat().st_size > 24


def test_errors_of_click_are_ours_in_every_version_of_typer() -> None:
    from cais_tools.cli import app

    assert app._CLICK_EXCEPTION.__name__ == "ClickException"
    assert issubclass(typer.BadParameter, app._CLICK_EXCEPTION)
    assert not issubclass(typer.Exit, app._CLICK_EXCEPTION)


def test_no_traceback_and_no_secrets_without_debugging() -> None:
    finished = run("dump-rules", "--device", "127.0.0.1:1", SECRET="hunter2")
    assert finished.returncode == 3
    assert "Traceback" not in finished.stderr
    assert "hunter2" not in finished.stderr
    assert "Traceback" in run("dump-rules", "--device", "127.0.0.1:1", CAIS_DEBUG="1").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["load"],
        ["dump-rules"],
        ["show-stats"],
        ["add-rule", "--group-id", "0", "--input-ports", "1,2", "--output-ports", "1,2"],
        ["delete-rule", "--group-id", "0"],
        ["smoke", "--ports", "1=cable:0:9001,2=cable:0:9002"],
    ],
)
def test_a_device_that_is_down_is_exit_code_3_and_one_line(arguments: list[str]) -> None:
    """Nothing listens on port 1; proxies in the environment change nothing."""
    finished = run(*arguments, "--device", "127.0.0.1:1", http_proxy="http://127.0.0.1:2", https_proxy="http://x:2")
    assert finished.returncode == 3
    assert finished.stdout == ""
    line = next(line for line in finished.stderr.splitlines() if line.startswith("error: "))
    assert "127.0.0.1:1" in line
    assert "refused" in line
    assert error_of(invoke(*arguments, "--device", "127.0.0.1:1", "--json"))["exit_code"] == 3


def test_the_originals_lines_work_to_the_letter() -> None:
    """They get as far as the switch that is not there; the second one finds no route or no answer."""
    original = (
        "add-rule --group-id 0 --layer-id 5 --chunk-id 0 --input-ports 1,2,3,4 --output-ports 1,2,3,4 "
        "--op-type allreduce"
    )
    assert invoke(*original.split(), env={"CAIS_DEVICE": "127.0.0.1:1"}).exit_code == 3
    assert invoke("dump-rules", env={"CAIS_DEVICE": "127.0.0.1:1"}).exit_code == 3
    stats = invoke("show-stats", "--device", "127.0.0.2", "--timeout", "1s")
    assert stats.exit_code == 3
    assert "127.0.0.2:9559" in stats.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    finished = subprocess.run(
        command("version"), stdout=writing, stderr=subprocess.PIPE, text=True, env=environment(), check=False
    )
    os.close(writing)
    assert finished.stderr == ""
    assert finished.returncode == 141


def test_an_encoding_that_knows_little_is_no_error() -> None:
    finished = run("switch", "--port", "1=véth€", PYTHONIOENCODING="ascii")
    assert finished.returncode in (2, 4, 5)
    assert "v?th" in finished.stderr or "v\\xe9th" in finished.stderr


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_only_on_a_terminal_that_wants_it(env: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal:
        finished = subprocess.run(
            command("load", "--devise"),
            stdout=theirs,
            stderr=theirs,
            env=environment(**{"TERM": "xterm", **env}),
            check=False,
        )
        os.close(theirs)
        text = terminal.read1(65536)
    assert finished.returncode == 2
    assert b"error:" in text
    assert (b"\x1b[" in text) == coloured


def test_both_names_are_the_same_program() -> None:
    import tomllib

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"cais": "cais_tools.cli:main", "cais-cli": "cais_tools.cli:main"}


def test_operations_on_the_command_line_are_those_of_the_wire() -> None:
    from cais_tools.wire import Op

    text = " ".join(invoke("add-rule", "--help").stdout.split())
    assert all(op.label in text for op in Op)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    finished = subprocess.run(
        ["sh", "-c", f'"$0" -m cais_tools.cli version {closed}', sys.executable],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["load", "--program", "/no/such.json"], "there is no file /no/such.json"),
        (["load", "--program", str(ROOT / "p4/cais.p4")], "is source, not a compiled program"),
        (["load", "--program", "/dev/zero", "--p4info", "/dev/zero"], "too large for a P4 program"),
        (["delete-rule", "--group-id", "0", "--all", "--layer-id", "5"], "--all deletes the whole group"),
        (["show-stats", "--interval", "999999999min"], "more than a day"),
        (["smoke", "--size", "999999999999"], "more than 1024MiB"),
        (
            ["add-rule", "--group-id", "0", "--input-ports", "1", "--output-ports", "1", "--priority", "2147483648"],
            "2147",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_happens(arguments: list[str], words: str) -> None:
    finished = invoke(*arguments)
    assert finished.exit_code == 2, finished.stderr
    assert words in finished.stderr
