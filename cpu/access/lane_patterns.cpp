// Lane patterns: accesses whose lanes lie at constant distances from the first one, such as 0 1 2 3 8 9 10 11, move as vectors.
//
// Why: the last stages of a sorting network and the first ones of a Fourier transform pair elements that are nearer than a
// packet is wide. A gather takes an access a lane, although all lie within two vectors.
//
//     %low = 2 * lane - (lane & 3)         lanes 0 1 2 3 8 9 10 11 from the packet's first one
//     before:  gather <8 x ptr> %p         after:  load <8 x i32>, ptr %p; load <8 x i32>, ptr %p + 16; one shuffle of both
//     before:  scatter <8 x ptr> %p        after:  store <4 x i32> (lanes 0 to 3), ptr %p; store <4 x i32> (4 to 7), ptr %p + 32
//
// The distances come from core/ranges/packet_steps.cpp. A load takes one or two vectors, of which the first begins with the
// lowest lane's element and the last ends with the highest one's: nothing else is touched. A store writes each run of adjacent
// lanes. Rows of structs (lane_rows.cpp) take the distances, too: LLVM then loads a row once that several lanes share, and a run
// of rows is stored as one vector.
// Cost: two loads and a shuffle; a store for each run. Limits: complete packets of kernels with aligned packets; elements of one
// scalar; loads that span at most two vectors, or a power of two of elements; stores in runs of two or more.
// Textbook name: coalescing of gathers with constant offsets (ispc: Pharr and Mark, InPar 2012); permutation-based superwords.
#include <algorithm>
#include <bit>

#include "core/support/error.h"
#include "cpu/access/lane_patterns.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

/// The distances of the lanes' elements from the first lane's, in elements, if they are constants.
std::optional<std::vector<int64_t>> LanePatterns::distances(const Inst& i) const {
    if (width == 1 || width != packet.uniformity.aligned_items() || !target.rules.has(Rule::lane_patterns)) return std::nullopt;
    if (k[i.memory].kind == MemoryKind::private_ || plan.sum_lanes[i.memory.id] > 0) return std::nullopt;
    const auto indices = indices_of(k, i);
    // An index of 32 bits may wrap inside an array of more elements.
    if (k[i.memory].kind == MemoryKind::array && variant.wide_offsets) return std::nullopt;
    for (const Value v : indices.first(indices.size() - 1))
        if (packet.kind_of(v) != ValueKind::uniform) return std::nullopt;
    if (packet.kind_of(indices.back()) != ValueKind::vector) return std::nullopt;
    return packet.uniformity.lanes_of(indices.back());
}

/// The runs of adjacent lanes, from lane `first` on.
std::vector<LanePatterns::Run> LanePatterns::runs_of(const std::vector<int64_t>& distances, int first, int lanes) {
    std::vector<Run> runs;
    for (int n = first; n < first + lanes; ++n) {
        const bool goes_on = n > first && distances[size_t(n)] == distances[size_t(n) - 1] + 1;
        goes_on ? void(++runs.back().second) : runs.push_back({n, 1});
    }
    return runs;
}

bool LanePatterns::moves_by_pattern(const Inst& i) const {
    if ((i.op != Op::load && i.op != Op::store) || int(k[i.memory].element.size) != size_of(i.type)) return false;
    if (!emit.memory.memory_offsets.empty() && emit.memory.staged(i.memory)) return false;  // LLVM promotes it to registers
    const auto lanes = distances(i);
    if (!lanes) return false;
    if (i.op == Op::store) {
        const auto runs = runs_of(*lanes, 0, width);
        auto sorted = *lanes;
        std::ranges::sort(sorted);
        // Of lanes that store to one element the last one would have to come last.
        return std::ranges::adjacent_find(sorted) == sorted.end() &&
               std::ranges::all_of(runs, [](const Run& r) { return r.second > 1; });
    }
    const auto [low, high] = std::ranges::minmax(*lanes);
    const int64_t span = high - low + 1;
    return span <= 2 * width && (span >= width || std::has_single_bit(uint64_t(span)));
}

std::string LanePatterns::address_of_first_lane(const Inst& i) {
    const Value index = indices_of(k, i).back();
    return emit.addresses.pointer_at(i, out.extract(out.scalar_type(k.type_of(index)), packet.vector(index), "0"));
}

/// Loads the lanes of a complete packet.
std::string LanePatterns::load_pattern(const Inst& i) {
    const std::vector<int64_t> lanes = *distances(i);
    const auto [low, high] = std::ranges::minmax(lanes);
    const std::string t = out.memory_type(i.type), first = address_of_first_lane(i);
    const int items = int(std::min<int64_t>(high - low + 1, width)), align = emit.addresses.alignment_of(i);
    const auto window = [&](int64_t begin) {
        const std::string at = out.let(text("getelementptr ", t, ", ptr ", first, ", i64 ", begin), "p");
        return out.let(text("load <", items, " x ", t, ">, ptr ", at, ", align ", align));
    };
    const std::string a = window(low), b = high - low + 1 > width ? window(high - width + 1) : "poison";
    return emit.shuffles.shuffled(t, items, a, b, width, [&, begin = low, end = high](int lane) {
        const int64_t from_low = lanes[size_t(lane)] - begin;
        return int(from_low < items ? from_low : items + lanes[size_t(lane)] - (end - width + 1));
    });
}

/// Stores the lanes of a complete packet.
void LanePatterns::store_pattern(const Inst& i, const std::string& value) {
    const std::vector<int64_t> lanes = *distances(i);
    const std::string t = out.memory_type(i.type), first = address_of_first_lane(i);
    for (const auto& [lane, count] : runs_of(lanes, 0, width)) {
        const std::string at = out.let(text("getelementptr ", t, ", ptr ", first, ", i64 ", lanes[size_t(lane)]), "p");
        const std::string part =
            emit.shuffles.shuffled(t, width, value, "poison", count, [begin = lane](int n) { return begin + n; });
        out.line(text("store <", count, " x ", t, "> ", part, ", ptr ", at, ", align ", emit.addresses.alignment_of(i)));
    }
}

}  // namespace pumice::cpu
