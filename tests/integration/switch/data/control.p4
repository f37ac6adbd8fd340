// What the conformance programs do not have: controller headers, a value set, initial entries, indirect meters,
// registers of signed and wide values, and a table of each scope. A frame is `kind`, `number`, and a payload.
//
//   p4c --target bmv2 --arch v1model --p4runtime-files control.p4info.txtpb -o . control.p4
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

header frame_t {
    bit<12> kind;
    bit<4>  flags;
    bit<16> number;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    frame_t      frame;
}

struct special_t {
    bit<12> kind;
    @match(ternary)
    bit<4> flags;
}

struct metadata_t {
    bit<1> special;
    bit<2> color;
}


parser FrameParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<special_t>(4) specials;

    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: from_cpu;
            default: frame;
        }
    }

    state from_cpu {
        packet.extract(hdr.packet_out);
        transition frame;
    }

    state frame {
        packet.extract(hdr.frame);
        transition select(hdr.frame.kind, hdr.frame.flags) {
            specials: special;
            default: accept;
        }
    }

    state special {
        meta.special = 1;
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FrameIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<int<12>>(8) signed_values;
    register<bit<48>>(8) last_seen;
    meter(4, MeterType.packets) rate;
    counter(16, CounterType.packets_and_bytes) kinds;
    direct_counter(CounterType.packets) hits;

    action send(bit<9> port) {
        standard.egress_spec = port;
        hits.count();
    }

    action to_cpu() {
        standard.egress_spec = CPU_PORT;
        hits.count();
    }

    action discard() {
        mark_to_drop(standard);
        hits.count();
    }

    table route {
        key = {
            hdr.frame.kind: ternary @name("kind");
            hdr.frame.number: range @name("number");
        }
        actions = {
            send;
            @tableonly to_cpu;
            @defaultonly discard;
        }
        counters = hits;
        default_action = discard();
        size = 8;
        entries = {
            (0x001, 0 .. 99): send(1);
            (0x002, _): send(2);
        }
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
        } else {
            kinds.count((bit<32>) hdr.frame.kind & 0xf);
            rate.execute_meter((bit<32>) hdr.frame.flags & 3, meta.color);
            last_seen.write(0, standard.ingress_global_timestamp);
            int<12> value;
            signed_values.read(value, 0);
            if (value < 0) {
                hdr.frame.flags = 15;
            } else if (meta.special == 1) {
                hdr.frame.flags = 9;
            } else {
                hdr.frame.flags = (bit<4>) meta.color;
            }
            route.apply();
        }
    }
}

control FrameEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.packet_out.setInvalid();
        if (standard.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in.reason = 5;
        }
    }
}

control FrameDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.frame);
    }
}

V1Switch(FrameParser(), NoVerify(), FrameIngress(), FrameEgress(), NoUpdate(), FrameDeparser()) main;
