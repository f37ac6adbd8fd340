"""Text in cells of a terminal, and the styles that tones stand for."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len, set_cell_size

__all__ = ["TONES", "fit", "plain"]

TONES: Final = ("good", "warn", "bad", "dim", "accent")

_CONTROL: Final = dict.fromkeys([*range(32), *range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F)], "·")


def plain(text: str) -> str:
    """`text` without characters that move the cursor: a name must not draw elsewhere."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROL)


def fit(text: str, width: int, *, left: bool = True) -> str:
    """Exactly `width` cells; what is too long ends with an ellipsis."""
    text = plain(text)
    size = len(text) if text.isascii() else cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    return text + " " * (width - size) if left else " " * (width - size) + text
