"""`cais rules apply|diff|dump|delete|clear`: the wanted state of switches, kept in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.fleet import raise_worst, run_on_all
from cais_tools.cli.options import Json, option
from cais_tools.cli.output import say
from cais_tools.cli.rules import delete_rule

if TYPE_CHECKING:
    from cais_tools.config import Device
    from cais_tools.session import SwitchSession
    from cais_tools.session.cais.wanted import Wanted

app = typer.Typer(
    help="Keep groups and rules in a file: compare, apply, dump.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

WantedFile: TypeAlias = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", show_default=False, help="TOML or JSON.  [default: the cais.toml that is found]"),
]
KeepOthers: TypeAlias = Annotated[
    bool, option("--keep-others", help="Leave groups and rules alone that the file does not name.")
]
Yes: TypeAlias = Annotated[bool, option("--yes", "-y", help="Do not ask.")]


@app.command()
@connects(changes=True)
def apply(
    *,
    connection: Connection,
    file: WantedFile = None,
    dry_run: Annotated[bool, option("--dry-run", help="Show the difference, change nothing.")] = False,
    keep_others: KeepOthers = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Make switches have the groups and rules of a file, and no others.

    Shows the difference and asks. Multicast groups are there before the rules that need them, and go after them. Given
    again, it does what is left: after a failure, after Ctrl-C, or nothing.
    """
    from cais_tools.cli.rules_apply import apply_file

    apply_file(connection, file, dry_run=dry_run, keep_others=keep_others, yes=yes, as_json=json)


@app.command()
@connects(changes=False)
def diff(
    *, connection: Connection, file: WantedFile = None, keep_others: KeepOthers = False, json: Json = False
) -> None:
    """Compare switches with a file: what apply would change.

    Exits with 1 where they differ.
    """
    from cais_tools.cli.rules_apply import show_difference

    show_difference(connection, file, keep_others=keep_others, as_json=json)


@app.command()
@connects(changes=False)
def dump(
    *,
    connection: Connection,
    format: Annotated[  # noqa: A002 - the option's name
        Literal["toml", "json"], option("--format", metavar="toml|json", case_sensitive=False, help="What to write.")
    ] = "toml",
) -> None:
    """Write the groups and rules of switches as a file that apply takes.

    Of several switches it is one file: what only some of them have carries their names.
    """
    from cais_tools.session.cais import CaisSwitch
    from cais_tools.session.cais.wanted import wanted_of
    from cais_tools.session.cais.writing import as_json, as_toml, merged_tables

    def work(session: SwitchSession, _: Device) -> Wanted:
        return wanted_of(CaisSwitch(session).state())

    outcomes = run_on_all(connection, connection.devices(), work)
    if len(outcomes) == 1 and outcomes[0].error is not None:
        raise outcomes[0].error
    found = {each.device.name: each.value for each in outcomes if each.value is not None}
    if found:
        tables = merged_tables(found)
        if format == "json":
            say(as_json(tables, "cais.wanted/1"))
        else:
            say(as_toml(tables, f"Groups and rules of {', '.join(found)}; apply it with: cais rules apply FILE"))
    raise_worst(outcomes)


app.command("delete")(delete_rule)


@app.command()
@connects(changes=True)
def clear(
    *,
    connection: Connection,
    dry_run: Annotated[bool, option("--dry-run", help="Show what would be removed, change nothing.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Remove all groups and rules.

    Shows them and asks.
    """
    from cais_tools.cli.rules_apply import clear as clear_all

    clear_all(connection, dry_run=dry_run, yes=yes, as_json=json)
