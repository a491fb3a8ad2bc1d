#include "core/analysis/annotated.h"

#include "core/analysis/alias.h"
#include "core/analysis/cross_item_dependence.h"
#include "core/analysis/linear_index.h"
#include "core/analysis/loop_info.h"
#include "core/analysis/memory_effects.h"
#include "core/analysis/rematerialisable_slice.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

constexpr std::string_view scope_names[] = {"launch", "group", "subgroup", "item"};
std::string_view name_of(Scope s) { return scope_names[size_t(s)]; }

std::string effects_text(const Kernel& k) {
    const MemoryEffects effects(k);
    const std::vector<bool> dependent = cross_item_dependent(k);
    std::string out;
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        const bool reads = effects.reads({m}), writes = effects.writes({m});
        out += text("# ", k.memories[m].name, ": ",
                    reads && writes ? "read and written"
                    : reads         ? "read"
                    : writes        ? "written"
                                    : "unused",
                    dependent[m] ? ", by different items across a barrier" : "", "\n");
    }
    return out;
}

using ValueNames = std::function<std::string(Value)>;

/// ": 2*global0 + global1*%2 + %5 + 4", or "" if the form is unknown or uniform.
std::string form_text(const AffineForm& f, const ValueNames& name) {
    if (!f.known || f.uniform()) return "";
    std::string out;
    const auto add = [&](const std::string& term) { out += (out.empty() ? "" : " + ") + term; };
    const auto along = [&](const std::array<Coefficient, 3>& coefficients, const char* index) {
        for (size_t axis = 0; axis < 3; ++axis) {
            const Coefficient& c = coefficients[axis];
            if (c.zero()) continue;
            add(text(c.factor == 1 ? "" : text(c.factor, "*"), index, axis, c.constant() ? "" : "*" + name(c.times)));
        }
    };
    along(f.global, "global");
    along(f.local, "local");
    if (f.composed) add(text("a uniform remainder in the ", name_of(f.rest)));
    if (!f.composed && f.base) add(name(f.base));
    if (!f.composed && f.offset != 0) add(text(f.offset));
    return ": " + out + (f.bits < 64 ? text(" modulo 2^", f.bits) : "");
}

bool is_access(const Inst& i) { return i.op != Op::group && (reads_memory(i.op) || writes_memory(i.op)); }

/// The accesses that may touch the same bytes and must keep their order: one of the two writes.
std::string alias_text(const Kernel& k, const std::vector<InstId>& accesses, InstId id) {
    int may = 0, must = 0;
    for (const InstId other : accesses) {
        if (other == id || !(writes_memory(k[id].op) || writes_memory(k[other].op))) continue;
        const MemoryLocation a = location_of(k, k[id]), b = location_of(k, k[other]);
        if (must_alias(a, b))
            ++must;
        else if (may_alias(k, a, b))
            ++may;
    }
    const std::string musts = must ? text("must alias ", must) : "", mays = may ? text("may alias ", may) : "";
    return musts + (must && may ? ", " : "") + mays;
}

std::string use_text(uint32_t count) { return count == 0 ? "unused" : text(count, count == 1 ? " use" : " uses"); }

}  // namespace

std::string annotated(const Kernel& kernel) {
    const Uniformity uniformity(kernel);
    const LinearIndex indices(kernel, uniformity);
    const Uses uses(kernel);
    std::vector<InstId> accesses;
    for (const InstId id : uniformity.structure().order())
        if (is_access(kernel[id])) accesses.push_back(id);
    // Only of loops whose index is a parameter: RematerialisableSlice is about these.
    const auto rematerialisable = [&](InstId id, Value v) {
        const InstId loop = uniformity.structure().around(id);
        return loop.id != none && kernel[loop].op == Op::for_ && RematerialisableSlice(kernel, uniformity, loop).add(v);
    };
    const auto note = [&](InstId id, const ValueNames& name) -> std::string {
        const Inst& i = kernel[id];
        if (i.op == Op::if_) return text("control: ", name_of(uniformity.parting(id)));
        if (is_loop(i.op)) {
            const auto trips = constant_trip_count(kernel, i);
            return text(trips ? text(*trips, " iterations, ") : "", "control: ", name_of(uniformity.parting(id)));
        }
        const std::string aliases = is_access(i) ? alias_text(kernel, accesses, id) : "";
        if (i.result_count != 1) return aliases;
        const Value v = kernel.result(i);
        return text(name_of(uniformity.of(v)), form_text(indices.of(v), name), "; ", use_text(uses.count(v)),
                    rematerialisable(id, v) ? ", rematerialisable" : "", aliases.empty() ? "" : "; ", aliases);
    };
    return effects_text(kernel) + print(kernel, note);
}

}  // namespace pumice::ir
