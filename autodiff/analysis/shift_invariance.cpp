// Shift invariance: finds values whose derivative is zero because the result does not depend on them, as in log-sum-exp.
//
// A softmax or log-sum-exp subtracts the maximum m before exp, only against overflow. In exact arithmetic the result is the same
// for every m, so the adjoint of m is 0: the reverse sweep needs neither the terms of this adjoint, which would cancel, nor the
// reverse of the maximum. The analysis adds a symbolic d to m and computes two numbers for each value v, of which one is 0: v
// becomes v + sum * d, or v * exp(factor * d). If every store, condition and index is unchanged, m is a shift, and activity
// analysis treats it as inactive.
//
//     %t = sub %x, %m       sum    = -1
//     %e = exp %t           factor = -1
//     %s = add %s, %e       factor = -1  (equal factors add up)
//     %l = log %s           sum    = -1
//     %y = add %m, %l       sum    =  0: the result does not change
//
// Cost: for each candidate (the second operand of a sub before an exp) a few passes over the kernel.
// Limits: only the operations in response() are followed; constants must be f32 or f64. Rounding and overflow are ignored.
// A shift that is computed in a loop must not be felt in the next iteration.
// See Blanchard, Higham and Higham, "Accurately Computing the Log-Sum-Exp and Softmax Functions", IMA J. Numer. Anal., 2021.
#include "autodiff/analysis/shift_invariance.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace pumice::derive {

using namespace ir;

namespace {

/// The response of a value where d is added to the shift: it grows by sum * d, or by the factor exp(factor * d). At least one
/// of `sum` and `factor` is 0; both are 0 where the value does not change.
struct Response {
    double sum = 0, factor = 0;
    bool zero = false;  ///< the value is 0, which fits every factor
    bool fixed() const { return sum == 0 && factor == 0; }
    bool operator==(const Response&) const = default;
};
using Maybe = std::optional<Response>;

/// The response of a value that is one of two others, or the sum of two with one factor.
Maybe either(const Response& x, const Response& y) {
    if (x.sum == y.sum && x.factor == y.factor) return Response{x.sum, x.factor, x.zero && y.zero};
    if (x.zero && y.sum == 0) return y;
    if (y.zero && x.sum == 0) return x;
    return std::nullopt;
}

std::optional<double> number(const Kernel& k, Value v) {
    uint64_t bits = 0;
    if (!k.constant(v, bits)) return std::nullopt;
    if (k.type_of(v) == Scalar::f32) return double(std::bit_cast<float>(uint32_t(bits)));
    return k.type_of(v) == Scalar::f64 ? std::optional(std::bit_cast<double>(bits)) : std::nullopt;
}

/// Propagates one shift through the kernel.
class Shift {
public:
    Shift(const Kernel& kernel, const Structure& structure, Value value)
        : k(kernel), where(structure), shift(value), responses(k.values.size()) {
        for (InstId i = where.owner_of(where.block_of(shift)); i.id != none; i = where.around(i)) around.push_back(i);
    }

    /// True if every effect and every condition stays the same.
    bool is_invariant() {
        while (changed) {
            changed = false;
            for (const InstId id : where.order())
                if (!visit(id)) return false;
        }
        return true;
    }

private:
    /// Records a response. False where the value already has another one: the value then has none of this form.
    bool set(Value v, Response now) {
        if (v == shift) now = {1, 0};
        Maybe& known = responses[v.id];
        if (known && !known->zero) return known->sum == now.sum && known->factor == now.factor;
        changed = changed || !known || *known != now;
        known = now;
        return true;
    }

    bool visit(InstId id) {
        const Inst& i = k[id];
        if (is_control(i.op)) return visit_construct(id);
        const auto v = k.operands(i);
        if (i.op == Op::yield || i.op == Op::break_ || i.op == Op::continue_) return true;  // handled by visit_construct
        if (i.op == Op::test) return fixed(v[0]);
        for (const Value o : v)
            if (!responses[o.id]) return true;  // of a construct whose response is not known yet
        Maybe now = Response{};
        if (!std::ranges::all_of(v, [&](Value o) { return fixed(o); })) now = response(i);
        if (i.op == Op::constant) now->zero = number(k, k.result(i)) == 0.0;
        if (!now) return false;
        for (int r = 0; r < i.result_count; ++r)
            if (!set(k.result(i, r), *now)) return false;
        return true;
    }

    bool visit_construct(InstId id) {
        const Inst& i = k[id];
        for (const Value o : k.operands(i).first(leading_operands(i.op)))
            if (!fixed(o)) return false;
        // The shift differs from one iteration of the enclosing loop to the next, so no iteration may feel the shift of an
        // earlier one.
        const bool inside = is_loop(i.op) && std::ranges::find(around, id) != around.end();
        if (i.op == Op::for_ && !set(k[i.blocks[0]].params[0], {})) return false;
        for (uint32_t c = 0; c < i.result_count; ++c) {
            Maybe all;
            bool fits = true, complete = true;
            where.each_source(id, c, [&](Value source, InstId) {
                const Maybe& one = responses[source.id];
                complete = complete && one;
                if (!one || !fits) return;
                const Maybe both = all ? either(*all, *one) : one;
                fits = both.has_value() && !(inside && !both->fixed());
                if (fits) all = both;
            });
            if (!fits) return false;
            if (!all) continue;
            if (is_loop(i.op) && !set(k[i.blocks[0]].params[leading_params(i.op) + c], *all)) return false;
            if (complete && !set(k.result(i, int(c)), *all)) return false;
        }
        return true;
    }

    bool fixed(Value v) const { return !responses[v.id] || responses[v.id]->fixed(); }

    /// The response of an instruction of which some operand changes.
    Maybe response(const Inst& i) const {
        const auto v = k.operands(i);
        const Response x = *responses[v[0].id], y = v.size() > 1 ? *responses[v[1].id] : Response{};
        const bool sums = x.factor == 0 && y.factor == 0, factors = x.sum == 0 && y.sum == 0;
        switch (i.op) {
            case Op::add: return sums ? Response{x.sum + y.sum, 0} : either(x, y);
            case Op::sub: return sums ? Response{x.sum - y.sum, 0} : either(x, y);
            case Op::neg: return Response{-x.sum, x.factor};
            case Op::mul:
                if (factors) return Response{0, x.factor + y.factor};
                if (const auto by = number(k, v[0]); by && sums) return Response{*by * y.sum, 0};
                if (const auto by = number(k, v[1]); by && sums) return Response{x.sum * *by, 0};
                return std::nullopt;
            case Op::div:
                if (factors) return Response{0, x.factor - y.factor};
                if (const auto by = number(k, v[1]); by && sums) return Response{x.sum / *by, 0};
                return std::nullopt;
            case Op::exp: return sums ? Maybe(Response{0, x.sum}) : std::nullopt;
            case Op::log: return factors ? Maybe(Response{x.factor, 0}) : std::nullopt;
            case Op::min:
            case Op::max: return either(x, y);
            case Op::lt:
            case Op::le:
            case Op::gt:
            case Op::ge:
            case Op::eq:
            case Op::ne: return either(x, y) ? Maybe(Response{}) : std::nullopt;
            case Op::select: return x.fixed() ? either(y, *responses[v[2].id]) : std::nullopt;
            case Op::cast: return is_float(i.type) && is_float(k.type_of(v[0])) ? Maybe(x) : std::nullopt;
            default: return std::nullopt;
        }
    }

    const Kernel& k;
    const Structure& where;
    const Value shift;
    std::vector<InstId> around;    ///< constructs around the shift
    std::vector<Maybe> responses;  ///< of values; nullopt: not known yet
    bool changed = true;
};

}  // namespace

std::vector<bool> shift_invariant_values(const Kernel& k, const Structure& where) {
    std::vector<bool> asked(k.values.size()), found(k.values.size());
    for (const InstId id : where.order()) {
        if (k[id].op != Op::exp) continue;
        InstId difference = k[k.operands(k[id])[0]].inst;
        while (difference.id != none && (k[difference].op == Op::mul || k[difference].op == Op::div)) {
            const auto factors = k.operands(k[difference]);
            difference = k[factors[number(k, factors[0]) ? 1 : 0]].inst;
        }
        if (difference.id == none || k[difference].op != Op::sub) continue;
        const Value v = k.operands(k[difference])[1];
        if (asked[v.id]) continue;
        asked[v.id] = true;
        found[v.id] = Shift(k, where, v).is_invariant();
    }
    return found;
}

}  // namespace pumice::derive
