"""The program: its commands, and what surrounds each of them (signals, pipes, errors, exit codes)."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from cais_tools import __version__
from cais_tools.cli import (
    build,
    completion,
    config,
    controller,
    exporter,
    fallback,
    load,
    rules,
    rules_group,
    smoke,
    sniff,
    stats,
    switch,
    top,
    version,
)
from cais_tools.cli.errors import BROKEN_PIPE, INTERRUPTED, TERMINATED, USAGE, Terminated, report
from cais_tools.cli.groups import GroupedCommand, GroupedCommands
from cais_tools.cli.options import option
from cais_tools.errors import CaisError, UsageError

__all__ = ["app", "prepare_streams"]


def _click_exception() -> type[Exception]:
    """Click's ClickException. Typer stands on Click or carries it inside, by version: in either case this is a base."""
    for base in typer.BadParameter.__mro__:
        if base.__name__ == "ClickException" and issubclass(base, Exception):
            return base
    raise ImportError("this version of Typer has no ClickException")


_CLICK_EXCEPTION = _click_exception()


class CaisGroup(GroupedCommands):
    """Runs a command and exits with the code that the design gives to what became of it."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **extra: Any) -> NoReturn:
        arguments = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in arguments
        extra["standalone_mode"] = False
        try:
            with _sigterm_raises():
                result = super().main(arguments, prog_name, **extra)
            code = result if isinstance(result, int) else 0
        except typer.Abort:
            code = INTERRUPTED
        except _CLICK_EXCEPTION as error:
            code = report(_usage_error(error), as_json=as_json)
        except CaisError as error:
            code = report(error, as_json=as_json)
        except Terminated:
            code = TERMINATED
        except Exception as error:
            code = report(error, as_json=as_json)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        return result


def _usage_error(error: Exception) -> CaisError:
    message = getattr(error, "format_message", error.__str__)().strip() or "a command is missing"
    message = message.replace("Value error, ", "")  # how Pydantic, which Typer converts with, begins
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "cais"
    failure = UsageError(message, hint=f"{path} --help")
    failure.exit_code = getattr(error, "exit_code", USAGE)
    return failure


@contextlib.contextmanager
def _sigterm_raises() -> Generator[None]:
    def raise_terminated(_number: int, _frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _forget_stdout() -> None:
    """Nobody reads any more: let the interpreter's own flush at exit go nowhere, without a word."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """Closed streams swallow what is written; what a terminal's encoding cannot show is replaced, never an error."""
    nowhere = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


app = typer.Typer(
    cls=CaisGroup,
    help="In-network all-reduce: build, load, program, test and watch the switch that adds.",
    epilog="Most options are also read from the environment: --device from CAIS_DEVICE, and so on. "
    "Exit codes: 0 done, 1 check failed, 2 usage, 3 unreachable or too late, 4 not permitted, 5 refused.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cais {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        option("--config", metavar="FILE", envvar="CAIS_CONFIG", help="Read FILE instead of ./cais.toml."),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    ctx.obj = config
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(USAGE)


_SET_UP, _PROGRAM, _CONTROL, _WATCH, _PROVE, _ITSELF = (
    "Set up a switch",
    "Say what it reduces",
    "Control what is offloaded",
    "Watch it",
    "Prove it",
    "The program itself",
)

for _heading, _command in (
    (_SET_UP, build.build),
    (_SET_UP, load.load),
    (_PROGRAM, rules.add_rule),
    (_PROGRAM, rules.delete_rule),
    (_PROGRAM, rules.dump_rules),
    (_CONTROL, fallback.fallback),
    (_WATCH, stats.show_stats),
    (_WATCH, top.top),
    (_WATCH, exporter.exporter),
    (_WATCH, sniff.sniff),
    (_PROVE, smoke.smoke),
    (_ITSELF, completion.completion),
    (_ITSELF, version.version),
):
    app.command(cls=GroupedCommand, rich_help_panel=_heading)(_command)

for _group in (switch.app, rules_group.app, controller.app, config.app):
    for _info in _group.registered_commands:
        _info.cls = GroupedCommand

app.command("complete", hidden=True)(completion.complete)
app.add_typer(switch.app, name="switch", rich_help_panel=_SET_UP)
app.add_typer(rules_group.app, name="rules", rich_help_panel=_PROGRAM)
app.add_typer(controller.app, name="controller", rich_help_panel=_CONTROL)
app.add_typer(config.app, name="config", rich_help_panel=_ITSELF)
