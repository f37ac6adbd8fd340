"""Any packets through all that looks at packets, and through what prints it: nothing raises."""

from __future__ import annotations

import io
import json as json_module
import sys
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cais_tools.cli.sniff_report import ExpectView, open_view
from cais_tools.sniff.batch import CaptureInterface, LinkType, batch_of
from cais_tools.sniff.cooked import Cooked
from cais_tools.sniff.decode import decode
from cais_tools.wire.header import ETHERTYPE_CAIS, SWITCH_MAC, Header, mac_bytes

SMALL = st.integers(0, 2)
HEADERS = st.builds(
    Header, st.integers(0, 7), SMALL, SMALL, SMALL, SMALL, SMALL, st.sampled_from([0, 4, 8, 9, 2**32 - 1]), SMALL
)
SENDERS = st.sampled_from([mac_bytes(SWITCH_MAC), bytes(6), b"\x02\xca\x15\x01\0\0", b"\x02\xca\x15\x01\0\1"])
FRAMES = st.lists(
    st.builds(
        lambda sender, header, rest: bytes(6) + sender + ETHERTYPE_CAIS.to_bytes(2, "big") + header.pack() + rest,
        SENDERS,
        HEADERS,
        st.one_of(st.binary(max_size=24), st.sampled_from([bytes(48), bytes(1200)])),
    ),
    max_size=12,
)
TIMES = st.lists(st.integers(-(10**9), 10**10), min_size=12, max_size=12)


@given(FRAMES, TIMES, st.integers(20, 2000), st.sampled_from([*LinkType]), st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_raises(
    frames: Sequence[bytes], times: list[int], cut: int, link_type: LinkType, json: bool, live: bool
) -> None:
    interfaces = [CaptureInterface("x", link_type), CaptureInterface("y", link_type, 2)]
    batch = batch_of(
        [frame[:cut] for frame in frames],
        time_ns=times[: len(frames)],
        length=[len(frame) for frame in frames],
        interface=[i % 2 for i in range(len(frames))],
        link_type=link_type,
    )
    decoded = decode(Cooked(interfaces).complete(batch))
    views = [open_view(kind, interfaces, json=json, utc=True, live=live) for kind in ("slots", "verify", "stats")]
    expect = ExpectView("group=0,layer=1-2,op=broadcast,ports=1,2", interfaces, json=json)
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        patch.setattr(sys, "stdout", out)
        for view in views:
            view.feed(decoded)
            view.tick(6 * 10**9)
        differs = expect.feed(decoded)
        for i in range(len(decoded)):
            assert bool(expect.mark(decoded, i)) == bool(expect.mark_json(decoded, i)) == bool(differs[i])
        codes = {view.finish() for view in [*views, expect]}
    assert codes <= {0, 1}
    if json:
        assert all("schema" in json_module.loads(line) for line in out.getvalue().splitlines())
