"""The controller that a command speaks to: the options for it, and a client.

    @reaches()
    def status(*, access: Access, json: ... = False) -> None:
        with access.client() as client: ...

`reaches` puts --controller, --timeout, --tls-..., --config in the place of `access`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from cais_tools.cli.devices import DEFAULT_TIMEOUT, load_config
from cais_tools.cli.options import option
from cais_tools.cli.parse import parse_seconds
from cais_tools.config import TlsFiles

if TYPE_CHECKING:
    from cais_tools.controller.client import ControllerClient

__all__ = ["Access", "reaches"]


def _shared(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - as Typer calls it
    return option(*names, help=help, rich_help_panel="Which controller, and how", **more)


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "controller": (
        Annotated[
            str | None,
            _shared(
                "--controller",
                metavar="HOST[:PORT]",
                envvar="CAIS_CONTROLLER",
                show_default=False,
                help="Where it listens.  [default: cais.toml's, else 127.0.0.1:50051]",
            ),
        ],
        None,
    ),
    "timeout": (
        Annotated[
            str, _shared("--timeout", metavar="TIME", envvar="CAIS_TIMEOUT", help="How long it may take to answer.")
        ],
        DEFAULT_TIMEOUT,
    ),
    "tls_ca": (
        Annotated[
            Path | None,
            _shared(
                "--tls-ca",
                metavar="FILE",
                envvar="CAIS_CONTROLLER_TLS_CA",
                help="TLS: who has signed its certificate (PEM).",
            ),
        ],
        None,
    ),
    "tls_cert": (
        Annotated[
            Path | None,
            _shared(
                "--tls-cert", metavar="FILE", envvar="CAIS_CONTROLLER_CLIENT_CERT", help="TLS: our certificate (PEM)."
            ),
        ],
        None,
    ),
    "tls_key": (
        Annotated[
            Path | None,
            _shared(
                "--tls-key", metavar="FILE", envvar="CAIS_CONTROLLER_CLIENT_KEY", help="TLS: its private key (PEM)."
            ),
        ],
        None,
    ),
    "tls_server_name": (
        Annotated[
            str | None,
            _shared(
                "--tls-server-name",
                metavar="NAME",
                envvar="CAIS_CONTROLLER_TLS_SERVER_NAME",
                help="TLS: whom its certificate is for, where that is not the address.",
            ),
        ],
        None,
    ),
    "config": (
        Annotated[
            Path | None,
            _shared("--config", metavar="FILE", help="Instead of ./cais.toml (also before the command)."),
        ],
        None,
    ),
}


@dataclass(frozen=True, slots=True)
class Access:
    """What the options of a command say about its controller."""

    address: str
    timeout: float
    tls: TlsFiles | None

    def client(self) -> ControllerClient:
        """A context manager. Raises UsageError for TLS files that are none."""
        from cais_tools.controller.client import ControllerClient

        return ControllerClient(self.address, tls=self.tls, timeout=self.timeout)


def reaches() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that its parameter `access` is made of."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = inspect.signature(command).parameters

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            ctx = arguments.pop("ctx")
            given = {name: arguments.pop(name) for name in _OPTIONS}
            command(**arguments, access=_access(ctx, **given))

        parameters = [_parameter("ctx", typer.Context, inspect.Parameter.empty)]
        for name, parameter in own.items():
            if name == "access":
                parameters += [_parameter(each, *_OPTIONS[each]) for each in _OPTIONS]
            else:
                parameters.append(_parameter(name, hints[name], parameter.default))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _access(
    ctx: typer.Context,
    *,
    controller: str | None,
    timeout: str,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_server_name: str | None,
    config: Path | None,
) -> Access:
    settings = load_config(ctx, config).settings(flags={} if controller is None else {"controller": controller})
    tls = None
    if any(each is not None for each in (tls_ca, tls_cert, tls_key, tls_server_name)):
        tls = TlsFiles(tls_ca, tls_cert, tls_key, tls_server_name)
    from cais_tools.controller.client import parse_controller

    target = parse_controller(str(settings["controller"].value), int(settings["controller_port"].value))
    return Access(str(target), parse_seconds(timeout, option="--timeout"), tls)
