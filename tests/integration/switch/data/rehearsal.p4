// One of each kind of thing that a P4Runtime client writes, so that two servers can be asked the same questions.
//
//   p4c --target bmv2 --arch v1model --p4runtime-files rehearsal.p4info.txtpb -o . rehearsal.p4
#include <core.p4>
#include <v1model.p4>

header frame_t {
    bit<12> kind;
    bit<4>  flags;
    bit<32> address;
    bit<16> number;
}

struct headers_t {
    frame_t frame;
}

struct metadata_t {
    bit<2> color;
}

struct news_t {
    bit<12> kind;
    bit<16> number;
}

parser FrameParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<12>>(4) specials;

    state start {
        packet.extract(hdr.frame);
        transition select(hdr.frame.kind) {
            specials: accept;
            default: accept;
        }
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FrameIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>>(8) values;
    meter(4, MeterType.packets) rate;
    counter(4, CounterType.packets) kinds;
    counter(4, CounterType.packets_and_bytes) both;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.bytes) color;
    action_selector(HashAlgorithm.crc16, 8, 16) members;

    action send(bit<9> port) {
        standard.egress_spec = port;
    }

    action discard() {
        mark_to_drop(standard);
    }

    action counted(bit<9> port) {
        standard.egress_spec = port;
        hits.count();
    }

    action metered(bit<9> port) {
        standard.egress_spec = port;
        color.read(meta.color);
    }

    table exact_kind {
        key = { hdr.frame.kind: exact @name("kind"); }
        actions = { counted; @defaultonly discard; @tableonly send; }
        counters = hits;
        default_action = discard();
        support_timeout = true;
        size = 4;
    }

    table route {
        key = { hdr.frame.address: lpm @name("address"); }
        actions = { metered; NoAction; }
        meters = color;
        const default_action = NoAction();
        size = 8;
    }

    table filter {
        key = {
            hdr.frame.kind: ternary @name("kind");
            hdr.frame.number: range @name("number");
            hdr.frame.flags: optional @name("flags");
        }
        actions = { send; discard; NoAction; }
        default_action = NoAction();
        size = 8;
    }

    table fixed {
        key = { hdr.frame.flags: exact @name("flags"); }
        actions = { send; NoAction; }
        default_action = NoAction();
        const entries = {
            1: send(1);
            2: send(2);
        }
    }

    table spread {
        key = {
            hdr.frame.kind: exact @name("kind");
            hdr.frame.number: selector;
        }
        actions = { send; discard; }
        implementation = members;
        size = 8;
    }

    apply {
        kinds.count((bit<32>) hdr.frame.kind & 3);
        both.count((bit<32>) hdr.frame.kind & 3);
        rate.execute_meter((bit<32>) hdr.frame.flags & 3, meta.color);
        values.write(0, hdr.frame.number);
        digest<news_t>(1, {hdr.frame.kind, hdr.frame.number});
        exact_kind.apply();
        route.apply();
        filter.apply();
        fixed.apply();
        spread.apply();
        if (hdr.frame.flags == 14) {
            standard.mcast_grp = hdr.frame.number;
        } else if (hdr.frame.flags == 13) {
            clone(CloneType.I2E, (bit<32>) hdr.frame.number);
        }
    }
}

control FrameEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control FrameDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.frame);
    }
}

V1Switch(FrameParser(), NoVerify(), FrameIngress(), FrameEgress(), NoUpdate(), FrameDeparser()) main;
