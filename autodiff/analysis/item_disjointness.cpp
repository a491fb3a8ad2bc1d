// Disjointness of items: a dependence test on affine indices, between two items of one launch.
//
// Each index is brought into the form step * global_index(axis) + base + constant modulo 2^bits, where the base is the same for
// all items. Two accesses with equal step and base, and constants less than one step apart, meet only inside one item. If every
// axis of the range has such a dimension, different items touch different elements, and adjoints are added without atomics.
// Row-major rows of a run-time length n are recognised too: row * n + column with the column the index of a for from 0 to n.
//
//     x[2 * i], x[2 * i + 1]     apart: the constants differ by 1, less than the step 2
//     x[i], x[i + 1]             not apart: item 1 reads x[1], and so does item 0
//     x[64 * i] in 32 bits       apart in launches of at most 2^26 items: the index wraps beyond that
//     x[u8(i)]                   not apart: items 0 and 256 meet
//
// A condition on the launch becomes an ItemLimit, which the host checks at each launch (fits_of).
// Cost: an affine form for each index. Limits: constant factors only; conditions below 2^20 items are refused, since such a
// launch would usually need the other kernel.
// This is the strong SIV subscript test of Goff, Kennedy and Tseng, "Practical Dependence Testing", PLDI 1991, with wrapping.
#include "autodiff/analysis/item_disjointness.h"

#include <algorithm>
#include <memory>

#include "autodiff/analysis/accumulation.h"
#include "core/analysis/loop_info.h"

namespace pumice::derive {

using namespace ir;

namespace {

constexpr int64_t most_items = INT32_MAX;          ///< items of a launch along an axis
constexpr int64_t least_items = int64_t(1) << 20;  ///< smaller limits are refused: many launches would exceed them

/// An index as step * global_index(axis) + base + constant modulo 2^bits. The base is the same for all items. `bits` is the
/// width of the narrowest type on the way: a value that is widened afterwards has wrapped before.
/// This is no ir::AffineForm, whose base may change from iteration to iteration: items meet across iterations, too. Besides, a
/// sum of several uniform values has a base here.
struct GlobalIndexForm {
    int axis = -1;  ///< -1: no global index
    int64_t step = 0, constant = 0;
    std::vector<Value> base;  ///< a sum, sorted
    int bits = 64;
    bool known = true;
};

GlobalIndexForm form_of(const Kernel& k, Value v);

GlobalIndexForm sum(const Kernel& k, Value x_value, Value y_value, bool minus) {
    const GlobalIndexForm x = form_of(k, x_value), y = form_of(k, y_value);
    GlobalIndexForm a;
    a.known = x.known && y.known && (x.axis < 0 || y.axis < 0) && !(minus && !y.base.empty());
    if (!a.known) return a;
    a = x.axis >= 0 ? x : y;
    if (minus && y.axis >= 0) a.step = wrapping_mul(a.step, -1);
    a.constant = wrapping_add(x.constant, minus ? wrapping_mul(y.constant, -1) : y.constant);
    a.base = x.base;
    a.base.insert(a.base.end(), y.base.begin(), y.base.end());
    std::ranges::sort(a.base, [](Value p, Value q) { return p.id < q.id; });
    a.bits = std::min(x.bits, y.bits);
    return a;
}

/// The affine form of a product with a constant.
GlobalIndexForm multiple(const Kernel& k, Value v, int64_t factor) {
    GlobalIndexForm x = form_of(k, v);
    x.known = x.known && x.base.empty();
    x.step = wrapping_mul(x.step, factor), x.constant = wrapping_mul(x.constant, factor);
    return x;
}

GlobalIndexForm form_of(const Kernel& k, Value v) {
    GlobalIndexForm a;
    if (const auto number = constant_integer(k, v)) {
        a.constant = int64_t(*number);
        return a;
    }
    if (same_for_all(k, v)) {
        a.base.push_back(v);
        return a;
    }
    a.known = false;
    if (k[v].inst.id == none) return a;
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    switch (i.op) {
        case Op::global_index: a.known = true, a.axis = int(i.immediate), a.step = 1; return a;
        case Op::cast:
        case Op::bitcast:
            if (is_int(i.type) && is_int(k.type_of(operands[0]))) a = form_of(k, operands[0]);
            break;
        case Op::add: a = sum(k, operands[0], operands[1], false); break;
        case Op::sub: a = sum(k, operands[0], operands[1], true); break;
        case Op::mul:
            for (int o = 0; o < 2 && !a.known; ++o)
                if (const auto factor = constant_integer(k, operands[size_t(o)]))
                    a = multiple(k, operands[size_t(1 - o)], int64_t(*factor));
            break;
        case Op::shl:
            if (uint64_t bits = 0; k.constant(operands[1], bits))
                a = multiple(k, operands[0], int64_t(uint64_t(1) << (bits & uint64_t(bits_of(i.type) - 1))));
            break;
        default: break;
    }
    if (a.known && a.axis >= 0 && a.step == 0) a.known = false;
    a.bits = std::min(a.bits, bits_of(i.type));
    return a;
}

/// True if the index is row * n + column, with the row affine and the column the index of a for from 0 to n: rows of
/// different items are disjoint. Gives the row, which wraps no earlier than the index.
bool row_and_column(const Kernel& k, const Structure& where, Value index, GlobalIndexForm& row, Value& length) {
    if (k[index].inst.id == none || k[k[index].inst].op != Op::add) return false;
    const auto v = k.operands(k[k[index].inst]);
    for (int o = 0; o < 2; ++o) {
        const Value product = v[size_t(o)], column = v[size_t(1 - o)];
        if (k[column].inst.id != none || k[product].inst.id == none || k[k[product].inst].op != Op::mul) continue;
        const Inst& loop = k[where.owner_of(k[column].block)];
        if (loop.op != Op::for_ || k[column].index != 0) continue;
        if (constant_integer(k, k.operands(loop)[0]) != 0 || constant_integer(k, k.operands(loop)[2]).value_or(0) < 1) continue;
        const Value n = k.operands(loop)[1];
        const auto factors = k.operands(k[k[product].inst]);
        for (int f = 0; f < 2; ++f) {
            if (factors[size_t(f)] != n || !same_for_all(k, n)) continue;
            row = form_of(k, factors[size_t(1 - f)]);
            length = n;
            row.known = row.known && row.bits >= bits_of(k.type_of(index));
            row.bits = std::min(row.bits, bits_of(k.type_of(index)));
            return row.known;
        }
    }
    return false;
}

/// The number of items along the axis that the limit allows.
int64_t items_within(const ItemLimit& limit, int64_t length) {
    using Wide = unsigned __int128;
    if (length < 1) return most_items;  // no column at all
    const Wide all = Wide(1) << limit.bits, each = Wide(limit.step) * Wide(length),
               rest = Wide(limit.between) * Wide(length) + Wide(length);
    if (rest > all) return 1;
    return int64_t(std::min<Wide>((all - rest) / each + 1, Wide(most_items)));
}

/// The largest number of items of a launch along an axis, as far as the kernel fixes it.
int64_t items_of(const Kernel& k, int axis) {
    const int64_t n = k.range[size_t(axis)], group = std::max<int64_t>(k.group[size_t(axis)], 1);
    return n > 0 && (!k.whole_groups || k.group[0]) ? (n + group - 1) / group * group : most_items;
}

/// True if the limit holds in all launches, or where it can be checked at each launch and `all` does not ask for all of
/// them.
bool holds(const Kernel& k, const ItemLimit& limit, bool all, std::vector<ItemLimit>& limits) {
    const Scalar type = limit.length ? k.type_of(limit.length) : Scalar::i8;
    int64_t longest = 1;
    if (limit.length)
        longest = int64_t(
            constant_integer(k, limit.length).value_or(bits_of(type) < 64 ? WideInt(1) << bits_of(type) : WideInt(INT64_MAX)));
    if (items_within(limit, longest) >= items_of(k, limit.axis)) return true;
    if (all || items_within(limit, 1) < least_items) return false;
    limits.push_back(limit);
    return true;
}

}  // namespace

bool items_apart(const Kernel& k, const Structure& where, std::span<const Value> x, std::span<const Value> y, bool all,
                 std::vector<ItemLimit>& limits) {
    if (x.size() != y.size() || k.rank == 0) return false;
    bool covered[3] = {};
    std::vector<ItemLimit> found;
    for (size_t d = 0; d < x.size(); ++d) {
        GlobalIndexForm a = form_of(k, x[d]), b = form_of(k, y[d]);
        Value n, m;
        if (!a.known && !b.known && row_and_column(k, where, x[d], a, n) && row_and_column(k, where, y[d], b, m) && n != m)
            return false;
        if (!a.known || !b.known || a.axis < 0 || a.axis != b.axis || covered[a.axis] || a.base != b.base) continue;
        const int bits = std::min(a.bits, b.bits);
        const int64_t step = wrapped(a.step, bits),
                      between = wrapped(wrapping_add(a.constant, wrapping_mul(b.constant, -1)), bits);
        if (step == 0 || step != wrapped(b.step, bits)) continue;
        ItemLimit limit{a.axis, bits, step < 0 ? -uint64_t(step) : uint64_t(step),
                        between < 0 ? -uint64_t(between) : uint64_t(between), n};
        covered[a.axis] = limit.between < limit.step && holds(k, limit, all, found);
    }
    for (int axis = 0; axis < k.rank; ++axis)
        if (!covered[axis]) return false;
    limits.insert(limits.end(), found.begin(), found.end());
    return true;
}

Fits fits_of(const Kernel& k, const std::vector<ItemLimit>& limits) {
    if (limits.empty()) return {};
    return [kernel = std::make_shared<const Kernel>(k), limits](const HostValues& known, const std::array<int64_t, 3>& items) {
        return std::ranges::all_of(limits, [&](const ItemLimit& limit) {
            const int64_t length = limit.length ? number_of(*kernel, limit.length, known) : 1;
            return items[size_t(limit.axis)] <= items_within(limit, length);
        });
    };
}

}  // namespace pumice::derive
