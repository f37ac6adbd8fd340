// From a contribution to a result: who sent it, which rule holds, what the slot says, and where it goes.

const bit<48> SWITCH_ADDR = 0x02CA15000000;  // source of every result

// What the tables say of a packet's group.
struct group_t {
    bit<32> slot_base;
    bit<32> slot_mask;     // slots - 1
    bit<32> participants;  // one bit for each rank whose contribution completes a slot
    bit<32> epoch;         // at least 1
}

control Aggregation(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Claim() claim;
    Contribute() contribute;
    Summarise() summarise;
    Reduce() reduce;

    direct_counter(CounterType.packets_and_bytes) rule_hits;

    group_t group = { 0, 0, 0, 0 };
    bit<32> sender = 0;

    action set_group(bit<32> slot_base, bit<32> slot_mask, bit<32> participants, bit<32> epoch) {
        group = { slot_base, slot_mask, participants, epoch };
    }

    // A group has a power of two of slots, from slot_base on. Another epoch is another job: what it finds in the slots
    // counts as nothing.
    table groups {
        key = { hdr.cais.group_id: exact; }
        actions = { set_group; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 256;
    }

    action set_member(bit<32> rank_mask) {
        sender = rank_mask;
    }

    // Who sent a packet is where it came in, never what it claims.
    table members {
        key = {
            hdr.cais.group_id: exact;
            standard_metadata.ingress_port: exact;
        }
        actions = { set_member; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 4096;
    }

    action aggregate(bit<16> output_set) {
        meta.output_set = output_set;
        rule_hits.count();
    }

    table rules {
        key = {
            hdr.cais.group_id: exact;
            hdr.cais.op_type: exact;
            hdr.cais.layer_id: range;
            hdr.cais.chunk_id: range;
        }
        actions = { aggregate; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = rule_hits;
        size = 16384;
    }

    action send_result() {
        meta.kind = PacketKind.RESULT;
        hdr.ethernet.src_addr = SWITCH_ADDR;
        standard_metadata.mcast_grp = meta.output_set;
    }

    action answer() {
        meta.kind = PacketKind.RESULT;
        hdr.ethernet.src_addr = SWITCH_ADDR;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    apply {
        slot_t slot = { 0, Age.OLDER, false, false, false, false };
        if (hdr.cais.op_type > HIGHEST_OP) {
            meta.outcome = Outcome.UNKNOWN_OP;
        } else if (!groups.apply().hit) {
            meta.outcome = Outcome.NO_MEMBER;
        } else if (!members.apply().hit) {
            meta.outcome = Outcome.NO_MEMBER;
        } else if (!rules.apply().hit) {
            meta.outcome = Outcome.NO_RULE;
        } else {
            slot.index = group.slot_base + (hdr.cais.seq_num & group.slot_mask);
            claim.apply(hdr.cais, group.epoch, standard_metadata.ingress_global_timestamp, slot);
            if (slot.age == Age.OLDER) {
                meta.outcome = Outcome.STALE;
            } else if (slot.diverged) {
                meta.outcome = Outcome.DIVERGED;
            } else {
                contribute.apply(sender, group.participants, slot);
                if (slot.duplicate && !slot.complete) {
                    meta.outcome = Outcome.DUPLICATE;
                } else {
                    summarise.apply(hdr.cais, slot);
                    reduce.apply(hdr.cais.op_type, hdr.cais.payload_len, hdr.payload, slot);
                    if (slot.duplicate) {
                        meta.outcome = Outcome.ANSWERED;
                    } else if (slot.age == Age.NEWER) {
                        meta.outcome = slot.complete ? Outcome.COMPLETED_ALONE
                                     : (slot.abandoned ? Outcome.REOPENED : Outcome.OPENED);
                    } else {
                        meta.outcome = slot.complete ? Outcome.COMPLETED : Outcome.ADDED;
                    }
                }
            }
        }

        if (meta.outcome == Outcome.COMPLETED || meta.outcome == Outcome.COMPLETED_ALONE) {
            send_result();
        } else if (meta.outcome == Outcome.ANSWERED) {
            answer();
        } else {
            drop();
        }
    }
}

// Every member of the group gets the result's header, because its window moves on it; only outputs get the payload.
control Delivery(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action deliver() { }

    action acknowledge() {
        hdr.cais.payload_len = 0;
        hdr.payload.setInvalid();
    }

    table receivers {
        key = {
            meta.output_set: exact;
            standard_metadata.egress_port: exact;
        }
        actions = { deliver; acknowledge; }
        const default_action = acknowledge();
        size = 8192;
    }

    // The contribution that completed the slot may have been header-only, padded to the length of an Ethernet frame.
    action cut(bit<32> length) {
        truncate(length);
    }

    apply {
        receivers.apply();
        bit<32> length = 34;
        if (hdr.vlan.isValid()) {
            length = length + 4;
        }
        if (hdr.payload.isValid()) {
            length = length + PAYLOAD_BYTES;
        }
        cut(length);
    }
}
