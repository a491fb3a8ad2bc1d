// Reverse mode: the copy of the primal with what it keeps, and the kernels that are made of the two sweeps.
#include <algorithm>
#include <tuple>

#include "autodiff/analysis/canonical_form.h"
#include "autodiff/reverse/sweep.h"
#include "core/passes/passes.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

Sweep::Sweep(const Primal& p, Part which, Over range)
    : Rewriter(p.kernel),
      primal(p),
      part(which),
      over(range),
      signature(p.signature),
      width(p.signature.width),
      where(p.where),
      analysis(p.analysis),
      plan(p.plan),
      variables(from.values.size()),
      known(from.values.size()),
      slots(from.values.size() * size_t(width)),
      crosses(from.values.size()),
      active_in(from.blocks.size()) {
    for (const InstId id : where.order())
        for (const Value v : from.operands(from[id]))
            if (plan.home(v) != plan.home(where.block_of(id))) crosses[v.id] = true;
    for (uint32_t v = 0; v < from.values.size(); ++v) {
        const ValueInfo& info = from.values[v];
        const bool stands = info.inst.id == none ? info.block.id != none : where.block_of(info.inst).id != none;
        if (stands && analysis.active(Value{v}) && crosses[v]) active_in[plan.home(Value{v}).id].push_back({v});
    }
}

void Sweep::body() {
    constexpr const char* suffixes[] = {".adjoint", ".augmented", ".reverse", ".count"};
    to.name = from.name + suffixes[int(part)];
    if (plan.compares_again()) to.math = Math::strict;
    b.loc = from.loc;
    if (part == Part::count) {
        for (Parameter& p : to.params) p.label = from.label(size_t(&p - to.params.data()));
    } else {
        shadows = std::make_unique<Shadows>(to, from, signature, analysis, true);
    }
    members();
    add_stacks();
    if (part == Part::both || part == Part::reverse) zero_shadows();
    const bool wide = over == Over::wide || over == Over::wide_by_rows, whole = !wide && over != Over::only_sums;
    if (over == Over::only_sums) {
        sum_in_chunks();
    } else if (wide) {
        gather_wide();
    } else if (part != Part::reverse) {
        if (part != Part::count) needed = std::make_unique<Needed>(from, where, plan, [this](MemoryId m) { return unneeded(m); });
        declare_variables();
        insts(BlockId{0});
        if (part == Part::augmented || part == Part::count) push(BlockId{0});
        if (part == Part::augmented) save_cursors();
        if (part == Part::count) count_pushes();
    } else {
        restore_cursors();
    }
    if (whole && (part == Part::both || part == Part::reverse)) reverse_body();
    if (part == Part::augmented) find_sums();  // for the parameters that both halves take
    for (const Memory& m : to.memories) argument_of.push_back(m.argument);
    b.loc = from.loc;
    b.terminate(Op::return_);
    if (over >= Over::sums) loop_cells.swept = std::make_shared<const Kernel>(to);
}

void Sweep::declare_variables() {
    for (uint32_t v = 0; v < from.values.size(); ++v)
        if (plan.hold(Value{v}) == Hold::variable) variables[v] = b.var(zero(from.values[v].type));
    for (const InstId id : where.order())
        if (plan.count_hold(id) == Hold::variable) count_variables[id.id] = b.var(zero(Scalar::i32));
    for (const InstId id : where.order())
        if (plan.extreme(id)) last_attained[id.id] = b.var(b.constant_int(counter_of(id), -1));
}

void Sweep::inst(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    if (in_function) return copy(id);
    if (needed && leaves_out(id)) return;
    switch (i.op) {
        case Op::argument: return map(from.result(i), b.argument(shadows ? shadows->param(size_t(i.immediate)) : int(i.immediate), i.type));
        case Op::store:
            if (unneeded(i.memory)) return;
            return copy(id);
        case Op::return_: return;  // the body's: the reverse sweep follows
        case Op::yield: {
            const BlockId block = where.block_of(id);
            end_of_block(block);
            return copy(id);
        }
        case Op::for_:
            if (plan.extreme(id)) count_iterations(id);
            return copy(id);
        case Op::while_:
            if (plan.count_hold(id) == Hold::unneeded) return copy(id);
            counters[id.id] = b.var(zero(Scalar::i32));
            copy(id);
            counts[id.id] = b.get(counters[id.id]);
            return;
        default: return copy(id);
    }
}

/// Leaves out stores to memory that only the primal's dropped parts read, and constructs that compute nothing which is needed; of
/// barriers inside one remains.
bool Sweep::leaves_out(InstId id) {
    const Inst& i = from[id];
    if ((*needed)(id)) return false;
    if (i.op == Op::store) return from[i.memory].kind != MemoryKind::array;
    if (!is_control(i.op)) return false;
    if (contains_barrier(from, i)) b.barrier();
    for (int r = 0; r < i.result_count; ++r) map(from.result(i, r), zero(from.type_of(from.result(i, r))));
    return true;
}

/// Whether nobody reads what the primal stores there: the kernel does not, and the caller says that neither does he.
bool Sweep::unneeded(MemoryId m) const {
    if (from[m].kind != MemoryKind::array || signature.params[size_t(from[m].argument)] != Activity::duplicated_no_need) return false;
    return std::none_of(where.order().begin(), where.order().end(), [&](InstId id) {
        return from[id].memory == m && from[id].op != Op::store && from[id].op != Op::extent;
    });
}

/// Everything of the block is computed: what the reverse sweep needs of it is kept.
void Sweep::end_of_block(BlockId block) {
    for (const Value v : plan.values_of(block))
        if (plan.hold(v) == Hold::variable) b.set(variables[v.id], of(v));
    for (const InstId loop : plan.counts_of(block))
        if (plan.count_hold(loop) == Hold::variable) b.set(count_variables.at(loop.id), counts.at(loop.id));
    push(block);
    const InstId owner = where.owner_of(block);
    if (owner.id != none && plan.extreme(owner)) return note_extreme(owner);
    if (owner.id == none || from[owner].op != Op::while_ || plan.count_hold(owner) == Hold::unneeded) return;
    const Value counter = counters.at(owner.id);
    b.set(counter, b.op(Op::add, {b.get(counter), b.constant_int(Scalar::i32, 1)}));
}

const Members& Sweep::members() {
    if (group_members.rank) return group_members;
    // Along axis 0 first.
    const int axes = from.rank == 0 ? 3 : from.rank;
    Members& m = group_members;
    for (int axis = axes - 1; axis >= 0; --axis) {
        const Value size = b.index(Op::group_size, axis), group = b.index(Op::group_index, axis), local = b.index(Op::local_index, axis);
        const Value groups = b.index(Op::group_count, axis), first = b.op(Op::mul, {group, size});
        const Value extent = from.whole_groups ? b.op(Op::mul, {groups, size}) : b.index(Op::global_size, axis);
        const Value inside = members_along(axis);
        const auto next = [&](Value& sum, Value length, Value index) {
            sum = sum ? b.op(Op::add, {b.op(Op::mul, {sum, length}), index}) : index;
        };
        next(m.rank, inside, local);
        next(m.linear, extent, b.op(Op::add, {first, local}));
        next(m.group, groups, group);
        m.count = m.count ? b.op(Op::mul, {m.count, inside}) : inside;
        m.items = m.items ? b.op(Op::mul, {m.items, extent}) : extent;
    }
    return m;
}

/// Shadows of local memory are zeroed by the group together, those of private memory by each item.
void Sweep::zero_shadows() {
    bool local = false;
    for (uint32_t m = 0; m < from.memories.size(); ++m) {
        const Memory& memory = from.memories[m];
        if (memory.kind == MemoryKind::array || shadows->of({m}, 0).id == none) continue;
        const bool shared = memory.kind == MemoryKind::local;
        local = local || shared;
        int64_t elements = 1;
        for (const int64_t e : memory.extents) elements *= e;
        const Value size = to.memories[m].size ? to.memories[m].size : b.constant_int(Scalar::i32, elements);
        const Value first = shared ? members().rank : zero(Scalar::i32);
        const Value step = shared ? members().count : b.constant_int(Scalar::i32, 1);
        emit_for(first, size, step, [&](Value e) {
            for (int w = 0; w < width; ++w)
                for (uint32_t leaf = 0; leaf < memory.element.leaves.size(); ++leaf)
                    if (analysis.active({m}, leaf)) b.store(shadows->of({m}, w), leaf, {&e, 1}, zero(memory.element.leaves[leaf].type));
        });
    }
    if (local) b.barrier();
}

namespace {

Kernel tidy(const Kernel& k) { return in_order(forwarded(inlining(k))); }

/// Takes away what a count need not do: prints, and stores to the primal's arrays, but for those that it reads.
class Effects : public Rewriter {
public:
    Effects(const Kernel& kernel, const std::vector<bool>& read) : Rewriter(kernel), read(read) {}
    bool writes = false;

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.op == Op::print || i.op == Op::require) return;  // the kernel itself will say it
        const bool effect = i.op == Op::store || i.op == Op::atomic || i.op == Op::compare_exchange;
        const bool of_primal = effect && from[i.memory].kind == MemoryKind::array && size_t(from[i.memory].argument) < read.size();
        if (of_primal && i.op == Op::store && !read[size_t(from[i.memory].argument)]) return;
        writes = writes || of_primal;
        copy(id);
    }
    const std::vector<bool>& read;
};

/// Only what decides the counts. Which arrays that reads, and so has to write as the primal does, is found from none upwards.
Kernel without_effects(const Kernel& k, size_t params, bool& writes) {
    std::vector<bool> read(params);
    for (;;) {
        Effects pass(k, read);
        const Kernel made = dead(simplify(pass.run()));
        writes = pass.writes;
        const std::vector<bool> before = read;
        for (const Block& block : made.blocks)
            for (const InstId id : block.insts)
                if (made[id].op == Op::load && made[made[id].memory].kind == MemoryKind::array &&
                    size_t(made[made[id].memory].argument) < params)
                    read[size_t(made[made[id].memory].argument)] = true;
        if (read == before) return made;
    }
}

std::optional<Count> count_of(const Primal& primal, const std::vector<Tape>& tapes) {
    bool counted = false;
    for (const Tape& t : tapes) counted = counted || t.size == Tape::Size::counted;
    if (!counted) return std::nullopt;
    Sweep sweep(primal, Part::count);
    Count count;
    count.kernel = in_order(without_effects(tidy(sweep.run()), primal.kernel.params.size(), count.writes));
    return count;
}

/// What a gathering kernel does, over a wider range.
std::optional<Wide> widened(const Primal& primal, Part part) {
    if (!primal.gather.widens()) return std::nullopt;
    Wide wide;
    Sweep sweep(primal, part, Over::wide);
    wide.kernel = tidy(sweep.run());
    if (sweep.gave_up) return std::nullopt;
    if (primal.gather.always()) {
        Sweep by_rows(primal, part, Over::wide_by_rows);
        wide.by_rows = tidy(by_rows.run());
        if (by_rows.gave_up) wide.by_rows.reset();
    }
    std::tie(wide.before, wide.behind) = primal.gather.reach();
    return wide;
}

/// Of items that loop over all items: the kernel in which each takes what the others give to it.
std::optional<AllPairs> all_pairs(const Primal& primal, const Kernel& scattered) {
    if (!primal.pairs.any() || primal.alone) return std::nullopt;
    Sweep sweep(primal, Part::both, Over::all_pairs);
    AllPairs made;
    made.kernel = tidy(sweep.run());
    if (sweep.gave_up) return std::nullopt;
    made.zero = tidy(zeroing(primal, scattered));
    made.fits = primal.pairs.fits();
    return made;
}

/// Of a loop that adds to the same places for all items: the kernels that make sums of what it adds.
std::optional<LoopCells> loop_cells(const Primal& primal, bool exchanged) {
    if (!primal.loop_sums.any() || primal.alone || primal.gather.any() || (exchanged && primal.kernel.rank != 1)) return std::nullopt;
    Sweep sums(primal, Part::both, exchanged ? Over::only_sums : Over::sums);
    LoopCells made;
    made.kernel = tidy(sums.run());
    if (sums.gave_up) return std::nullopt;
    made.total = tidy(sums.total_of_cells(made.kernel));
    made.iterations = primal.loop_sums.iterations();
    made.count = sums.cells_an_iteration();
    made.type = primal.kernel[ir::InstId{primal.loop_sums.loads[0]}].type;
    if (!exchanged) return made;
    made.handed_on = sums.handed_on_by_item();
    made.exchanged = std::move(made.kernel);
    Sweep before(primal, Part::both, Over::before_sums);
    made.kernel = tidy(before.run());
    return made;
}

/// Makes a kernel that may gather, and if that takes too much code, the one that does not.
struct Swept {
    std::unique_ptr<Sweep> sweep;
    Kernel kernel;
    Swept(Primal& primal, Part part) {
        for (bool again = true; again;) {
            sweep = std::make_unique<Sweep>(primal, part);
            kernel = sweep->run();
            again = sweep->gave_up;
            if (again) primal.gather.loads.clear();
        }
        kernel = tidy(kernel);
    }
};

/// What comes with the kernel that has the reverse sweep.
template <class Made>
void add_rest(Made& made, const Primal& primal, Part part, const Sweep& sweep, const Kernel& kernel) {
    made.wide = widened(primal, part);
    if (sweep.has_cells()) {
        made.after.push_back(sweep.sum_of_cells(kernel));
        made.after.back().kernel = tidy(made.after.back().kernel);
    }
    if (primal.gather.any()) {
        made.after.push_back({tidy(zeroing(primal, kernel))});
        made.after.back().row_by_row = row_by_row(made.after.back().kernel);
    }
    made.tapes = sweep.tapes;
    made.accumulated = sweep.accumulated;
    made.fits = fits_of(primal.kernel, sweep.limits);
    made.count = count_of(primal, made.tapes);
}

Adjoint in_one_sweep(const Kernel& kernel, const Signature& signature, bool alone) {
    check(kernel, signature, true);
    const Kernel k = canonical(kernel);
    Primal primal(k, signature, false);
    if (primal.alone = alone; alone) primal.gather.loads.clear();
    Swept both(primal, Part::both);
    Adjoint made;
    made.kernel = std::move(both.kernel);
    add_rest(made, primal, Part::both, *both.sweep, made.kernel);
    made.all_pairs = all_pairs(primal, made.kernel);
    made.loop_cells = loop_cells(primal, false);
    made.exchanged = loop_cells(primal, true);
    return made;
}

}  // namespace

Adjoint adjoint(const Kernel& kernel, const Signature& signature) { return in_one_sweep(kernel, signature, false); }
Adjoint adjoint_alone(const Kernel& kernel, const Signature& signature) {
    Signature any = signature;
    any.any_range = true;
    return in_one_sweep(kernel, any, true);
}

Split split(const Kernel& kernel, const Signature& signature) {
    check(kernel, signature, true);
    const Kernel k = canonical(kernel);
    Primal primal(k, signature, true);
    Swept last(primal, Part::reverse);
    Sweep first(primal, Part::augmented);
    Split made;
    made.augmented = tidy(first.run());
    made.reverse = std::move(last.kernel);
    add_rest(made, primal, Part::reverse, *last.sweep, made.reverse);
    return made;
}

}  // namespace pumice::derive
