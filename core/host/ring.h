// The buffer in which kernels report prints and failed requirements: a ring of 32-bit words, with one layout for all devices.
//
//   word 0         used: words of records asked for so far; may pass the capacity
//   word 1         lost: records that found no room
//   word 2         failed: requirements that did not hold
//   word 3         capacity: words of records that there is room for; the host sets it
//   words 4..63    the first record of a failed requirement that was written in any case; its launch is 0 if there is none
//   words 64...    records, one after another
//
// A record: the launch's number, which is never 0; the format's index in Kernel::strings; the item's global index along axes 0,
// 1, 2 (0 along axes that the range lacks); then the values. A value of up to 32 bits takes one word (integers sign- or
// zero-extended, f16 widened to f32), a 64-bit value takes two, the low one first.
//
// A record of n words is written as follows, with atomics where items run concurrently:
//   a requirement that fails:  if (failed++ == 0) write the record at word 4
//   if (used > capacity) { ++lost; done }                        (so that `used` does not run over)
//   at = used, used += n
//   if (at + n <= capacity) write the record at word 64 + at
//   else { ++lost; if (at < capacity) word[64 + at] = 0 }        (0 for a launch ends the records)
//
// The host clears a ring only while no launch writes to it. It reads the ring then, or, where launches run in order and the
// records were zeroed, at any time: the records of launches that have ended come first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ir/type.h"

namespace pumice::ring {

inline constexpr int layout = 1;  ///< version of this layout, in manifests; another layout gets another number
inline constexpr size_t used = 0, lost = 1, failed = 2, capacity = 3, first_failure = 4, records = 64;  ///< indices of words
inline constexpr size_t head = 5;          ///< words of a record before its values
inline constexpr size_t words = 1u << 20;  ///< of a whole ring: 4 MiB

/// Number of words of a value of the type.
constexpr size_t words_of(Scalar type) { return size_of(type) == 8 ? 2 : 1; }

/// Empties a ring and sets its capacity.
void clear(std::span<uint32_t> ring);

/// Writes a record into a ring in host memory; items may run on several threads. `values` are the words of the values.
void write(uint32_t* ring, bool failure, uint32_t launch, uint32_t format, const int32_t (&index)[3],
           std::span<const uint32_t> values);

/// Appends the words of a value, given by its bits, to `to`.
void put(std::vector<uint32_t>& to, Scalar type, uint64_t bits);
/// Returns the bits of the value whose words begin at `from`.
uint64_t get(const uint32_t* from, Scalar type);

}  // namespace pumice::ring
