// Numbers of the CPU's cost models: what an instruction of each kind takes, in cycles of an x86-64 core. They are good to a
// factor of about one and a half. Estimated, and then fitted to which of the corpus' kernels (bench/corpus) gain by one item at a
// time, on AMD Zen 4 with packets of 1, 4, 8 and 16 items. Gathers differ most between processors: their numbers are there for
// processors with fast ones, too, measured on an Intel Xeon.
#pragma once
#include <cmath>

namespace pumice::cpu::tuning {

/// Cycles of one scalar instruction in a stream of independent ones: four a cycle issue, and some wait.
inline constexpr double scalar_instruction = 0.3;
/// Cycles of one instruction of a scalar function of floats, such as a division or exp, which the processor or a library
/// computes.
inline constexpr double scalar_function_instruction = 1;
/// Cycles of one vector instruction: two a cycle issue, and some wait.
inline constexpr double vector_instruction = 0.6;
/// The same where nothing waits for it: the least time of a loop that is not bound by latency.
inline constexpr double independent_vector_instruction = 0.4;
/// Part of the latency of a division or square root of floats after which the unit takes the next one.
inline constexpr double part_of_division = 0.6;
/// Cycles of one lane of a gather, from the first-level cache.
inline constexpr double gathered_lane = 1.3;
/// Cycles of one lane of a gather from local or private memory, which the items have written shortly before: a gather waits for
/// stores that are on their way to the cache, where a scalar load takes their values.
inline constexpr double gathered_own_lane = 2.6;
/// Cycles of one lane of a scatter: an address and an element are extracted, and stored.
inline constexpr double scattered_lane = 2.0;
/// The same three with AVX-512 code on processors with fast gathers (Target::fast_gathers). An Intel Xeon of the generation with
/// AVX512-FP16 takes 0.5 to 0.6 for a lane of a gather, 0.8 behind a scatter to the same elements, and 1 for a lane of a scatter.
inline constexpr double fast_gathered_lane = 0.6, fast_gathered_own_lane = 0.8, fast_scattered_lane = 1.0;
/// Cycles of a lane's address where its row is accessed by short vectors, and of each of these, with its part of the transpose.
inline constexpr double lane_address = 0.6, short_vector = 1.2;
/// Cycles of one lane of an atomic in memory of one thread: as a scatter, with a load and an addition.
inline constexpr double added_lane = 2.5;
/// Lanes of a packet in which atomics in memory of one thread go lane by lane. Sixteen in a row, with their addresses from
/// vectors, took five times as long on Zen 4 where items repeat an element. Loads that overtake stores to the same element may be
/// the cause.
inline constexpr int most_lanes_taken_apart = 8;
/// Cycles of an atomic instruction on shared memory without contention.
inline constexpr double locked_instruction = 20;
/// Cycles of a division of 32-bit and of 64-bit integers by a divisor that is not constant. No vector unit has it.
inline constexpr double division_32 = 6, division_64 = 10;
/// Vector instructions that count the bits of integers without AVX-512 and NEON: table look-ups of half bytes, and sums of bytes.
inline constexpr double bit_count = 10;
/// Vector instructions of a multiplication of 64-bit integers, which AVX2 lacks and AVX-512 does in three passes.
inline constexpr double multiplication_64 = 6;
/// Cycles until a sum or product of floats, or what was stored, can be used: the least time of an iteration that carries a float
/// or stores to private memory.
inline constexpr double latency = 4;
/// Cycles of a branch of single items that goes either way: a misprediction takes 15 to 20, once in ten.
inline constexpr double branch = 1.5;
/// Cycles for the counter and the branch of a loop.
inline constexpr double iteration = 1;
/// Iterations of a loop of unknown length.
inline constexpr double iterations = 32;
/// Iterations that a packet of `width` items runs for each one of an item, where items leave the loop at different times: 1.5 for
/// 4 items, 1.75 for 8, 2 for 16. The longest of n equally distributed lengths is twice the mean, of exponential ones log(n)
/// times.
inline double iterations_of_longest(int width) { return 1 + std::log2(width) / 4; }
/// One item at a time must be faster than packets by this factor: it needs more front end than the model knows.
inline constexpr double least_gain_of_items = 1.15;

/// Lanes of masked accesses, gathers and scatters in a function that LLVM makes scalar accesses of: 32 accesses by 16 lanes.
/// Later accesses are calls. LLVM's time for them grows with the square of their number: on Zen 4 0.06 s for 320 lanes of 16-bit
/// scatters, 3.3 s for 3200.
inline constexpr int most_scalarised_lanes = 512;
/// Mathematical functions (exp, log, sin, cos, ...) of which a kernel has the code; later ones are calls. Each takes LLVM 1 to 2
/// ms. A call of the same code saves the live vectors and loads its constants again.
inline constexpr int most_inlined_functions = 64;

}  // namespace pumice::cpu::tuning
