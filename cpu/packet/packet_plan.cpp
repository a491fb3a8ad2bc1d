// The plan of a kernel's packets as text: the kernel, with what is decided in comments.
//
//     # packets of 8 items
//     # rows begin at a cache line of arg1
//     kernel "saxpy" ... {
//       %1 = load arg2[%0] : f32  # contiguous
//       store arg1[%0], %4 : f32  # contiguous, streaming
//
// Why: a wrong or slow choice is found before any code is read, and tests compare the text (tests/golden/packet_plan_*.txt).
// Cost: linear in the kernel. Limits: forms of accesses are those of full packets.
// Textbook name: the dump of a plan (LLVM: VPlan).
#include "cpu/packet/packet_plan.h"

#include <algorithm>

#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::cpu {

using namespace ir;

namespace {

std::string form_text(const AccessPlan& a) {
    constexpr const char* names[] = {"one element", "contiguous",       "interleaved",  "lane rows",    "row tile",
                                     "transposed",  "contiguity check", "row look-up",  "lane pattern", "strided",
                                     "gathered",    "atomic",           "lane-private", "deferred"};
    std::string out = names[size_t(a.form)];
    if (a.stride != 0) out += text(" by ", a.stride, " bytes");
    if (a.streams) out += ", streaming";
    return a.whole_in_interior ? out + ", contiguous in the interior" : out;
}

std::string save_text(const ContextSave& save) {
    if (save.outer) return "once for the group";
    std::string out = save.spilled ? text("saved at ", save.offset) : "";
    if (save.exported) out += text(out.empty() ? "" : ", ", "exported");
    return out;
}

/// The plan of the whole kernel, a line each.
std::string summary(const PacketPlan& plan, const Kernel& k) {
    std::string out = plan.width == 1 ? "# one item at a time\n" : text("# packets of ", plan.width, " items\n");
    if (plan.wide > 1) out += text("# wide packets of ", plan.wide * plan.width, " items\n");
    if (plan.rows_together > 1) out += text("# ", plan.rows_together, " rows together\n");
    if (plan.main) out += text("# rows begin at a cache line of ", k[plan.main->memory].name, "\n");
    if (!plan.row_guards.empty()) out += "# rows run the items that pass their guards\n";
    if (!plan.boundaries.empty()) out += "# packets have an interior and a boundary version\n";
    for (uint32_t m = 0; m < plan.sum_lanes.size(); ++m)
        if (plan.sum_lanes[m] > 0)
            out += text("# ", k.memories[m].name, ": a copy for each thread",
                        plan.sum_lanes[m] > 1 ? text(", ", plan.sum_lanes[m], " places an element") : "", "\n");
    if (plan.regions.packet_returns) out += "# items of a packet return at different times\n";
    return out;
}

}  // namespace

std::string print(const PacketPlan& plan, const Kernel& k) {
    const auto note = [&](InstId id, const std::function<std::string(Value)>& name) {
        const Inst& i = k[id];
        std::string out;
        const auto add = [&](const std::string& what) { out += text(out.empty() || what.empty() ? "" : "; ", what); };
        if (plan.accesses[id.id]) add(form_text(*plan.accesses[id.id]));
        if (&i == plan.main) add("aligns rows");
        const auto outside = [&](Value v) { return plan.regions.context_saves[v.id].outer; };
        if (!plan.regions.inst_region.empty() && plan.regions.inst_region[id.id] >= 0 && !(is_pure(i.op) && outside(k.result(i))))
            add(text("region ", plan.regions.inst_region[id.id]));
        for (int r = 0; r < i.result_count; ++r) {
            const Value v = k.result(i, r);
            if (plan.is_row_value(v)) add("once for the row");
            if (!plan.regions.context_saves.empty()) add(save_text(plan.regions.context_saves[v.id]));
            for (const BoundaryIndex& b : plan.boundaries)
                if (b.value == v) add(text("in the interior ", b.op == Op::rem ? "the remainder of " : "", name(b.interior)));
            for (const RowGuard& g : plan.row_guards)
                if (g.condition == v) add(text("guard: ", g.holds ? "true" : "false"));
        }
        return out;
    };
    return summary(plan, k) + print(k, note);
}

}  // namespace pumice::cpu
