// Groups of which every item passes the conditions around what it does: inside of the range, and of what the kernel compares its indices
// with. Their code has no masks.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 32;          ///< to what is compared
constexpr size_t most_guarded = 150;    ///< instructions of a kernel, which are written twice
}  // namespace

// ---- what all items of a group have in common, from the items at its corners ----

/// Whether a value follows by cheap arithmetic from the item's indices and what is there for the launch.
bool Emitter::follows_anywhere(Value v, int& steps) const {
    const InstId source = k[v].inst;
    if (source.id == none || !is_pure(k[source].op) || is_costly(k[source]) || --steps < 0) return false;
    const auto operands = k.operands(k[source]);
    return std::all_of(operands.begin(), operands.end(), [&](Value o) { return follows_anywhere(o, steps); });
}

/// By how much a value grows along the axes of the group, where that is a constant.
std::optional<std::array<int64_t, 3>> Emitter::growth_in_group(Value v) const {
    const AffineForm& f = affine.of(v);
    int steps = most_steps;
    if (!f.known || f.rest > Scope::group || k.type_of(v) != Scalar::i32 || kind_of(v) == Kind::vector || !follows_anywhere(v, steps))
        return std::nullopt;
    std::array<int64_t, 3> by{};
    int64_t span = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
        const auto step = f.step(32, axis);
        if (!step || std::abs(*step) > INT32_MAX) return std::nullopt;
        by[axis] = *step;
        span += std::abs(by[axis]) * (variant.group[axis] - 1);
    }
    return span <= INT32_MAX ? std::optional(by) : std::nullopt;
}

/// Whether the group can tell a condition's outcome for its items: comparisons of what grows steadily with what does not grow.
bool Emitter::is_guard(Value condition) const {
    const InstId source = k[condition].inst;
    if (source.id == none) return false;
    const Inst& i = k[source];
    const auto v = k.operands(i);
    if (i.op == Op::and_) return is_guard(v[0]) && is_guard(v[1]);
    if (i.op != Op::lt && i.op != Op::le && i.op != Op::gt && i.op != Op::ge) return false;
    const auto a = growth_in_group(v[0]), b = growth_in_group(v[1]);
    const std::array<int64_t, 3> still{};
    return a && b && (*a == still || *b == still);
}

/// An i1: the condition holds for all of the group's items.
std::string Emitter::holds_in_group(Value condition) {
    const Inst& i = k[k[condition].inst];
    const auto v = k.operands(i);
    if (i.op == Op::and_) {
        const std::string a = holds_in_group(v[0]), b = holds_in_group(v[1]);
        return let(text("and i1 ", a, ", ", b));
    }
    const bool below = i.op == Op::lt || i.op == Op::le;
    // The most that is to be below the least, and no value in between that has wrapped.
    const auto [a_least, a_most] = extremes_in_group(v[0]);
    const auto [b_least, b_most] = extremes_in_group(v[1]);
    const char* const how = i.op == Op::lt ? "slt" : i.op == Op::le ? "sle" : i.op == Op::gt ? "sgt" : "sge";
    std::string all = let(text("icmp ", how, " i32 ", below ? a_most : a_least, ", ", below ? b_least : b_most));
    for (const auto& [least, most] : {std::pair(a_least, a_most), std::pair(b_least, b_most)})
        if (least != most) all = let(text("and i1 ", all, ", ", let(text("icmp sle i32 ", least, ", ", most))));
    return all;
}

/// What a value is for the items for which it is least and most, if it does not wrap in between.
std::pair<std::string, std::string> Emitter::extremes_in_group(Value v) {
    const std::array<int64_t, 3> by = *growth_in_group(v);
    const auto at = [&](bool most) {
        const std::array<std::string, 3> before = local_at;
        for (size_t axis = 0; axis < 3; ++axis)
            local_at[axis] = std::to_string((by[axis] > 0) == most && by[axis] != 0 ? variant.group[axis] - 1 : 0);
        std::string value;
        packet({}, [&] {
            const bool brings = std::exchange(bringing_in, true);  // what is computed here is kept for nobody
            follow(v);
            value = scalar(v);
            bringing_in = brings;
        });
        local_at = before;
        return value;
    };
    const std::string least = at(false);
    return {least, by == std::array<int64_t, 3>{} ? least : at(true)};
}

/// An i1: all of the group is in the range.
std::string Emitter::group_inside() {
    std::string inside = "true";
    for (size_t axis = 0; axis < 3 && !variant.full; ++axis) {
        if (axis > 0 && variant.group[axis] == 1) continue;
        const std::string base = let(text("mul i32 ", group_at[axis], ", ", variant.group[axis]));
        const std::string left = let(text("sub i32 ", axis_text("extent", int(axis)), ", ", base));
        const std::string fits = let(text("icmp sge i32 ", left, ", ", variant.group[axis]));
        inside = inside == "true" ? fits : let(text("and i1 ", inside, ", ", fits));
    }
    return inside;
}

// ---- the kernel's ----

/// The conditions under which items bring something into local memory, as far as the group can tell them. There are others, which hold for
/// few items anyway.
void Emitter::find_guards(BlockId block, std::vector<Value>& found) const {
    const auto brings = [&](InstId id) { return k[id].op == Op::store && k[k[id].memory].kind == MemoryKind::local; };
    for (const InstId id : k[block].insts) {
        const Inst& i = k[id];
        if (i.op != Op::if_) continue;
        const auto& inner = k[i.blocks[0]].insts;
        const Value condition = k.operands(i)[0];
        if (std::any_of(inner.begin(), inner.end(), brings) && uniformity.of(condition) > Scope::group && is_guard(condition))
            found.push_back(condition);
        else if (const InstId source = k[condition].inst; source.id != none && k[source].op == Op::in_range)
            find_guards(i.blocks[0], found);
    }
}

bool Emitter::is_granted(Value condition) const {
    return std::find(granted.begin(), granted.end(), condition) != granted.end();
}

/// Writes a group twice, if it has such conditions: once for groups that pass them all.
void Emitter::with_and_without_guards(const Body& whole) {
    const auto& order = uniformity.structure().order();
    const bool asks = !variant.full && std::any_of(order.begin(), order.end(), [&](InstId i) { return k[i].op == Op::in_range; });
    std::vector<Value> guards;
    if (order.size() <= most_guarded) find_guards(BlockId{0}, guards);
    std::string passes = asks ? group_inside() : "true";
    for (const Value g : guards) passes = let(text("and i1 ", passes, ", ", holds_in_group(g)));
    all_in_range = variant.full;
    if (passes == "true") return whole();
    const std::string end = return_label, full = label("full"), partial = label("partial");
    branch(passes, full, partial);
    start(full);
    all_in_range = true;
    granted = guards;
    if (!granted.empty()) place_staging();
    whole();
    if (open) jump(end);
    start(partial);
    all_in_range = variant.full;
    granted.clear();
    whole();
}

}  // namespace pumice::cpu
