// Quiet values: which floats are no signalling NaNs, so that min and max of them are one instruction of AVX-512.
//
// Why: min and max take the other operand of a NaN. The vmaxps of x86-64 takes its second operand instead, so that LLVM adds a
// comparison and a blend. The vrangeps of AVX-512 takes the other operand of a quiet NaN, but gives NaN for a signalling one:
//
//     %x = max %a, %b : f32      vmaxps %b, %a; vcmpunordps %b, %b; vmovaps {%k1}       => vrangeps $5, %b, %a
//
// Arithmetic makes every NaN quiet. A load may give a signalling one, which the host or a bit cast has written.
// Method: the value is a sum, difference, product or fma that LLVM does not fold as it folds x * 1 and x - 0 to x; or min, max,
// select, neg or abs of quiet values, or a column of a construct whose sources are all quiet. Not folded are operations on what
// LLVM never takes for a constant: loads of arrays that the kernel only reads, scalar arguments, and arithmetic on one of them.
// A carried value counts as what is to be shown until a source contradicts.
// Cost: at most `most_values` values for each question. Limits: f32 and f64; quotients, roots and other functions are not
// followed.
// Textbook name: optimistic dataflow analysis (Kildall, POPL 1973); LLVM's isKnownNeverSNaN.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "cpu/arithmetic/quiet_values.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr size_t most_values = 100;

class QuietValues {
public:
    QuietValues(const Kernel& kernel, const Structure& structure) : k(kernel), structure(structure) {}

    bool is_quiet(Value v) {
        return quiet.holds(v, [&] { return is_quiet_by_sources(v); });
    }

private:
    /// A property of values that a cycle of carried values does not contradict.
    class Property {
    public:
        template <class F> bool holds(Value v, F by_sources) {
            const auto [at, fresh] = known.try_emplace(v.id, true);
            if (!fresh) return at->second;
            const size_t before = assumed.size();
            assumed.push_back(v.id);
            if (++asked <= most_values && by_sources()) return true;
            for (; assumed.size() > before; assumed.pop_back()) known.erase(assumed.back());  // they may rest on this value
            return known[v.id] = false;
        }

    private:
        std::map<uint32_t, bool> known;
        std::vector<uint32_t> assumed;
        size_t asked = 0;
    };

    bool is_quiet_by_sources(Value v) {
        const auto each_quiet = [&](Value o) { return is_quiet(o); };
        if (k[v].inst.id == none) return of_sources(v, each_quiet);
        const Inst& i = k[k[v].inst];
        const auto o = k.operands(i);
        switch (i.op) {
            case Op::constant: return !std::isnan(number_of(v));
            case Op::add:
            case Op::sub:
            case Op::mul:
            case Op::fma: return std::ranges::all_of(o, [&](Value of) { return is_no_neutral_element(of); });
            case Op::neg:
            case Op::abs:
            case Op::min:
            case Op::max: return std::ranges::all_of(o, each_quiet);
            case Op::select: return is_quiet(o[1]) && is_quiet(o[2]);
            case Op::cast: return is_int(k.type_of(o[0]));
            default: return is_control(i.op) && of_sources(v, each_quiet);
        }
    }

    /// True if LLVM never finds out that the value is a constant, or if it is one other than 0, 1 and -1.
    bool is_no_neutral_element(Value v) {
        const double number = std::fabs(number_of(v));
        return number > 0 ? number != 1 : is_computed(v);
    }
    bool is_computed(Value v) {
        return computed.holds(v, [&] { return is_computed_by_sources(v); });
    }
    bool is_computed_by_sources(Value v) {
        const auto each_computed = [&](Value o) { return is_computed(o); };
        if (k[v].inst.id == none) return of_sources(v, each_computed);
        const Inst& i = k[k[v].inst];
        switch (i.op) {
            case Op::argument: return true;
            case Op::load: return k[i.memory].kind == MemoryKind::array && k[i.memory].access == Access::in;
            case Op::add:
            case Op::sub:
            case Op::mul:
            case Op::div:
            case Op::fma:
            case Op::neg:
            case Op::sqrt:
            case Op::exp: return std::ranges::any_of(k.operands(i), each_computed);
            default: return is_control(i.op) && of_sources(v, each_computed);
        }
    }

    /// True if `holds` for all values that may become this result of a construct, or this carried value.
    template <class F> bool of_sources(Value v, F holds) const {
        const bool parameter = k[v].inst.id == none;
        const InstId construct = parameter ? structure.owner_of(k[v].block) : k[v].inst;
        if (construct.id == none || !is_control(k[construct].op)) return false;
        const uint32_t leading = parameter ? leading_params(k[construct].op) : 0;
        if (k[v].index < leading) return false;
        bool all = true;
        structure.each_source(construct, k[v].index - leading, [&](Value source, InstId) { all = all && holds(source); });
        return all;
    }

    /// The number of a constant; NaN for other values.
    double number_of(Value v) const {
        uint64_t bits = 0;
        if (!k.constant(v, bits)) return std::numeric_limits<double>::quiet_NaN();
        return k.type_of(v) == Scalar::f64 ? std::bit_cast<double>(bits) : double(std::bit_cast<float>(uint32_t(bits)));
    }

    const Kernel& k;
    const Structure& structure;
    Property quiet, computed;
};

}  // namespace

bool is_quiet(const Kernel& kernel, const Structure& structure, Value value) {
    return QuietValues(kernel, structure).is_quiet(value);
}

}  // namespace pumice::cpu
