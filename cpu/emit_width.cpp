// How many items a packet has: the device's width, less where rows are shorter, twice as many where they wait for arithmetic.
#include <algorithm>

#include "core/ops.h"
#include "cpu/emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int arithmetic_of_an_access = 8;  ///< instructions for a vector moved, beyond which it is they that take the time
constexpr int moves_of_a_gather = 4;        ///< vectors moved in the time in which one is gathered or scattered
constexpr int arithmetic_of_a_spill = 4;    ///< instructions for a vector that waits in memory, beyond which it does no harm
constexpr size_t most_doubled = 300;        ///< instructions of a kernel: twice as wide it takes half as long again to compile
constexpr int spare_registers = 6;          ///< for constants, and what one instruction passes to the next

}  // namespace

int instructions_of(const Kernel& k, const Inst& i) {
    if (!is_scalar_op(i.op)) return i.op == Op::select ? 1 : 0;
    const std::string_view cell = llvm_text(i.op, k.type_of(k.operands(i)[0]));
    if (cell.starts_with("sleef") || cell == "host") return 16;
    return i.op == Op::div || i.op == Op::sqrt || i.op == Op::rsqrt ? 6 : 1;
}

void Emitter::choose_width() {
    const bool subgroups = std::any_of(k.insts.begin(), k.insts.end(), [](const Inst& i) {
        return i.op == Op::subgroup || i.op == Op::subgroup_size || i.op == Op::subgroup_lane || i.op == Op::subgroup_index ||
               i.op == Op::subgroup_count;
    });
    if (subgroups) return;  // whose size is the device's
    while (width > 1 && width / 2 >= variant.group[0]) width /= 2;
    const int registers = target.isa == Isa::avx512 || target.isa == Isa::neon ? 32 : 16;
    const bool could = width > 1 && width == target.width && !has_barriers && variant.group[0] >= 2 * width &&
                       uniformity.structure().order().size() <= most_doubled;
    if (could && waits_for_arithmetic(std::max(0, 2 * vectors_alive() + spare_registers - registers))) width *= 2;
}

/// Whether an access goes to its places lane by lane.
bool Emitter::gathers(const Inst& i) const {
    const auto indices = indices_of(k, i);
    return k[i.memory].kind != MemoryKind::private_ && std::any_of(indices.begin(), indices.end(), [&](Value v) { return kind_of(v) == Kind::vector; });
}

/// Whether results come later than their instructions could follow each other: two vectors of items then take hardly longer than
/// one. It is where arithmetic outweighs the vectors moved, in the whole kernel or in a loop, and none is of 64 bits, whose
/// packets have two vectors already. Where that makes `spilled` vectors too many for the registers it must be a loop, whose
/// iterations wait for each other, and outweigh those, too.
bool Emitter::waits_for_arithmetic(int spilled) const {
    for (const InstId i : uniformity.structure().order())
        for (int r = 0; r < k[i].result_count; ++r)
            if (kind_of(k.result(k[i], r)) == Kind::vector && size_of(k.type_of(k.result(k[i], r))) > 4) return false;
    const auto outweighs = [&](const auto& each) {
        int arithmetic = 0, accesses = 0;
        each([&](InstId id) {
            const Inst& i = k[id];
            const auto v = k.operands(i);
            if (is_pure(i.op))
                arithmetic += kind_of(k.result(i)) == Kind::vector ? instructions_of(k, i) : 0;
            else if (!is_control(i.op) && !is_terminator(i.op) && std::any_of(v.begin(), v.end(), [&](Value o) { return varying(o); }))
                accesses += i.memory.id != none && gathers(i) ? moves_of_a_gather : 1;
        });
        if (arithmetic <= arithmetic_of_a_spill * spilled) return false;
        return accesses > 0 ? arithmetic > arithmetic_of_an_access * accesses : arithmetic > 4;
    };
    const auto& order = uniformity.structure().order();
    if (spilled == 0 && outweighs([&](auto f) { std::for_each(order.begin(), order.end(), f); })) return true;
    return std::any_of(order.begin(), order.end(), [&](InstId id) {
        return is_loop(k[id].op) && outweighs([&](auto f) { each_inside(k, k[id], f); });
    });
}

/// The most vectors that are needed at one place of the kernel.
int Emitter::vectors_alive() const {
    const auto& where = uniformity.structure();
    const auto& order = where.order();
    std::vector<int> at(k.insts.size()), end(k.insts.size());  // positions of instructions; of the last one inside
    for (int n = 0; n < int(order.size()); ++n) {
        at[order[size_t(n)].id] = end[order[size_t(n)].id] = n;
        for (InstId c = where.around(order[size_t(n)]); c.id != none; c = where.around(c)) end[c.id] = n;
    }
    // What a construct gives is there behind it, what a loop carries all through it.
    std::vector<int> from(k.values.size()), to(k.values.size(), -1);
    for (const InstId id : order) {
        for (int r = 0; r < k[id].result_count; ++r) from[k.result(k[id], r).id] = end[id.id];
        for (const BlockId b : k[id].blocks)
            if (b.id != none)
                for (const Value p : k[b].params) from[p.id] = at[id.id], to[p.id] = end[id.id];
    }
    for (const InstId id : order)
        for (const Value v : k.operands(k[id])) {
            int last = at[id.id];
            for (InstId c = where.around(id); c.id != none; c = where.around(c))
                if (is_loop(k[c].op) && at[c.id] > from[v.id]) last = end[c.id];  // needed in each iteration
            to[v.id] = std::max(to[v.id], last);
        }
    std::vector<int> change(order.size() + 1);
    for (size_t v = 0; v < k.values.size(); ++v) {
        if (to[v] < from[v] || kind_of(Value{uint32_t(v)}) != Kind::vector) continue;
        ++change[size_t(from[v])], --change[size_t(to[v])];
    }
    int alive = 0, most = 0;
    for (const int c : change) most = std::max(most, alive += c);
    return most;
}

}  // namespace pumice::cpu
