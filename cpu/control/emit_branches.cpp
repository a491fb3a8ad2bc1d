// Ifs in a packet: branches where the condition is uniform in the packet, selects or masks where it diverges.
//
//     uniform:     if %c { A } else { B }        br i1 %c, A, B
//     cheap arms:  %r = if %c { %x } else { %y } %r = select <8 x i1> %c, %x, %y        both arms are computed, ifs in them too
//     stores:      if %c { store a[%i], %x }     store <8 x float> select(%c, %x, %old)            %old = a[%i], loaded before
//     others:      if %c { A } else { B }        br any(%m & %c), A, skip;  br any(%m & ~%c), B, skip      A, B: under their mask
//     also:                                      br all(%c), A without masks, the masked form
//
// Why: lanes of a vector cannot go different ways. A skipped arm saves its time if no lane enters it; an arm that all lanes enter
// loads and stores whole vectors without a mask. The version without masks is emitted for an arm of at most 100 instructions that
// contains loads or stores and no control flow, in a packet of which all items are active. For a comparison of an affine value,
// the first and the last lane decide if the condition holds for all.
// A store of the old value where the condition is false changes nothing: another item that stores to this element between the
// load and the if would race with the load. It saves a branch that goes either way, at the cost of lines that are written
// although they are unchanged; so only for arrays that the caches hold.
// Cost: both arms of a divergent if, one test for each; with the version without masks the first arm's code twice. Limits:
// selects need pure arms of at most 16 instructions that are not costly, as a mispredicted branch takes the time of 30. Items
// that leave by break, continue or return are taken out of the mask after the if.
// Textbook name: if-conversion (Allen, Kennedy, Porterfield and Warren, POPL 1983); branches on superword condition codes (Shin,
// PACT 2007).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/support/error.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/address/addresses.h"
#include "cpu/control/emit_branches.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/packet/loop_facts.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr size_t most_blended = 8;  ///< instructions of an arm with stores that is computed for all lanes
}  // namespace

/// The value that a contiguous store would replace: that of a load from the same place, in the block that contains the if
/// `around`, without a store or a barrier between. Null if there is none.
Value Branches::replaced_by(const Inst& store, InstId around) const {
    if (store.op != Op::store || k[store.memory].kind == MemoryKind::private_ || !emit.addresses.lies_in_row(store)) return {};
    const auto to = indices_of(k, store);
    const auto changes = [&](const Inst& i) {
        return is_barrier(i.op) || (!is_pure(i.op) && i.op != Op::load && i.memory == store.memory);
    };
    Value found;
    for (const InstId id : k[packet.uniformity.structure().block_of(around)].insts) {
        if (id == around) break;
        const Inst& i = k[id];
        if (i.op == Op::load && i.memory == store.memory && i.leaf == store.leaf && std::ranges::equal(indices_of(k, i), to))
            found = k.result(i);
        if (changes(i) || any_inside(k, i, [&](InstId inner) { return changes(k[inner]); })) found = {};
    }
    return found && packet.has_value[found.id] && packet.kind_of(found) == ValueKind::vector ? found : Value{};
}

/// True if the stores of a divergent if may store the old values of the items that do not enter it.
bool Branches::blends_stores(InstId id) const {
    const Inst& i = k[id];
    if (!target.rules.has(Rule::blended_stores) || variant.streaming || !packet.running.all() || i.result_count > 0) return false;
    if (k[i.blocks[1]].insts.size() > 1 || last_inst(k, i.blocks[0]).op != Op::yield) return false;
    size_t computed = 0;
    std::vector<MemoryId> stored;
    for (const InstId inner : k[i.blocks[0]].insts) {
        const Inst& e = k[inner];
        if (e.op == Op::yield) continue;
        if (is_pure(e.op)) {
            if (packet.is_costly(e) || ++computed > most_blended) return false;
            continue;
        }
        if (!replaced_by(e, id) || std::find(stored.begin(), stored.end(), e.memory) != stored.end()) return false;
        stored.push_back(e.memory);
    }
    return !stored.empty();
}

/// Emits such an if without a branch.
void Branches::blended_if(InstId id, const std::string& condition) {
    for (const InstId inner : k[k[id].blocks[0]].insts) {
        const Inst& i = k[inner];
        if (i.op != Op::store) {
            if (i.op != Op::yield) emit.control.instruction(inner);
            continue;
        }
        const Value given = k.operands(i).back(), old = replaced_by(i, id);
        const std::string t = out.vector_type(out.scalar_type(i.type));
        const ValueRep before = packet.rep_of(given);
        packet.values[given.id] = {ValueKind::vector, "",
                                   out.let(text("select ", out.vector_type("i1"), " ", condition, ", ", t, " ",
                                                packet.vector(given), ", ", t, " ", packet.vector(old))),
                                   0};
        emit.accesses.store(inner);
        packet.values[given.id] = before;
    }
}

void Branches::if_(InstId id) {
    const Inst& i = k[id];
    const Value condition = k.operands(i)[0];
    const ValueRep c = packet.rep_of(condition);
    if (c.kind == ValueKind::uniform && (c.scalar == "true" || c.scalar == "false")) {
        const BlockId arm = i.blocks[c.scalar == "true" ? 0 : 1];
        Arm a{&i, {}, {}};
        for (int r = 0; r < i.result_count; ++r) a.results.push_back(packet.alloca_for(k.result(i, r), "if"));
        arms.push_back(a);
        emit.control.sequence(k[arm].insts);
        arms.pop_back();
        if (out.open)
            for (int r = 0; r < i.result_count; ++r) packet.read(k.result(i, r), a.results[size_t(r)]);
        return;
    }
    if (c.kind != ValueKind::uniform) return divergent_if(id);
    const bool gone = emit.loops.loses(i);
    const std::string labels[2] = {out.label("then"), out.label("else")}, end = out.label("end");
    Arm a{&i, {}, {}};
    for (int r = 0; r < i.result_count; ++r) a.results.push_back(packet.alloca_for(k.result(i, r), "if"));
    const Mask before = packet.running;
    Alloca after;
    if (gone) after = packet.mask_alloca("after");
    out.branch(c.scalar, labels[0], labels[1]);
    bool reached = false, left = false;
    for (int arm = 0; arm < 2; ++arm) {
        out.start(labels[arm]);
        packet.running = before;
        packet.lost = false;
        arms.push_back(a);
        emit.control.sequence(k[i.blocks[arm]].insts);
        arms.pop_back();
        if (!out.open) continue;
        reached = true;
        left = left || packet.lost;
        if (gone) packet.write_mask(after, packet.running);
        out.jump(end);
    }
    packet.running = before;
    packet.lost = left;
    if (!reached) return;
    out.start(end);
    if (gone) packet.running = packet.read_mask(after);
    for (int r = 0; r < i.result_count; ++r) packet.read(k.result(i, r), a.results[size_t(r)]);
}

/// True if a packet whose items all enter the first arm deserves a version of its own: loads and stores without masks.
bool Branches::worth_together(const Inst& i) const {
    if (!target.rules.has(Rule::full_packet_versions)) return false;
    if (!packet.running.all() || emit.loops.loses(i)) return false;
    int size = 0, accesses = 0;
    bool simple = true;
    for (const InstId inner : k[i.blocks[0]].insts) {
        ++size;
        accesses += k[inner].op == Op::load || k[inner].op == Op::store;
        simple = simple && !is_control(k[inner].op);
    }
    return simple && accesses > 0 && size <= 100;
}

/// An i1: the condition holds for all lanes. For a comparison of an affine value, the first and the last lane decide.
std::string Branches::holds_for_all(Value condition) {
    if (packet.rep_of(condition).kind == ValueKind::uniform) return packet.scalar(condition);
    const auto by_bits = [&] {
        const std::string bits = out.let(text("bitcast ", out.vector_type("i1"), " ", packet.vector(condition), " to i", width));
        return out.let(text("icmp eq i", width, " ", bits, ", -1"));
    };
    if (k[condition].inst.id == none) return by_bits();
    const Inst& i = k[k[condition].inst];
    const auto v = k.operands(i);
    if (v.size() != 2 || !packet.has_value[v[0].id] || !packet.has_value[v[1].id]) return by_bits();
    if (i.op == Op::and_) {
        const std::string a = holds_for_all(v[0]), b = holds_for_all(v[1]);
        return out.let(text("and i1 ", a, ", ", b));
    }
    const char* const how = i.op == Op::lt   ? "slt"
                            : i.op == Op::le ? "sle"
                            : i.op == Op::gt ? "sgt"
                            : i.op == Op::ge ? "sge"
                                             : nullptr;
    const ValueRep& h = packet.rep_of(v[0]);
    const int64_t to_last = h.step * (width - 1);
    if (!how || k.type_of(v[0]) != Scalar::i32 || h.kind != ValueKind::affine || packet.kind_of(v[1]) != ValueKind::uniform ||
        std::abs(to_last) > INT32_MAX)
        return by_bits();
    const std::string first = packet.scalar(v[0]), limit = packet.scalar(v[1]),
                      last = out.let(text("add i32 ", first, ", ", to_last));
    const std::string at_first = out.let(text("icmp ", how, " i32 ", first, ", ", limit)),
                      at_last = out.let(text("icmp ", how, " i32 ", last, ", ", limit));
    const std::string no_wrap = out.let(text("icmp ", to_last < 0 ? "sle" : "sge", " i32 ", last, ", ", first));
    return out.let(text("and i1 ", out.let(text("and i1 ", at_first, ", ", at_last)), ", ", no_wrap));
}

void Branches::divergent_if(InstId id) {
    const Inst& i = k[id];
    const std::string condition = packet.vector(k.operands(i)[0]), type = out.vector_type("i1");
    if (packet.is_cheap_arm(i.blocks[0]) && packet.is_cheap_arm(i.blocks[1])) return chosen(i, condition);
    if (blends_stores(id)) return blended_if(id, condition);
    Arm a{&i, {}, {}};
    for (int r = 0; r < i.result_count; ++r) {
        a.results.push_back(packet.alloca_for(k.result(i, r), "if"));
        packet.clear(a.results.back());
    }
    std::string done;
    if (worth_together(i)) {
        const std::string together = out.label("together"), parted = out.label("parted");
        done = out.label("done");
        out.branch(holds_for_all(k.operands(i)[0]), together, parted);
        out.start(together);
        const std::vector<bool> had = packet.has_value;
        arms.push_back(a);
        emit.control.sequence(k[i.blocks[0]].insts);
        arms.pop_back();
        packet.has_value = had;
        out.jump(done);
        out.start(parted);
    }
    const Mask before = packet.running;
    const std::string opposite = out.let(text("xor ", type, " ", condition, ", splat (i1 true)"));
    const Mask entered[2] = {packet.narrowed(before, condition), packet.narrowed(before, opposite)};
    const bool gone = emit.loops.loses(i);
    Mask after_arm[2] = {entered[0], entered[1]};
    bool left = false;
    for (int arm = 0; arm < 2; ++arm) {
        const BlockId b = i.blocks[arm];
        a.only = arm == 1 ? entered[1] : Mask{};
        packet.running = entered[arm];
        packet.lost = false;
        arms.push_back(a);
        if (k[b].insts.size() == 1 && k[k[b].insts[0]].op == Op::yield) {
            emit.control.terminator(k[b].insts[0]);
        } else {
            const std::string then = out.label(arm ? "else" : "then"), end = out.label("end");
            Alloca after;
            if (gone) after = packet.mask_alloca("after"), packet.write_mask(after, entered[arm]);
            out.branch(packet.any(entered[arm]), then, end);
            out.start(then);
            emit.control.sequence(k[b].insts);
            if (out.open && gone) packet.write_mask(after, packet.running);
            left = left || packet.lost;
            out.start(end);
            if (gone) after_arm[arm] = packet.read_mask(after);
        }
        arms.pop_back();
    }
    if (!done.empty()) out.start(done);
    packet.lost = left;
    packet.running = gone ? packet.united(after_arm[0], after_arm[1]) : before;
    for (int r = 0; r < i.result_count; ++r) packet.read(k.result(i, r), a.results[size_t(r)]);
}

/// Computes both arms for all items, and selects each result.
void Branches::chosen(const Inst& i, const std::string& condition) {
    for (const BlockId b : i.blocks)
        for (const InstId inner : k[b].insts)
            if (k[inner].op != Op::yield) emit.control.instruction(inner);
    for (int r = 0; r < i.result_count; ++r) {
        const Value v = k.result(i, r);
        const Value yes = k.operands(last_inst(k, i.blocks[0]))[size_t(r)], no = k.operands(last_inst(k, i.blocks[1]))[size_t(r)];
        if (packet.kind_of(v) != ValueKind::vector) {
            packet.define(v, packet.scalar(yes));  // one value on either path
            continue;
        }
        const std::string t = out.vector_type(out.scalar_type(k.type_of(v)));
        packet.define(v, out.let(text("select ", out.vector_type("i1"), " ", condition, ", ", t, " ", packet.vector(yes), ", ", t,
                                      " ", packet.vector(no))));
    }
}

}  // namespace pumice::cpu
