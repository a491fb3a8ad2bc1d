// Ifs in a packet: branches where the condition is uniform in the packet, selects or masks where it diverges.
//
//     uniform:     if %c { A } else { B }        br i1 %c, A, B
//     cheap arms:  %r = if %c { %x } else { %y } %r = select <8 x i1> %c, %x, %y        both arms are computed
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
// selects need pure arms of at most 8 instructions that are not costly. Items that leave by break, continue or return are taken
// out of the mask after the if.
// Textbook name: if-conversion (Allen, Kennedy, Porterfield and Warren, POPL 1983); branches on superword condition codes (Shin,
// PACT 2007).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr size_t most_computed = 8;  ///< instructions of an arm that is computed for all lanes
}  // namespace

/// True for few instructions without effect, so that both arms are computed and the results selected.
bool LlvmEmitter::cheap(BlockId b) const {
    const auto& insts = k[b].insts;
    if (insts.size() > most_computed + 1 || k[insts.back()].op != Op::yield) return false;
    return std::all_of(insts.begin(), insts.end() - 1, [&](InstId i) { return is_pure(k[i].op) && !is_costly(k[i]); });
}

/// The value that a contiguous store would replace: that of a load from the same place, in the block that contains the if
/// `around`, without a store or a barrier between. Null if there is none.
Value LlvmEmitter::replaced_by(const Inst& store, InstId around) const {
    if (store.op != Op::store || k[store.memory].kind == MemoryKind::private_ || !lies_in_row(store)) return {};
    const auto to = indices_of(k, store);
    const auto changes = [&](const Inst& i) {
        return is_barrier(i.op) || (!is_pure(i.op) && i.op != Op::load && i.memory == store.memory);
    };
    Value found;
    for (const InstId id : k[uniformity.structure().block_of(around)].insts) {
        if (id == around) break;
        const Inst& i = k[id];
        if (i.op == Op::load && i.memory == store.memory && i.leaf == store.leaf && std::ranges::equal(indices_of(k, i), to))
            found = k.result(i);
        if (changes(i) || any_inside(k, i, [&](InstId inner) { return changes(k[inner]); })) found = {};
    }
    return found && has_value[found.id] && kind_of(found) == ValueKind::vector ? found : Value{};
}

/// True if the stores of a divergent if may store the old values of the items that do not enter it.
bool LlvmEmitter::blends_stores(InstId id) const {
    const Inst& i = k[id];
    if (!target.rules.has(Rule::blended_stores) || variant.streaming || !running.all() || i.result_count > 0) return false;
    if (k[i.blocks[1]].insts.size() > 1 || last_inst(k, i.blocks[0]).op != Op::yield) return false;
    size_t computed = 0;
    std::vector<MemoryId> stored;
    for (const InstId inner : k[i.blocks[0]].insts) {
        const Inst& e = k[inner];
        if (e.op == Op::yield) continue;
        if (is_pure(e.op)) {
            if (is_costly(e) || ++computed > most_computed) return false;
            continue;
        }
        if (!replaced_by(e, id) || std::find(stored.begin(), stored.end(), e.memory) != stored.end()) return false;
        stored.push_back(e.memory);
    }
    return !stored.empty();
}

/// Emits such an if without a branch.
void LlvmEmitter::blended_if(InstId id, const std::string& condition) {
    for (const InstId inner : k[k[id].blocks[0]].insts) {
        const Inst& i = k[inner];
        if (i.op != Op::store) {
            if (i.op != Op::yield) instruction(inner);
            continue;
        }
        const Value given = k.operands(i).back(), old = replaced_by(i, id);
        const std::string t = vector_type(scalar_type(i.type));
        const ValueRep before = rep_of(given);
        values[given.id] = {
            ValueKind::vector, "",
            let(text("select ", vector_type("i1"), " ", condition, ", ", t, " ", vector(given), ", ", t, " ", vector(old))), 0};
        store(inner);
        values[given.id] = before;
    }
}

void LlvmEmitter::if_(InstId id) {
    const Inst& i = k[id];
    const Value condition = k.operands(i)[0];
    const ValueRep c = rep_of(condition);
    if (c.kind == ValueKind::uniform && (c.scalar == "true" || c.scalar == "false")) {
        const BlockId arm = i.blocks[c.scalar == "true" ? 0 : 1];
        Arm a{&i, {}, {}};
        for (int r = 0; r < i.result_count; ++r) a.results.push_back(alloca_for(k.result(i, r), "if"));
        arms.push_back(a);
        sequence(k[arm].insts);
        arms.pop_back();
        if (open)
            for (int r = 0; r < i.result_count; ++r) read(k.result(i, r), a.results[size_t(r)]);
        return;
    }
    if (c.kind != ValueKind::uniform) return divergent_if(id);
    const bool gone = loses(i);
    const std::string labels[2] = {label("then"), label("else")}, end = label("end");
    Arm a{&i, {}, {}};
    for (int r = 0; r < i.result_count; ++r) a.results.push_back(alloca_for(k.result(i, r), "if"));
    const Mask before = running;
    Alloca after;
    if (gone) after = mask_alloca("after");
    branch(c.scalar, labels[0], labels[1]);
    bool reached = false, left = false;
    for (int arm = 0; arm < 2; ++arm) {
        start(labels[arm]);
        running = before;
        lost = false;
        arms.push_back(a);
        sequence(k[i.blocks[arm]].insts);
        arms.pop_back();
        if (!open) continue;
        reached = true;
        left = left || lost;
        if (gone) write_mask(after, running);
        jump(end);
    }
    running = before;
    lost = left;
    if (!reached) return;
    start(end);
    if (gone) running = read_mask(after);
    for (int r = 0; r < i.result_count; ++r) read(k.result(i, r), a.results[size_t(r)]);
}

/// True if a packet whose items all enter the first arm deserves a version of its own: loads and stores without masks.
bool LlvmEmitter::worth_together(const Inst& i) const {
    if (!target.rules.has(Rule::full_packet_versions)) return false;
    if (!running.all() || loses(i)) return false;
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
std::string LlvmEmitter::holds_for_all(Value condition) {
    if (rep_of(condition).kind == ValueKind::uniform) return scalar(condition);
    const auto by_bits = [&] {
        const std::string bits = let(text("bitcast ", vector_type("i1"), " ", vector(condition), " to i", width));
        return let(text("icmp eq i", width, " ", bits, ", -1"));
    };
    if (k[condition].inst.id == none) return by_bits();
    const Inst& i = k[k[condition].inst];
    const auto v = k.operands(i);
    if (v.size() != 2 || !has_value[v[0].id] || !has_value[v[1].id]) return by_bits();
    if (i.op == Op::and_) {
        const std::string a = holds_for_all(v[0]), b = holds_for_all(v[1]);
        return let(text("and i1 ", a, ", ", b));
    }
    const char* const how = i.op == Op::lt   ? "slt"
                            : i.op == Op::le ? "sle"
                            : i.op == Op::gt ? "sgt"
                            : i.op == Op::ge ? "sge"
                                             : nullptr;
    const ValueRep& h = rep_of(v[0]);
    const int64_t to_last = h.step * (width - 1);
    if (!how || k.type_of(v[0]) != Scalar::i32 || h.kind != ValueKind::affine || kind_of(v[1]) != ValueKind::uniform ||
        std::abs(to_last) > INT32_MAX)
        return by_bits();
    const std::string first = scalar(v[0]), limit = scalar(v[1]), last = let(text("add i32 ", first, ", ", to_last));
    const std::string at_first = let(text("icmp ", how, " i32 ", first, ", ", limit)),
                      at_last = let(text("icmp ", how, " i32 ", last, ", ", limit));
    const std::string no_wrap = let(text("icmp ", to_last < 0 ? "sle" : "sge", " i32 ", last, ", ", first));
    return let(text("and i1 ", let(text("and i1 ", at_first, ", ", at_last)), ", ", no_wrap));
}

void LlvmEmitter::divergent_if(InstId id) {
    const Inst& i = k[id];
    const std::string condition = vector(k.operands(i)[0]), type = vector_type("i1");
    if (cheap(i.blocks[0]) && cheap(i.blocks[1])) return chosen(i, condition);
    if (blends_stores(id)) return blended_if(id, condition);
    Arm a{&i, {}, {}};
    for (int r = 0; r < i.result_count; ++r) {
        a.results.push_back(alloca_for(k.result(i, r), "if"));
        clear(a.results.back());
    }
    std::string done;
    if (worth_together(i)) {
        const std::string together = label("together"), parted = label("parted");
        done = label("done");
        branch(holds_for_all(k.operands(i)[0]), together, parted);
        start(together);
        const std::vector<bool> had = has_value;
        arms.push_back(a);
        sequence(k[i.blocks[0]].insts);
        arms.pop_back();
        has_value = had;
        jump(done);
        start(parted);
    }
    const Mask before = running;
    const std::string opposite = let(text("xor ", type, " ", condition, ", splat (i1 true)"));
    const Mask entered[2] = {narrowed(before, condition), narrowed(before, opposite)};
    const bool gone = loses(i);
    Mask after_arm[2] = {entered[0], entered[1]};
    bool left = false;
    for (int arm = 0; arm < 2; ++arm) {
        const BlockId b = i.blocks[arm];
        a.only = arm == 1 ? entered[1] : Mask{};
        running = entered[arm];
        lost = false;
        arms.push_back(a);
        if (k[b].insts.size() == 1 && k[k[b].insts[0]].op == Op::yield) {
            terminator(k[b].insts[0]);
        } else {
            const std::string then = label(arm ? "else" : "then"), end = label("end");
            Alloca after;
            if (gone) after = mask_alloca("after"), write_mask(after, entered[arm]);
            branch(any(entered[arm]), then, end);
            start(then);
            sequence(k[b].insts);
            if (open && gone) write_mask(after, running);
            left = left || lost;
            start(end);
            if (gone) after_arm[arm] = read_mask(after);
        }
        arms.pop_back();
    }
    if (!done.empty()) start(done);
    lost = left;
    running = gone ? united(after_arm[0], after_arm[1]) : before;
    for (int r = 0; r < i.result_count; ++r) read(k.result(i, r), a.results[size_t(r)]);
}

/// Computes both arms for all items, and selects each result.
void LlvmEmitter::chosen(const Inst& i, const std::string& condition) {
    for (const BlockId b : i.blocks)
        for (const InstId inner : k[b].insts)
            if (k[inner].op != Op::yield) instruction(inner);
    for (int r = 0; r < i.result_count; ++r) {
        const Value v = k.result(i, r);
        const Value yes = k.operands(last_inst(k, i.blocks[0]))[size_t(r)], no = k.operands(last_inst(k, i.blocks[1]))[size_t(r)];
        if (kind_of(v) != ValueKind::vector) {
            define(v, scalar(yes));  // one value on either path
            continue;
        }
        const std::string t = vector_type(scalar_type(k.type_of(v)));
        define(v, let(text("select ", vector_type("i1"), " ", condition, ", ", t, " ", vector(yes), ", ", t, " ", vector(no))));
    }
}

}  // namespace pumice::cpu
