// Address computation: the indices of an access as GLSL.
//
// Several indices become one row-major offset by Horner's rule, `((i * extent_j) + j) * extent_k + k`; a local or private array
// of constant extents that is always accessed by all its indices stays a nested GLSL array.
//
//   %v = load arg1[%0, %1] : f32            arg1[i * arg1_extent_x + j]
//
// Cost: a multiplication and an addition for each further index. Limits: offsets are 32-bit unless Options::wide_offsets; no
// bounds checks, except that an index that is constant and out of bounds is hidden from GLSL's compiler, which would refuse it.
#include "codegen/glsl_body/element_indices.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {
/// Elements of a private array that Mesa 22.3 accesses by comparisons of the index, without a register for the array.
constexpr int64_t longest_in_place = 32;
}  // namespace

/// True if GLSL's compiler could reject the access: all indices are constants, and the element may lie outside of the array. Of a
/// local array whose size the launch fixes, only element 0 is known to exist.
bool ElementIndices::may_be_refused(const Inst& i) const {
    const Memory& m = k[i.memory];
    const auto indices = indices_of(k, i);
    const bool fixed = !m.extents.empty(), nested = usage.memories[i.memory.id].nested;
    int64_t place = 0, count = fixed ? 1 : m.kind == MemoryKind::array ? std::numeric_limits<int32_t>::max() : 1;
    for (size_t d = 0; d < indices.size(); ++d) {
        uint64_t bits = 0;
        if (!k.constant(indices[d], bits) || (d > 0 && !fixed)) return false;  // the extents of arrays are not constants
        const int64_t index =
            std::clamp<int64_t>(signed_value(k.type_of(indices[d]), bits), -1, std::numeric_limits<int32_t>::max());
        if (nested && fixed && (index < 0 || index >= m.extents[d])) return true;
        place = d > 0 ? place * m.extents[d] + index : index;
        if (place < 0) return true;
    }
    if (fixed)
        for (const int64_t extent : m.extents) count *= extent;
    return place >= count;
}

/// Passes constant indices through a function, so that GLSL's compiler does not see constants. An access outside of its array is
/// an error only if an item executes it, not at compile time.
void ElementIndices::hide_constants(std::vector<Expression>& indices) {
    const std::string name = "not_constant";
    if (!out.has_function(name)) out.define_function(name, text("int ", name, "(int index) {\n    return index;\n}\n"));
    for (Expression& index : indices) index = fill(text(name, "(int($0))"), {index});
}

/// Adds a zero, which the driver cannot know, to an index of a store that a loop may count (Options::stale_counters). `of`: the
/// values that the index is made of.
void ElementIndices::part_from_counters(const Inst& i, std::span<const Value> of, Expression& index) const {
    const Memory& m = k[i.memory];
    const auto is_constant = [&](Value v) {
        uint64_t bits = 0;
        return k.constant(v, bits);
    };
    if (!options.stale_counters || i.op != Op::store || m.kind != MemoryKind::private_ || std::ranges::all_of(of, is_constant) ||
        std::accumulate(m.extents.begin(), m.extents.end(), int64_t(1), std::multiplies<>()) <= longest_in_place)
        return;
    index = fill("$0 + int(pm_zero())", {index});
}

std::vector<Expression> ElementIndices::of(const Inst& i) {
    const auto indices = indices_of(k, i);
    const Memory& m = k[i.memory];
    // A single index into a bound array needs no 64-bit arithmetic: a binding ends at 4 GiB.
    const bool wide =
        options.wide_offsets && m.kind == MemoryKind::array && (indices.size() > 1 || interface.by_address(i.memory));
    if (wide) interface.need_type(Scalar::i64);
    const auto integer = [&](Value v) {
        const Scalar type = k.type_of(v);
        const Expression e = values.use(v);
        if (wide) return type == Scalar::i64 ? e : fill("int64_t($0)", {e});
        if (type == Scalar::i32 || (type == Scalar::u32 && indices.size() == 1)) return e;
        if (options.pairs && is_pair(type)) return fill(indices.size() == 1 ? "$0.x" : "int($0.x)", {e});
        return fill(is_unsigned_int(type) && indices.size() == 1 ? "uint($0)" : "int($0)", {e});
    };
    if (usage.memories[i.memory.id].nested) {
        std::vector<Expression> all;
        for (const Value v : indices) all.push_back(integer(v));
        if (may_be_refused(i)) hide_constants(all);
        for (size_t d = 0; d < all.size(); ++d) part_from_counters(i, indices.subspan(d, 1), all[d]);
        return all;
    }
    Expression index = integer(indices[0]);
    for (size_t d = 1; d < indices.size(); ++d) {
        const int axis = int(indices.size() - 1 - d);
        std::string extent;
        if (m.kind != MemoryKind::array)
            extent = std::to_string(m.extents[d]);
        else
            extent = interface.field(Field::Kind::extent, m.argument, axis, wide ? Scalar::i64 : Scalar::i32);
        const Expression row = fill("$0 * " + extent, {index});
        const Expression next = integer(indices[d]);
        index = next.text == "0" ? row : fill("$0 + $1", {row, next});
    }
    if (wide && !interface.by_address(i.memory)) index = fill("uint($0)", {index});
    std::vector<Expression> one{index};
    if (!wide && may_be_refused(i)) hide_constants(one);
    part_from_counters(i, indices, one.back());
    return one;
}

}  // namespace pumice::codegen
