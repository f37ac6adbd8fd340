// A payload is LANES words of 32 bits, and each lane has a register of its own, so that a packet touches each register
// once. The preprocessor writes the lanes out: FOR_EACH_LANE(DO) stands for DO(00) DO(01) .. DO(3f), the lane's number in
// hexadecimal.

#ifndef LANES
#define LANES 64
#endif

// Slots of all groups together. Each takes LANES * 4 bytes for its lanes and 31 for what it knows about them.
#ifndef SLOTS
#define SLOTS 4096
#endif

#define FOR_16_LANES(DO, x) \
    DO(x##0) DO(x##1) DO(x##2) DO(x##3) DO(x##4) DO(x##5) DO(x##6) DO(x##7) \
    DO(x##8) DO(x##9) DO(x##a) DO(x##b) DO(x##c) DO(x##d) DO(x##e) DO(x##f)

#define FOR_32_LANES(DO) FOR_16_LANES(DO, 0) FOR_16_LANES(DO, 1)
#define FOR_64_LANES(DO) FOR_32_LANES(DO) FOR_16_LANES(DO, 2) FOR_16_LANES(DO, 3)
#define FOR_256_LANES(DO) FOR_64_LANES(DO) \
    FOR_16_LANES(DO, 4) FOR_16_LANES(DO, 5) FOR_16_LANES(DO, 6) FOR_16_LANES(DO, 7) \
    FOR_16_LANES(DO, 8) FOR_16_LANES(DO, 9) FOR_16_LANES(DO, a) FOR_16_LANES(DO, b) \
    FOR_16_LANES(DO, c) FOR_16_LANES(DO, d) FOR_16_LANES(DO, e) FOR_16_LANES(DO, f)

#if LANES == 32
#define FOR_EACH_LANE(DO) FOR_32_LANES(DO)
#elif LANES == 64
#define FOR_EACH_LANE(DO) FOR_64_LANES(DO)
#elif LANES == 256
#define FOR_EACH_LANE(DO) FOR_256_LANES(DO)
#else
#error "LANES must be 32, 64 or 256"
#endif
