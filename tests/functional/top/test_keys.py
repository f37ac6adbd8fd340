"""Every key, and what a mouse does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual.command import CommandList
from textual.events import DescendantFocus
from textual.pilot import Pilot
from textual.widgets import Input

from cais_tools.errors import NotPrimary
from cais_tools.top.columns import Sort
from cais_tools.top.observation import Steered
from cais_tools.top.screen.alarm import AlarmScreen
from cais_tools.top.screen.app import THEMES
from cais_tools.top.screen.bars import KEYS
from cais_tools.top.screen.dialogs import Help, Question, help_rows
from cais_tools.top.screen.group import GroupScreen
from cais_tools.top.screen.main import MainScreen
from cais_tools.top.screen.port import PortScreen
from cais_tools.top.writing import Removed
from tests.functional.top.pilot import NOW, app_of, came_true, in_loop, line, running, settle, shown, table
from tests.unit.top.scenes import START, Scripted, a_fleet, observation, sources, watched


def notices(pilot: Pilot[None]) -> list[str]:
    return [each.message for each in pilot.app._notifications]


async def saved(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", 130)])
@in_loop
async def test_quit(key: str, code: int) -> None:
    async with running() as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert (pilot.app.return_code, pilot.app.is_running) == (code, False)


@in_loop
async def test_help_tells_every_key_and_goes_again() -> None:
    text = "\n".join("".join(part.text for part in row) for row in help_rows())
    assert all(key.key in text for key in KEYS)
    assert max(map(len, text.splitlines())) <= 72
    async with running(size=(80, 24)) as pilot:
        for key in ("question_mark", "h"):
            await pilot.press(key)
            assert isinstance(pilot.app.screen, Help)
            await pilot.press("escape")
            assert isinstance(pilot.app.screen, MainScreen)


@in_loop
async def test_digits_and_tab_choose_the_pane() -> None:
    async with running(size=(80, 24)) as pilot:
        seen = []
        for key in ("1", "2", "3", "4", "tab", "shift+tab", "shift+tab"):
            await pilot.press(key)
            assert pilot.app.focused is not None
            seen.append(pilot.app.focused.id)
        assert seen == ["devices", "groups", "ports", "alarms", "devices", "alarms", "ports"]
        assert "PKTS IN" in shown(pilot)
        assert "[3 ports 8]" in line(pilot, "panes")


@in_loop
async def test_a_focus_that_is_over_chooses_no_pane() -> None:
    """Messages come late on a busy machine: two panes would take the focus from each other, without end."""
    async with running(size=(80, 24)) as pilot:
        await pilot.press("2")
        pilot.app.screen.post_message(DescendantFocus(table(pilot, "devices")))
        await pilot.pause()
        assert "[2 groups" in line(pilot, "panes")
        assert table(pilot, "groups").has_focus


@in_loop
async def test_arrows_move_and_choose_the_device() -> None:
    async with running() as pilot:
        groups = table(pilot, "groups")
        assert table(pilot, "devices").cursor_key == "leaf1"
        assert str(groups.border_title) == "2 groups of leaf1 · 4"
        await pilot.press("down")
        assert (table(pilot, "devices").cursor_key, str(groups.border_title)) == ("leaf2", "2 groups of leaf2 · 4")
        assert groups.rows[2].slots_open == 3600
        assert app_of(pilot).feed.looks[-1] == ("leaf2", False)  # type: ignore[attr-defined]
        await pilot.press("end")
        assert table(pilot, "devices").cursor_key == "leaf3"
        await pilot.press("home", "j", "k", "pagedown")
        assert table(pilot, "devices").cursor_key == "leaf3"


@in_loop
async def test_n_and_p_go_from_device_to_device_in_any_pane() -> None:
    async with running(size=(80, 24)) as pilot:
        await pilot.press("2", "n")
        assert "leaf2" in line(pilot, "mode")
        await pilot.press("n", "n")
        assert "leaf1" in line(pilot, "mode")
        await pilot.press("p")
        assert "leaf3" in line(pilot, "mode")


@in_loop
async def test_the_device_at_the_cursor_is_the_one_that_is_shown() -> None:
    """In the order of the table, not in that of the file, and whatever a filter hides."""
    some = [replace(source, name=name) for source, name in zip(sources(), ("spine", "leaf2", "leaf1"), strict=True)]
    seen = [observation(source.name, tick) for tick in (1, 2) for source in some]
    async with running(Scripted(seen, some)) as pilot:
        devices = table(pilot, "devices")
        assert [row.name for row in devices.rows] == ["leaf1", "leaf2", "spine"]
        assert (devices.cursor_key, app_of(pilot).feed.looks[-1][0]) == ("leaf1", "leaf1")  # type: ignore[attr-defined]
        assert "2 groups of leaf1" in shown(pilot)
        await pilot.press("p")
        assert devices.cursor_key == "spine"
        assert "2 groups of spine" in shown(pilot)
        await pilot.press("1", "slash", *"leaf2", "enter")
        assert devices.cursor_key == "leaf2"
        assert "2 groups of leaf2" in shown(pilot)
        assert app_of(pilot).feed.looks[-1] == ("leaf2", False)  # type: ignore[attr-defined]
        await pilot.press("n", "escape", "enter")
        assert "2 groups of leaf2" in shown(pilot)
        await pilot.press("enter")
        assert "group 0 of leaf2" in line(pilot, "facts")


@in_loop
async def test_s_and_arrows_sort_and_r_turns_round() -> None:
    async with running() as pilot:
        await pilot.press("2")
        groups = table(pilot, "groups")
        assert groups.sort == Sort("group")
        await pilot.press("s")
        assert groups.sort == Sort("members", reverse=True)
        await pilot.press("right", "right", "right")
        assert groups.sort.key == "ops_per_s"
        assert [row.group for row in groups.rows] == [0, 1, 2, 3]
        await pilot.press("r")
        assert [row.group for row in groups.rows] == [3, 2, 1, 0]
        assert "OPS/S▲" in shown(pilot)
        await pilot.press("left")
        assert groups.sort.key == "slots_open"


@in_loop
async def test_the_cursor_stays_with_its_row() -> None:
    async with running() as pilot:
        await pilot.press("2", "down", "down")
        groups = table(pilot, "groups")
        assert groups.cursor_key == 2
        await pilot.press("r")
        assert groups.cursor_key == 2
        fewer = observation("leaf1", 91)
        assert fewer.snapshot is not None
        app_of(pilot).take(fewer)
        await settle(pilot)
        assert groups.cursor_key == 2


@in_loop
async def test_a_filter_is_typed_shown_and_cleared() -> None:
    async with running(size=(80, 24)) as pilot:
        await pilot.press("2", "slash")
        box = pilot.app.screen.query_one("#filter", Input)
        assert box.has_focus
        await pilot.press(*"dup", "space", "greater_than_sign", *"5")
        assert [row.group for row in table(pilot, "groups").rows] == [2]
        await pilot.press("enter")
        assert (box.display, table(pilot, "groups").has_focus) == (False, True)
        assert "/ dup >5  (1 left, esc clears)" in line(pilot, "panes")
        await pilot.press("3")
        assert len(table(pilot, "ports").rows) == 8
        await pilot.press("2", "escape")
        assert len(table(pilot, "groups").rows) == 4


@in_loop
async def test_a_filter_that_means_nothing_says_so_and_changes_nothing() -> None:
    async with running(size=(80, 24)) as pilot:
        await pilot.press("2", "slash", *"opz>1")
        assert "groups have no 'opz'" in line(pilot, "panes")
        assert len(table(pilot, "groups").rows) == 4
        await pilot.press("escape")
        assert "opz" not in line(pilot, "panes")


@in_loop
async def test_space_freezes_while_time_goes_on() -> None:
    async with running() as pilot:
        before = shown(pilot)
        await pilot.press("space")
        assert "FROZEN at 08:01:30" in line(pilot, "mode")
        app_of(pilot).take(observation("leaf1", 91))
        await settle(pilot)
        assert table(pilot, "groups").rows[0].completed == 81_044
        await pilot.press("space")
        assert table(pilot, "groups").rows[0].completed > 81_044
        assert "FROZEN" not in shown(pilot)
        assert before != shown(pilot)


@in_loop
async def test_plus_and_minus_change_the_interval() -> None:
    async with running() as pilot:
        await pilot.press("minus", "minus", "plus", "plus", "plus")
        feed = app_of(pilot).feed
        assert feed.intervals == [2.0, 5.0, 2.0, 1.0, 0.5]  # type: ignore[attr-defined]
        assert "every 0.5s" in line(pilot, "mode")
        await pilot.press(*["plus"] * 9)
        assert app_of(pilot).interval == 0.1


@in_loop
async def test_z_counts_from_zero_and_capital_z_shows_totals() -> None:
    async with running() as pilot:
        await pilot.press("z")
        assert [row.completed for row in table(pilot, "groups").rows] == [0, 0, 0, 0]
        assert "counting from zero" in line(pilot, "mode")
        app_of(pilot).take(observation("leaf1", 91))
        await settle(pilot)
        assert 0 < table(pilot, "groups").rows[0].completed < 5000
        await pilot.press("Z")
        assert table(pilot, "groups").rows[0].completed > 81_044
        assert "counting" not in line(pilot, "mode")


@in_loop
async def test_enter_goes_into_a_row_and_esc_comes_back() -> None:
    async with running() as pilot:
        await pilot.press("enter")
        assert pilot.app.focused is table(pilot, "groups")
        await pilot.press("down", "down", "enter")
        assert isinstance(pilot.app.screen, GroupScreen)
        assert "2 of leaf1" in shown(pilot)
        assert app_of(pilot).feed.looks[-1] == ("leaf1", True)  # type: ignore[attr-defined]
        await pilot.press("tab")
        assert table(pilot, "rules").has_focus
        await pilot.press("escape")
        assert app_of(pilot).feed.looks[-1] == ("leaf1", False)  # type: ignore[attr-defined]
        await pilot.press("3", "down", "enter")
        assert isinstance(pilot.app.screen, PortScreen)
        assert "2 swp2" in shown(pilot)
        await pilot.press("backspace", "4", "enter")
        assert isinstance(pilot.app.screen, AlarmScreen)
        assert "A switch does not answer" in shown(pilot)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, MainScreen)


@in_loop
async def test_details_follow_what_happens() -> None:
    async with running() as pilot:
        await pilot.press("2", "enter")
        before = line(pilot, "facts")
        app_of(pilot).take(observation("leaf1", 91))
        await settle(pilot)
        assert line(pilot, "facts") != before
        app_of(pilot).take(next(each for each in a_fleet(71) if each.failure).__class__("leaf1", START + 92))
        await settle(pilot)
        assert "DOWN" in line(pilot, "facts")
        assert "this is what it said last" in line(pilot, "facts")


@in_loop
async def test_y_copies_the_row() -> None:
    async with running() as pilot:
        await pilot.press("2", "down", "down", "y")
        assert pilot.app.clipboard.split("\t")[:3] == ["2", "4", "2"]
        assert "rank 2 (swp3)" in pilot.app.clipboard
        await pilot.press("enter", "y")
        assert pilot.app.clipboard.startswith("2\t3\tswp3\t")


@in_loop
async def test_e_exports_what_is_shown(tmp_path: Path) -> None:
    async with running(folder=tmp_path) as pilot:
        await pilot.press("2", "slash", *"bad>0", "enter", "e")
        await saved(pilot)
        (path,) = tmp_path.glob("cais-top-*.ndjson")
        (document,) = [json.loads(line) for line in path.read_text().splitlines()]
        assert (document["schema"], document["kind"], document["device"]) == ("cais.top/1", "group", "leaf1")
        assert (document["group"], document["bad"], document["ts_ns"]) == (3, 7, int(NOW * 1e9))
        assert any(str(path) in notice for notice in notices(pilot))
        await pilot.press("e")
        await saved(pilot)
        assert len(list(tmp_path.glob("*.ndjson"))) == 2


@in_loop
async def test_capital_s_saves_the_screen(tmp_path: Path) -> None:
    async with running(folder=tmp_path) as pilot:
        await pilot.press("S")
        await saved(pilot)
        (path,) = tmp_path.glob("cais-top-*.svg")
        text = path.read_text()
        assert text.startswith("<svg")
        assert "leaf2" in text


@in_loop
async def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    async with running(folder=tmp_path / "no") as pilot:
        await pilot.press("e")
        await saved(pilot)
        assert any("cannot write" in notice for notice in notices(pilot))
        assert pilot.app.is_running


@in_loop
async def test_t_goes_through_the_themes_light_and_dark() -> None:
    async with running() as pilot:
        seen = []
        for _ in THEMES:
            await pilot.press("t")
            seen.append(pilot.app.theme)
        assert sorted(seen) == sorted(THEMES)
        assert {pilot.app.get_theme(name).dark for name in THEMES} == {True, False}  # type: ignore[union-attr]


class _Remover:
    """In place of the real one."""

    def __init__(self) -> None:
        self.removed: list[tuple[str, int]] = []
        self.error: NotPrimary | None = None

    def remove_rules(self, device: str, group: int) -> Removed:
        if self.error is not None:
            raise self.error
        self.removed.append((device, group))
        return Removed(2, Path("cais-top-group-1.toml"))


@in_loop
async def test_f_needs_write() -> None:
    async with running() as pilot:
        await pilot.press("2", "f")
        assert isinstance(pilot.app.screen, MainScreen)
        assert any("--write" in notice for notice in notices(pilot))


@in_loop
async def test_f_asks_and_no_is_the_default() -> None:
    remover = _Remover()
    async with running(remover=remover, size=(80, 24)) as pilot:
        assert "may write" in line(pilot, "mode")
        await pilot.press("f")
        assert any("choose a group" in notice for notice in notices(pilot))
        await pilot.press("2", "down", "f")
        assert isinstance(pilot.app.screen, Question)
        assert "Remove the rules of group 1 on leaf1 (2 of them)?" in shown(pilot)
        for no in ("enter", "n", "escape"):
            await pilot.press(no)
            assert isinstance(pilot.app.screen, MainScreen)
            await pilot.press("f")
        assert remover.removed == []
        await pilot.press("y")
        await saved(pilot)
        assert remover.removed == [("leaf1", 1)]
        assert any("2 rules removed" in notice for notice in notices(pilot))
        remover.error = NotPrimary("the client with election id 7 is primary", hint="end it")
        await pilot.press("f", "tab", "left", "y")
        await saved(pilot)
        assert any("election id 7" in notice for notice in notices(pilot))


class _Steering:
    """In place of the controller."""

    def __init__(self) -> None:
        self.moved: list[int] = []

    def put_on_endpoints(self, group_id: int) -> str:
        self.moved.append(group_id)
        return "on its endpoints from operation 7 on"


@in_loop
async def test_f_asks_the_controller_where_one_looks_after_the_group() -> None:
    steering, remover = _Steering(), _Remover()
    steered = Steered(1, "switch", "auto", "", 0.2, 10, 0, 0)
    feed = Scripted([observation("leaf1", 1, steered=(steered,))])
    async with running(feed, remover=remover, steering=steering) as pilot:
        assert "switch" in shown(pilot)
        await pilot.press("2", "down", "f")
        assert "Have the controller put group 1 on its endpoints?" in shown(pilot)
        await pilot.press("y")
        await saved(pilot)
        assert (steering.moved, remover.removed) == ([1], [])
        assert any("from operation 7 on" in notice for notice in notices(pilot))
        await pilot.press("enter")
        assert "because" in shown(pilot)


@in_loop
async def test_nothing_is_written_by_what_is_frozen() -> None:
    remover = _Remover()
    async with running(remover=remover) as pilot:
        await pilot.press("2", "enter", "space", "f")
        assert isinstance(pilot.app.screen, GroupScreen)
        assert any("frozen" in notice for notice in notices(pilot))


@in_loop
async def test_the_mouse_moves_sorts_opens_and_chooses_panes() -> None:
    async with running() as pilot:
        await pilot.click("#devices", offset=(5, 3))
        assert table(pilot, "devices").cursor_key == "leaf2"
        groups = table(pilot, "groups")
        titles = next(line for line in shown(pilot).splitlines() if "COMPLETED" in line)
        where = (titles.index("OPS/S") - groups.region.x, 1)
        await pilot.click("#groups", offset=where)
        assert (groups.sort.key, groups.has_focus) == ("ops_per_s", True)
        await pilot.click("#groups", offset=where)
        assert not groups.sort.reverse
        await pilot.click("#groups", offset=(20, 4))
        key = groups.cursor_key
        await pilot.click("#groups", offset=(20, 4))
        assert isinstance(pilot.app.screen, GroupScreen)
        assert pilot.app.screen.group == key
    async with running(size=(80, 24)) as pilot:
        where = line(pilot, "panes").index("3 ports")
        await pilot.click("#panes", offset=(where + 2, 0))
        assert table(pilot, "ports").has_focus
        where = line(pilot, "keys").index("help")
        await pilot.click("#keys", offset=(where + 1, 0))
        assert isinstance(pilot.app.screen, Help)


@in_loop
async def test_the_palette_has_all_that_keys_do() -> None:
    async with running(remover=_Remover()) as pilot:
        commands = list(pilot.app.get_system_commands(pilot.app.screen))
        text = " ".join(command.help for command in commands)
        keys = [*" ".join(key.key for key in KEYS).split(), "Z", "p", "f", "ctrl-z", "esc"]
        assert [key for key in keys if key not in text] == []
        await pilot.press("ctrl+p", *"ports")
        found = pilot.app.screen.query_one(CommandList)
        assert await came_true(
            pilot, lambda: found.option_count > 0 and "pane of ports" in str(found.get_option_at_index(0).prompt)
        )
        await pilot.press("enter")
        assert await came_true(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
        assert await came_true(pilot, lambda: table(pilot, "ports").has_focus)


@in_loop
async def test_with_one_switch_its_groups_come_first() -> None:
    async with running(Scripted(watched(), sources(1)), size=(80, 24)) as pilot:
        assert table(pilot, "groups").has_focus
