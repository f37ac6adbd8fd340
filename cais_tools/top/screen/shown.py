"""What every full screen can: be told of what is new, and copy, export and save what it shows."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.screen import Screen

from cais_tools.errors import UsageError
from cais_tools.top.screen.bars import Key

if TYPE_CHECKING:
    from cais_tools.top.model import Model
    from cais_tools.top.screen.app import TopApp

__all__ = ["Shown", "write_file"]


class Shown(Screen[None]):
    """A screen that shows a model."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-normal"), (110, "-broad"), (150, "-wide")]  # noqa: RUF012 - Textual's
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (15, "-short"), (36, "-tall")]  # noqa: RUF012 - Textual's
    KEYS: ClassVar[Sequence[Key]] = ()

    @property
    def top(self) -> TopApp:
        return cast("TopApp", super().app)  # pyright: ignore[reportUnknownMemberType]

    @property
    def model(self) -> Model:
        """What is shown: what is, or what was when it was frozen."""
        return self.top.shown

    def show(self) -> None:
        """Show what the model says now."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.show()

    def on_screen_resume(self) -> None:
        self.show()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    # -- what all of them can

    def copied(self) -> str:
        """What `y` copies; empty: there is nothing."""
        return ""

    def exported(self) -> list[dict[str, Any]]:
        """What `e` exports."""
        return []

    def action_copy(self) -> None:
        text = self.copied()
        if not text:
            self.notify("there is no row to copy", severity="warning")
            return
        self.top.copy_to_clipboard(text)
        self.notify(text.replace("\t", " "), title="copied", markup=False, timeout=2)

    def action_export(self) -> None:
        lines = [json.dumps(each, ensure_ascii=False, allow_nan=False) for each in self.exported()]
        if not lines:
            self.notify("there are no rows to export", severity="warning")
            return
        self.top.save("ndjson", "".join(f"{line}\n" for line in lines))


def write_file(folder: Path, suffix: str, text: str) -> Path:
    """Write a new file whose name tells the time. Raises UsageError."""
    stem = time.strftime("cais-top-%Y%m%d-%H%M%S")
    for number in range(100):
        path = folder / f"{stem}{f'-{number}' if number else ''}.{suffix}"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        return path
    raise UsageError(f"there are too many files {folder / stem}*.{suffix}")
