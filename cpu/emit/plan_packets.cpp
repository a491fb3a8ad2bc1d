// The plan of a kernel's packets: legality, cost and choice, before anything is printed.
//
// Why: what the code of a kernel will look like is decided in one place, from the kernel, the target and the variant. The parts
// of the emitter then print what the plan says. PUMICE_DUMP=plan shows it.
//
//     width, wide packets -> private copies of sums, deferred adds -> alignment peeling
//     -> with barriers: the regions -> unroll-and-jam -> without: transposed loads, boundary indices, values and guards of rows
//     -> the form of each access, for the dump
//
// Each step reads the ones before it. An access has the form that a full packet of a full group takes. LoadsAndStores and the
// parts that it asks decide each access when it is printed, since masks and versions differ; form_of() asks them the same.
// Cost: a walk over the kernel for each step. Limits: the versions of groups with barriers (all items in the range, or not) and
// the transposed loads of their regions are found when a region is printed.
// Textbook name: legality, plan and cost model of a loop vectoriser (LLVM: VPlan).
#include <algorithm>
#include <map>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/plan/unroll_and_jam.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int64_t line_bytes = 64;
constexpr int most_nested = 8;  ///< additions between a boundary index and an access
}  // namespace

LlvmEmitter::LlvmEmitter(const Kernel& kernel, const Target& target, const Variant& variant, PacketUse use)
    : out(target.width), packet(kernel, target, variant, out) {
    packet.use = use;
    plan.sum_lanes.assign(k.memories.size(), 0);
    widths.choose_width();
    plan.width = width;
    plan.wide = wide_packets.choose_wide();
    memory.lay_out_memories();
    const auto reads_windows = [&](const Inst& i) { return contiguity.checks_contiguity(i) || row_lookups.looks_up(i); };
    if (std::ranges::any_of(k.insts, reads_windows)) memory.read_past_end = 2 * line_bytes;  // of two vectors
    sums.plan_private_sums();
    plan.main = rows.main_access();
    if (packet.has_barriers) packet.when_defined = [this](Value v) { regions.save_if_live_out(v); };
}

void LlvmEmitter::plan_packets() {
    pure.all_in_range = !k.whole_groups || variant.full;
    if (packet.has_barriers) planner.plan_regions();
    plan_jammed_rows();
    if (packet.has_barriers) return;
    plan.transposed_loads = transposed.find_transposed_loads(k.body().insts);
    plan.boundaries = boundaries.find_boundary_indices();
    if (plan.rows_together > 1) return;
    rows.plan_row_values();
    plan.row_guards = guarded.find_row_guards();
}

const PacketPlan& LlvmEmitter::plan_accesses() {
    const auto& order = packet.uniformity.structure().order();
    plan.accesses.resize(k.insts.size());
    const auto set = [&](const Inst& i, const AccessPlan& form) {
        std::optional<AccessPlan>& planned = plan.accesses[size_t(&i - k.insts.data())];
        if (!planned) planned = form;
    };
    for (const InstId id : order)
        if (k[id].op == Op::for_)
            for (const RowTile& tile : tiles.tiles_of(id))
                for (const Inst* access : tile.accesses) set(*access, {AccessForm::row_tile});
    for (const InstId id : plan.transposed_loads) set(k[id], {AccessForm::transposed});
    for (const InstId id : order) {
        const Inst& i = k[id];
        if (i.memory.id == none || i.op == Op::extent || i.op == Op::group || plan.accesses[id.id]) continue;
        if (i.op != Op::load && i.op != Op::store) {
            const AccessForm form = plan.sum_lanes[i.memory.id] > 1         ? AccessForm::lane_private
                                    : plan.deferred_reductions.contains(&i) ? AccessForm::deferred
                                                                            : AccessForm::atomic;
            set(i, {form});
            continue;
        }
        auto group = groups.interleaved_group(id);
        if (!group) group = lane_rows.lane_rows(id);
        if (!group) {
            set(i, form_of(i));
            continue;
        }
        const AccessPlan form{group->apart ? AccessForm::lane_rows : AccessForm::interleaved,
                              int64_t(group->stride) * group->bytes, i.op == Op::store && streams.streams(i)};
        for (const auto& [access, word] : group->accesses) set(*access, form);
    }
    return plan;
}

/// The form of a load or store that goes alone.
AccessPlan LlvmEmitter::form_of(const Inst& i) const {
    const auto indices = indices_of(k, i);
    const auto uniform = [&](Value v) { return packet.kind_of(v) == ValueKind::uniform; };
    const bool alone = std::ranges::all_of(indices, uniform), of_item = k[i.memory].kind == MemoryKind::private_;
    if (width == 1) return {AccessForm::uniform};
    if (of_item || alone) return {!alone ? AccessForm::gathered : of_item ? AccessForm::contiguous : AccessForm::uniform};
    const bool in_rows = std::all_of(indices.begin(), indices.end() - 1, uniform);
    const bool whole = int(k[i.memory].element.size) == size_of(i.type);
    const auto step = addresses.index_step(i, indices.back());
    const bool stores = i.op == Op::store;
    if (patterns.moves_by_pattern(i)) return {AccessForm::pattern};
    if (row_lookups.looks_up(i)) return {AccessForm::looked_up};
    if (contiguity.checks_contiguity(i)) return {AccessForm::checked, 0, false, in_rows && step_in_interior(indices.back()) == 1};
    if (whole && in_rows && step == 1) return {AccessForm::contiguous, 0, stores && streams.streams(i)};
    const bool apart = std::ranges::any_of(indices, [&](Value v) { return packet.kind_of(v) == ValueKind::vector; });
    if (strided.may_take_strided_lanes(i) && (indices.size() == 1 ? step.has_value() : !apart)) return {AccessForm::strided};
    return {AccessForm::gathered, 0, false, whole && in_rows && step_in_interior(indices.back()) == 1};
}

/// The step of an index from lane to lane in interior packets, if it is known.
std::optional<int64_t> LlvmEmitter::step_in_interior(Value v, int depth) const {
    if (packet.kind_of(v) == ValueKind::uniform) return 0;
    if (packet.kind_of(v) == ValueKind::affine) return packet.lane_step(v);
    for (const BoundaryIndex& b : plan.boundaries)
        if (b.value == v) return step_in_interior(b.interior, depth + 1);
    const InstId source = k[v].inst;
    if (source.id == none || depth > most_nested || (k[source].op != Op::add && k[source].op != Op::sub)) return std::nullopt;
    const auto o = k.operands(k[source]);
    const auto a = step_in_interior(o[0], depth + 1), b = step_in_interior(o[1], depth + 1);
    if (!a || !b) return std::nullopt;
    return k[source].op == Op::add ? *a + *b : *a - *b;
}

/// True if rows of packets load transposed, in any region between barriers.
bool LlvmEmitter::transposes() const {
    if (!packet.has_barriers) return !transposed.find_transposed_loads(k.body().insts).empty();
    return std::ranges::any_of(k.blocks, [&](const Block& block) {
        std::map<int, std::vector<InstId>> regions;
        for (const InstId i : block.insts) regions[plan.regions.inst_region[i.id]].push_back(i);
        return std::ranges::any_of(regions, [&](const auto& region) {
            return region.first >= 0 && !transposed.find_transposed_loads(region.second).empty();
        });
    });
}

/// Decides how many rows run together, and makes their emitter.
void LlvmEmitter::plan_jammed_rows() {
    if (!target.rules.has(Rule::unroll_and_jam) || packet.use == PacketUse::for_debuggers || width == 1 || variant.group[1] < 2 ||
        variant.sums != Privatisation::none)
        return;
    if (transposes()) return;
    for (int64_t together = rows_worth_jamming(k); together > 1; together /= 2) {
        if (variant.group[1] < together || (packet.has_barriers && variant.group[1] % together)) continue;
        jammed_kernel = std::make_unique<const Kernel>(jammed(k, together));
        jam = std::make_unique<LlvmEmitter>(*jammed_kernel, target, variant, PacketUse::jammed_rows);
        if (jam->widths.vectors_alive_in_loops() > packet.vector_registers()) {
            jam = nullptr;
            continue;
        }
        plan.rows_together = together;
        plan.main = jam->plan.main = nullptr;
        if (packet.has_barriers) {
            jam->packet.item_rows = together;
            jam->planner.plan_regions();
            regions.jammed_group = [this] { call_jammed_group(); };
        } else {
            jam->plan.boundaries = jam->boundaries.find_boundary_indices();
            rows.jammed_rows = [this](const auto& counts, bool trimmed, const Body& body) { jammed_rows(counts, trimmed, body); };
        }
        return;
    }
}

std::string packet_plan(const Kernel& lowered, const Target& target, const Variant& variant, bool for_debuggers) {
    LlvmEmitter emitter(lowered, target, variant, for_debuggers ? PacketUse::for_debuggers : PacketUse::plain);
    emitter.plan_packets();
    return print(emitter.plan_accesses(), lowered);
}

}  // namespace pumice::cpu
