// Sequentialisation of parallel copies.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace pumice::codegen {

/// One assignment of a parallel copy: `target` takes the value of an expression over `reads`.
struct Assignment {
    uint32_t target;
    std::vector<uint32_t> reads;
};

/// The next step: one of the copies, by its index.
struct CopyStep {
    size_t copy;
    bool keep;  ///< true: evaluate the expression into a temporary, from which the assignment comes later; false: assign
    bool operator==(const CopyStep&) const = default;
};

/// An order of assignments, for copies that all take place at once, in which no assignment overwrites what a later one reads.
/// Each copy is assigned once. Where expressions read each other's targets in a cycle, one of them goes through a temporary; a
/// permutation needs one temporary for each cycle. Targets are distinct.
std::vector<CopyStep> sequence(std::span<const Assignment> copies);

}  // namespace pumice::codegen
