// Strided lanes: accesses whose lanes lie at one distance that is no small constant, an access of one element a lane.
//
// Why: a gather or scatter takes a vector of addresses, which is computed in several instructions, and the processor makes more
// than one operation of each lane. Where all lanes lie at one distance, the first lane's address and that distance are enough.
//
//     a[17 * lane + n]           before: %p = getelementptr <8 x ptr> ...; gather <8 x double> %p
//     b(lane, n)                 after:  load double, ptr %p; load double, ptr %p + 136; ...      and 7 insertions
//
// Cost: an access and an insertion or extraction for each lane. On Zen 4 that takes a third of the time of a gather of 8 doubles
// and half of one of 16 floats, 0.65 and 0.8 of that of scatters. Other processors were not measured.
// Limits: complete packets; arrays and local memory. Constant strides of at most 16 words are interleaved groups
// (interleaved_group.cpp) and adjacent words lane rows (lane_rows.cpp): both move more than a word at once.
// Textbook name: scalarisation of strided accesses (LLVM's LoopVectorize: CM_Scalarize).
#include <algorithm>

#include "core/support/error.h"
#include "cpu/access/strided_lanes.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/frame_values.h"

namespace pumice::cpu {

using namespace ir;

/// The distance between the elements of neighbouring lanes, in elements: an i64. "" if there is no such distance, or if it is not
/// known.
std::string StridedLanes::elements_between_lanes(const Inst& i) {
    const auto indices = indices_of(k, i);
    if (indices.size() == 1)
        if (const auto step = emit.addresses.index_step(i, indices[0])) return std::to_string(*step);
    std::string between = "0";
    for (size_t d = 0; d < indices.size(); ++d) {
        const ValueRep index = packet.rep_of(indices[d]);
        if (index.kind == ValueKind::vector) return "";
        // A narrower index may wrap from one lane to the next.
        const bool wraps = 8 * size_of(k.type_of(indices[d])) < emit.addresses.index_bits(i, indices[d]);
        if (index.kind == ValueKind::affine && wraps) return "";
        if (between != "0") between = emit.addresses.product_of(between, emit.frame.extent_along(i.memory, d, true));
        between = emit.addresses.sum_of(between, std::to_string(index.kind == ValueKind::affine ? index.step : 0));
    }
    return between;
}

/// The address of the first lane's element.
std::string StridedLanes::address_of_first_lane(const Inst& i) {
    const bool wide = k[i.memory].kind == MemoryKind::array && variant.wide_offsets;
    const Scalar type = wide ? Scalar::i64 : Scalar::i32;
    const std::string t = out.scalar_type(type);
    const auto indices = indices_of(k, i);
    const auto first = [&](Value v, int64_t* displacement) {
        const ValueRep index = emit.addresses.integer(displacement ? emit.addresses.without_constant(v, *displacement) : v, wide);
        return index.kind == ValueKind::vector ? out.extract(t, index.vector, "0") : index.scalar;
    };
    int64_t displacement = 0;
    if (const std::string moving = emit.addresses.pointer_in_loop(i); !moving.empty()) return moving;
    std::string at = first(indices[0], indices.size() == 1 && !wide ? &displacement : nullptr);
    for (size_t d = 1; d < indices.size(); ++d) {
        const std::string row = out.let(text("mul ", t, " ", at, ", ", emit.frame.extent_along(i.memory, d, wide)));
        at = out.let(text("add ", t, " ", row, ", ", first(indices[d], nullptr)));
    }
    return emit.addresses.pointer_to(i, t, at, displacement);
}

bool StridedLanes::may_take_strided_lanes(const Inst& i) const {
    return target.rules.has(Rule::strided_lanes) && k[i.memory].kind != MemoryKind::private_ && plan.sum_lanes[i.memory.id] == 0;
}

/// The address of each lane's element, if the lanes of a complete packet lie at one distance; else none.
std::vector<std::string> StridedLanes::strided_lanes(const Inst& i) {
    if (width == 1 || !packet.running.all() || !may_take_strided_lanes(i) || emit.addresses.lies_in_row(i)) return {};
    const auto indices = indices_of(k, i);
    if (std::ranges::all_of(indices, [&](Value v) { return packet.rep_of(v).kind == ValueKind::uniform; })) return {};
    const std::string between = elements_between_lanes(i);
    if (between.empty() || between == "0" || (between == "1" && k[i.memory].element.leaves.size() == 1)) return {};
    std::vector<std::string> lanes = {address_of_first_lane(i)};
    const std::string element = text("[", k[i.memory].element.size, " x i8]");
    for (int lane = 1; lane < width; ++lane)
        lanes.push_back(out.let(text("getelementptr ", element, ", ptr ", lanes[0], ", i64 ",
                                     emit.addresses.product_of(between, std::to_string(lane))),
                                "p"));
    return lanes;
}

/// The elements of the lanes as one vector.
std::string StridedLanes::load_lanes(const Inst& i, const std::vector<std::string>& lanes) {
    const std::string scalar = out.memory_type(i.type), whole = out.vector_type(scalar);
    std::string all = "poison";
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
        const std::string one = out.let(text("load ", scalar, ", ptr ", lanes[lane], ", align ", emit.addresses.alignment_of(i)));
        all = out.let(text("insertelement ", whole, " ", all, ", ", scalar, " ", one, ", i64 ", lane));
    }
    return all;
}

/// Stores each lane's element, in the order of the lanes: the last of several to one address stays.
void StridedLanes::store_lanes(const Inst& i, const std::string& value, const std::vector<std::string>& lanes) {
    const std::string scalar = out.memory_type(i.type);
    for (size_t lane = 0; lane < lanes.size(); ++lane)
        out.line(text("store ", scalar, " ", out.extract(scalar, value, std::to_string(lane)), ", ptr ", lanes[lane], ", align ",
                      emit.addresses.alignment_of(i)));
}

}  // namespace pumice::cpu
