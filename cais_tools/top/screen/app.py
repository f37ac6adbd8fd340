"""The app: takes observations in, keeps what is shown, and does what keys of all screens ask for."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from cais_tools.errors import CaisError
from cais_tools.session.cais import Thresholds
from cais_tools.top.feed import Feed, Rewound
from cais_tools.top.model import Model
from cais_tools.top.observation import Observation
from cais_tools.top.replay import SPEEDS, Replay
from cais_tools.top.screen.alarm import AlarmScreen
from cais_tools.top.screen.bars import KEYS, Mode
from cais_tools.top.screen.dialogs import Help, Question
from cais_tools.top.screen.group import GroupScreen
from cais_tools.top.screen.main import MainScreen
from cais_tools.top.screen.port import PortScreen
from cais_tools.top.screen.shown import Shown, write_file

if TYPE_CHECKING:
    from cais_tools.top.recording import Recorder
    from cais_tools.top.steering import Steering
    from cais_tools.top.writing import GroupRemover

__all__ = ["THEMES", "TopApp"]

THEMES: Final = ("textual-dark", "textual-light", "nord", "gruvbox", "solarized-light", "ansi-dark", "ansi-light")
_INTERVALS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_TOGETHER_S: Final = 0.08
_BUDGET_S: Final = 0.02
_CLOCK_S: Final = 1.0


class TopApp(App[None]):
    """`feed` says what is seen, `remover` (with --write) changes something, or the controller that `steering` knows
    does. `rounds`: end after so many. `fault` is what it has ended with, if that is an error.
    """

    CSS_PATH = "style.tcss"
    TITLE = "cais top"
    ENABLE_COMMAND_PALETTE = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit", show=False),
        Binding("ctrl+c", "interrupt", "Quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True),
        Binding("question_mark,h", "help", "Help", show=False),
        Binding("space", "freeze", "Freeze", show=False),
        Binding("plus,equals_sign", "interval(-1)", "More often", show=False),
        Binding("minus", "interval(1)", "Less often", show=False),
        Binding("z", "zero", "Count from here on", show=False),
        Binding("Z", "totals", "Show totals", show=False),
        Binding("t", "theme", "Another theme", show=False),
        Binding("S", "save_svg", "Save as SVG", show=False),
        Binding("left_square_bracket", "wind(-10)", "Wind back", show=False),
        Binding("right_square_bracket", "wind(10)", "Wind on", show=False),
        Binding("left_curly_bracket", "speed(-1)", "Slower", show=False),
        Binding("right_curly_bracket", "speed(1)", "Faster", show=False),
    ]

    class Arrived(Message):
        """There is something in the inbox."""

    def __init__(
        self,
        feed: Feed,
        thresholds: Thresholds | None = None,
        *,
        interval: float = 1.0,
        rounds: int | None = None,
        remover: GroupRemover | None = None,
        steering: Steering | None = None,
        recorder: Recorder | None = None,
        folder: Path | None = None,
        clock: Callable[[], float] = time.time,
        colours: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(ansi_color=None if colours else True, **options)
        self.feed, self.interval = feed, interval
        self.replay = feed if isinstance(feed, Replay) else None
        self.remover, self.steering, self.recorder = remover, steering, recorder
        self.live = self.shown = Model(feed.sources, thresholds)
        self._folder = folder or Path()
        self._clock = clock
        self._rounds = rounds
        self._frozen_since: float | None = None
        self._shown_at = 0.0
        self._inbox: deque[Observation | Rewound] = deque()
        self._lock = threading.Lock()
        self._is_woken = False
        self.fault: Exception | None = None
        # Terminals of 16 colours, and those who want none, get the terminal's own.
        self.theme = "ansi-dark" if self.console.color_system in (None, "standard") or not colours else THEMES[0]

    def get_default_screen(self) -> Screen[Any]:
        return MainScreen()

    def _handle_exception(self, error: Exception) -> None:
        """A fault of ours ends the app; whoever runs it tells of it, when the terminal is as it was."""
        self.fault = self.fault or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Without the traceback that Textual makes of it: that takes seconds, and nobody could see it.
        self._close_messages_no_wait()

    # -- observations

    def on_mount(self) -> None:
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
                loop.add_signal_handler(number, self._end, code)
        self.set_interval(_CLOCK_S, self._show_clock)
        self.app_resume_signal.subscribe(self, self._draw_all)  # pyright: ignore[reportUnknownMemberType]
        self.feed.start(self.take)

    def _draw_all(self, _: App[Any]) -> None:
        """After `fg` the terminal is empty, but for what changes by itself."""
        self.refresh(layout=True)

    def take(self, seen: Observation | Rewound) -> None:
        """The sink of the feed: called from its threads."""
        self._inbox.append(seen)
        with self._lock:
            wake, self._is_woken = not self._is_woken, True
        if wake:
            self.post_message(self.Arrived())

    def on_top_app_arrived(self) -> None:
        """What comes within a moment is shown together."""
        self.set_timer(_TOGETHER_S, self._drain)

    def _drain(self) -> None:
        """Take in what has come, for a short time; what is left waits for the next turn of the loop."""
        with self._lock:
            self._is_woken = False
        end = time.perf_counter() + _BUDGET_S
        while self._inbox and time.perf_counter() < end:
            self._take_in(self._inbox.popleft())
        if self._inbox:
            with self._lock:
                self._is_woken = True
            self.call_later(self._drain)
            return
        self.show()

    def _take_in(self, seen: Observation | Rewound) -> None:
        if isinstance(seen, Rewound):
            is_shown = self.shown is self.live
            self.live = self.live.emptied()
            self.shown = self.live if is_shown or self.replay is not None else self.shown
            return
        self.live.take(seen)
        if self._rounds is not None and seen.device == self.feed.sources[0].name:
            self._rounds -= 1
            if self._rounds < 0:
                self.exit()

    def show(self) -> None:
        """Show what is new, on the screen that is in sight."""
        screen = self.screen
        self._shown_at = time.monotonic()
        if isinstance(screen, Shown) and not self._exit:
            screen.show()

    def _show_clock(self) -> None:
        """Time goes on, also when nothing comes."""
        if self.recorder is not None and self.recorder.error is not None:
            self.notify(self.recorder.error, title="the recording has ended", severity="error", markup=False)
            self.recorder = None
        if time.monotonic() - self._shown_at > 0.9 * _CLOCK_S:
            self.show()

    @property
    def now(self) -> float:
        """The time that is shown: now, that of the recording, or when it was frozen."""
        if self._frozen_since is not None:
            return self._frozen_since
        return self.live.time if self.replay is not None else self._clock()

    def mode(self, device: str) -> Mode:
        replay = self.replay
        return Mode(
            device=device,
            interval=self.interval,
            now=self.now,
            frozen_since=self._frozen_since,
            replay=None if replay is None else (*replay.position, replay.speed, replay.is_at_end),
            zeroed=self.shown.is_zeroed,
            write=self.remover is not None,
            recording=self.recorder is not None,
        )

    def look_at(self, device: str) -> None:
        self.feed.look_at(device, closely=isinstance(self.screen, GroupScreen))

    # -- screens

    def open_group(self, device: str, group: int) -> None:
        self.push_screen(GroupScreen(device, group))
        self.feed.look_at(device, closely=True)

    def open_port(self, device: str, port: int) -> None:
        self.push_screen(PortScreen(device, port))

    def open_alarm(self, number: int) -> None:
        entry = self.shown.journal.entry(number)
        if entry is not None:
            self.push_screen(AlarmScreen(entry))

    async def action_back(self) -> None:
        if len(self.screen_stack) > 1:
            closed = self.screen
            await self.pop_screen()
            if isinstance(closed, GroupScreen):
                self.feed.look_at(closed.device_name, closely=False)

    def action_help(self) -> None:
        self.push_screen(Help())

    # -- what keys do

    def _end(self, code: int) -> None:
        self.exit(return_code=code)

    def action_interrupt(self) -> None:
        self._end(130)

    def action_freeze(self) -> None:
        if self._frozen_since is None:
            self._frozen_since = self.now
            self.shown = self.live.frozen()
        else:
            self._frozen_since, self.shown = None, self.live
        if self.replay is not None:
            self.replay.pause(self._frozen_since is not None)
        self.show()

    def action_interval(self, by: int) -> None:
        if self.replay is not None:
            self.notify("a recording has the interval that it has", severity="warning")
            return
        place = min(range(len(_INTERVALS)), key=lambda each: abs(_INTERVALS[each] - self.interval))
        self.interval = _INTERVALS[max(0, min(len(_INTERVALS) - 1, place + by))]
        self.feed.set_interval(self.interval)
        self.show()

    def action_zero(self) -> None:
        self.live.zero()
        if self.shown is not self.live:
            self.shown.zero()
        self.show()

    def action_totals(self) -> None:
        self.live.show_totals()
        self.shown.show_totals()
        self.show()

    def action_theme(self) -> None:
        place = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(place + 1) % len(THEMES)]
        self.notify(self.theme, title="theme", timeout=2)
        self.show()

    def action_wind(self, seconds: float) -> None:
        if self.replay is not None:
            self.replay.wind(seconds)

    def action_speed(self, by: int) -> None:
        if self.replay is None:
            return
        place = min(range(len(SPEEDS)), key=lambda each: abs(SPEEDS[each] - self.replay.speed if self.replay else 0))
        self.replay.set_speed(SPEEDS[max(0, min(len(SPEEDS) - 1, place + by))])
        self.show()

    # -- files

    def action_save_svg(self) -> None:
        self.save("svg", self.export_screenshot(title="cais top"))

    @work(thread=True)
    def save(self, suffix: str, text: str) -> None:
        """Write a new file, in a thread: the disk may be slow."""
        try:
            path = write_file(self._folder, suffix, text)
        except CaisError as error:
            self.call_from_thread(self.notify, str(error), title="not saved", severity="error", markup=False)
        else:
            self.call_from_thread(self.notify, str(path), title="saved", markup=False)

    # -- the one thing that changes a switch

    def fall_back(self, device: str, group: int) -> None:
        """Ask, and put a group back to its endpoints."""
        if self.remover is None:
            self.notify("nothing is changed from here; start it with --write to allow that", severity="warning")
            return
        if self.shown is not self.live:
            self.notify("what is shown is frozen: go on first (space)", severity="warning")
            return
        steered = {each.group_id for each in self.live.devices[device].steered or ()}
        if self.steering is not None and group in steered:
            text = (
                f"Have the controller put group {group} on its endpoints?\n\nAll its ranks change at one operation; "
                "training goes on."
            )
            self._ask(text, "To the endpoints", lambda: self._steer(group))
            return
        rules = [rule for rule in self.live.devices[device].rules or () if rule.group_id == group]
        text = (
            f"Remove the rules of group {group} on {device} ({len(rules) or 'all'} of them)?\n\n"
            "The switch adds nothing up for it any more; its packets are counted as no_rule and dropped, so its "
            "operations have to go through the endpoints. No controller runs here that would tell the ranks: a job "
            "that still sends to the switch has to be told. The group and its slots stay. The rules are kept in a file "
            "here first: cais rules apply --keep-others FILE brings them back."
        )

        self._ask(text, "Remove rules", lambda: self._remove(device, group))

    def _ask(self, text: str, button: str, act: Callable[[], object]) -> None:
        def answered(answer: bool | None) -> None:
            if answer:
                act()

        self.push_screen(Question("Back to the endpoints", text, button), answered)

    @work(thread=True)
    def _steer(self, group: int) -> None:
        if self.steering is None:
            return
        try:
            message, severity = self.steering.put_on_endpoints(group), "information"
        except CaisError as error:
            message, severity = str(error), "error"
        self.call_from_thread(self.notify, message, title=f"group {group}", severity=severity, markup=False, timeout=15)

    @work(thread=True)
    def _remove(self, device: str, group: int) -> None:
        if self.remover is None:
            return
        try:
            removed = self.remover.remove_rules(device, group)
        except CaisError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.call_from_thread(
                self.notify, f"{error}{hint}", title="not removed", severity="error", markup=False, timeout=15
            )
        else:
            message = f"{removed.rules} rules removed; back with: cais rules apply --keep-others {removed.kept_in}"
            self.call_from_thread(self.notify, message, title=f"group {group}", markup=False, timeout=15)

    # -- the command palette

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """All that keys do."""
        for key in KEYS:
            yield SystemCommand(key.short, f"{key.does} ({key.key})", self._does(key.action))
        yield SystemCommand("look more often", "a shorter interval (+)", self._does("app.interval(-1)"))
        yield SystemCommand("totals", "counters since the load (Z)", self._does("app.totals"))
        yield SystemCommand("device before", "the one before in the list (p)", self._does("screen.device(-1)"))
        for number, pane in enumerate(("devices", "groups", "ports", "alarms"), 1):
            yield SystemCommand(pane, f"the pane of {pane} ({number})", self._does(f"screen.pane('{pane}')"))
        yield SystemCommand("back", "back, or clear the filter (esc)", self._does("app.back"))
        yield SystemCommand("suspend", "back to the shell, until fg (ctrl-z)", self._does("app.suspend_process"))
        if self.remover is not None:
            yield SystemCommand("to endpoints", "a group back to its endpoints (f)", self._does("screen.fall_back"))
        if self.replay is not None:
            for name, action, key in (
                ("wind back", "app.wind(-10)", "["),
                ("wind on", "app.wind(10)", "]"),
                ("slower", "app.speed(-1)", "{"),
                ("faster", "app.speed(1)", "}"),
            ):
                yield SystemCommand(name, f"the replay ({key})", self._does(action))

    def _does(self, action: str) -> Callable[[], Any]:
        async def run() -> None:
            await self.run_action(action)

        return run
