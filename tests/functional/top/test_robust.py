"""Sizes, names, colours, and switches with nothing or very much on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from cais_tools.session import CounterData
from cais_tools.session.cais import OUTCOMES, DelayHistogram, GroupStats, Member, PortStats, Snapshot
from cais_tools.top.feed import Rewound
from cais_tools.top.observation import Failure, Observation, Source
from cais_tools.top.screen.app import THEMES
from cais_tools.top.screen.cells import fit, plain
from tests.functional.top.pilot import NOW, app_of, came_true, in_loop, line, running, settle, shown, table
from tests.unit.top.scenes import START, Scripted, a_fleet, observation, sources, watched

KEYS = ["1", "2", "enter", "escape", "3", "enter", "escape", "4", "enter", "escape", "question_mark", "escape"]
ODD = [
    "[bold]x[/bold]",
    "[/]",
    "\x1b[31mred\x1b[0m",
    "zwei\nZeilen",
    "叶子交换机一号机房",
    "🚀🔥leaf",
    "a" * 300,
    "$x",
    "\\[",
]


def odd_sources() -> list[Source]:
    return [Source(name, f"10.0.0.{number}:9559", {1: name, 2: "[red]"}) for number, name in enumerate(ODD, 1)]


def big(tick: int, groups: int, ports: int) -> Snapshot:
    """Every member of every group counts."""
    packets: dict[str, int] = dict.fromkeys(OUTCOMES, tick * 10)
    members = tuple(Member(rank, rank + 1) for rank in range(32))
    data = CounterData(tick * 1000, tick * 290_000)
    return Snapshot(
        1000.0 + tick,
        65_536,
        0,
        {group: GroupStats(group, 256, packets, packets, members) for group in range(groups)},
        {port: PortStats(port, data, data, DelayHistogram((tick,) * 16)) for port in range(1, ports + 1)},
        {"short": 0, "payload_len": 0},
    )


@pytest.mark.parametrize(
    ("size", "keys"), [((40, 12), KEYS), ((300, 80), KEYS), ((20, 5), KEYS[:4]), ((1, 1), KEYS[:4])]
)
@in_loop
async def test_any_size(size: tuple[int, int], keys: list[str]) -> None:
    async with running(size=size) as pilot:
        for key in keys:
            await pilot.press(key)
        lines = shown(pilot).splitlines()
        assert len(lines) <= size[1]
        assert max(map(cell_len, lines), default=0) <= size[0]


@in_loop
async def test_what_matters_is_there_with_40_columns() -> None:
    async with running(size=(40, 20)) as pilot:
        text = shown(pilot)
        assert "cais top" in text
        assert "✖ 1 critical" in text
        assert "SRAM" in text
        assert all(name in text for name in ("leaf1", "leaf2", "leaf3", "DOWN", "OPS/S", "gone", "sram"))


@in_loop
async def test_live_resize() -> None:
    async with running() as pilot:
        await pilot.press("2", "down")
        for width, height in ((80, 24), (30, 6), (250, 70), (41, 13), (120, 40)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
        assert table(pilot, "groups").cursor_key == 1
        assert max(map(cell_len, shown(pilot).splitlines())) <= 120
        assert "COMPLETED" in shown(pilot)


@pytest.mark.parametrize("width", [80, 120])
@in_loop
async def test_addresses_as_names_can_be_told_apart(width: int) -> None:
    some = [replace(each, name=f"192.168.117.1{number}:9559") for number, each in enumerate(sources())]
    seen = [observation(source.name, tick) for tick in (1, 2) for source in some]
    async with running(Scripted(seen, some), size=(width, 24)) as pilot:
        assert all(f"{source.name} " in shown(pilot) for source in some)
        assert "OPS/S" in shown(pilot)
        await pilot.resize_terminal(40, 24)
        await pilot.pause()
        assert await came_true(pilot, lambda: max(map(cell_len, shown(pilot).splitlines())) <= 40)
        assert "OPS/S" in shown(pilot)


@in_loop
async def test_odd_names_are_only_text() -> None:
    some = odd_sources()
    seen = [observation(source.name, tick) for tick in (1, 2) for source in some]
    async with running(Scripted(seen, some), size=(80, 24)) as pilot:
        text = shown(pilot)
        assert "[bold]x[/" in text
        assert "\x1b" not in text
        assert "·[31mred" in text
        for _ in some[:4]:
            await pilot.press("n", "2", "enter", "escape", "3", "enter")
            assert "port 1 " in shown(pilot)
            await pilot.press("escape", "1", "y")
        assert pilot.app.clipboard
    async with running(Scripted(seen, some), size=(120, 40)) as pilot:
        texts: list[str] = []
        for _ in some:
            await pilot.press("n")
            texts.append(shown(pilot))
        assert any("2 groups of [bold]x[/bold] · 4" in text for text in texts)


def test_cells_are_as_wide_as_they_shall_be() -> None:
    for text in ODD:
        for width in (0, 1, 2, 7, 20):
            assert cell_len(fit(text, width)) == width
            assert cell_len(fit(text, width, left=False)) == width
    assert plain("ab\x1b[2J\r\n\x9b\u202etxet") == "ab·[2J···" + "·txet"


@in_loop
async def test_256_groups_and_512_ports() -> None:
    seen = [observation("leaf1", tick, big(tick, 256, 512), open_slots=None) for tick in (1, 2, 3)]
    async with running(Scripted(seen, sources(1))) as pilot:
        await pilot.press("2", "end")
        groups, ports = table(pilot, "groups"), table(pilot, "ports")
        assert (len(groups.rows), groups.cursor_key) == (256, 255)
        assert " 255 " in shown(pilot)
        assert len(ports.rows) == 512
        await pilot.press("3", "pagedown", "pagedown", "enter")
        assert "32 more" not in shown(pilot)
        assert "g0:r" in shown(pilot)
        assert "and 248 more" in shown(pilot)


@in_loop
async def test_only_cells_in_sight_that_changed_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [observation("leaf1", tick, big(tick, 256, 512), open_slots=None) for tick in (1, 2, 3)]
    async with running(Scripted(seen, sources(1))) as pilot:
        groups = table(pilot, "groups")
        regions: list[object] = []
        refresh = groups.refresh

        def counted(*some: object, **options: object) -> object:
            regions.extend(some)
            return refresh(*some, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(groups, "refresh", counted)
        app_of(pilot).show()
        assert regions == []
        app_of(pilot).take(observation("leaf1", 4, big(4, 256, 512), open_slots=None))
        await settle(pilot)
        in_sight = groups.size.height - 1
        assert 0 < len(regions) <= in_sight * len(groups._columns)
        assert all(region.height == 1 and region.width < 20 for region in regions)  # type: ignore[attr-defined]


@in_loop
async def test_no_ports_no_groups_no_devices() -> None:
    empty = Snapshot(1.0, 4096, 0)
    async with running(Scripted([observation("leaf1", 1, empty)], sources(1))) as pilot:
        assert "no groups: add a rule" in shown(pilot)
        assert "no ports" in shown(pilot)
        for key in (*KEYS, "y", "e", "s", "r", "end", "z"):
            await pilot.press(key)
    async with running(Scripted([], [])) as pilot:
        for key in (*KEYS, "n", "f", "space", "space"):
            await pilot.press(key)
        assert "no devices" in shown(pilot)


@in_loop
async def test_a_switch_that_never_answered_and_one_that_hides_its_slots() -> None:
    refused = Failure("Unreachable", "nothing listens", None, 3)
    hidden = [
        observation("leaf2", tick, open_slots=None, slots_hidden="this switch shows no registers") for tick in (1, 2)
    ]
    feed = Scripted([Observation("leaf1", START, failure=refused), *hidden])
    async with running(feed) as pilot:
        assert "✖ DOWN" in shown(pilot)
        assert "◌ waiting" in shown(pilot)
        await pilot.press("n", "2", "enter")
        assert "this switch shows no registers" in line(pilot, "heat")


@in_loop
async def test_a_group_or_port_that_goes_while_it_is_looked_at() -> None:
    async with running(Scripted(watched(), sources(1))) as pilot:
        await pilot.press("2", "enter")
        app_of(pilot).take(observation("leaf1", 31, Snapshot(2000.0, 4096, 0)))
        await settle(pilot)
        assert "group 0 is not on leaf1 any more" in shown(pilot)
        await pilot.press("y", "e", "escape")
        assert "no groups" in shown(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@in_loop
async def test_without_colours_there_are_words_and_glyphs(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(size=size, colours=False) as pilot:
        text = shown(pilot)
        assert all(
            word in text for word in ("▸leaf1", "● up", "✖ DOWN", "▲ sram", "✖ 1 critical", "▲ warning", "active")
        )
        assert any(type(each).__name__ == "NoColor" for each in pilot.app.get_line_filters())
        svg = pilot.app.export_screenshot()
        colours = set()
        for rule in svg.split("fill: #")[1:]:
            colours.add(rule[:6])
        assert len(colours) <= 4, colours


@in_loop
async def test_the_cursor_can_be_read_in_every_theme() -> None:
    async with running(size=(80, 24)) as pilot:
        for theme in THEMES:
            pilot.app.theme = theme
            await pilot.pause()
            devices = table(pilot, "devices")
            style = devices.get_component_rich_style("live--cursor")
            assert style.reverse or style.bgcolor != devices.rich_style.bgcolor, theme
            assert style.color != style.bgcolor or style.reverse, theme


@in_loop
async def test_a_replay_that_is_wound_begins_anew() -> None:
    feed = Scripted([*a_fleet(), Rewound(), *watched(ticks=3)])
    async with running(feed, clock=lambda: NOW) as pilot:
        assert app_of(pilot).live.time == START + 3
        assert len(app_of(pilot).live.devices["leaf1"].curves.device["ops"]) == 3
