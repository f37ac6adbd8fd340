// A slot: which aggregate it holds, who has contributed to it, and what belongs to its result beside the lanes. Each
// register is read and written at most once for a packet, always in ingress.

enum bit<2> Age {
    OLDER = 0,  // the slot holds a newer number
    SAME  = 1,
    NEWER = 2   // the packet takes the slot over
}

// What a contribution finds in its slot.
struct slot_t {
    bit<32> index;
    Age     age;
    bool    diverged;   // same number, other operation, layer or chunk
    bool    duplicate;  // this rank has contributed already
    bool    complete;   // every participant has contributed, this rank included
    bool    abandoned;  // the aggregate that was taken over never became complete
}

// Take the slot over for a newer sequence number or another epoch, or find out how the packet relates to what is there.
// A slot that nobody has used holds epoch 0, which is no group's.
//
// How long a slot has been open is `latest` less its slot_opened: the control plane has no clock of the switch, but who
// waits for a slot asks again and again, and each packet moves `latest` on.
control Claim(in cais_t cais, in bit<32> epoch, in bit<48> now, inout slot_t slot) {
    register<bit<64>>(SLOTS) slot_state;  // epoch ++ seq_num
    register<bit<40>>(SLOTS) slot_aggregate;  // op_type ++ layer_id ++ chunk_id
    register<bit<48>>(SLOTS) slot_opened;  // when the first contribution came
    register<bit<48>>(1) latest;  // when the last packet for any slot came
    bit<64> held;
    bit<40> aggregate;

    action read_state() {
        slot_state.read(held, slot.index);
        latest.write(0, now);
    }

    action take_over() {
        slot.age = Age.NEWER;
        slot_state.write(slot.index, epoch ++ cais.seq_num);
        slot_aggregate.write(slot.index, cais.op_type ++ cais.layer_id ++ cais.chunk_id);
        slot_opened.write(slot.index, now);
    }

    action compare_aggregate() {
        slot.age = Age.SAME;
        slot_aggregate.read(aggregate, slot.index);
        slot.diverged = aggregate != cais.op_type ++ cais.layer_id ++ cais.chunk_id;
    }

    apply {
        read_state();
        if (held[63:32] != epoch || (int<32>) (cais.seq_num - held[31:0]) > 0) {  // serial numbers as in RFC 1982
            take_over();
        } else if (held[31:0] == cais.seq_num) {
            compare_aggregate();
        }
    }
}

// Mark the rank as a contributor, before anything is added.
control Contribute(in bit<32> rank_mask, in bit<32> participants, inout slot_t slot) {
    register<bit<32>>(SLOTS) slot_contributors;
    bit<32> earlier;

    action mark() {
        slot_contributors.read(earlier, slot.index);
        slot.abandoned = slot.age == Age.NEWER && earlier != 0 && (earlier & participants) != participants;
        earlier = slot.age == Age.NEWER ? 0 : earlier;
        slot.duplicate = (earlier & rank_mask) != 0;
        slot.complete = ((earlier | rank_mask) & participants) == participants;
        slot_contributors.write(slot.index, earlier | rank_mask);
    }

    apply {
        mark();
    }
}

// Add the integrity tag up and keep the longest payload_len; the packet leaves with what the slot holds now.
control Summarise(inout cais_t cais, in slot_t slot) {
    register<bit<32>>(SLOTS) slot_tag;
    register<bit<32>>(SLOTS) slot_payload_len;

    action start() {
        slot_tag.write(slot.index, cais.reserved);
        slot_payload_len.write(slot.index, cais.payload_len);
    }

    action load() {
        slot_tag.read(cais.reserved, slot.index);
        slot_payload_len.read(cais.payload_len, slot.index);
    }

    action add() {
        bit<32> tag;
        bit<32> payload_len;
        slot_tag.read(tag, slot.index);
        slot_payload_len.read(payload_len, slot.index);
        cais.reserved = tag + cais.reserved;
        cais.payload_len = payload_len > cais.payload_len ? payload_len : cais.payload_len;
        slot_tag.write(slot.index, cais.reserved);
        slot_payload_len.write(slot.index, cais.payload_len);
    }

    apply {
        if (slot.age == Age.NEWER) {
            start();
        } else if (slot.duplicate) {
            load();
        } else {
            add();
        }
    }
}
