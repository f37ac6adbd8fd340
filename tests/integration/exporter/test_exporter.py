"""cais exporter as Prometheus sees it."""

from __future__ import annotations

import json
import re
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as parse_plain

from cais_tools.exporter import dashboard_text
from cais_tools.session import SessionOptions, connect, load_shipped
from tests.functional.runner import command, environment, invoke, run
from tests.integration.session.targets import Embedded
from tests.integration.switch.certificates import Authority

OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture(scope="module")
def embedded() -> Generator[Embedded]:
    switch = Embedded("spec")
    switch.start()
    with connect(switch.address, SessionOptions(timeout=10)) as session:
        session.load(load_shipped())
    rule = ("--group-id", "7", "--input-ports", "1,2", "--output-ports", "1,2")
    assert invoke("add-rule", *rule, "--device", switch.address).exit_code == 0
    yield switch
    switch.close()


@contextmanager
def exporting(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        command("exporter", "--listen", ":0", "--json", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.communicate()


def _get(url: str, headers: dict[str, str] | None = None, **more: Any) -> tuple[str, str]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=30, **more) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


@pytest.fixture(scope="module")
def url(embedded: Embedded) -> Generator[str]:
    with exporting("--device", f"{embedded.address},127.0.0.1:1") as (_, url):
        yield url


def test_a_scrape_of_two_devices_of_which_one_is_down(embedded: Embedded, url: str) -> None:
    kind, text = _get(url, OPEN_METRICS)
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    up = {sample.labels["device"]: sample.value for sample in families["cais_up"].samples}
    assert up == {embedded.address: 1, "127.0.0.1:1": 0}
    outcomes = {sample.labels["outcome"] for sample in families["cais_contributions"].samples}
    assert {"opened", "completed", "answered", "no_rule"} <= outcomes
    assert {sample.labels["group"] for sample in families["cais_group_slots"].samples} == {"7"}
    kind, plain = _get(url)
    assert kind.startswith("text/plain; version=0.0.4")
    assert "cais_up" in {family.name for family in parse_plain(plain)}


def test_every_metric_of_the_dashboard_is_in_a_scrape(url: str) -> None:
    families = text_string_to_metric_families(_get(url, OPEN_METRICS)[1])
    samples = {sample.name for family in families for sample in family.samples}
    panels = json.loads(dashboard_text())["panels"]
    queries = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    assert set(re.findall(r"\bcais_\w+", queries)) <= samples


def test_the_switches_are_read_at_most_once_a_second(url: str) -> None:
    assert len({_get(url)[1] for _ in range(5)}) <= 2


def test_other_pages(url: str) -> None:
    assert "/metrics" in _get(url.removesuffix("/metrics"))[1]
    with pytest.raises(urllib.error.HTTPError) as missing:
        _get(f"{url}x")
    assert missing.value.code == 404
    missing.value.close()


def test_a_switch_that_comes_back() -> None:
    switch = Embedded("spec")
    try:
        with exporting("--device", switch.address) as (_, url):
            assert f'cais_up{{device="{switch.address}"}} 0.0' in _get(url)[1]
            switch.start()
            with connect(switch.address, SessionOptions(timeout=10)) as session:
                session.load(load_shipped())
            # Within a second the answer is the one from before.
            while f'cais_up{{device="{switch.address}"}} 1.0' not in _get(url)[1]:
                pass
    finally:
        switch.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_says_who_can_see_it_and_signals_end_it_quietly(number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        command("exporter", "--device", "127.0.0.1:1", "--listen", ":0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving http://127.0.0.1:")
        assert "this machine only; --insecure" in line
        process.send_signal(number)
        rest, errors = process.communicate(timeout=20)
        assert (process.returncode, rest, errors.strip()) == (code, "", "")
    finally:
        process.kill()
        process.communicate()


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        finished = run("exporter", "--device", "127.0.0.1:1", "--listen", listen)
    assert finished.returncode == 5
    assert f"cannot listen at {listen}: the port is taken" in finished.stderr
    assert "--listen :9101" in finished.stderr
    assert finished.stdout == ""


def test_beyond_loopback_only_where_it_is_wanted(embedded: Embedded) -> None:
    refused = run("exporter", "--device", embedded.address, "--listen", "0.0.0.0:0")
    assert refused.returncode == 2
    assert "open to the network" in refused.stderr
    assert "--insecure" in refused.stderr
    with exporting("--device", embedded.address, "--insecure") as (_, url):
        assert url.startswith("http://0.0.0.0:")
        assert "cais_up" in _get(url.replace("0.0.0.0", "127.0.0.1"))[1]


def test_tls(embedded: Embedded, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ours")
    identity = authority.issue("server")
    serve = ("--serve-cert", str(identity.cert), "--serve-key", str(identity.key))
    with exporting("--device", embedded.address, *serve) as (_, url):
        assert url.startswith("https://0.0.0.0:")
        url = url.replace("0.0.0.0", "127.0.0.1")
        trusted = ssl.create_default_context(cafile=str(authority.cert))
        assert "cais_up" in _get(url, context=trusted)[1]
        with pytest.raises(urllib.error.URLError):
            _get(url)
        assert "cais_up" in _get(url, context=trusted)[1]
    half = run("exporter", "--device", embedded.address, *serve[:2])
    assert half.returncode == 2
    assert "both" in half.stderr


def test_the_dashboard_is_printed() -> None:
    finished = run("exporter", "--dashboard")
    assert finished.returncode == 0
    assert json.loads(finished.stdout)["title"] == "CAIS switches"
