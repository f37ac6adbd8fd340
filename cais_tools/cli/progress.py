"""A progress bar on stderr, where stderr is a terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(what: str) -> Generator[Callable[[int, int], None]]:
    """Yield a function that is told how much is done, and of how much. The bar is gone at the end."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
