"""Completion in real shells."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.runner import environment, invoke, run

CONFIG = '[devices.leaf1]\naddress = "127.0.0.1:1"\n[devices.leaf2]\naddress = "127.0.0.1:2"\n[[groups]]\nid = 12\n'

BASH = """
source <(cais completion bash)
COMP_WORDS=(cais "$@") COMP_CWORD=$#
_cais_completion cais
printf '%s\\n' "${COMPREPLY[@]}"
"""

ZSH = """\
PS1='> '; autoload -Uz compinit && compinit -u -D
source <(cais completion zsh)
"""

FISH = """
cais completion fish | source
complete -C "cais $argv"
"""


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a cais.toml, and a program `cais` in bin/."""
    (tmp_path / "cais.toml").write_text(CONFIG)
    program = tmp_path / "bin" / "cais"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cais_tools.cli "$@"\n')
    program.chmod(0o755)
    return tmp_path


def shell_environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    places = dict.fromkeys(("HOME", "ZDOTDIR", "XDG_CONFIG_HOME"), str(folder))
    return environment(PATH=path, TERM="dumb", COLUMNS="80", **places)


def completed(folder: Path, *command: str) -> list[str]:
    finished = subprocess.run(
        command,
        cwd=folder,
        env=shell_environment(folder),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert finished.stderr == ""
    return finished.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["dump-rules", "--device", "leaf"], ["leaf1", "leaf2"]),
        (["dump-rules", "--device", "=", "leaf1,"], ["leaf1,leaf2"]),
        (["dump-rules", "--group-id", "1"], ["12"]),
        (["config", ""], ["show", "check", "init"]),
        (["no-such-command", ""], [""]),
    ],
)
def test_bash(folder: Path, words: list[str], wanted: list[str]) -> None:
    assert completed(folder, shell("bash"), "-c", BASH, "bash", *words) == wanted


def test_bash_falls_back_to_files(folder: Path) -> None:
    script = "source <(cais completion bash); complete -p cais cais-cli"
    for line in completed(folder, shell("bash"), "-c", script):
        assert "-o default" in line


def test_fish(folder: Path) -> None:
    fish = shell("fish")
    assert completed(folder, fish, "-c", FISH, "dump-rules --device leaf") == [
        "leaf1\t127.0.0.1:1",
        "leaf2\t127.0.0.1:2",
    ]
    assert completed(folder, fish, "-c", FISH, "dump-rules --group-id ") == ["12\tin the file"]
    assert completed(folder, fish, "-c", FISH, "config i") == ["init\tWrite a commented example to begin with."]


def at_a_terminal(folder: Path, zsh: str, typed: str, until: bytes) -> bytes:
    """What zsh shows when `typed` is followed by a tab; it completes only at a terminal."""
    (folder / ".zshrc").write_text(ZSH)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [zsh, "-d", "-i"],
        cwd=folder,
        env=shell_environment(folder),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    try:
        while b"> " not in seen:
            seen += os.read(ours, 4096)
        os.write(ours, f"{typed}\t".encode())
        seen = b""
        while until not in seen:
            seen += os.read(ours, 4096)
        return seen
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_zsh(folder: Path) -> None:
    zsh = shell("zsh")
    assert b"leaf1  -- 127.0.0.1:1" in at_a_terminal(
        folder, zsh, "cais dump-rules --device leaf", b"leaf2  -- 127.0.0.1:2"
    )
    assert b"check" in at_a_terminal(folder, zsh, "cais config ch", b"check ")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(folder: Path, name: str) -> None:
    script = folder / "script"
    script.write_text(invoke("completion", name).stdout)
    assert completed(folder, shell(name), "-n", str(script)) == []


@pytest.mark.parametrize("broken", ["a = = 1\n", "[defaults]\nx = 1\n", "\x00"])
def test_a_file_that_is_wrong_disturbs_nobody_who_types(folder: Path, broken: str) -> None:
    (folder / "cais.toml").write_text(broken)
    finished = run("complete", "--", "load", "--device", "", cwd=folder)
    assert (finished.stdout, finished.stderr, finished.returncode) == ("", "", 0)


def test_completing_names_imports_nothing_heavy(folder: Path) -> None:
    script = (
        "import sys; sys.argv = ['cais', 'complete', '--', 'load', '--device', '']\n"
        "from cais_tools.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    assert [line.split("\t")[0] for line in finished.stdout.splitlines()] == ["leaf1", "leaf2", "all"]
    assert not {"grpc", "scapy", "textual", "numpy", "torch", "rich", "google", "p4"} & set(finished.stderr.split())


def test_an_unknown_shell_is_refused() -> None:
    result = invoke("completion", "tcsh")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.stderr
