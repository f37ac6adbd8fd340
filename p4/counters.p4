// All that the control plane knows about the data plane it reads from these counters: registers cannot be read on every
// target.

const bit<32> PORTS = 512;

control IngressCounters(in headers_t hdr, in metadata_t meta, in standard_metadata_t standard_metadata) {
    counter(PORTS, CounterType.packets_and_bytes) port_in;
    counter(256 * 16, CounterType.packets_and_bytes) group_outcomes;
    counter(2, CounterType.packets_and_bytes) bad_frames;

    apply {
        port_in.count((bit<32>) standard_metadata.ingress_port);
        if (standard_metadata.parser_error == error.PayloadLengthOverPayload) {
            bad_frames.count(1);
        } else if (standard_metadata.parser_error != error.NoError) {
            bad_frames.count(0);
        } else if (hdr.cais.isValid()) {
            group_outcomes.count((bit<32>) (hdr.cais.group_id ++ (bit<4>) meta.outcome));
        }
    }
}

control EgressCounters(inout standard_metadata_t standard_metadata) {
    counter(PORTS, CounterType.packets_and_bytes) port_out;
    counter(PORTS * 16, CounterType.packets) queue_delay;
    bit<4> bucket = 0;

    action set_bucket(bit<4> exponent) {
        bucket = exponent;
    }

    // Bucket b holds queue delays from 2^(b-1) to 2^b - 1 microseconds, bucket 0 those below one, 15 the rest.
    table delay_buckets {
        key = { standard_metadata.deq_timedelta: lpm; }
        actions = { set_bucket; }
        const default_action = set_bucket(15);
        const entries = {
            0: set_bucket(0);
            1: set_bucket(1);
            2 &&& 0xFFFFFFFE: set_bucket(2);
            4 &&& 0xFFFFFFFC: set_bucket(3);
            8 &&& 0xFFFFFFF8: set_bucket(4);
            16 &&& 0xFFFFFFF0: set_bucket(5);
            32 &&& 0xFFFFFFE0: set_bucket(6);
            64 &&& 0xFFFFFFC0: set_bucket(7);
            128 &&& 0xFFFFFF80: set_bucket(8);
            256 &&& 0xFFFFFF00: set_bucket(9);
            512 &&& 0xFFFFFE00: set_bucket(10);
            1024 &&& 0xFFFFFC00: set_bucket(11);
            2048 &&& 0xFFFFF800: set_bucket(12);
            4096 &&& 0xFFFFF000: set_bucket(13);
            8192 &&& 0xFFFFE000: set_bucket(14);
        }
    }

    apply {
        port_out.count((bit<32>) standard_metadata.egress_port);
        delay_buckets.apply();
        queue_delay.count((bit<32>) (standard_metadata.egress_port ++ bucket));
    }
}
