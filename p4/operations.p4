// The lanes of a slot. Exactly one of the actions runs for a contribution; afterwards the packet carries what the slot
// holds.

#define LANE_REGISTER(i) register<bit<32>>(SLOTS) slot_lane_##i;
#define FILL_LANE(i) payload.lane_##i = value;
#define STORE_LANE(i) slot_lane_##i.write(slot.index, payload.lane_##i);
#define LOAD_LANE(i) slot_lane_##i.read(payload.lane_##i, slot.index);
#define ADD_LANE(i) \
    slot_lane_##i.read(held, slot.index); \
    payload.lane_##i = held + payload.lane_##i; \
    slot_lane_##i.write(slot.index, payload.lane_##i);
#define MAX_LANE(i) \
    slot_lane_##i.read(held, slot.index); \
    payload.lane_##i = (int<32>) held > (int<32>) payload.lane_##i ? held : payload.lane_##i; \
    slot_lane_##i.write(slot.index, payload.lane_##i);
#define MIN_LANE(i) \
    slot_lane_##i.read(held, slot.index); \
    payload.lane_##i = (int<32>) held < (int<32>) payload.lane_##i ? held : payload.lane_##i; \
    slot_lane_##i.write(slot.index, payload.lane_##i);
#define MULTIPLY_LANE(i) \
    slot_lane_##i.read(held, slot.index); \
    payload.lane_##i = held * payload.lane_##i; \
    slot_lane_##i.write(slot.index, payload.lane_##i);

control Reduce(in bit<8> op_type, in bit<32> payload_len, inout payload_t payload, in slot_t slot) {
    FOR_EACH_LANE(LANE_REGISTER)
    bit<32> held;

    // The identity element of the operation, for a header-only packet that opens a slot.
    action fill(bit<32> value) {
        FOR_EACH_LANE(FILL_LANE)
    }
    action store() {
        FOR_EACH_LANE(STORE_LANE)
    }
    action load() {
        FOR_EACH_LANE(LOAD_LANE)
    }
    action add() {
        FOR_EACH_LANE(ADD_LANE)
    }
    action maximum() {
        FOR_EACH_LANE(MAX_LANE)
    }
    action minimum() {
        FOR_EACH_LANE(MIN_LANE)
    }
    action multiply() {
        FOR_EACH_LANE(MULTIPLY_LANE)
    }

    apply {
        bool header_only = !payload.isValid();
        payload.setValid();
        if (slot.age == Age.NEWER) {
            if (header_only) {
                if (op_type == Op.ALLREDUCE_MAX) {
                    fill(0x80000000);
                } else if (op_type == Op.ALLREDUCE_MIN) {
                    fill(0x7FFFFFFF);
                } else if (op_type == Op.ALLREDUCE_PRODUCT) {
                    fill(1);
                } else {
                    fill(0);
                }
            }
            store();
        } else if (slot.duplicate || header_only) {
            load();
        } else if (op_type == Op.ALLREDUCE_MAX) {
            maximum();
        } else if (op_type == Op.ALLREDUCE_MIN) {
            minimum();
        } else if (op_type == Op.ALLREDUCE_PRODUCT) {
            multiply();
        } else {
            add();
        }
        if (payload_len == 0) {  // nobody has sent a payload yet
            payload.setInvalid();
        }
    }
}
