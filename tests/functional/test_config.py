"""`cais config`, and where the file and the values of a command come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cais_tools.config.example import EXAMPLE
from tests.functional.runner import error_of, invoke, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and nothing in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    for name in ("CAIS_CONFIG", "CAIS_DEVICE", "CAIS_TIMEOUT", "CAIS_TIMEOUT_MS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def shown(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    result = invoke("config", "show", "--json", *arguments, env=env)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_init_check_show(folder: Path) -> None:
    first = invoke("config", "init")
    assert (first.exit_code, first.stdout.splitlines()[0]) == (0, "wrote cais.toml")
    assert (folder / "cais.toml").read_text() == EXAMPLE
    checked = invoke("config", "check")
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert checked.stdout == "cais.toml: 1 device, 1 group, 1 rule, nothing wrong\n"
    text = invoke("config", "show").stdout
    line = next(number for number, line in enumerate(EXAMPLE.splitlines(), 1) if line.startswith("chunk_size"))
    assert f"chunk_size          65536      cais.toml:{line}\n" in text
    assert "wanted: 1 group, 1 rule (cais rules diff)" in text


def test_init_overwrites_only_when_told(folder: Path) -> None:
    (folder / "cais.toml").write_text("# mine\n")
    refused = invoke("config", "init")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert (folder / "cais.toml").read_text() == "# mine\n"
    assert invoke("config", "init", "--force").exit_code == 0
    assert (folder / "cais.toml").read_text() == EXAMPLE
    assert json.loads(invoke("config", "init", "b.toml", "--json").stdout)["file"] == "b.toml"
    assert invoke("config", "init", "no/such/folder.toml").exit_code == 1


def test_each_value_and_where_it_came_from(folder: Path) -> None:
    (folder / "cais.toml").write_text("[defaults]\ntimeout_ms = 20\nchunk_size = 1024\n")
    env = {"CAIS_TIMEOUT_MS": "30", "CAIS_TIMEOUT": "2s", "CAIS_DEVICE_ID": "7"}
    found = shown("--timeout", "9s", env=env)["settings"]
    assert found["timeout_ms"] == {"value": 30, "source": "CAIS_TIMEOUT_MS"}
    assert found["chunk_size"] == {"value": 1024, "source": "cais.toml:3"}
    assert found["offload_threshold"] == {"value": 0.2, "source": "default"}
    assert found["timeout"] == {"value": "9s", "source": "flag"}
    assert found["device_id"] == {"value": 7, "source": "CAIS_DEVICE_ID"}


def test_which_devices_and_why(folder: Path) -> None:
    def device(*arguments: str, **env: str) -> tuple[str, str, str]:
        document = shown(*arguments, env=env)
        setting = document["settings"]["device"]
        return setting["value"], setting["source"], document["devices"][0]["source"]

    assert device() == ("127.0.0.1:9559", "default", "default")
    (folder / "cais.toml").write_text('[devices.a]\naddress = "a"\n\n[devices.b]\naddress = "b"\n')
    assert device() == ("a,b", "cais.toml", "cais.toml:1")
    assert device(CAIS_DEVICE="b") == ("b", "CAIS_DEVICE", "cais.toml:4")
    assert device("--device", "c:1", CAIS_DEVICE="b") == ("c:1", "flag", "flag")


def test_which_file_is_read(folder: Path) -> None:
    assert shown()["file"] is None
    xdg = folder / "xdg" / "cais" / "cais.toml"
    xdg.parent.mkdir(parents=True)
    names = {"xdg": xdg, "here": folder / "cais.toml", "env": folder / "env.toml", "flag": folder / "flag.toml"}
    xdg.write_text('[devices.xdg]\naddress = "a"\n')
    assert [each["name"] for each in shown()["devices"]] == ["xdg"]
    for name, path in names.items():
        path.write_text(f'[devices.{name}]\naddress = "a"\n')
    env = {"CAIS_CONFIG": "env.toml"}
    assert [each["name"] for each in shown()["devices"]] == ["here"]
    assert [each["name"] for each in shown(env=env)["devices"]] == ["env"]
    assert [each["name"] for each in shown("--config", "flag.toml", env=env)["devices"]] == ["flag"]
    before = invoke("--config", "flag.toml", "config", "show", "--json", env=env)
    assert [each["name"] for each in json.loads(before.stdout)["devices"]] == ["flag"]


def test_a_device_of_the_file_is_where_commands_go(folder: Path) -> None:
    (folder / "cais.toml").write_text('[devices.leaf1]\naddress = "127.0.0.1:1"\n')
    for arguments in (["dump-rules"], ["load"], ["dump-rules", "--device", "leaf1"]):
        result = invoke(*arguments)
        assert result.exit_code == 3
        assert "127.0.0.1:1 (connection refused)" in result.stderr
    assert "127.0.0.1:2" in invoke("dump-rules", env={"CAIS_DEVICE": "127.0.0.1:2"}).stderr


def test_check_tells_file_line_and_key(folder: Path) -> None:
    (folder / "cais.toml").write_text("[defaults]\nchunksize = 1\n[[groups]]\nid = 300\nports = [1, 2]\n[[rule]]\n")
    result = invoke("config", "check")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "error: cais.toml:2: defaults.chunksize: there is no such key (did you mean chunk_size?)"
    assert lines[1].startswith("error: cais.toml:4: ")
    assert "300" in lines[1]
    assert lines[2] == "error: cais.toml:6: rule: there is no such key (did you mean rules?)"
    assert "error: 3 findings in cais.toml" in result.stderr
    document = json.loads(invoke("config", "check", "--json").stdout)
    assert [each["line"] for each in document["findings"]] == [2, 4, 6]
    assert document["findings"][0]["key"] == "defaults.chunksize"


def test_check_of_rules_knows_the_ports_of_devices(folder: Path) -> None:
    (folder / "cais.toml").write_text(
        '[devices.leaf1]\naddress = "a"\nports = { swp1 = 1, swp2 = 2 }\n'
        '[[groups]]\nid = 0\nports = ["swp1", "swp3"]\n[[rules]]\ngroup = 1\n'
    )
    lines = invoke("config", "check").stdout.splitlines()
    assert lines[0].startswith("error: cais.toml:6: ")
    assert "swp3" in lines[0]
    assert any(line.startswith("error: cais.toml:8: ") for line in lines)


def test_check_of_what_is_no_toml(folder: Path) -> None:
    (folder / "x.toml").write_text("a = 1\nb = = 2\n")
    result = invoke("config", "check", "x.toml")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: x.toml:2: this is no TOML")
    assert error_of(invoke("config", "check", "x.toml", "--json"))["exit_code"] == 1
    assert invoke("config", "check", "no.toml").exit_code == 2
    missing = invoke("config", "check")
    assert missing.exit_code == 2
    assert "cais config init" in missing.stderr


@pytest.mark.parametrize("arguments", [["dump-rules"], ["load"], ["show-stats"], ["config", "show"], ["rules", "diff"]])
def test_a_file_that_is_wrong_ends_every_command_that_reads_it(folder: Path, arguments: list[str]) -> None:
    (folder / "cais.toml").write_text("[defaults]\nchunk_size = 'big'\n")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cais.toml:2: defaults.chunk_size: 'big' is no whole number")
    assert result.stdout == ""


def test_a_file_that_is_named_must_be_there() -> None:
    for arguments in (["--config", "no.toml", "dump-rules"], ["dump-rules", "--config", "no.toml"]):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert "there is no file no.toml" in result.stderr
        assert "cais config init no.toml" in result.stderr
    assert invoke("version", env={"CAIS_CONFIG": "no.toml"}).exit_code == 0


@pytest.mark.parametrize(
    "env", [{"COLUMNS": "60"}, {"COLUMNS": "200"}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": ""}]
)
def test_show_is_the_same_for_every_reader(folder: Path, env: dict[str, str]) -> None:
    (folder / "cais.toml").write_text(EXAMPLE)
    plain = invoke("config", "show").stdout
    assert run("config", "show", cwd=folder, **env).stdout == plain
    assert plain.isascii()
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    "name", ["config", "config show", "config check", "config init", "completion", "switch inspect"]
)
def test_help_fits_80_columns(name: str) -> None:
    result = invoke(*name.split(), "--help", env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "..." not in result.stdout.replace("COMMAND [ARGS]...", "")


def test_options_about_the_switch_stand_together() -> None:
    own, shared = invoke("load", "--help").stdout.split("Which switch, and how:")
    assert "--program" in own
    assert all(
        name in shared for name in ("--device ", "--device-id", "--timeout", "--take-over", "--tls-ca", "--config")
    )
    assert "--take-over" not in invoke("dump-rules", "--help").stdout


def test_smoke_starts_a_switch_of_its_own_whatever_the_environment_says(folder: Path) -> None:
    (folder / "cais.toml").write_text('[devices.leaf1]\naddress = "127.0.0.1:1"\n')
    finished = run("smoke", "--steps", "1", "--ops", "sum", cwd=folder, CAIS_DEVICE="127.0.0.1:2")
    assert finished.returncode == 0, finished.stderr
    assert "passed" in finished.stdout


def test_smoke_with_ports_goes_to_the_switch_that_is_named_somewhere(folder: Path) -> None:
    ports = ("--ports", "swp1=cable:0:9001,2=cable:0:9002")
    nowhere = invoke("smoke", "--ports", "1=cable:0:9001,2=cable:0:9002")
    assert nowhere.exit_code == 2
    assert "--device" in nowhere.stderr
    (folder / "cais.toml").write_text('[devices.leaf1]\naddress = "127.0.0.1:1"\nports = { swp1 = 1 }\n')
    assert "127.0.0.1:1 " in invoke("smoke", *ports).stderr
    assert (
        "127.0.0.1:2 "
        in invoke("smoke", "--ports", "1=cable:0:9001,2=cable:0:9002", env={"CAIS_DEVICE": "127.0.0.1:2"}).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smoke", "--ops", ""], "no operation is named"),
        (
            ["add-rule", "--group-id", "0", "--input-ports", "1", "--output-ports", "1", "--op-type", "sum"],
            "'sum' is not",
        ),
        (["dump-rules", "--tls-ca", "/no/ca.pem"], "there is no file /no/ca.pem"),
        (["dump-rules", "--tls-cert", "cais.toml"], "belong together"),
    ],
)
def test_messages_are_in_our_words(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "cais.toml").touch()
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Value error" not in result.stderr
