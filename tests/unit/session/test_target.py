from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.session.target import parse_target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.168.1.10", "192.168.1.10:9559"),
        ("switch1:50051", "switch1:50051"),
        (" 127.0.0.1:9559 ", "127.0.0.1:9559"),
        ("[::1]:9559", "[::1]:9559"),
        ("[fe80::0:1]", "[fe80::1]:9559"),
    ],
)
def test_addresses(text: str, expected: str) -> None:
    assert str(parse_target(text)) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "HOST:PORT"),
        (":9559", "HOST:PORT"),
        ("::1:9559", "did you mean [::1]:9559?"),
        ("::1", "did you mean [::1]:9559?"),
        ("host:", "1 to 65535"),
        ("host:0", "1 to 65535"),
        ("host:65536", "1 to 65535"),
        ("host:٣", "1 to 65535"),
        ("http://host:80", "HOST:PORT"),
        ("[::1", "did you mean [::1]:9559?"),
        ("[::1]9559", "did you mean [::1]:9559?"),
    ],
)
def test_what_is_no_address(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_target(text)
    assert hint in (error.value.hint or "")
