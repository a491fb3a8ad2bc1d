// Condition versioning: groups whose items all satisfy the kernel's group conditions run a version without masks.
//
// Why: a staging load `if (in_range && column < n) tile[i] = a[...]` needs masked loads and stores only in groups at the edge of
// the range. For all other groups the condition is true for every item.
//
//     before:  for each packet: %m = icmp slt <8 x i32> %column, %n;  masked load; masked store
//     after:   %all = icmp slt i32 (largest column of the group), %n;  br %all, full, partial
//              full:     plain vector load and store;  staging memory promoted to registers
//              partial:  the masked code
//
// The test is on the group's corner items: an affine value takes its least and largest value there (bounds_in_group). A test
// that it does not wrap in between is part of the condition.
// Cost: the group's code is written twice; group conditions only in kernels of at most 150 instructions. Limits: kernels with
// barriers; conditions made of <, <=, >, >= and `and` over i32 values that are affine in the local indices, one side of the
// comparison constant in the group; only group conditions around stores to local memory, and in_range. Textbook: loop unswitching
// by versioning; interval analysis of affine forms at the corners of a box.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 32;          ///< instructions that a compared value may take to recompute
constexpr size_t most_versioned = 150;  ///< instructions of a kernel that is written twice
}  // namespace

// ---- tests for all items of a group, by the items at its corners ----

/// The steps of a value along the axes of the group, if they are constants and the value is an i32 that is cheap to recompute.
std::optional<std::array<int64_t, 3>> LlvmEmitter::growth_in_group(Value v) const {
    const AffineForm& f = affine.of(v);
    int steps = most_steps;
    if (!f.known || f.rest > Scope::group || k.type_of(v) != Scalar::i32 || kind_of(v) == ValueKind::vector ||
        !is_rematerialisable(v, steps, true))
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

/// True if the outcome of a condition can be tested for the whole group: comparisons of an affine value with one constant in the
/// group.
bool LlvmEmitter::is_group_condition(Value condition) const {
    const InstId source = k[condition].inst;
    if (source.id == none) return false;
    const Inst& i = k[source];
    const auto v = k.operands(i);
    if (i.op == Op::and_) return is_group_condition(v[0]) && is_group_condition(v[1]);
    if (i.op != Op::lt && i.op != Op::le && i.op != Op::gt && i.op != Op::ge) return false;
    const auto a = growth_in_group(v[0]), b = growth_in_group(v[1]);
    const std::array<int64_t, 3> still{};
    return a && b && (*a == still || *b == still);
}

/// An i1: the condition holds for all of the group's items.
std::string LlvmEmitter::holds_in_group(Value condition) {
    const Inst& i = k[k[condition].inst];
    const auto v = k.operands(i);
    if (i.op == Op::and_) {
        const std::string a = holds_in_group(v[0]), b = holds_in_group(v[1]);
        return let(text("and i1 ", a, ", ", b));
    }
    const bool below = i.op == Op::lt || i.op == Op::le;
    // Compares the largest left value with the least right value, or the reverse; then tests that neither value wraps in between.
    const auto [a_least, a_most] = bounds_in_group(v[0]);
    const auto [b_least, b_most] = bounds_in_group(v[1]);
    const char* const how = i.op == Op::lt ? "slt" : i.op == Op::le ? "sle" : i.op == Op::gt ? "sgt" : "sge";
    std::string all = let(text("icmp ", how, " i32 ", below ? a_most : a_least, ", ", below ? b_least : b_most));
    for (const auto& [least, most] : {std::pair(a_least, a_most), std::pair(b_least, b_most)})
        if (least != most) all = let(text("and i1 ", all, ", ", let(text("icmp sle i32 ", least, ", ", most))));
    return all;
}

/// The least and the largest value over the items of the group, at its corners. Valid if the value does not wrap in between.
std::pair<std::string, std::string> LlvmEmitter::bounds_in_group(Value v) {
    const std::array<int64_t, 3> by = *growth_in_group(v);
    const auto at = [&](bool most) {
        const std::array<std::string, 3> before = local_at;
        for (size_t axis = 0; axis < 3; ++axis)
            local_at[axis] = std::to_string((by[axis] > 0) == most && by[axis] != 0 ? variant.group[axis] - 1 : 0);
        std::string value;
        packet({}, [&] {
            const bool brings = std::exchange(restoring, true);  // values computed here are not saved for other regions
            rematerialise(v);
            value = scalar(v);
            restoring = brings;
        });
        local_at = before;
        return value;
    };
    const std::string least = at(false);
    return {least, by == std::array<int64_t, 3>{} ? least : at(true)};
}

/// An i1: all items of the group are in the range.
std::string LlvmEmitter::group_inside() {
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

// ---- the group conditions of the kernel ----

/// Finds the group conditions: conditions of ifs that store to local memory, if their outcome can be tested for the group. Other
/// conditions are not worth a version.
void LlvmEmitter::find_group_conditions(BlockId block, std::vector<Value>& found) const {
    const auto brings = [&](InstId id) { return k[id].op == Op::store && k[k[id].memory].kind == MemoryKind::local; };
    for (const InstId id : k[block].insts) {
        const Inst& i = k[id];
        if (i.op != Op::if_) continue;
        const auto& inner = k[i.blocks[0]].insts;
        const Value condition = k.operands(i)[0];
        if (std::any_of(inner.begin(), inner.end(), brings) && uniformity.of(condition) > Scope::group &&
            is_group_condition(condition))
            found.push_back(condition);
        else if (const InstId source = k[condition].inst; source.id != none && k[source].op == Op::in_range)
            find_group_conditions(i.blocks[0], found);
    }
}

bool LlvmEmitter::is_proven(Value condition) const { return std::find(proven.begin(), proven.end(), condition) != proven.end(); }

/// Writes a group in two versions if it has group conditions: for groups that pass all of them, and for the others.
void LlvmEmitter::condition_versions(const Body& whole) {
    const auto& order = uniformity.structure().order();
    const bool asks = !variant.full && std::any_of(order.begin(), order.end(), [&](InstId i) { return k[i].op == Op::in_range; });
    std::vector<Value> conditions;
    if (order.size() <= most_versioned && target.rules.has(Rule::condition_versions))
        find_group_conditions(BlockId{0}, conditions);
    std::string passes = asks ? group_inside() : "true";
    for (const Value g : conditions) passes = let(text("and i1 ", passes, ", ", holds_in_group(g)));
    all_in_range = variant.full;
    if (passes == "true") return whole();
    const std::string end = return_label, full = label("full"), partial = label("partial");
    branch(passes, full, partial);
    start(full);
    all_in_range = true;
    proven = conditions;
    if (!proven.empty()) allocate_staging();
    whole();
    if (open) jump(end);
    start(partial);
    all_in_range = variant.full;
    proven.clear();
    whole();
}

}  // namespace pumice::cpu
