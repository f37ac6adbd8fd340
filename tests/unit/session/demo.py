"""A program with every kind of key, for tests without a compiled one."""

from __future__ import annotations

from cais_tools.p4rt.p4info import P4InfoIndex

P4INFO = """
tables { preamble { id: 1 name: "In.exact" alias: "exact" } action_refs { id: 11 } action_refs { id: 12 }
  match_fields { id: 1 name: "hdr.eth.dst" bitwidth: 48 match_type: EXACT }
  match_fields { id: 2 name: "meta.vrf" match_type: EXACT type_name { name: "vrf_t" } } }
tables { preamble { id: 2 name: "In.lpm" alias: "lpm" } action_refs { id: 11 }
  match_fields { id: 1 name: "hdr.ip.dst" bitwidth: 32 match_type: LPM } }
tables { preamble { id: 3 name: "In.acl" alias: "acl" } action_refs { id: 11 }
  match_fields { id: 1 name: "t" bitwidth: 9 match_type: TERNARY }
  match_fields { id: 2 name: "r" bitwidth: 16 match_type: RANGE }
  match_fields { id: 3 name: "o" bitwidth: 128 match_type: OPTIONAL } }
actions { preamble { id: 11 name: "In.forward" alias: "forward" } params { id: 1 name: "port" bitwidth: 9 } }
actions { preamble { id: 12 name: "NoAction" alias: "NoAction" } }
counters { preamble { id: 41 name: "In.count" alias: "count" } size: 8 }
digests { preamble { id: 51 name: "learn" } }
controller_packet_metadata { preamble { id: 61 name: "packet_out" }
  metadata { id: 1 name: "egress_port" bitwidth: 9 } metadata { id: 2 name: "pad" bitwidth: 7 } }
controller_packet_metadata { preamble { id: 62 name: "packet_in" }
  metadata { id: 1 name: "ingress_port" bitwidth: 9 } }
type_info { new_types { key: "vrf_t" value { translated_type { sdn_string { } } } } }
"""


def demo_index() -> P4InfoIndex:
    return P4InfoIndex.parse(P4INFO)
