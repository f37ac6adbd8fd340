// Values that clients write as strings.
//
//   p4c --target bmv2 --arch v1model --p4runtime-files strings.p4info.txtpb -o . strings.p4
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example.org/port", string)
type bit<9> port_id_t;

@p4runtime_translation("example.org/vrf", string)
type bit<4> vrf_t;

header frame_t {
    bit<8> vrf;
}

struct headers_t {
    frame_t frame;
}

struct metadata_t {
    vrf_t vrf;
}

parser FrameParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.frame);
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
    action set_vrf(vrf_t vrf) {
        meta.vrf = vrf;
    }

    action send(port_id_t port) {
        standard.egress_spec = (bit<9>) port;
    }

    table vrfs {
        key = { hdr.frame.vrf: exact @name("number"); }
        actions = { set_vrf; NoAction; }
        default_action = NoAction();
    }

    table ports {
        key = { meta.vrf: optional @name("vrf"); }
        actions = { send; NoAction; }
        default_action = NoAction();
    }

    apply {
        mark_to_drop(standard);
        vrfs.apply();
        ports.apply();
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
