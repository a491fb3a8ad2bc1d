// The partial sums of the iterations of a loop.
#pragma once
#include <functional>
#include <memory>

#include "autodiff/sweep/contribution_products.h"

namespace pumice::derive {

class ValueProvider;

class LoopPartialSumsEmitter : SweepContext {
public:
    LoopPartialSumsEmitter(const SweepContext& context, KeptValues& kept, ValueProvider& provider, Accumulators& accumulators,
                           AdjointReductions& reductions, ShadowUpdates& updates)
        : SweepContext(context),
          kept(kept),
          provider(provider),
          accumulators(accumulators),
          reductions(reductions),
          updates(updates),
          products(context) {}

    /// True if partial sums take the place of the additions of this loop.
    bool sums(ir::InstId loop) const { return sweep_kind >= SweepKind::partial_sums && primal.loop_partial_sums.loop == loop; }
    /// The results of the loop whose adjoints flow into it.
    std::vector<ir::Value> active_results(ir::InstId loop) const;
    /// The tapes for the cells and, with loop interchange, for the values that items hand over.
    void add_loop_tapes(Scalar type);
    /// Reverses one iteration of the loop in its place, and adds the products to cells. `first`: the first index of the loop.
    void sum_in_place(ir::Value index, ir::Value first, const std::function<void()>& reverse_iteration);
    /// Replaces the reversed loop: stores the values that are handed over. `incoming`: the adjoints of all results of the loop.
    void pass_values(std::span<const ir::Value> incoming);
    /// The body of the interchanged loop: each item reverses one iteration for a chunk of the items of the primal.
    void sum_in_chunks(const std::function<void()>& reverse_iteration);
    /// At the end of the kernel.
    void keep_kernel() { cells.swept = std::make_shared<const ir::Kernel>(to); }

    /// The kernel that combines the cells: each item takes the cells of one iteration and adds the results to the shadows; with
    /// the parameters of the kernel that filled them.
    ir::Kernel total_of_cells(const ir::Kernel& filled) const;
    /// The cells of an iteration, and the values that each item hands over to the interchanged loop.
    int64_t cells_an_iteration() const { return cells.count; }
    int64_t passed_values_by_item() const {
        return int64_t(passed_values().size() + active_results(primal.loop_partial_sums.loop).size() * size_t(width));
    }

private:
    /// The loop whose partial sums go to cells, one row an iteration.
    struct PartialSumCells {
        ir::MemoryId memory, passed_values;
        ir::Value index, first;                   ///< index and first index of the loop
        int64_t count = 0;                        ///< cells an iteration
        std::shared_ptr<const ir::Kernel> swept;  ///< the new kernel, for total_of_cells
    };
    void sum_contributions(std::span<const ir::Value> registers, const std::function<void()>& reverse_iteration);
    void add_to_cell(size_t n, ir::Value part);
    std::vector<ir::Value> passed_values() const;
    ir::Value of_item(ir::Value v, ir::Value item);
    ir::Value rebuild_for(ir::Builder& at, const ir::Kernel& k, ir::Value v, ir::Value index) const;

    KeptValues& kept;
    ValueProvider& provider;
    Accumulators& accumulators;
    AdjointReductions& reductions;
    ShadowUpdates& updates;
    ContributionProducts products;
    PartialSumCells cells;
    std::vector<ShadowUpdates::Contribution> contributions;  ///< of one iteration
};

}  // namespace pumice::derive
