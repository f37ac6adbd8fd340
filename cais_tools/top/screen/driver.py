"""The terminal. What goes wrong on it (it is closed, it sends rubbish) must neither hang nor garble anything."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import sys
import termios
from collections.abc import Generator
from typing import IO, Any

from textual.app import App
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver

__all__ = ["TopDriver", "own_stderr"]


class _Terminal:
    """A text file that takes everything: when the terminal has gone there is nobody left to tell."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()


def _tolerant_decoder(encoding: str) -> Any:
    """Old mouse reports have bytes that are no UTF-8 (a click beyond column 95): no reason to end."""
    return lambda: codecs.getincrementaldecoder(encoding)(errors="replace")


class TopDriver(LinuxDriver):
    """Draws on the terminal that is stdout, whatever becomes of stderr."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]
        # Textual draws on stderr by default, and so would whoever complains there.
        self._file: Any = _Terminal(sys.__stdout__ or sys.stdout)
        self._own_modes: list[Any] = []

    def start_application_mode(self) -> None:
        super().start_application_mode()
        with contextlib.suppress(termios.error):
            self._own_modes = termios.tcgetattr(self.fileno)

    def _sigcont_application(self, *_: Any) -> None:
        """After ctrl-z all begins anew. Whoever was stopped without being asked (SIGSTOP), or not at all, has never
        left: to begin again would take the modes as they are now for those to leave behind.
        """
        if self._must_signal_resume:
            super()._sigcont_application()  # pyright: ignore[reportUnknownMemberType]
            return
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.fileno, termios.TCSANOW, self._own_modes)
        again = self._app._post_message(self.SignalResume())
        asyncio.run_coroutine_threadsafe(again, loop=asyncio.get_running_loop())

    def run_input_thread(self) -> None:
        linux_driver.__dict__["getincrementaldecoder"] = _tolerant_decoder
        super().run_input_thread()


@contextlib.contextmanager
def own_stderr() -> Generator[None]:
    """While the screen is shown, what libraries write to file descriptor 2 goes nowhere."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
