// Makes and caches derivative kernels: runs the transforms, drops stores that nobody reads, and keeps the result in the primal.
//
// Why: a derivative is made once for each kernel and signature (mode, activity of each parameter, number of directions), and all
// launches share it and its compiled code.
//
//     y[i] = exp(x[i]), DuplicatedNoNeed y, Duplicated x
//     transform      %y = exp %x;  store y[i], %y;  %d = load dy[i];  store dy[i], 0;  dx[i] += %d * %y
//     drop_unread    %y = exp %x;                   %d = load dy[i];  store dy[i], 0;  dx[i] += %d * %y
//
// The cache's key is mode, width, activities and the limit of private memory; it lies in the primal (KernelBase::kept), so it
// lives as long. A derivative that is right only in some launches (Derived::fits) gets a second version for all launches, made
// when a launch first needs it.
// Cost: the transforms, once; a look-up a launch. Limits: kernels over ranges of more than 3 dimensions have no derivative.
// Stores to a parameter go only if no kernel of the derivative loads from it.
// Textbook name: memoisation; dead-store elimination across kernels.
#include "autodiff/api/derived_kernels.h"

#include <algorithm>

#include "autodiff/api/check_annotations.h"
#include "autodiff/reverse/adjoint_emitter.h"
#include "core/ir/named.h"
#include "core/ir/rewriter.h"
#include "core/passes/dead.h"

namespace pumice::derive {
namespace {

constexpr const char* mode_names[] = {"forward", "adjoint", "augmented", "reverse"};

/// Adds the parameters that the kernel loads from and stores to.
void find_uses(const ir::Kernel& kernel, std::vector<bool>& reads, std::vector<bool>& writes) {
    reads.resize(std::max(reads.size(), kernel.params.size()));
    writes.resize(reads.size());
    for (const ir::Block& block : kernel.blocks)
        for (const ir::InstId id : block.insts) {
            const ir::Inst& inst = kernel[id];
            if (inst.memory.id == ir::none || inst.op == ir::Op::extent) continue;
            const int argument = kernel[inst.memory].argument;
            if (argument < 0) continue;
            if (inst.op != ir::Op::store) reads[size_t(argument)] = true;
            if (inst.op != ir::Op::load) writes[size_t(argument)] = true;
        }
}

/// Removes the stores to the arrays in `unread`.
class WithoutUnread : public ir::Rewriter {
public:
    WithoutUnread(const ir::Kernel& kernel, const std::vector<bool>& unread) : Rewriter(kernel), unread(unread) {}

private:
    void inst(ir::InstId id) override {
        const ir::Inst& i = from[id];
        const bool drop = i.op == ir::Op::store && from[i.memory].argument >= 0 && unread[size_t(from[i.memory].argument)];
        if (!drop) copy(id);
    }
    const std::vector<bool>& unread;
};

/// Removes stores to DuplicatedNoNeed arrays from which no kernel of the derivative loads.
void drop_unread(Adjoint& a, const Signature& signature) {
    std::vector<bool> reads, writes, unread;
    find_uses(a.kernel, reads, writes);
    for (const Step& step : a.after) find_uses(step.kernel, reads, writes);
    if (a.owner_computes)
        for (const OwnerComputesAdjoint::Owner& owner : a.owner_computes->owners) find_uses(owner.kernel, reads, writes);
    unread.resize(reads.size());
    size_t at = 0;
    bool any = false;
    for (const Activity activity : signature.params) {
        any |= unread[at] = activity == Activity::duplicated_no_need && writes[at] && !reads[at];
        at += 1 + (activity == Activity::constant ? 0 : size_t(signature.width));
    }
    if (!any) return;
    a.kernel = ir::dead(WithoutUnread(a.kernel, unread).run());
    if (a.halo_gather) a.halo_gather->kernel = ir::dead(WithoutUnread(a.halo_gather->kernel, unread).run());
    if (a.halo_gather && a.halo_gather->by_rows)
        a.halo_gather->by_rows = ir::dead(WithoutUnread(*a.halo_gather->by_rows, unread).run());
    if (a.owner_computes) a.owner_computes->rest = ir::dead(WithoutUnread(a.owner_computes->rest, unread).run());
    if (a.pairwise) a.pairwise->kernel = ir::dead(WithoutUnread(a.pairwise->kernel, unread).run());
    for (auto* cells : {&a.loop_partial_sums, &a.interchanged})
        if (*cells) (*cells)->kernel = ir::dead(WithoutUnread((*cells)->kernel, unread).run());
    for (Step& step : a.after) step.kernel = ir::dead(WithoutUnread(step.kernel, unread).run());
}

/// Derived::summed. `whole`: the derivative is one kernel, not a half.
std::vector<size_t> summed_shadows(const ir::Kernel& primal, const Signature& signature,
                                   const std::vector<Accumulated>& accumulated, const std::vector<Tape>& tapes, bool whole) {
    // Tapes that another kernel counts or writes are indexed by the linear index of an item in the whole range.
    const auto own = [&](const Tape& t) { return t.size == Tape::Sizing::fixed || (whole && t.size == Tape::Sizing::item); };
    std::vector<size_t> found;
    if (!std::all_of(tapes.begin(), tapes.end(), own) || !knows_indices_only(primal)) return found;
    size_t at = 0;
    for (size_t p = 0; p < signature.params.size(); ++p) {
        const ir::Parameter& parameter = primal.params[p];
        const bool constant = signature.params[p] == Activity::constant;
        const bool input = parameter.is_array && primal[parameter.memory].access == ir::Access::in;
        const auto to_it = [&](const Accumulated& a) {
            return a.how == Accumulation::atomic && a.memory == primal[parameter.memory].name;
        };
        if (!constant && input && std::any_of(accumulated.begin(), accumulated.end(), to_it))
            for (int w = 0; w < signature.width; ++w) found.push_back(at + 1 + size_t(w));
        at += 1 + (constant ? 0 : size_t(signature.width));
    }
    return found;
}

bool depends_on_groups(const ir::Kernel& k) {
    return k.whole_groups ||
           std::any_of(k.memories.begin(), k.memories.end(),
                       [](const ir::Memory& m) { return m.kind == ir::MemoryKind::local; }) ||
           std::any_of(k.insts.begin(), k.insts.end(), [](const ir::Inst& i) {
               return (i.op >= ir::Op::local_index && i.op <= ir::Op::subgroup_count) || i.op == ir::Op::subgroup;
           });
}

AnyKernel as_kernel(ir::Kernel&& kernel) { return AnyKernel(std::make_shared<ir::Kernel>(std::move(kernel))); }

Derived::LoopPartialSumsKernels ready_cells(LoopPartialSumsAdjoint&& cells) {
    const auto atomics = [](const ir::Kernel& k) {
        return std::count_if(k.insts.begin(), k.insts.end(), [](const ir::Inst& i) { return i.op == ir::Op::atomic; });
    };
    const bool adds = cells.interchanged && (atomics(cells.kernel) > 0 || atomics(*cells.interchanged) > cells.count);
    std::optional<AnyKernel> interchanged;
    if (cells.interchanged) interchanged = as_kernel(std::move(*cells.interchanged));
    return {as_kernel(std::move(cells.kernel)),
            std::move(interchanged),
            as_kernel(std::move(cells.total)),
            cells.type,
            cells.count,
            cells.passed_values,
            std::move(cells.iterations),
            adds};
}

Derived derive_anew(const std::shared_ptr<const ir::Kernel>& primal, Mode mode, const Signature& signature) {
    const auto ready = [&](ir::Kernel&& kernel, std::vector<Step>&& after, std::vector<Tape>&& tapes,
                           std::optional<Count>&& count, std::optional<HaloGather>&& halo_gather = {},
                           const std::vector<Accumulated>& accumulated = {}, Fits&& fits = {}) {
        std::vector<size_t> summed = summed_shadows(*primal, signature, accumulated, tapes, mode == Mode::adjoint);
        Derived d{as_kernel(std::move(kernel)),
                  mode,
                  signature,
                  {},
                  std::move(tapes),
                  {},
                  count && count->writes,
                  primal,
                  depends_on_groups(*primal),
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  std::move(summed),
                  std::move(fits),
                  std::make_shared<Derived::Any>()};
        if (halo_gather) d.halo_gather = {as_kernel(std::move(halo_gather->kernel)), {}, halo_gather->before, halo_gather->after};
        if (halo_gather && halo_gather->by_rows) d.halo_gather->by_rows = as_kernel(std::move(*halo_gather->by_rows));
        for (Step& step : after) {
            d.after.push_back({as_kernel(std::move(step.kernel)), step.items, {}});
            if (step.row_by_row) d.after.back().row_by_row = as_kernel(std::move(*step.row_by_row));
        }
        if (count) d.count = as_kernel(std::move(count->kernel));
        return d;
    };
    if (mode == Mode::forward) return ready(derive::forward(*primal, signature), {}, {}, {});
    if (mode == Mode::adjoint) {
        Adjoint a = derive::adjoint(*primal, signature);
        drop_unread(a, signature);
        Derived d = ready(std::move(a.kernel), std::move(a.after), std::move(a.tapes), std::move(a.count),
                          std::move(a.halo_gather), a.accumulated, std::move(a.fits));
        if (a.pairwise)
            d.pairwise = {as_kernel(std::move(a.pairwise->kernel)), as_kernel(std::move(a.pairwise->zero)),
                          std::move(a.pairwise->fits)};
        if (a.owner_computes) {
            d.owner_computes = {{},
                                as_kernel(std::move(a.owner_computes->rest)),
                                summed_shadows(*primal, signature, a.owner_computes->accumulated, d.tapes, true)};
            for (OwnerComputesAdjoint::Owner& owner : a.owner_computes->owners)
                d.owner_computes->owners.push_back(
                    {as_kernel(std::move(owner.kernel)), std::move(owner.range), owner.instructions});
        }
        if (a.loop_partial_sums) d.loop_partial_sums = ready_cells(std::move(*a.loop_partial_sums));
        if (a.interchanged) d.interchanged = ready_cells(std::move(*a.interchanged));
        return d;
    }
    SplitDerivative s = derive::split(*primal, signature);
    if (mode == Mode::augmented) return ready(std::move(s.augmented), {}, std::move(s.tapes), std::move(s.count));
    return ready(std::move(s.reverse), std::move(s.after), std::move(s.tapes), std::move(s.count), std::move(s.halo_gather),
                 s.accumulated, std::move(s.fits));
}

}  // namespace

const Derived& derived_for(const Derived& derived, const HostValues& known, const std::array<int64_t, 3>& items) {
    if (!derived.fits || derived.fits(known, items)) return derived;
    std::call_once(derived.any->once, [&] {
        Signature any = derived.signature;
        any.any_range = true;
        derived.any->derived = std::make_unique<Derived>(derive_anew(derived.primal, derived.mode, any));
    });
    return *derived.any->derived;
}

namespace {

/// The key under which a kernel keeps a derivative.
std::string key_of(const char* what, const Signature& signature) {
    std::string key =
        std::string("derive ") + what + (signature.any_range ? " any " : " ") + std::to_string(signature.width) + ' ';
    for (const Activity a : signature.params) key += "cadn"[int(a)];
    if (signature.private_elements != Signature().private_elements) key += ' ' + std::to_string(signature.private_elements);
    return key;
}

}  // namespace

Signature signature_of(const ir::Kernel& kernel, const std::vector<ArgumentSlot>& slots, int width, Mode mode) {
    Signature signature;
    signature.width = width;
    for (const ArgumentSlot& slot : slots)
        if (slot.value.is_array && slot.value.array)
            signature.private_elements = slot.value.array->device->backend->limits().private_memory / 4;
    for (size_t i = 0; i < slots.size(); ++i) {
        const ArgumentSlot& slot = slots[i];
        Activity activity = slot.activity;
        if (activity != Activity::constant && slot.value.is_array) {
            const bool shadowed = !slot.shadows.empty() && slot.shadows[0].array;
            if (!shadowed || !has_floats(kernel[kernel.params[i].memory].element)) activity = Activity::constant;
        } else if (activity != Activity::constant) {
            // A scalar in a Duplicated struct is constant in reverse mode: there is no place for its derivative.
            const bool lost = mode != Mode::forward && activity != Activity::active && !slot.target;
            activity = lost || !is_float(slot.value.type) ? Activity::constant
                       : mode == Mode::forward            ? Activity::duplicated
                                                          : Activity::active;
        }
        signature.params.push_back(activity);
    }
    return signature;
}

namespace {

void check_dimensions(const ir::Kernel& kernel) {
    if (kernel.folded == 1) return;
    fail("the derivative of kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), "): it takes ranges of ",
         kernel.dimensions(), " dimensions, and there are derivatives of kernels over 3 at most");
}

}  // namespace

const Derived& derived(const KernelBase& kernel, Mode mode, const Signature& signature) {
    const auto made = kernel.kept(key_of(mode_names[int(mode)], signature), [&]() -> std::shared_ptr<void> {
        const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
        check_dimensions(*primal);
        const auto result = std::make_shared<Derived>(derive_anew(primal, mode, signature));
        // The parameters of the derivative are those of the primal, with others between them, which are left out here.
        std::vector<bool> reads, writes;
        find_uses(*result->kernel.recorded(), reads, writes);
        for (const Derived::After& after : result->after) find_uses(*after.kernel.recorded(), reads, writes);
        size_t at = 0;
        for (size_t i = 0; i < signature.params.size(); ++i) {
            result->reads.push_back(reads[at]);
            result->writes.push_back(writes[at]);
            at += 1 + (signature.params[i] == Activity::constant ? 0 : size_t(signature.width));
        }
        if (result->count) {
            std::vector<bool> counted, ignored;
            find_uses(*result->count->recorded(), counted, ignored);
            for (size_t i = 0; i < result->reads.size(); ++i) result->reads[i] = result->reads[i] || counted[i];
        }
        return result;
    });
    return *static_cast<const Derived*>(made.get());
}

namespace {

/// The tapes that a derivative kernel takes. The first call for a kernel stores them; for other kernels there are none.
std::vector<Tape> tapes_of(const KernelBase& kernel, const std::vector<Tape>& noted = {}) {
    const auto made = kernel.kept("tapes", [&]() -> std::shared_ptr<void> { return std::make_shared<std::vector<Tape>>(noted); });
    return *static_cast<const std::vector<Tape>*>(made.get());
}

/// The adjoint as one kernel that users launch themselves (single_kernel_adjoint).
AnyKernel single_kernel(const KernelBase& kernel, const Signature& signature) {
    const auto made = kernel.kept(key_of("single", signature), [&]() -> std::shared_ptr<void> {
        check_dimensions(*kernel.recorded());
        Adjoint a = single_kernel_adjoint(*kernel.recorded(), signature);
        drop_unread(a, signature);
        const auto result = std::make_shared<AnyKernel>(as_kernel(std::move(a.kernel)));
        tapes_of(*result, a.tapes);
        return result;
    });
    return *static_cast<const AnyKernel*>(made.get());
}

}  // namespace

AnyKernel derivative(const KernelBase& kernel, const std::string& mode, const Signature& signature) {
    for (int m = 0; m < 4; ++m)
        if (mode == mode_names[m]) {
            // Integers, and arrays without floats, are constant, as in a call.
            const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
            Signature normalised = signature;
            for (size_t i = 0; i < normalised.params.size(); ++i) {
                const ir::Parameter& p = primal->params[i];
                if (!(p.is_array ? has_floats((*primal)[p.memory].element) : is_float(p.type)))
                    normalised.params[i] = Activity::constant;
            }
            normalised.any_range = true;
            if (Mode(m) == Mode::adjoint) return single_kernel(kernel, normalised);
            const Derived& made = derived(kernel, Mode(m), normalised);
            tapes_of(made.kernel, made.tapes);
            return made.kernel;
        }
    fail("a derivative of mode \"", mode, "\" is asked for: modes are forward, adjoint, augmented and reverse");
}

void check_tapeless(const KernelBase& kernel) {
    const std::vector<Tape> tapes = tapes_of(kernel);
    if (tapes.empty()) return;
    const bool counted = std::any_of(tapes.begin(), tapes.end(), [](const Tape& t) { return t.size == Tape::Sizing::counted; });
    fail(ir::named(*kernel.recorded()), " cannot be dumped: it takes ", tapes.size(), tapes.size() == 1 ? " array" : " arrays",
         " that autodiff makes for each launch, ",
         counted ? "as long as another kernel counts, which the files do not hold" : "of a length that the files do not hold",
         "; bound its loops by constants, so that what an item tapes is in 1024 elements of private memory, or call autodiff "
         "where it runs");
}

}  // namespace pumice::derive
