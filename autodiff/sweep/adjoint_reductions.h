// Adjoints to which all items add.
#pragma once
#include <map>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class Accumulators;

/// A kernel without code that runs after `filled`, with its parameters and arrays.
ir::Kernel following(const ir::Kernel& filled, const char* what, int rank);

class AdjointReductions : SweepContext {
public:
    AdjointReductions(const SweepContext& context, Accumulators& accumulators)
        : SweepContext(context), accumulators(accumulators) {}
    /// The accumulator of a sum. Equal elements share one.
    size_t sum(ir::MemoryId memory, uint32_t leaf, std::span<const ir::Value> indices, Scalar type);
    /// Opens all sums before the reverse sweep, so that they are visible everywhere.
    void find_sums();
    /// At the end of the kernel: adds the sums of the item to the cells (several places for each sum, of which few items share
    /// one), or to the shadow where one kernel does all.
    void reduce_sums();

    /// True if there are cells, which another kernel sums up.
    bool has_cells() const { return !cell_tapes.empty(); }
    /// The kernel that sums up the cells; for the finished kernel of this sweep.
    FollowUpKernel sum_of_cells(const ir::Kernel& filled) const;

private:
    struct ReducedAdjoint {
        ir::MemoryId memory;
        uint32_t leaf;
        std::vector<ir::Value> indices;  ///< values of `from`; none for the adjoint of a scalar
        Scalar type;
        size_t accumulator;
        int64_t number = 0;  ///< number among the sums with this type of cells
    };
    struct CellTape {
        ir::MemoryId memory;
        int64_t sums = 0;
        size_t tape = 0;
        int64_t stride() const;
    };
    void add_cells();
    template <class Now> std::vector<ir::Value> place_of(ir::Builder& at, const ReducedAdjoint& sum, const Now& now) const;
    template <class Now> ir::Value rebuild(ir::Builder& at, ir::Value v, const Now& now) const;

    Accumulators& accumulators;
    std::vector<ReducedAdjoint> sums;
    std::map<Scalar, CellTape> cell_tapes;
};

}  // namespace pumice::derive
