"""What the word that somebody is typing may go on as."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from cais_tools.config import Config, Device

__all__ = ["candidates"]

Candidate: TypeAlias = tuple[str, str]
"""A word, and what it is; the latter may be empty."""

# A shell that waits longer for a switch than this is no help to anybody.
_PATIENCE = 0.5


@dataclass
class _Line:
    """The words before the one that is being typed, as far as they are understood."""

    command: Any
    root: Any
    waiting: Any = None
    """The option that the word being typed is the value of."""
    given: dict[str, str] = field(default_factory=dict[str, str])
    positional: int = 0

    def read(self, word: str) -> bool:
        """Take in a word; False where it is unknown and nothing that follows can be told."""
        if self.waiting is not None:
            self.given[self.waiting.name], self.waiting = word, None
        elif word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            option = next((each for each in _options(self.command) if name in _names(each)), None)
            if option is not None:
                self.given[option.name] = value
                self.waiting = None if equals or _is_flag(option) else option
        elif getattr(self.command, "commands", None):
            self.command = self.command.commands.get(word)
        else:
            self.positional += 1
        return self.command is not None


def candidates(root: Any, words: Sequence[str]) -> list[Candidate]:
    """All that the last of `words` may become; none where the shell should look for files, or nothing fits.

    `root` is the Click command of the program; its name is not among the words.
    """
    *before, typed = _rejoined(words)
    line = _Line(root, root)
    for word in before:
        if not line.read(word):
            return []
    return [each for each in _possible(line, typed) if each[0].startswith(typed)]


def _rejoined(words: Sequence[str]) -> list[str]:
    """Words of bash, which takes `--device=leaf1` for three: the value follows the option."""
    kept = [word for word in words[:-1] if word != "="]
    return [*kept, "" if words[-1] == "=" else words[-1]]


def _possible(line: _Line, typed: str) -> Iterator[Candidate]:
    if line.waiting is not None:
        yield from _values(line, line.waiting, typed)
    elif typed.startswith("-") and "=" in typed:
        name, _, value = typed.partition("=")
        option = next((each for each in _options(line.command) if name in _names(each)), None)
        if option is not None:
            yield from ((f"{name}={word}", meaning) for word, meaning in _values(line, option, value))
    elif typed.startswith("-"):
        yield from _option_names(line)
    elif getattr(line.command, "commands", None):
        commands = line.command.commands.items()
        yield from ((name, each.get_short_help_str(60)) for name, each in commands if not each.hidden)
    else:
        arguments = [each for each in line.command.params if each.param_type_name == "argument"]
        if line.positional < len(arguments):
            yield from _values(line, arguments[line.positional], typed)
        elif not arguments and not typed:
            yield from _option_names(line)


def _options(command: Any) -> Iterator[Any]:
    return (each for each in command.params if each.param_type_name == "option" and not each.hidden)


def _names(option: Any) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def _is_flag(option: Any) -> bool:
    return bool(option.is_flag or option.count)


def _option_names(line: _Line) -> Iterator[Candidate]:
    for option in _options(line.command):
        if option.name not in line.given or option.multiple:
            name = next((each for each in option.opts if each.startswith("--")), option.opts[0])
            yield name, " ".join((option.help or "").split()).partition("  ")[0]


# --- values ---


def _values(line: _Line, parameter: Any, typed: str) -> Iterator[Candidate]:
    source = _SOURCES.get(parameter.name)
    if source is not None:
        yield from source(line, typed)
    # From the function's own annotations: where Typer keeps the choices is another place in every version of it.
    for choice in _choices(get_type_hints(line.command.callback).get(parameter.name)):
        yield str(choice), ""


def _choices(hint: Any) -> tuple[object, ...]:
    """The values of a Literal, wherever it is in a type."""
    inner = get_args(hint)
    return inner if get_origin(hint) is Literal else tuple(choice for each in inner for choice in _choices(each))


def _config(line: _Line) -> Config:
    import os

    from cais_tools.config import find_config, read_config

    named = line.given.get("config") or os.environ.get("CAIS_CONFIG")
    return read_config(find_config(Path(named) if named else None))


def _devices(line: _Line, typed: str) -> Iterator[Candidate]:
    """Names of the file, the last of a list with commas; those that stand there already are left out."""
    stem, comma, _ = typed.rpartition(",")
    there = stem.split(",")
    devices = _config(line).devices
    for name, device in devices.items():
        if name not in there:
            yield f"{stem}{comma}{name}", device.address
    if len(devices) > 1 and not stem:
        yield "all", f"all {len(devices)}"


def _device(line: _Line) -> Device:
    import os

    config = _config(line)
    named = line.given.get("device") or os.environ.get("CAIS_DEVICE")
    return (config.select([named]) if named else config.default_devices())[0]


def _groups(line: _Line, _: str) -> Iterator[Candidate]:
    """Those of the file, and those that the switch has, if it answers at once."""
    found: dict[str, str] = {}
    for group in _config(line).groups:
        found[str(group.values.get("id"))] = "in the file"
    for number in _groups_of(_device(line)):
        found[str(number)] = "on the switch"
    yield from found.items()


def _groups_of(device: Device) -> list[int]:
    from cais_tools.errors import CaisError
    from cais_tools.fleet import options_for
    from cais_tools.session import SessionOptions, connect

    try:
        options = options_for(device, SessionOptions(read_only=True, timeout=_PATIENCE))
        with connect(device.address, options) as session:
            # The table's one key is the group's number.
            return sorted(int(str(number)) for entry in session.read_table("groups") for number in entry.match.values())
    except (CaisError, ValueError):
        return []


def _ports(line: _Line, typed: str) -> Iterator[Candidate]:
    stem, comma, _ = typed.rpartition(",")
    there = stem.split(",")
    for name, number in _device(line).ports.items():
        if name not in there:
            yield f"{stem}{comma}{name}", f"port {number}"


_SOURCES: dict[str, Callable[[_Line, str], Iterator[Candidate]]] = {
    "device": _devices,
    "group": _groups,
    "group_id": _groups,
    "groups": _groups,
    "input_ports": _ports,
    "output_ports": _ports,
    "ports": _ports,
}
"""By the parameter's name."""
