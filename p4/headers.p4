const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_CAIS = 0x88B5;  // IEEE 802 local experimental EtherType 1

const bit<32> PAYLOAD_BYTES = LANES * 4;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header vlan_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
    bit<16> ether_type;
}

enum bit<8> Op {
    ALLREDUCE         = 0,
    ALLGATHER         = 1,
    BROADCAST         = 2,
    ALLREDUCE_MAX     = 3,
    ALLREDUCE_MIN     = 4,
    ALLREDUCE_PRODUCT = 5
}
const bit<8> HIGHEST_OP = 5;

header cais_t {
    bit<8>  op_type;
    bit<8>  group_id;
    bit<16> layer_id;
    bit<16> chunk_id;
    bit<16> total_chunks;  // for the hosts; the switch never counts with it
    bit<32> seq_num;       // selects the slot
    bit<32> payload_len;   // valid bytes of the payload; 0: header-only, a contribution of the identity element
    bit<32> reserved;      // integrity tag, added up like a lane whatever the operation
}

#define LANE_FIELD(i) bit<32> lane_##i;
header payload_t {
    FOR_EACH_LANE(LANE_FIELD)
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t     vlan;
    cais_t     cais;
    payload_t  payload;
}

enum bit<2> PacketKind {
    PLAIN   = 0,
    FLOODED = 1,
    RESULT  = 2
}

// What became of a CAIS packet: the index within a group's block of the counter group_outcomes.
enum bit<4> Outcome {
    OPENED          = 0,   // first contribution under its number
    ADDED           = 1,
    COMPLETED       = 2,   // last one: the result went out
    COMPLETED_ALONE = 3,   // first and last at once: a group of one
    REOPENED        = 4,   // first one, in a slot whose earlier aggregate never became complete
    DUPLICATE       = 5,   // seen before, aggregate incomplete: dropped
    ANSWERED        = 6,   // seen before, aggregate complete: the result went out again
    STALE           = 7,   // the slot belongs to a newer number
    DIVERGED        = 8,   // same number, but another operation, layer or chunk
    UNKNOWN_OP      = 9,
    NO_MEMBER       = 10,  // no such group, or its port is none of the group's
    NO_RULE         = 11
}

struct metadata_t {
    PacketKind kind;
    Outcome    outcome;
    bit<16>    output_set;  // who gets the payload of a result: multicast group and key of the table receivers
}

error {
    PayloadLengthOverPayload
}
