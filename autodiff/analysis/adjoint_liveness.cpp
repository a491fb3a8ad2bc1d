#include "autodiff/analysis/adjoint_liveness.h"

namespace pumice::derive {

using namespace ir;

namespace {
bool is_given(Hold hold) { return hold == Hold::given || hold == Hold::variable || hold == Hold::pushed; }
}  // namespace

Needed::Needed(const Kernel& kernel, const Structure& structure, const Plan& plan, const std::function<bool(MemoryId)>& unseen)
    : k(kernel), where(structure), values(k.values.size()), insts(k.insts.size()), memories(k.memories.size()) {
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        switch (i.op) {
            case Op::store:
                if (k[i.memory].kind == MemoryKind::array && !unseen(i.memory)) need(id);
                break;
            case Op::atomic:
            case Op::compare_exchange:
            case Op::call:
            case Op::print:
            case Op::require: need(id); break;
            case Op::for_:
                if (const Value attained = plan.extreme(id)) need(id), need(attained);
                break;
            case Op::while_:
                if (plan.count_hold(id) != Hold::unneeded) need(id);
                break;
            default: break;
        }
    }
    for (uint32_t v = 0; v < k.values.size(); ++v) {
        if (!is_given(plan.hold({v}))) continue;
        // The reversed for counts itself.
        const ValueInfo& info = k.values[v];
        const InstId owner = info.inst.id == none ? where.owner_of(info.block) : InstId{};
        const bool index = owner.id != none && k[owner].op == Op::for_ && info.index == 0;
        if (!index) need(Value{v});
    }
}

void Needed::need(Value v) {
    if (values[v.id]) return;
    values[v.id] = true;
    const ValueInfo& info = k[v];
    const InstId id = info.inst.id == none ? where.owner_of(info.block) : info.inst;
    if (id.id == none) return;
    need(id);
    const Inst& i = k[id];
    const uint32_t leading = info.inst.id == none ? leading_params(i.op) : 0;
    if (!is_control(i.op) || info.index < leading) return;
    const uint32_t column = info.index - leading;
    where.each_source(id, column, [&](Value source, InstId) { need(source); });
    if (is_loop(i.op)) need(k[i.blocks[0]].params[leading_params(i.op) + column]);
}

void Needed::need(InstId id) {
    if (insts[id.id]) return;
    insts[id.id] = true;
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const size_t own = is_control(i.op) ? leading_operands(i.op) : v.size();
    for (size_t o = 0; o < own; ++o) need(v[o]);
    if (i.op == Op::while_) need(k.operands(last_inst(k, i.blocks[0]))[0]);
    if (const InstId around = where.around(id); around.id != none) need(around);
    if (i.op != Op::load || memories[i.memory.id]) return;
    memories[i.memory.id] = true;
    for (const InstId other : where.order())
        if (k[other].memory == i.memory && k[other].op == Op::store) need(other);
}

}  // namespace pumice::derive
