parser CaisParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_CAIS: parse_cais;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_CAIS: parse_cais;
            default: accept;
        }
    }

    state parse_cais {
        packet.extract(hdr.cais);
        verify(hdr.cais.payload_len <= PAYLOAD_BYTES, error.PayloadLengthOverPayload);
        transition select(hdr.cais.payload_len) {
            0: accept;
            default: parse_payload;
        }
    }

    state parse_payload {
        packet.extract(hdr.payload);
        transition accept;
    }
}

control CaisDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.cais);
        packet.emit(hdr.payload);
    }
}
