// CAIS: the switch adds tensors up while it forwards them.
//
// One CAIS packet is a contribution of one rank to one aggregate. The slot that its sequence number selects collects the
// contributions of all participants; the last one carries the result out to every member of the group. Everything else
// is forwarded by its MAC address.
//
//   headers.p4     what is on the wire, and what a packet knows about itself
//   parser.p4      Ethernet, one optional VLAN tag, CAIS; and back
//   counters.p4    outcomes of groups, bad frames, ports, queue delay
//   slots.p4       which aggregate holds a slot, who has contributed
//   operations.p4  lanes: store, load, sum, maximum, minimum, product
//   aggregation.p4 groups, members, rules, and what becomes of a contribution
//   forwarding.p4  all other traffic

#include <core.p4>
#include <v1model.p4>

#include "lanes.p4"
#include "headers.p4"
#include "parser.p4"
#include "counters.p4"
#include "slots.p4"
#include "operations.p4"
#include "aggregation.p4"
#include "forwarding.p4"

control CaisIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    IngressCounters() counters;
    Aggregation() aggregation;
    Forwarding() forwarding;

    apply {
        if (standard_metadata.parser_error != error.NoError) {
            mark_to_drop(standard_metadata);
        } else if (hdr.cais.isValid()) {
            aggregation.apply(hdr, meta, standard_metadata);
        } else {
            forwarding.apply(hdr, meta, standard_metadata);
        }
        counters.apply(hdr, meta, standard_metadata);
    }
}

control CaisEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    EgressCounters() counters;
    Delivery() delivery;

    apply {
        if (meta.kind == PacketKind.FLOODED && standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        } else {
            if (meta.kind == PacketKind.RESULT) {
                delivery.apply(hdr, meta, standard_metadata);
            }
            counters.apply(standard_metadata);
        }
    }
}

control VerifyNothing(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ComputeNothing(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

@pkginfo(name="cais", version="1")
V1Switch(CaisParser(), VerifyNothing(), CaisIngress(), CaisEgress(), ComputeNothing(), CaisDeparser()) main;
