// A switch for layers 2 and 3: what is sent to the router's own address is routed by prefix and next hop, the rest is
// forwarded by destination address; a ternary access list over the five-tuple has the last word.

#include "headers.p4"

const bit<16> FLOOD_GROUP = 1;

struct metadata_t {
    bit<16> next_hop;
    bit<1>  routed;
}

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (0, 5, PROTOCOL_TCP): parse_ports;
            (0, 5, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }
    state parse_ports {
        packet.extract(hdr.l4);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout metadata_t meta) {
    VerifyIpv4() verify_ipv4;
    apply { verify_ipv4.apply(hdr); }
}

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) acl_hits;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action route() {
        meta.routed = 1;
    }

    table router_macs {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { route; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action set_next_hop(bit<16> next_hop) {
        meta.next_hop = next_hop;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
        size = 4096;
    }

    action rewrite(bit<48> src_addr, bit<48> dst_addr, bit<9> port) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        standard_metadata.egress_spec = port;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { rewrite; drop; }
        default_action = drop();
        size = 1024;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action flood() {
        standard_metadata.mcast_grp = FLOOD_GROUP;
    }

    table macs {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; flood; }
        default_action = flood();
        size = 16384;
    }

    action permit() {
        acl_hits.count();
    }

    action deny() {
        acl_hits.count();
        mark_to_drop(standard_metadata);
    }

    table acl {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.l4.src_port: ternary;
            hdr.l4.dst_port: ternary;
        }
        actions = { permit; deny; NoAction; }
        default_action = NoAction();
        counters = acl_hits;
        size = 1024;
    }

    apply {
        router_macs.apply();
        if (meta.routed == 1 && hdr.ipv4.isValid()) {
            if (hdr.ipv4.ttl <= 1 || standard_metadata.checksum_error == 1) {
                drop();
            } else if (routes.apply().hit) {
                next_hops.apply();
            }
        } else {
            macs.apply();
        }
        if (hdr.ipv4.isValid()) {
            acl.apply();
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 5 && standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        }
    }
}

control SwitchUpdate(inout headers_t hdr, inout metadata_t meta) {
    UpdateIpv4() update_ipv4;
    apply { update_ipv4.apply(hdr); }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchUpdate(), Emit()) main;
