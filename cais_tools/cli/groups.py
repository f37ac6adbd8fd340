"""How `--help` is laid out: commands by what people do with them, and the options that many commands share last."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from cais_tools.cli.options import SWITCH_PANEL

__all__ = ["GroupedCommand", "GroupedCommands"]

_OTHERS = "More"


def _panel(thing: Any) -> str | None:
    """The heading that Typer keeps for a command or an option; it shows them itself only together with rich."""
    panel = getattr(thing, "rich_help_panel", None)
    return panel if isinstance(panel, str) else None


class GroupedCommand(TyperCommand):
    """A command whose options about the switch stand under a heading of their own."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], SWITCH_PANEL: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections.setdefault(_panel(parameter) or usual, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class GroupedCommands(TyperGroup):
    """Commands under the headings that they were added with, in the order in which these first appear."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, command) for name, command in self.commands.items() if not command.hidden]
        width = max(len(name) for name, _ in commands)
        limit = formatter.width - 6 - width
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in commands:
            # Padded alike, so that the texts of all sections begin in one column.
            record = (name.ljust(width), command.get_short_help_str(limit))
            sections.setdefault(_panel(command) or _OTHERS, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
