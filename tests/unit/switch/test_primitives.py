"""Primitives by name: all that bmv2 registers are there, and those that no program of ours has do what they say."""

from __future__ import annotations

import json

import pytest

from cais_tools.switch.api import Switch
from cais_tools.switch.loader.primitives import PRIMITIVES
from tests.unit.switch.programs import const, minimal, table
from tests.unit.switch.steps import FRAME, PROGRAMS

# REGISTER_PRIMITIVE in bmv2's src/bm_sim/core/primitives.cpp and targets/simple_switch/primitives.cpp; the jumps.
REGISTERED = """
assign assign_VL assign_header assign_union assign_header_stack assign_union_stack push pop assume assert exit log_msg
modify_field modify_field_rng_uniform add_to_field subtract_from_field add subtract bit_xor bit_or bit_and shift_left
shift_right drop mark_to_drop generate_digest add_header add_header_fast remove_header copy_header
clone_ingress_pkt_to_egress clone_egress_pkt_to_egress resubmit recirculate modify_field_with_hash_based_offset no_op
execute_meter count register_read register_write truncate _jump _jump_if_zero
"""


def test_every_primitive_of_bmv2() -> None:
    assert set(PRIMITIVES) == set(REGISTERED.split())


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_out(name: str) -> None:
    program, out = PROGRAMS[name]
    assert Switch.load(json.dumps(program)).process(2, FRAME) == [(1, out)]


@pytest.mark.parametrize("op", ["assert", "assume"])
def test_a_failed_check_is_logged_and_the_packet_goes_on(op: str) -> None:
    program = minimal()
    condition = {"type": "expression", "value": {"op": "==", "left": const(1), "right": const(2)}}
    table(program, "t", [], {"act": ([], [{"op": op, "parameters": [condition]}])}, default="act")
    switch = Switch.load(json.dumps(program))
    assert switch.process(1, FRAME) == [(0, FRAME)]
    assert switch.log == [f"{op} failed"]
