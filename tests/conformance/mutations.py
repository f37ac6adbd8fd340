"""How each rule is broken in the P4 program: the check named must fail on the program that results."""

from __future__ import annotations

from dataclasses import dataclass

from cais_tools.errors import UsageError


@dataclass(frozen=True)
class Mutation:
    check: str
    """A key of `rules.RULES`, or `15-one-access`."""
    name: str
    file: str
    before: str
    after: str
    raises: type[Exception] = AssertionError
    """For a mutation that the control plane notices before a packet does."""


MUTATIONS = (
    Mutation(
        "01-complete-by-participants",
        "second contribution completes",
        "slots.p4",
        "slot.complete = ((earlier | rank_mask) & participants) == participants;",
        "slot.complete = earlier != 0;",
    ),
    Mutation(
        "02-sender-is-the-port",
        "source address believed",
        "aggregation.p4",
        "contribute.apply(sender, group.participants, slot);",
        "contribute.apply((bit<32>) 1 << hdr.ethernet.src_addr[7:0], group.participants, slot);",
    ),
    Mutation(
        "02-sender-is-the-port",
        "non-members contribute",
        "aggregation.p4",
        "} else if (!members.apply().hit) {",
        "} else if (!members.apply().hit && hdr.cais.group_id == 255) {",
    ),
    Mutation(
        "03-no-double-addition",
        "bitmap not tested",
        "slots.p4",
        "slot.duplicate = (earlier & rank_mask) != 0;",
        "slot.duplicate = false;",
    ),
    Mutation(
        "04-first-overwrites",
        "first contribution added to what was there",
        "operations.p4",
        "            store();",
        "            add();",
    ),
    Mutation(
        "05-diverged",
        "other chunks added",
        "slots.p4",
        "slot.diverged = aggregate != cais.op_type ++ cais.layer_id ++ cais.chunk_id;",
        "slot.diverged = false;",
    ),
    Mutation(
        "05-newer",
        "numbers compared unsigned",
        "slots.p4",
        "(int<32>) (cais.seq_num - held[31:0]) > 0",
        "cais.seq_num > held[31:0]",
    ),
    Mutation(
        "05-older",
        "older numbers added",
        "slots.p4",
        "} else if (held[31:0] == cais.seq_num) {",
        "} else {",
    ),
    Mutation(
        "06-slots",
        "base ignored",
        "aggregation.p4",
        "slot.index = group.slot_base + (hdr.cais.seq_num & group.slot_mask);",
        "slot.index = hdr.cais.seq_num & group.slot_mask;",
    ),
    Mutation(
        "07-answer-duplicates",
        "answers multicast",
        "aggregation.p4",
        "standard_metadata.egress_spec = standard_metadata.ingress_port;",
        "standard_metadata.mcast_grp = meta.output_set;",
    ),
    Mutation(
        "07-answer-duplicates",
        "duplicates of a complete slot added",
        "operations.p4",
        "} else if (slot.duplicate || header_only) {",
        "} else if (header_only) {",
    ),
    Mutation(
        "08-header-only",
        "zero taken for every identity",
        "operations.p4",
        "fill(0x80000000);",
        "fill(0);",
    ),
    Mutation(
        "08-header-only",
        "header-only packets reduce what the parser left",
        "operations.p4",
        "} else if (slot.duplicate || header_only) {",
        "} else if (slot.duplicate) {",
    ),
    Mutation(
        "08-outputs",
        "payload for everybody",
        "aggregation.p4",
        "const default_action = acknowledge();",
        "const default_action = deliver();",
    ),
    Mutation(
        "09-tag",
        "last tag wins",
        "slots.p4",
        "cais.reserved = tag + cais.reserved;",
        "cais.reserved = cais.reserved;",
    ),
    Mutation(
        "10-wrap",
        "sums saturate",
        "operations.p4",
        "payload.lane_##i = held + payload.lane_##i;",
        "payload.lane_##i = (bit<32>) ((int<32>) held |+| (int<32>) payload.lane_##i);",
    ),
    Mutation(
        "10-signed",
        "maximum unsigned",
        "operations.p4",
        "(int<32>) held > (int<32>) payload.lane_##i ?",
        "held > payload.lane_##i ?",
    ),
    Mutation(
        "11-bad-frames",
        "lying payload_len accepted",
        "parser.p4",
        "hdr.cais.payload_len <= PAYLOAD_BYTES",
        "hdr.cais.payload_len <= 0xFFFFFFFF",
    ),
    Mutation(
        "11-bad-frames",
        "short frames reach the slots",
        "cais.p4",
        "if (standard_metadata.parser_error != error.NoError) {",
        "if (standard_metadata.parser_error != error.NoError && !hdr.cais.isValid()) {",
    ),
    Mutation(
        "11-bad-frames",
        "unknown operations not told apart",
        "aggregation.p4",
        "if (hdr.cais.op_type > HIGHEST_OP) {",
        "if (hdr.cais.op_type > 254) {",
    ),
    Mutation(
        "12-wildcards",
        "chunks matched exactly",
        "aggregation.p4",
        "hdr.cais.chunk_id: range;",
        "hdr.cais.chunk_id: exact;",
        raises=UsageError,
    ),
    Mutation(
        "13-new-job",
        "epoch ignored",
        "slots.p4",
        "if (held[63:32] != epoch || ",
        "if (",
    ),
    Mutation(
        "14-forwarding",
        "unknown addresses dropped",
        "forwarding.p4",
        "standard_metadata.mcast_grp = FLOOD_GROUP;",
        "mark_to_drop(standard_metadata);",
    ),
    Mutation(
        "14-forwarding",
        "flooded back to the sender",
        "cais.p4",
        "standard_metadata.egress_port == standard_metadata.ingress_port",
        "standard_metadata.egress_port == 511",
    ),
    Mutation(
        "15-one-access",
        "state written twice",
        "slots.p4",
        "        slot_state.write(slot.index, epoch ++ cais.seq_num);",
        "        slot_state.write(slot.index, 0); slot_state.write(slot.index, epoch ++ cais.seq_num);",
    ),
    Mutation(
        "15-one-access",
        "time written twice",
        "slots.p4",
        "        slot_opened.write(slot.index, now);",
        "        slot_opened.write(slot.index, now); latest.write(0, now);",
    ),
    Mutation(
        "15-one-access",
        "a lane touched in egress",
        "cais.p4",
        "    Delivery() delivery;\n\n    apply {",
        "    Delivery() delivery; Reduce() reduce;\n\n    apply {"
        " slot_t slot = { 0, Age.SAME, false, false, false, false }; reduce.apply(0, 4, hdr.payload, slot);",
    ),
    Mutation(
        "vlan",
        "no tag allowed",
        "parser.p4",
        "            ETHERTYPE_VLAN: parse_vlan;\n",
        "",
    ),
)
