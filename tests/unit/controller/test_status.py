"""Errors over the wire and back, and the log's two forms."""

from __future__ import annotations

import json
import logging
from typing import Any, NoReturn

import grpc
import pytest

from cais_tools.controller.client import parse_controller
from cais_tools.controller.log import _Json, _Text
from cais_tools.controller.status import abort_with, from_rpc
from cais_tools.errors import (
    CaisError,
    CheckFailed,
    DeadlineExceeded,
    NotPermitted,
    NotPrimary,
    Refused,
    Unreachable,
    UsageError,
)
from cais_tools.session.errors import NoPipeline


class _Failed(grpc.RpcError):
    """A call's end as a client sees it."""

    def __init__(self, code: grpc.StatusCode, details: str, metadata: tuple[Any, ...] = ()) -> None:
        super().__init__(details)
        self._code, self._details, self._metadata = code, details, metadata

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[Any, ...]:
        return self._metadata


class _Context:
    metadata: tuple[Any, ...] = ()

    def set_trailing_metadata(self, trailing_metadata: tuple[Any, ...]) -> None:
        self.metadata = trailing_metadata

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        raise _Failed(code, details, self.metadata)


@pytest.mark.parametrize(
    "kind", [UsageError, Unreachable, DeadlineExceeded, NotPrimary, NotPermitted, Refused, CheckFailed, CaisError]
)
def test_an_error_comes_back_as_it_was(kind: type[CaisError]) -> None:
    with pytest.raises(_Failed) as failed:
        abort_with(_Context(), kind("what", hint="so, with ü"))
    error = from_rpc(failed.value, "there:1", "do it")
    assert (type(error), str(error), error.hint) == (kind, "what", "so, with ü")


def test_a_kind_that_the_wire_does_not_know_is_what_it_stands_on() -> None:
    with pytest.raises(_Failed) as failed:
        abort_with(_Context(), NoPipeline("no program"))
    assert failed.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert type(from_rpc(failed.value, "there:1", "do it")) is Refused


@pytest.mark.parametrize(
    ("code", "details", "words", "exit_code"),
    [
        (grpc.StatusCode.UNAVAILABLE, "Connection refused", "nothing listens at there:1", 3),
        (grpc.StatusCode.UNAVAILABLE, "DNS resolution failed", "cannot be resolved", 3),
        (grpc.StatusCode.UNAVAILABLE, "WRONG_VERSION_NUMBER", "does not speak TLS", 3),
        (grpc.StatusCode.UNAVAILABLE, "certificate verify failed", "nobody we trust", 3),
        (grpc.StatusCode.UNAVAILABLE, "handshake failed", "handshake", 3),
        (grpc.StatusCode.UNAVAILABLE, "Socket closed", "closed the connection", 3),
        (grpc.StatusCode.UNAVAILABLE, "", "cannot be reached", 3),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "", "did not answer in time: do it", 3),
        (grpc.StatusCode.UNIMPLEMENTED, "Method not found!", "is no controller", 3),
        (grpc.StatusCode.UNKNOWN, "boom", "could not do it: UNKNOWN, boom", 1),
    ],
)
def test_what_grpc_itself_says(code: grpc.StatusCode, details: str, words: str, exit_code: int) -> None:
    error = from_rpc(_Failed(code, details), "there:1", "do it")
    assert words in str(error)
    assert error.exit_code == exit_code


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("host", "host:50051"),
        ("host:9", "host:9"),
        ("[::1]", "[::1]:50051"),
        ("[::1]:9", "[::1]:9"),
        (" 10.0.0.1 ", "10.0.0.1:50051"),
    ],
)
def test_where_a_controller_is(text: str, target: str) -> None:
    assert str(parse_controller(text)) == target


def test_log_lines() -> None:
    record = logging.LogRecord("cais_tools.controller.plane", logging.WARNING, "", 0, "group %d\nis gone", (3,), None)
    document = json.loads(_Json().format(record))
    assert (document["level"], document["part"], document["message"]) == ("warning", "plane", "group 3\nis gone")
    assert document["ts"].endswith("+00:00")
    assert "warning plane: group 3" in _Text().format(record)
    try:
        raise ValueError("oops")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    assert "ValueError: oops" in json.loads(_Json().format(record))["trace"]
