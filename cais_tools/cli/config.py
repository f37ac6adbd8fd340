"""`cais config`: what is in force and where it comes from, what is wrong with a file, and an example to begin with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cais_tools.cli.devices import Connection, chosen_config, connects
from cais_tools.cli.options import ConfigFile, Json, option
from cais_tools.cli.output import coloured, emit_json, note, say, table
from cais_tools.config import FILE_NAME, Config, Device, Finding, Location, Setting
from cais_tools.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

app = typer.Typer(
    help="Show, check or begin cais.toml: switches, rules, settings.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
@connects(changes=False)
def show(*, ctx: typer.Context, connection: Connection, json: Json = False) -> None:
    """Show every value that is in force, and where it comes from.

    A flag comes before an environment variable, that before the file, and that before the default.
    """
    config = connection.config
    settings = {**config.settings(), **_connection_settings(ctx, connection)}
    devices = connection.config.select(connection.names) if connection.names else config.default_devices()
    source = settings["device"].source
    if json:
        values = {name: {"value": each.value, "source": each.source} for name, each in settings.items()}
        shown = [_device(device, source) for device in devices]
        counts = {"groups": len(config.groups), "rules": len(config.rules)}
        emit_json("cais.config/1", {"file": config.file, "settings": values, "devices": shown, **counts})
        return
    say(f"file: {config.file or 'none'}")
    say()
    say(table(("setting", "value", "from"), [[name, *_cells(each)] for name, each in settings.items()], left=(0, 1, 2)))
    say()
    say(
        table(
            ("device", "address", "id", "TLS", "ports", "from"),
            [_row(device, source) for device in devices],
            left=range(6),
        )
    )
    if config.groups or config.rules:
        say()
        say(f"wanted: {_count(len(config.groups), 'group')}, {_count(len(config.rules), 'rule')} (cais rules diff)")
    if config.file is None:
        note(f"there is no {FILE_NAME}; cais config init writes an example")


def _cells(setting: Setting) -> tuple[str, str]:
    return str(setting.value), setting.source


def _connection_settings(ctx: typer.Context, connection: Connection) -> dict[str, Setting]:
    """What the options of this very command say for all switches, as they would for any other command."""
    files = connection.tls
    names = ",".join(connection.names or [device.name for device in connection.config.default_devices()])
    values: dict[str, str | int | Path | None] = {
        "timeout": f"{connection.timeout:g}s",
        "device_id": connection.device_id,
        "tls_ca": files and files.ca,
        "tls_cert": files and files.cert,
        "tls_key": files and files.key,
        "tls_server_name": files and files.server_name,
    }
    found = {"device": Setting(names, _source(ctx, "device", _where_devices_are(connection.config)))}
    for name, value in values.items():
        if value is not None:
            found[name] = Setting(value if isinstance(value, int) else str(value), _source(ctx, name, "default"))
    return found


def _where_devices_are(config: Config) -> str:
    return config.file if config.file and config.devices else "default"


def _source(ctx: typer.Context, name: str, default: str) -> str:
    source = ctx.get_parameter_source(name)
    kind = "" if source is None else source.name
    return {"COMMANDLINE": "flag", "ENVIRONMENT": f"CAIS_{name.upper()}"}.get(kind, default)


def _device(device: Device, source: str) -> dict[str, Any]:
    """`source` is where its address comes from if it is not one of the file's."""
    tls = device.tls
    files = tls and {"ca": tls.ca and str(tls.ca), "cert": tls.cert and str(tls.cert), "key": tls.key and str(tls.key)}
    return {
        "name": device.name,
        "address": device.address,
        "device_id": device.device_id,
        "tls": files,
        "ports": dict(device.ports),
        "source": str(device.location or source),
    }


def _row(device: Device, source: str) -> list[str]:
    number = "-" if device.device_id is None else str(device.device_id)
    tls = "no" if device.tls is None else "mutual" if device.tls.cert else "yes"
    ports = str(len(device.ports) or "-")
    return [device.name, device.address, number, tls, ports, str(device.location or source)]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


@app.command()
def check(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", show_default=False, help="[default: the one that is in force]")
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Tell what is wrong with a file: line, key, what was meant.

    Nothing is sent to a switch. Exits with 1 where something is wrong.
    """
    from cais_tools.config import check_config

    path = chosen_config(ctx, file or config)
    if path is None:
        raise UsageError(f"there is no {FILE_NAME} to check", hint="cais config init writes an example")
    try:
        found, findings = check_config(path)
    except UsageError as error:  # no TOML at all: that is what a check is for
        raise CheckFailed(error.message, hint=error.hint) from None
    wrong, doubtful = _wanted_findings(found)
    told = {_line(each) for each in findings}
    findings = sorted([*findings, *(each for each in wrong if _line(each) not in told)], key=_line)
    if json:
        document = {
            "findings": [_finding(each) for each in findings],
            "warnings": [_finding(each) for each in doubtful],
        }
        emit_json("cais.config-check/1", {"file": str(path), **document})
    else:
        _say_findings(findings, doubtful)
    if findings:
        raise CheckFailed(f"{_count(len(findings), 'finding')} in {path}", hint="cais config init writes an example")
    if not json:
        say(f"{path}: {_summary(found.devices, found.groups, found.rules)}, nothing wrong")


def _summary(devices: Mapping[str, Device], groups: Sequence[object], rules: Sequence[object]) -> str:
    counts = (_count(len(devices), "device"), _count(len(groups), "group"), _count(len(rules), "rule"))
    return ", ".join(counts)


def _line(finding: Finding) -> int:
    return finding.location.line or 0


def _wanted_findings(config: Config) -> tuple[list[Finding], list[Finding]]:
    """What is wrong with the groups and rules, for any of the devices, and what is only doubtful."""
    if config.file is None or not (config.groups or config.rules):
        return [], []
    from cais_tools.cli.rules_wanted import read_source
    from cais_tools.session.cais.checks import check_wanted
    from cais_tools.session.cais.findings import Severity

    source = read_source(config, Path(config.file), config.default_devices())
    found: dict[Severity, dict[Finding, None]] = {severity: {} for severity in Severity}
    for name, wanted in source.wanted.items():
        facts = source.facts[name]
        for each in (*source.findings[name], *(check_wanted(wanted, facts) if facts else ())):
            finding = Finding(Location(each.file or config.file, each.line), "", each.message, each.hint)
            found[each.severity][finding] = None
    return list(found[Severity.ERROR]), list(found[Severity.WARNING])


def _say_findings(findings: Sequence[Finding], doubtful: Sequence[Finding]) -> None:
    for kind, colour, some in (("error:", "red", findings), ("warning:", "yellow", doubtful)):
        for finding in some:
            hint = f" ({finding.hint})" if finding.hint else ""
            say(f"{coloured(kind, colour, sys.stdout)} {finding}{hint}")


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "file": finding.location.file,
        "line": finding.location.line,
        "key": finding.key,
        "message": finding.message,
        "hint": finding.hint,
    }


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="What to write.")] = Path(FILE_NAME),
    force: Annotated[bool, option("--force", help="Overwrite a file that is there.")] = False,
    json: Json = False,
) -> None:
    """Write a commented example to begin with."""
    from cais_tools.config.example import EXAMPLE

    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(EXAMPLE)
    except FileExistsError:
        raise UsageError(f"{file} is there already", hint="--force overwrites it") from None
    if json:
        emit_json("cais.config-init/1", {"file": str(file)})
        return
    say(f"wrote {file}")
    say(f"next: name your switches in it, then cais config check{'' if str(file) == FILE_NAME else f' {file}'}")
