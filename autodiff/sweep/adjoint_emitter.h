// Reverse-mode kernels: emits the copy of the primal, with the values that it keeps, and the reverse sweep.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/adjoint_liveness.h"
#include "autodiff/analysis/shadows.h"
#include "autodiff/analysis/tape.h"
#include "autodiff/strategy/loop_partial_sums.h"
#include "autodiff/strategy/owner_computes.h"
#include "autodiff/strategy/pairwise_loops.h"
#include "autodiff/strategy/scatter_to_gather.h"
#include "core/analysis/alias.h"
#include "core/ir/rewriter.h"

namespace pumice::derive {

/// The parts of the two sweeps that a kernel has.
enum class SweepPart { both, augmented, reverse, count };

/// The kind of a kernel, by its strategy: scatter (the range of the primal), scatter-to-gather over a halo-extended range
/// (HaloGather::kernel, HaloGather::by_rows), pairwise loops (PairwiseAdjoint::kernel), owner computes (OwnerComputesAdjoint: an
/// owner; the rest), or loop partial sums (LoopPartialSumsAdjoint: in place; before the interchanged loop; the interchanged loop
/// alone).
enum class SweepKind {
    range,
    halo_gather,
    halo_gather_by_rows,
    pairwise,
    owner,
    beside_owners,
    partial_sums,
    before_interchanged,
    interchanged
};

/// Per value: true where some select, min or max may discard what is computed from the value, and a derivative on the way may
/// be infinite. 0 * inf must then be masked (double_where.cpp).
std::vector<bool> discardable_values(const ir::Kernel& k, const ir::Structure& where, const TapePlan& plan);

/// The analyses that all kernels of one derivative share.
struct Primal {
    const ir::Kernel& kernel;  ///< canonical
    const Signature& signature;
    bool single_kernel = false;  ///< one kernel does everything
    ir::Structure where;
    Analysis analysis;
    TapePlan plan;
    Gather gather;
    Contributions contributions;
    PairwiseLoops pairwise;
    OwnerComputes owners;
    LoopPartialSums loop_partial_sums;
    std::vector<bool> discardable;
    Primal(const ir::Kernel& k, const Signature& s, bool split_mode)
        : kernel(k),
          signature(s),
          where(k),
          analysis(k, s, where),
          plan(k, where, analysis, split_mode),
          gather(k, where, analysis, split_mode),
          contributions(k, where, analysis, plan, gather),
          pairwise(k, where, analysis, plan, contributions),
          owners(k, where, analysis, plan, contributions),
          loop_partial_sums(k, where, analysis, plan),
          discardable(discardable_values(k, where, plan)) {}
};

/// The kernel that stores zero to the shadows of the stores of the primal, with the parameters of `beside`. Items of a
/// gathering kernel read the shadows of other items, so the shadows are cleared after it.
ir::Kernel clear_shadows(const Primal& primal, const ir::Kernel& beside);
/// FollowUpKernel::row_by_row of such a kernel: strip-mined over rows.
std::optional<ir::Kernel> row_by_row(const ir::Kernel& clearing);

/// The items that share the work of their group: those in the range, or all items where the kernel has whole_groups.
struct Members {
    ir::Value rank, count;    ///< rank of this item in the group; number of items of the group
    ir::Value linear, items;  ///< linear index of this item in the launch; number of items
    ir::Value group;          ///< linear index of the group in the launch
};

class AdjointEmitter : public ir::Rewriter {
public:
    /// `owner`: the load whose element an item owns, for SweepKind::owner.
    AdjointEmitter(const Primal& primal, SweepPart part, SweepKind sweep_kind = SweepKind::range,
                   const OwnerComputes::Load* owner = nullptr);

    std::vector<TapeParameter> tapes;
    std::vector<Accumulated> accumulated;
    std::vector<ItemLimit> limits;  ///< of the plain additions

    /// True if there are cells, which another kernel sums up.
    bool has_cells() const { return !cell_tapes.empty(); }
    /// The strategy does not apply, or its code has grown too long: the kernel has to be made without it.
    bool gave_up = false;
    /// The kernel that sums up the cells; for the finished kernel of this sweep.
    FollowUpKernel sum_of_cells(const ir::Kernel& filled) const;
    /// The kernel that combines the partial sums of a loop; likewise.
    ir::Kernel total_of_cells(const ir::Kernel& filled) const;
    /// A kernel without code that runs after `filled`, with its parameters and arrays.
    static ir::Kernel following(const ir::Kernel& filled, const char* what, int rank);
    /// The cells of an iteration, and the values that each item hands over to the interchanged loop.
    int64_t cells_an_iteration() const { return partial_sum_cells.count; }
    int64_t passed_values_by_item() const {
        return int64_t(passed_values().size() + active_results(primal.loop_partial_sums.loop).size() * size_t(width));
    }

private:
    // ---- adjoint.cpp: the primal's copy ----
    void body() override;
    void inst(ir::InstId id) override;
    bool unneeded(ir::MemoryId m) const;
    bool leaves_out(ir::InstId id);
    void end_of_block(ir::BlockId block);
    void add_stacks();
    void declare_variables();
    void zero_shadows();
    const Members& members();

    // ---- emit_argmax.cpp ----
    void count_iterations(ir::InstId loop);
    void note_argmax(ir::InstId loop);
    Scalar counter_of(ir::InstId loop) const;

    // ---- emit_tape.cpp: pushes and pops ----
    struct Stack {
        Scalar type;
        std::optional<TapeBound> bound;
        TapeParameter::Sizing kind = TapeParameter::Sizing::fixed;  ///< fixed: private memory
        ir::MemoryId memory, offsets, final;
        ir::Value cursor, base;  ///< a variable; the offset of the item, if counted
        /// True if the final height is a known number. Otherwise, in halves, it lies in `final`.
        bool known_height() const { return bound && bound->exact && !bound->more; }
    };
    ir::Value address(Stack& stack, ir::Value slot);
    void push(ir::BlockId block);
    void pop(ir::BlockId block);
    void save_cursors();
    void restore_cursors();
    void count_pushes();

    // ---- reverse_sweep.cpp ----
    /// An adjoint accumulator: the adjoint of a value, or the sum for a shadow element to which all items add.
    struct Accumulator {
        ir::Value now;  ///< none: zero, or unused because there is a `var`
        ir::Value var;
        bool zero = true, touched = false;  ///< touched: something was added, also in an arm or a loop that has ended
        ir::Value factor, partial;          ///< a pending product of the sum, not yet emitted; `zero` does not include it
    };
    size_t accumulator(ir::Value v, int w) const { return size_t(v.id) * size_t(width) + size_t(w); }
    void add(size_t at, ir::Value term);
    void add(ir::Value v, int w, ir::Value term) {
        if (analysis.active(v)) add(accumulator(v, w), term);
    }
    void add_product(size_t at, ir::Value factor, ir::Value partial);
    void make_product(size_t at);
    bool passes_on(const ir::Inst& i, int w);
    ir::Value take(size_t at);
    ir::Value plus(ir::Value sum, ir::Value term);
    ir::Value total(ir::Op op, ir::Value sum, ir::Value term);
    ir::Value twice(ir::Value x, ir::Value y);
    void open_accumulator(size_t at, Scalar type);
    void open_accumulators(ir::BlockId block);

    void provide(ir::BlockId block, ir::Value iteration);
    ir::Value provided(ir::Value v) const;
    std::vector<ir::Value> provided(std::span<const ir::Value> v) const;
    void refill(ir::InstId fill);
    ir::Value rematerialise(const ir::Inst& i);
    ir::Value pure_of(const ir::Inst& i, std::span<const ir::Value> operands);

    void reverse_body();
    void reverse_block(ir::BlockId block);
    void reverse(ir::InstId id);
    /// factor * partial; the factor alone where there is no partial; nothing where there is no factor.
    struct AdjointTerm {
        ir::Value factor, partial = {};
    };
    AdjointTerm term_of(const ir::Inst& i, size_t operand, ir::Value adjoint, const std::function<ir::Value(ir::Value)>& get);
    void reverse_operation(const ir::Inst& i);
    ir::Value unless_zero(ir::Value adjoint, ir::Value term);  // double_where.cpp
    void reverse_subgroup(const ir::Inst& i);
    void reverse_group(const ir::Inst& i);
    void reverse_call(const ir::Inst& i);
    void reverse_argument(const ir::Inst& i);
    void reverse_load(ir::InstId id);
    void reverse_store(const ir::Inst& i);
    void reverse_atomic(const ir::Inst& i);
    void reverse_if(const ir::Inst& i);
    void reverse_loop(ir::InstId id);
    void reverse_contents(ir::InstId loop, ir::Value iteration);

    // ---- shadow memory: the zero of a reversed store is held back while an addition to the same element may follow ----
    struct PendingZero {
        ir::MemoryId memory;
        uint32_t leaf;
        std::vector<ir::Value> indices;
        ir::Value loaded;
    };
    void accumulate(ir::InstId load, int w, ir::Value term);
    void flush();
    void flush(ir::MemoryId memory, uint32_t leaf, std::span<const ir::Value> indices, bool also_same);

    // ---- emit_gather.cpp: values and adjoints of the item at other indices ----
    struct Elsewhere {
        std::array<ir::Value, 3> indices;
        std::unordered_map<uint32_t, ir::Value> values;
        std::map<std::pair<uint32_t, int>, ir::Value> adjoints;
    };
    bool too_long();
    void where_it_runs(Elsewhere& there, ir::BlockId block, ir::BlockId around, const std::function<void(Elsewhere&)>& fill);
    ir::Value elsewhere(Elsewhere& there, ir::Value v);
    ir::Value adjoint_by(Elsewhere& there, ir::InstId user, size_t o, int w);
    ir::Value adjoint_elsewhere(Elsewhere& there, ir::Value v, int w);
    void gather_all();
    void gather(ir::MemoryId m, int w);
    struct Here {
        std::array<ir::Value, 3> position, index, size, start, end;  ///< of the item; size, start and end of the range
    };
    struct IndexBounds {
        ir::Value low, high, period;
    };
    Here here();
    ir::Value in_range_at(const Here& at, const Gather::Offset& by, int sign);
    IndexBounds bounds_of(const Gather::Index& index);
    ir::Value few_meet(const Here& at, const Gather::Loads& list);
    std::pair<ir::Value, ir::Value> meeting(const Here& at, const Gather::Index& index, int axis);
    void add_contribution(const std::array<ir::Value, 3>& indices, ir::InstId load, int w, ir::Value sum);
    void add_contribution_at(const Here& at, const Gather::Load& load, int w, ir::Value sum);
    void add_here(const Here& at, const Gather::Loads& list, int w, const std::map<uint32_t, ir::Value>& sums);
    void add_meeting(const Here& at, const Gather::Load& load, int axis, std::array<ir::Value, 3> indices, int w, ir::Value sum);
    ir::Value in_the_interior(const Here& at, const Gather::Loads& list);
    ir::Value exists(const Here& at, const Gather::Load& load);
    void scatter_beyond(const Here& at, const Gather::Load& load, ir::Value gathered, int w);
    // ---- emit_halo_gather.cpp ----
    void gather_over_halo();
    void gather_over_halo(const Here& at, ir::MemoryId m, int w);
    void gather_by_rows(const Here& at, ir::MemoryId m, int w);
    ir::Value exists_at(const Here& at, int axis, ir::Value position);
    std::pair<ir::Value, ir::Value> neighbour(const Here& at, size_t axis, int64_t shift);
    void where_it_exists(const Here& at, const Gather::Loads& list, const std::function<void()>& emit);
    // ---- pairwise_loops.cpp ----
    void reverse_pairwise_loop(ir::InstId loop, const std::function<void(ir::Value index)>& own);
    /// True if other items, or owners, add what this load gives.
    bool taken_by_others(ir::InstId load) const {
        return (sweep_kind == SweepKind::pairwise && primal.pairwise.has(load)) ||
               (sweep_kind == SweepKind::beside_owners && primal.owners.has(load));
    }
    ir::Value square_elsewhere(Elsewhere& there, const ir::Inst& i);
    // ---- emit_owner_computes.cpp ----
    void sum_by_owner();
    // ---- emit_loop_partial_sums.cpp ----
    struct Contribution {
        ir::MemoryId memory;
        uint32_t leaf;
        std::vector<ir::Value> indices;
        ir::Value term;
        ir::Loc loc;
    };
    struct Product {
        std::vector<ir::Value> factors, divisors, varying;  ///< uniform over the items, and varying
        bool minus = false;
    };
    struct WeightedSum {
        std::vector<ir::Value> factors, divisors;
        bool minus = false;
        size_t sum = 0;
    };
    /// The loop whose partial sums go to cells, one row an iteration.
    struct PartialSumCells {
        ir::MemoryId memory, passed_values;
        ir::Value index, first;  ///< index and first index of the loop
        int64_t count = 0;       ///< cells an iteration
        std::vector<Contribution> contributions;
        std::vector<std::vector<WeightedSum>> totals;     ///< for each shadow element, in terms of the sums
        std::set<uint32_t> of_primal;                     ///< values that are not expanded into products
        std::map<uint32_t, bool> same;                    ///< same_for_items
        std::map<std::vector<uint32_t>, ir::Value> made;  ///< product_of
        std::shared_ptr<const ir::Kernel> swept;          ///< the new kernel, for total_of_cells
    };
    bool same_for_items(ir::Value v);
    bool has_factor(const Product& p) const;
    std::vector<Product> products_of(ir::Value v);
    int cost_of_contributions() const;
    ir::Value product_of(const std::vector<ir::Value>& values);
    std::vector<ir::Value> sums_of_contributions();
    void add_contribution(std::span<const ir::Value> registers);
    void add_to_cell(size_t n, ir::Value part);
    void add_loop_tapes(Scalar type);
    std::vector<ir::Value> passed_values() const;
    void pass_values(std::span<const ir::Value> incoming);
    ir::Value of_item(ir::Value v, ir::Value item);
    void sum_in_chunks();
    std::vector<ir::Value> active_results(ir::InstId loop) const;
    ir::Value rebuild_for(ir::Builder& at, const ir::Kernel& k, ir::Value v, ir::Value index) const;
    bool sums_loop(ir::InstId id) const { return sweep_kind >= SweepKind::partial_sums && primal.loop_partial_sums.loop == id; }
    bool gathers() const { return primal.gather.any() && (part == SweepPart::both || part == SweepPart::reverse); }

    // ---- adjoint_reductions.cpp: reductions over all items ----
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
    size_t sum(ir::MemoryId memory, uint32_t leaf, std::span<const ir::Value> indices, Scalar type);
    void find_sums();
    void add_cells();
    void reduce_sums();
    template <class Now> std::vector<ir::Value> place_of(ir::Builder& at, const ReducedAdjoint& sum, const Now& now) const;
    template <class Now> ir::Value rebuild(ir::Builder& at, ir::Value v, const Now& now) const;

    template <class Emit> void emit_if(ir::Value condition, const Emit& fill) {
        ir::emit_if(b, to, condition, fill, [] {});
    }
    template <class Emit> void emit_for(ir::Value first, ir::Value limit, ir::Value step, const Emit& fill) {
        ir::emit_for(b, to, first, limit, step, fill);
    }

    size_t gather_begins = 0;    ///< instructions before the gather
    size_t gather_limit = 6000;  ///< limit of its instructions: beyond it, atomics cost less
    const Primal& primal;
    const SweepPart part;
    const SweepKind sweep_kind;
    const OwnerComputes::Load* const owner;
    const Signature& signature;
    const int width;
    const ir::Structure& where;
    const Analysis& analysis;
    const TapePlan& plan;
    std::unique_ptr<Shadows> shadows;
    std::unique_ptr<AdjointLiveness> liveness;  ///< of the copy of the primal, where a reverse sweep follows it
    std::vector<Stack> stacks;
    Members group_members;
    std::vector<ir::Value> variables;                                           ///< of values held in one
    std::unordered_map<uint32_t, ir::Value> counters, counts, count_variables;  ///< of loops
    std::unordered_map<uint32_t, ir::Value> last_attained;  ///< of argmax loops: a variable, -1 for no iteration
    std::vector<ir::Value> known;                           ///< values of the primal that the reverse sweep has
    std::vector<Accumulator> accumulators;
    std::vector<bool> crosses;                      ///< values with a use in another block
    std::vector<std::vector<ir::Value>> active_in;  ///< by block: active values of it that cross
    std::vector<PendingZero> pending;
    std::vector<ReducedAdjoint> sums;
    std::map<Scalar, CellTape> cell_tapes;
    PartialSumCells partial_sum_cells;
    bool keep_back = false;        ///< hold back the adjoints of the loads of primal.loop_partial_sums
    std::set<uint32_t> ahead;      ///< values of the primal that are computed before the loop over items
    std::vector<int> argument_of;  ///< the parameter of each memory, in the finished kernel
};

}  // namespace pumice::derive
