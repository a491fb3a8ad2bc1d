// The adjoints that the reverse sweep holds.
#pragma once
#include <set>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class Accumulators : SweepContext {
public:
    /// The adjoint of a value, or the sum for a shadow element to which all items add.
    struct Accumulator {
        ir::Value now;  ///< none: zero, or unused because there is a `var`
        ir::Value var;
        bool zero = true, touched = false;  ///< touched: something was added, also in an arm or a loop that has ended
        ir::Value factor, partial;          ///< a pending product of the sum, not yet emitted; `zero` does not include it
    };
    explicit Accumulators(const SweepContext& context);

    /// The number of the accumulator of a value in direction w.
    size_t of(ir::Value v, int w) const { return size_t(v.id) * size_t(width) + size_t(w); }
    void add(size_t at, ir::Value term);
    void add(ir::Value v, int w, ir::Value term) {
        if (analysis.active(v)) add(of(v, w), term);
    }
    /// Adds factor * partial. Consecutive products with one factor become one product with the sum of the partial derivatives:
    /// these are ready before the factor, for which the sweep waits.
    void add_product(size_t at, ir::Value factor, ir::Value partial);
    /// True if the adjoint of a product with a constant is itself a pending product: the constant is multiplied into the partial
    /// derivative, and the product stays pending.
    bool passes_on(const ir::Inst& i, int w);
    /// The sum so far, with the product that is pending; none where it is zero. The sum stays.
    ir::Value take(size_t at);
    ir::Value take(ir::Value v, int w) { return take(of(v, w)); }

    /// Makes the accumulator a variable that is zero.
    void open(size_t at, Scalar type);
    /// Opens the accumulators of values of the block to which other blocks contribute.
    void open_block(ir::BlockId block);
    bool is_open(size_t at) const { return bool(all[at].var); }
    /// An accumulator that belongs to no value.
    size_t new_sum();
    /// The sum so far in a variable; and its return to zero.
    ir::Value variable_of(ir::Value v, int w) { return b.get(all[of(v, w)].var); }
    void clear(ir::Value v, int w);

    // ---- control flow ----
    const std::vector<Accumulator>& state() const { return all; }
    void restore(std::vector<Accumulator> saved) { all = std::move(saved); }
    /// After an if: an accumulator is zero where both arms leave it zero. An accumulator that is no variable belongs to one of
    /// the arms.
    void join_arms(const std::vector<Accumulator>& before, const std::vector<Accumulator>& after_then);
    /// The state before a loop. Inside of it variables may hold what earlier iterations have added.
    std::vector<Accumulator> begin_loop();
    void end_loop(const std::vector<Accumulator>& before);
    void assume_nonzero(size_t at) { all[at].zero = false; }
    /// True if something was added for a value that is not one of these.
    bool touched_outside(const std::set<uint32_t>& values) const;

private:
    void make_product(size_t at);

    std::vector<Accumulator> all;
    std::vector<std::vector<ir::Value>> active_in;  ///< by block: active values of it with a use in another block
};

}  // namespace pumice::derive
