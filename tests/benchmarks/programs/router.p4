// A basic IPv4 router: longest prefix match, time to live, checksums.

#include "headers.p4"

struct metadata_t { }

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    VerifyIpv4() verify_ipv4;
    apply { verify_ipv4.apply(hdr); }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(512, CounterType.packets_and_bytes) routed;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<48> next_hop, bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = next_hop;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        routed.count((bit<32>) port);
    }

    table ipv4_lpm {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && standard_metadata.checksum_error == 0) {
            ipv4_lpm.apply();
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control RouterUpdate(inout headers_t hdr, inout metadata_t meta) {
    UpdateIpv4() update_ipv4;
    apply { update_ipv4.apply(hdr); }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterUpdate(), Emit()) main;
