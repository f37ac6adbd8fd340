"""Each screen at three sizes, as it was looked at: SVG, gzipped, in `snapshots/`.

`CAIS_UPDATE_SCREENS=1` writes them anew; then look at them (gunzip, any browser). Where the versions of Textual and
Rich are others than in `snapshots/VERSIONS`, colours and spaces may differ: then only the text must be the same.
"""

from __future__ import annotations

import gzip
import html
import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.functional.top.pilot import came_true, in_loop, running

FOLDER = Path(__file__).parent / "snapshots"
VERSIONS = f"textual {version('textual')}, rich {version('rich')}\n"
UPDATE = bool(os.environ.get("CAIS_UPDATE_SCREENS"))

SCREENS: dict[str, list[str]] = {
    "devices": [],
    "groups": ["2"],
    "ports": ["3"],
    "alarms": ["4"],
    "group": ["2", "down", "down", "enter"],
    "port": ["escape", "3", "down", "enter"],
    "alarm": ["escape", "4", "down", "enter"],
    "help": ["escape", "1", "question_mark"],
    "question": ["escape", "2", "f"],
    "filter": ["escape", "slash", *"rank"],
    "light": ["escape", "t"],
}
"""What is pressed after the screen before."""


def lines_of(svg: str) -> list[str]:
    """The text of an SVG, line by line from top to bottom, without spaces: how many there are is a matter of style."""
    lines: dict[str, str] = {}
    for row, text in re.findall(r'clip-path="url\(#[^)]*-line-(\d+)\)">([^<]*)</text>', svg):
        lines[row] = lines.get(row, "") + re.sub(r"\s", "", html.unescape(text))
    return [lines[row] for row in sorted(lines, key=int)]


def screenshot(pilot: Pilot[None]) -> str:
    """Without the number of the picture, which is in thousands of places."""
    return re.sub(r"terminal-\d+", "t", pilot.app.export_screenshot(title="cais top"))


async def check(pilot: Pilot[None], name: str) -> None:
    """Compare with the file `name`; one that ends with `.svg` is not packed, for the README shows it."""
    path = FOLDER / name
    is_packed = path.suffix == ".gz"
    if UPDATE:
        await pilot.pause(0.5)
        svg = screenshot(pilot).encode()
        path.write_bytes(gzip.compress(svg, mtime=0) if is_packed else svg)
        (FOLDER / "VERSIONS").write_text(VERSIONS)
        return
    wanted = (gzip.decompress(path.read_bytes()) if is_packed else path.read_bytes()).decode()
    has_styles = (FOLDER / "VERSIONS").read_text() == VERSIONS

    def is_there() -> bool:
        svg = screenshot(pilot)
        return svg == wanted if has_styles else lines_of(svg) == lines_of(wanted)

    if not await came_true(pilot, is_there):
        assert lines_of(screenshot(pilot)) == lines_of(wanted), name
        raise AssertionError(f"{name}: colours or styles are others than before")


async def press(pilot: Pilot[None], keys: list[str]) -> None:
    await pilot.press(*keys)
    pilot.app.clear_notifications()
    await pilot.pause()


class _Remover:
    """Asked, never answered."""


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
@in_loop
async def test_screens(size: tuple[int, int]) -> None:
    async with running(size=size, remover=_Remover()) as pilot:
        for name, keys in SCREENS.items():
            await press(pilot, keys)
            await check(pilot, f"{name}-{size[0]}x{size[1]}.svg.gz")


@in_loop
async def test_the_picture_of_the_readme() -> None:
    async with running(size=(110, 36)) as pilot:
        await press(pilot, ["2", "down", "down"])
        await check(pilot, "readme.svg")


def test_texts_of_screens_are_read() -> None:
    svg = gzip.decompress((FOLDER / "devices-80x24.svg.gz").read_bytes()).decode()
    assert any("leaf2" in line and "sram" in line for line in lines_of(svg))
