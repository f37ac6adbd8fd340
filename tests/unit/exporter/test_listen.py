from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.exporter.server import parse_listen


@pytest.mark.parametrize(
    ("text", "is_open", "where"),
    [
        (":9100", False, "127.0.0.1:9100"),
        ("9100", False, "127.0.0.1:9100"),
        (":9100", True, "0.0.0.0:9100"),
        ("localhost:9100", False, "localhost:9100"),
        ("[::1]:9100", False, "[::1]:9100"),
        ("127.0.0.1:0", False, "127.0.0.1:0"),
        ("10.1.2.3:9100", True, "10.1.2.3:9100"),
    ],
)
def test_where_to_listen(text: str, is_open: bool, where: str) -> None:
    assert str(parse_listen(text, is_open=is_open)) == where


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.0.0.0:9100", "open to the network"),
        ("[::]:9100", "open to the network"),
        ("myhost:9100", "open to the network"),
        ("::1:9100", "cannot listen"),
        (":http", "no TCP port"),
        (":65536", "no TCP port"),
        (":-1", "no TCP port"),
        ("myhost", "cannot listen"),
        ("", "cannot listen"),
    ],
)
def test_where_not(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_listen(text, is_open=False)
    assert refused.value.hint
