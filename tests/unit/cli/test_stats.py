from __future__ import annotations

import pytest

from cais_tools.cli.stats import scaled


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0"),
        (12.34, "12.3"),
        (999.94, "999.9"),
        (999.96, "1.0k"),
        (1_200_000, "1.2M"),
        (3.5e9, "3.5G"),
        (2e12, "2.0T"),
    ],
)
def test_numbers_as_the_original_shows_them(value: float, text: str) -> None:
    assert scaled(value) == text
