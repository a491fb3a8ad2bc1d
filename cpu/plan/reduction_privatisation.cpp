// Reduction privatisation, legality and cost model: each thread adds to a private copy of an array; the copies are summed later.
//
// Why: threads that add to one element wait for each other, and an atomic add of a float is a compare-exchange loop. A private
// copy needs plain adds only:
//
//     Privatisation::none     atomicrmw fadd ptr %array0[i], %x                   shared, atomic
//     Privatisation::copies   %s = load copy[i]; store copy[i], (fadd %s, %x)      one copy a thread
//     Privatisation::lanes    copy[i * width + lane] += x[lane], as a vector       one place a lane: no horizontal add in loops
//
// The order of float additions is unspecified either way.
// Cost: memory of copies x threads, zeroed and summed once a launch. Limits: all copies take at most 64 MiB; the copied arrays
// have at most 4 elements an item, and larger ones keep their atomics; one copy with lanes takes at most 1 MiB, and adds in loops
// are not all on conditions on data.
// Legality: only add and sub, old values unused, elements that are scalars of 4 or 8 bytes or vectors of them, no other access to
// the array. Vectors have no places for lanes.
// Textbook: reduction parallelisation by array privatisation (Allen and Kennedy; OpenMP `reduction` clauses on arrays).
#include "cpu/plan/reduction_privatisation.h"

#include <algorithm>

#include "core/analysis/linear_index.h"
#include "core/analysis/memory_effects.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"
#include "core/ir/structure.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t most_bytes = 64 << 20;          ///< of the copies of all threads together
constexpr int64_t most_bytes_in_lanes = 1 << 20;  ///< of one copy with a place for each lane, so that it stays in a core's cache
constexpr int64_t most_elements_an_item = 4;

bool can_be_added(Scalar t) { return size_of(t) >= 4; }

/// True for a condition on the item's indices alone, such as a guard or a triangle.
bool on_indices(const Kernel& k, const LinearIndex& affine, Value condition) {
    const InstId source = k[condition].inst;
    if (source.id == none) return false;
    const Inst& i = k[source];
    const auto v = k.operands(i);
    if (i.op == Op::in_range || i.op == Op::constant) return true;
    if (i.op == Op::and_ || i.op == Op::or_ || i.op == Op::not_)
        return std::all_of(v.begin(), v.end(), [&](Value of) { return on_indices(k, affine, of); });
    return v.size() == 2 && std::all_of(v.begin(), v.end(), [&](Value of) { return affine.of(of).known; });
}

}  // namespace

bool is_vector(const Element& e) {
    const size_t bytes = size_t(size_of(e.leaves[0].type));
    for (size_t n = 0; n < e.leaves.size(); ++n)
        if (e.leaves[n].type != e.leaves[0].type || e.leaves[n].offset != n * bytes) return false;
    return e.size == e.leaves.size() * bytes;
}

bool takes_lanes(const Memory& m) { return m.element.leaves.size() == 1; }

bool adds_on_data(const Kernel& k, std::span<const MemoryId> arrays) {
    if (arrays.empty()) return false;
    const Uniformity uniformity(k);
    const LinearIndex affine(k, uniformity);
    const Structure& where = uniformity.structure();
    bool found = false;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.op != Op::atomic || std::ranges::find(arrays, i.memory) == arrays.end() || where.loop_around(id).id == none)
            continue;
        bool on_data = false;
        for (InstId at = where.around(id); at.id != none && !is_loop(k[at].op); at = where.around(at)) {
            const Value condition = k.operands(k[at])[0];
            on_data = on_data || (uniformity.of(condition) == Scope::item && !on_indices(k, affine, condition));
        }
        if (!on_data) return false;
        found = true;
    }
    return found;
}

std::vector<MemoryId> only_added_to(const Kernel& k) {
    const Structure where(k);
    const Uses uses(k);
    std::vector<bool> added(k.memories.size()), other(k.memories.size());
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.memory.id == none || i.op == Op::extent || (i.op == Op::load && !uses.any(k.result(i)))) continue;
        const bool adds = is_atomic_sum(i) && !uses.any(k.result(i)) && can_be_added(i.type);
        (adds ? added : other)[i.memory.id] = true;
    }
    std::vector<MemoryId> found;
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        const Memory& memory = k.memories[m];
        if (memory.kind == MemoryKind::array && is_vector(memory.element) && added[m] && !other[m]) found.push_back({m});
    }
    return found;
}

void choose_privatisation(Variant& variant, const Kernel& kernel, std::span<const MemoryId> arrays,
                          const OwnershipPartition& partition, const Launch& launch, int width, int threads) {
    struct Target {
        int argument = 0;
        int64_t bytes = 0, elements = 0;  ///< of a copy; 0 in an array that `partition` covers
    };
    std::vector<Target> targets;
    int64_t all_bytes = 0, all_elements = 0;
    for (const MemoryId m : arrays) {
        const int argument = kernel[m].argument;
        const int64_t elements = launch.arguments[size_t(argument)].array.count(), bytes = elements * kernel[m].element.size;
        const bool copied = !partition.cover(argument);
        targets.push_back({argument, copied ? bytes : 0, copied ? elements : 0});
        all_bytes += bytes, all_elements += elements;
    }
    std::ranges::stable_sort(targets, {}, &Target::bytes);
    const int64_t most = most_elements_an_item * launch.extent[0] * launch.extent[1] * launch.extent[2];
    int64_t bytes = 0, elements = 0;
    uint64_t atomic = 0;
    bool any = false;
    for (const Target& t : targets) {
        bytes += t.bytes, elements += t.elements;
        const bool fits = elements <= most && bytes * threads <= most_bytes;
        if (!fits && t.argument >= 64) return;
        if (!fits) atomic |= uint64_t(1) << t.argument;
        any = any || fits;
    }
    if (!any || all_elements == 0) return;
    const bool lanes = std::any_of(arrays.begin(), arrays.end(), [&](MemoryId m) { return takes_lanes(kernel[m]); });
    const bool in_lanes = lanes && width > 1 && all_bytes * width <= most_bytes_in_lanes && all_elements <= most && atomic == 0;
    variant.sums = in_lanes ? Privatisation::lanes : Privatisation::copies;
    variant.atomic_sums = atomic;
}

}  // namespace pumice::cpu
