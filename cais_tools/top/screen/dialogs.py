"""Help, and the question before something is changed on a switch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from cais_tools.top.screen.bars import KEYS, Key
from cais_tools.top.screen.styled import Lines, Part, Row

__all__ = ["Help", "Question"]

_MORE = (
    Key("up down", "", "move, also k and j, page up and down, home and end"),
    Key("esc", "", "back, or clear the filter"),
    Key("ctrl-p", "", "all commands"),
    Key("ctrl-z", "", "suspend; fg brings it back"),
    Key("f", "", "a group back to its endpoints, after a question (--write)"),
    Key("[ ]", "", "replay: ten seconds back, or on"),
    Key("{ }", "", "replay: slower, faster"),
)

_FILTERS = (
    "leaf3                            rows with this in a name",
    "ops > 100 and missing ~ rank 2   = != < <= > >= and ~ (contains)",
    "not (stale = 0 or bad > 1k)      and, or, not; units k M G % us ms s",
)

_SIGNS = (
    "> before a time: at least so long; it ran when we came",
    "OLDEST: from a slot's first packet to the last one that the switch saw",
    "- no value: not known, or nothing in the interval",
    "PRIMARY: taken, a client may write to the switch; free, nobody",
    "slots: · not open ░ ▒ ▓ █ # open, the older the fuller",
)


def help_rows() -> list[Row]:
    rows: list[Row] = [(Part("Keys", "accent"),)]
    rows += [(Part(f"{key.key:>9}  ", "accent"), Part(key.does)) for key in (*KEYS, *_MORE)]
    rows += [(), (Part("Filters", "accent"),), *_plain(_FILTERS)]
    rows += [(), (Part("Signs", "accent"),), *_plain(_SIGNS)]
    return rows


def _plain(lines: Iterable[str]) -> list[Row]:
    return [(Part(f"  {line}"),) for line in lines]


class Help(ModalScreen[None]):
    """All keys, what filters look like, what signs mean."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,h,q,enter,backspace", "dismiss", "Back", show=False)
    ]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Lines(id="help-lines")

    def on_mount(self) -> None:
        box = self.query_one("#help")
        box.border_title, box.border_subtitle = "cais top", "esc: back"
        self.query_one("#help-lines", Lines).show(help_rows())
        box.focus()


class Question(ModalScreen[bool]):
    """Yes or no; no is what enter means at first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n,escape,q", "answer(False)", "No", show=False),
        Binding("left,right", "app.focus_next", "The other", show=False),
    ]

    def __init__(self, title: str, text: str, yes: str) -> None:
        super().__init__()
        self._title, self._text, self._yes = title, text, yes

    def compose(self) -> ComposeResult:
        with Vertical(id="question") as box:
            box.border_title = Content(self._title)
            yield Static(self._text, markup=False)
            with Horizontal():
                yield Button(f"{self._yes} (y)", id="yes", variant="warning")
                yield Button("No (n)", id="no")

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
