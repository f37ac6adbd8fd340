"""The switches that a command is for: its options, and sessions with them.

    @connects(changes=True)
    def load(*, connection: Connection, dry_run: ... = False) -> None:
        on_each(connection, work, ...)          # cli/fleet.py: one device or several
        with connection.open() as session: ...  # exactly one device

`connects` puts --device, --device-id, --timeout, --tls-..., --config (and --take-over) in the place of `connection`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from cais_tools.cli import options
from cais_tools.cli.parse import parse_seconds
from cais_tools.config import Config, Device, TlsFiles, find_config, read_config
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.session import SessionOptions, SwitchSession

__all__ = ["Connection", "chosen_config", "connects", "load_config"]

DEFAULT_TIMEOUT = "5s"


@dataclass(frozen=True, slots=True)
class Connection:
    """What the options of a command say about its switches; `names` is empty where they say nothing.

    `changes` is False for a command that only reads: it needs no primary role, and disturbs nobody who has it.
    """

    names: tuple[str, ...]
    config: Config
    device_id: int | None
    timeout: float
    tls: TlsFiles | None
    take_over: bool
    changes: bool

    def devices(self) -> list[Device]:
        """All that the command is for. Without --device what only reads takes all of the file's. Raises UsageError."""
        if self.names:
            return self.config.select(self.names)
        devices = self.config.default_devices()
        if self.changes and len(devices) > 1:
            raise UsageError(
                f"{self.config.file} names {len(devices)} devices, and this command changes something: which?",
                hint=f"--device all, or some of {', '.join(device.name for device in devices)}",
            )
        return devices

    def device(self) -> Device:
        """The one that the command is for. Raises UsageError where there are several."""
        devices = self.config.select(self.names) if self.names else self.config.default_devices()
        if len(devices) > 1:
            names = ", ".join(device.name for device in devices)
            raise UsageError(f"this command is for one device at a time, not {len(devices)}", hint=f"one of {names}")
        return devices[0]

    def options(self) -> SessionOptions:
        """For all devices; what their entries in the file say comes on top (`fleet.options_for`)."""
        from cais_tools.session import SessionOptions, Tls

        files = self.tls
        tls = None if files is None else Tls(files.ca, files.cert, files.key, files.server_name)
        return SessionOptions(
            device_id=self.device_id,
            take_over=self.take_over,
            read_only=not self.changes,
            timeout=self.timeout,
            tls=tls,
        )

    def open(self, device: Device | None = None) -> SwitchSession:
        """A session with `device`, or with the one that the command is for."""
        from cais_tools.fleet import options_for
        from cais_tools.session import connect

        device = device or self.device()
        return connect(device.address, options_for(device, self.options()))


def connects(
    *, changes: bool, without: Collection[str] = (), device: Any = options.Devices
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that its parameter `connection` is made of, `without` some of them.

    `device` is how its own --device is explained.
    """
    shared = {**_OPTIONS, "device": (device, None)}
    names = [name for name in shared if name not in without and (changes or name != "take_over")]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = inspect.signature(command).parameters

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            ctx = arguments["ctx"] if "ctx" in own else arguments.pop("ctx")
            given = {name: arguments.pop(name) for name in names}
            command(**arguments, connection=_connection(ctx, changes=changes, **given))

        parameters: list[inspect.Parameter] = []
        if "ctx" not in own:
            parameters.append(_parameter("ctx", typer.Context, inspect.Parameter.empty))
        for name, parameter in own.items():
            if name == "connection":
                parameters += [_parameter(each, *shared[each]) for each in names]
            else:
                parameters.append(_parameter(name, hints[name], parameter.default))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "device": (options.Devices, None),
    "device_id": (options.DeviceId, None),
    "take_over": (options.TakeOver, False),
    "timeout": (options.Timeout, DEFAULT_TIMEOUT),
    "tls_ca": (options.TlsCa, None),
    "tls_cert": (options.TlsCert, None),
    "tls_key": (options.TlsKey, None),
    "tls_server_name": (options.TlsServerName, None),
    "config": (options.ConfigFile, None),
}


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _connection(
    ctx: typer.Context,
    *,
    changes: bool,
    device: list[str] | None,
    device_id: int | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_server_name: str | None,
    config: Path | None,
    timeout: str = DEFAULT_TIMEOUT,
    take_over: bool = False,
) -> Connection:
    seconds = parse_seconds(timeout, option="--timeout")
    tls = None
    if any(each is not None for each in (tls_ca, tls_cert, tls_key, tls_server_name)):
        tls = TlsFiles(tls_ca, tls_cert, tls_key, tls_server_name)
    return Connection(
        names=tuple(device or ()),
        config=load_config(ctx, config),
        device_id=device_id,
        timeout=seconds,
        tls=tls,
        take_over=take_over,
        changes=changes,
    )


def chosen_config(ctx: typer.Context, config: Path | None) -> Path | None:
    """The file that is in force: that of --config here, of --config before the command, of CAIS_CONFIG, or found."""
    return find_config(config or ctx.find_root().obj)


def load_config(ctx: typer.Context, config: Path | None) -> Config:
    return read_config(chosen_config(ctx, config))
