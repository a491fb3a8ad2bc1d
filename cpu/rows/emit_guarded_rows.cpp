// Guarded rows: if all effects of the items are under comparisons of an affine value, each row runs the packets of the items that
// pass.
//
//     body:      if %i <= %j { store a[%i, %j] }       %j: the item's index along the row; %i is the same for the row
//     before:    for j = 0 to 400 step 8 { br all lanes pass, full, masked }
//     after:     for j = %i to 400 - 7 step 8 { full packet, without the comparison }; the rest of the row under a mask
//
// Why: triangular matrices and borders of grids are written as guards. Half of a triangle's packets did nothing, and each of the
// others tested its lanes.
// Method: collects the guards of the body: conditions of nested ifs that contain all effects, and
// negated conditions of ifs that return. Of a conjunction each term counts. A condition that is the same for the whole row lets
// all of it run, or none; it counts beside at least one comparison of an affine value. A comparison `x < limit` with x = a + t at
// the row's item t, in 64 bits, holds for t < limit - a. If x wraps round within the row, all of the row runs under masks with
// the comparisons.
// Cost: about ten instructions for a guard and row. The masked form of an if falls away in full packets.
// Limits: i32 comparisons whose sides differ by one step of 1 or -1 from item to item; rows of at least four packets; neither
// barriers, subgroup operations, jammed rows nor transposed loads.
// Textbook name: index-set splitting (Banerjee 1993; Griebl, Feautrier and Lengauer, IJPP 2000).
#include <algorithm>
#include <tuple>

#include "core/analysis/rematerialisation.h"
#include "core/support/error.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/rows/emit_guarded_rows.h"
#include "cpu/rows/emit_packet_rows.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 24;        ///< instructions that the sides of a comparison take to recompute
constexpr int64_t least_packets = 4;  ///< of a row

/// The comparison with its sides exchanged.
Op exchanged(Op op) {
    switch (op) {
        case Op::lt: return Op::gt;
        case Op::le: return Op::ge;
        case Op::gt: return Op::lt;
        case Op::ge: return Op::le;
        default: return op;
    }
}

Op negated(Op op) {
    switch (op) {
        case Op::lt: return Op::ge;
        case Op::le: return Op::gt;
        case Op::gt: return Op::le;
        case Op::ge: return Op::lt;
        default: return op == Op::eq ? Op::ne : Op::eq;
    }
}

bool orders(Op op) { return op == Op::lt || op == Op::le || op == Op::gt || op == Op::ge; }
}  // namespace

/// True if the instruction, or one inside it, does something that is seen outside of the item.
bool GuardedRows::has_effect(const Inst& i) const {
    if (is_control(i.op)) return any_inside(k, i, [&](InstId inner) { return !is_control(k[inner].op) && has_effect(k[inner]); });
    if (is_pure(i.op) || i.op == Op::load || is_terminator(i.op)) return false;
    return i.memory.id == none || k[i.memory].kind != MemoryKind::private_;
}

/// True if the value is the same for the row and can be computed before it.
bool GuardedRows::known_in_row(Value v) const {
    const auto in_row = [&](const Inst& i) {
        const bool of_item = i.immediate == 0 && (i.op == Op::global_index || i.op == Op::local_index);
        return is_pure(i.op) && !of_item && i.result_count == 1 && packet.kind_of(k.result(i)) == ValueKind::uniform;
    };
    Rematerialisation known(k, in_row, [&](Value o) { return plan.is_row_value(o); });
    return packet.kind_of(v) == ValueKind::uniform && known.of(v, most_steps);
}

/// Adds the guards that follow from the outcome of a condition. True if the outcome follows from the guards.
bool GuardedRows::add_guards(Value condition, bool holds, std::vector<RowGuard>& all) const {
    const InstId source = k[condition].inst;
    if (source.id == none) return false;
    const Inst& i = k[source];
    const auto v = k.operands(i);
    if (i.op == Op::in_range && emit.pure.all_in_range) return holds;
    bool decided = false;
    RowGuard guard;
    guard.condition = condition, guard.holds = holds;
    if (known_in_row(condition)) {
        all.push_back(guard);
        return true;
    }
    if (i.op == Op::not_) {
        decided = add_guards(v[0], !holds, all);
    } else if ((i.op == Op::and_ && holds) || (i.op == Op::or_ && !holds)) {
        const bool first = add_guards(v[0], holds, all), second = add_guards(v[1], holds, all);
        decided = first && second;
    } else if ((orders(i.op) || (holds ? i.op == Op::eq : i.op == Op::ne)) && k.type_of(v[0]) == Scalar::i32) {
        guard.kind = RowGuard::Kind::compares;
        guard.how = holds ? i.op : negated(i.op);
        guard.x = v[0], guard.limit = v[1];
        if (known_in_row(v[0])) {
            std::swap(guard.x, guard.limit);
            guard.how = exchanged(guard.how);
        }
        int steps = most_steps;
        const auto step = packet.kind_of(guard.x) == ValueKind::affine ? packet.lane_step(guard.x) : std::nullopt;
        if (!step || std::abs(*step) != 1 || !known_in_row(guard.limit) || !emit.pure.is_rematerialisable(guard.x, steps, true))
            return false;
        guard.step = int(*step);
        all.push_back(guard);
        return true;
    }
    guard.kind = RowGuard::Kind::follows;
    if (decided) all.push_back(guard);
    return decided;
}

/// Adds the guards of all effects of a list of instructions.
void GuardedRows::add_guards_of(std::span<const InstId> insts, std::vector<RowGuard>& all) const {
    for (size_t at = 0; at < insts.size(); ++at) {
        const Inst& i = k[insts[at]];
        if (i.op != Op::if_) {
            if (has_effect(i) || i.op == Op::return_) return;
            continue;
        }
        const auto leaves = [&](size_t arm) { return last_inst(k, i.blocks[arm]).op == Op::return_; };
        const auto acts = [&](size_t arm) {
            const auto& of = k[i.blocks[arm]].insts;
            return std::any_of(of.begin(), of.end() - 1, [&](InstId inner) { return has_effect(k[inner]); });
        };
        if (acts(0) && acts(1)) return;
        const size_t idle = acts(0) ? 1 : acts(1) || leaves(0) ? 0 : 1;
        const Value condition = k.operands(i)[0];
        if (leaves(idle) && !acts(1 - idle) && !leaves(1 - idle)) {
            add_guards(condition, idle == 1, all);
            continue;
        }
        if (!acts(1 - idle)) continue;
        const bool last =
            std::none_of(insts.begin() + ptrdiff_t(at) + 1, insts.end(), [&](InstId id) { return has_effect(k[id]); });
        if (!last && !leaves(idle)) return;
        add_guards(condition, idle == 1, all);
        if (last) add_guards_of(k[i.blocks[1 - idle]].insts, all);
        return;
    }
}

/// The guards of the rows that are emitted next; none where they do not pay off.
std::vector<RowGuard> GuardedRows::find_row_guards() const {
    if (!target.rules.has(Rule::guarded_rows) || packet.use == PacketUse::for_debuggers || packet.has_barriers || width == 1 ||
        plan.rows_together > 1 || !plan.transposed_loads.empty() || variant.group[0] < least_packets * width)
        return {};
    const auto& order = packet.uniformity.structure().order();
    if (std::any_of(order.begin(), order.end(), [&](InstId id) { return asks_subgroup(k[id].op); })) return {};
    std::vector<RowGuard> all;
    add_guards_of(k.body().insts, all);
    return std::ranges::any_of(all, [](const RowGuard& g) { return g.step != 0; }) ? all : std::vector<RowGuard>();
}

/// Computes which items of a row, of those from `begin` to before `end`, pass the guards.
PassingItems GuardedRows::passing_items(const std::string& begin, const std::string& end) {
    const auto before = std::make_tuple(packet.values, packet.has_value, packet.local_at);
    packet.local_at[0] = begin;
    out.declare("declare i64 @llvm.smin.i64(i64, i64)");
    out.declare("declare i64 @llvm.smax.i64(i64, i64)");
    const auto wide = [&](const std::string& v) { return out.let(text("sext i32 ", v, " to i64")); };
    const auto sum = [&](const char* op, const std::string& a, const auto& b) { return out.let(text(op, " i64 ", a, ", ", b)); };
    const auto limited = [&](const char* by, const std::string& a, const std::string& b) {
        return out.let(text("call i64 @llvm.", by, ".i64(i64 ", a, ", i64 ", b, ")"));
    };
    const std::string first = wide(begin), items = limited("smax", sum("sub", wide(end), first), "0");
    std::string lo = "0", hi = items, exact = "true", runs = "true";
    for (const RowGuard& g : plan.row_guards) {
        if (g.kind == RowGuard::Kind::follows) continue;
        if (g.kind == RowGuard::Kind::of_row) {
            emit.pure.rematerialise(g.condition);
            runs = out.let(text("and i1 ", runs, ", ",
                                out.let(text("icmp eq i1 ", packet.scalar(g.condition), ", ", g.holds ? "true" : "false"))));
            continue;
        }
        emit.pure.rematerialise(g.x), emit.pure.rematerialise(g.limit);
        const std::string a = wide(packet.scalar(g.x)), limit = wide(packet.scalar(g.limit));
        const bool up = g.step > 0;
        // Item t has x = a + t or a - t, unless that leaves 32 bits.
        const std::string span = sum("sub", items, 1), last = sum(up ? "add" : "sub", a, span);
        exact = out.let(text("and i1 ", exact, ", ",
                             out.let(text("icmp ", up ? "sle" : "sge", " i64 ", last, ", ", up ? INT32_MAX : INT32_MIN))));
        const std::string distance = up ? sum("sub", limit, a) : sum("sub", a, limit);
        const Op how = up ? g.how : exchanged(g.how);
        if (how == Op::lt || how == Op::le || how == Op::eq)
            hi = limited("smin", hi, how == Op::lt ? distance : sum("add", distance, 1));
        if (how == Op::gt || how == Op::ge || how == Op::eq)
            lo = limited("smax", lo, how == Op::gt ? sum("add", distance, 1) : distance);
    }
    const std::string some = out.let(text("and i1 ", runs, ", ", out.let(text("icmp slt i64 ", lo, ", ", hi))));
    const auto item = [&](const std::string& which) {
        const std::string t = out.let(text("select i1 ", some, ", i64 ", which, ", i64 0"));
        return out.let(text("add i32 ", begin, ", ", out.let(text("trunc i64 ", t, " to i32"))));
    };
    PassingItems passing{item(lo), item(hi), exact};
    std::tie(packet.values, packet.has_value, packet.local_at) = before;
    return passing;
}

/// Emits the items of a row, `end` of them, that pass the guards. In full packets all items pass.
void GuardedRows::guarded_row(const std::string& end, const Body& body) {
    const PassingItems passing = passing_items("0", end);
    const auto if_exact = [&](const std::string& then, const std::string& otherwise) {
        return out.let(text("select i1 ", passing.exact, ", i32 ", then, ", i32 ", otherwise));
    };
    const std::string slot = out.alloca_of("i32", "x"), stop = if_exact(passing.end, end);
    out.line(text("store i32 ", if_exact(passing.first, "0"), ", ptr ", slot));
    emit.pure.all_pass = true;
    emit.rows.full_packets(slot, if_exact(passing.end, "0"), body);
    emit.pure.all_pass = false;
    const std::string loop = out.label("rest"), part = out.label("part"), done = out.label("row_end");
    out.start(loop);
    packet.local_at[0] = out.let(text("load i32, ptr ", slot), "x");
    out.branch(out.let(text("icmp slt i32 ", packet.local_at[0], ", ", stop)), part, done);
    out.start(part);
    emit.rows.partial_packet(stop, body);
    out.line(text("store i32 ", out.let(text("add nsw i32 ", packet.local_at[0], ", ", width)), ", ptr ", slot));
    out.jump(loop);
    out.start(done);
}

}  // namespace pumice::cpu
