// Everything that is not CAIS: a plain layer-2 switch whose table the control plane fills.

const bit<16> FLOOD_GROUP = 1;

control Forwarding(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    // To every port of the switch; egress drops the copy to the port that the frame came from.
    action flood() {
        meta.kind = PacketKind.FLOODED;
        standard_metadata.mcast_grp = FLOOD_GROUP;
    }

    table mac {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; flood; }
        const default_action = flood();
        size = 16384;
    }

    apply {
        mac.apply();
    }
}
