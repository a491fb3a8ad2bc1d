// Makes and caches derivative kernels: runs the transforms, drops stores that nobody reads, and keeps the result in the primal.
//
// Why: a derivative is made once for each kernel and signature (mode, activity of each parameter, number of directions), and all
// launches share it and its compiled code.
//
//     y[i] = exp(x[i]), DuplicatedNoNeed y, Duplicated x
//     transform      %y = exp %x;  store y[i], %y;  %d = load dy[i];  store dy[i], 0;  dx[i] += %d * %y
//     without        %y = exp %x;                   %d = load dy[i];  store dy[i], 0;  dx[i] += %d * %y
//
// The cache's key is mode, width, activities and the limit of private memory; it lies in the primal (KernelBase::kept), so it
// lives as long. A derivative that is right only in some launches (Derived::fits) gets a second version for all launches, made
// when a launch first needs it.
// Cost: the transforms, once; a look-up a launch. Limits: kernels over ranges of more than 3 dimensions have no derivative.
// Stores to a parameter go only if no kernel of the derivative loads from it.
// Textbook name: memoisation; dead-store elimination across kernels.
#include "autodiff/api/derived_kernels.h"

#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/api/check_annotations.h"
#include "autodiff/reverse/adjoint.h"
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

/// By parameter: the DuplicatedNoNeed arrays that the derivative stores to, and from which none of its kernels loads.
std::vector<bool> unread_arrays(const Adjoint& a, const Signature& signature) {
    std::vector<bool> reads, writes, unread;
    find_uses(a.kernel, reads, writes);
    for (const FollowUpKernel& step : a.after) find_uses(step.kernel, reads, writes);
    unread.resize(reads.size());
    size_t at = 0;
    for (const Activity activity : signature.params) {
        unread[at] = activity == Activity::duplicated_no_need && writes[at] && !reads[at];
        at += 1 + (activity == Activity::constant ? 0 : size_t(signature.width));
    }
    return unread;
}
/// The kernel without stores to these arrays.
ir::Kernel without(const std::vector<bool>& unread, const ir::Kernel& kernel) {
    const bool any = std::ranges::find(unread, true) != unread.end();
    return any ? ir::dead(WithoutUnread(kernel, unread).run()) : kernel;
}

/// Derived::summed. `whole`: the derivative is one kernel, not a half.
std::vector<size_t> summed_shadows(const ir::Kernel& primal, const Signature& signature,
                                   const std::vector<Accumulated>& accumulated, const std::vector<TapeParameter>& tapes,
                                   bool whole) {
    // Tapes that another kernel counts or writes are indexed by the linear index of an item in the whole range.
    const auto own = [&](const TapeParameter& t) {
        return t.size == TapeParameter::Sizing::fixed || (whole && t.size == TapeParameter::Sizing::item);
    };
    std::vector<size_t> found;
    if (!std::ranges::all_of(tapes, own) || !knows_indices_only(primal)) return found;
    size_t at = 0;
    for (size_t p = 0; p < signature.params.size(); ++p) {
        const ir::Parameter& parameter = primal.params[p];
        const bool constant = signature.params[p] == Activity::constant;
        const bool input = parameter.is_array && primal[parameter.memory].access == ir::Access::in;
        const auto to_it = [&](const Accumulated& a) {
            return a.how == Accumulation::atomic && a.memory == primal[parameter.memory].name;
        };
        if (!constant && input && std::ranges::any_of(accumulated, to_it))
            for (int w = 0; w < signature.width; ++w) found.push_back(at + 1 + size_t(w));
        at += 1 + (constant ? 0 : size_t(signature.width));
    }
    return found;
}

bool depends_on_groups(const ir::Kernel& k) {
    return k.whole_groups ||
           std::ranges::any_of(k.memories, [](const ir::Memory& m) { return m.kind == ir::MemoryKind::local; }) ||
           std::ranges::any_of(k.insts, [](const ir::Inst& i) {
               return (i.op >= ir::Op::local_index && i.op <= ir::Op::subgroup_count) || i.op == ir::Op::subgroup;
           });
}

AnyKernel as_kernel(ir::Kernel&& kernel) { return AnyKernel(std::make_shared<ir::Kernel>(std::move(kernel))); }

Derived::HaloGatherKernel ready(const HaloGather& halo_gather, const std::vector<bool>& unread) {
    std::optional<AnyKernel> by_rows;
    if (halo_gather.by_rows) by_rows = as_kernel(without(unread, *halo_gather.by_rows));
    return {as_kernel(without(unread, halo_gather.kernel)), std::move(by_rows), halo_gather.before, halo_gather.after};
}
Derived::PairwiseKernels ready(const PairwiseAdjoint& pairwise, const std::vector<bool>& unread) {
    return {as_kernel(without(unread, pairwise.kernel)), as_kernel(ir::Kernel(pairwise.zero)), pairwise.fits};
}
Derived::LoopPartialSumsKernels ready(const LoopPartialSumsAdjoint& cells, const std::vector<bool>& unread) {
    const auto atomics = [](const ir::Kernel& k) {
        return std::ranges::count_if(k.insts, [](const ir::Inst& i) { return i.op == ir::Op::atomic; });
    };
    ir::Kernel kernel = without(unread, cells.kernel);
    const bool adds = cells.interchanged && (atomics(kernel) > 0 || atomics(*cells.interchanged) > cells.count);
    std::optional<AnyKernel> interchanged;
    if (cells.interchanged) interchanged = as_kernel(ir::Kernel(*cells.interchanged));
    return {as_kernel(std::move(kernel)),
            std::move(interchanged),
            as_kernel(ir::Kernel(cells.total)),
            cells.type,
            cells.count,
            cells.passed_values,
            cells.iterations,
            adds};
}

/// The kernels of a strategy, made from `from` when they are asked for.
template <class Kernels, class Made> Lazy<Kernels> when_asked(const Lazy<Made>& from, const std::vector<bool>& unread) {
    return {[from, unread]() -> std::optional<Kernels> {
        if (!from) return std::nullopt;
        return ready(*from, unread);
    }};
}

Derived derive_anew(const std::shared_ptr<const ir::Kernel>& primal, DerivativeMode mode, const Signature& signature) {
    /// `made`: an Adjoint or a SplitDerivative.
    const auto with_rest = [&](ir::Kernel&& kernel, auto& made, const std::vector<bool>& unread) {
        Derived d{as_kernel(std::move(kernel)), mode, signature};
        d.summed = summed_shadows(*primal, signature, made.accumulated, made.tapes, mode == DerivativeMode::adjoint);
        d.halo_gather = when_asked<Derived::HaloGatherKernel>(made.halo_gather, unread);
        for (FollowUpKernel& step : made.after) {
            d.after.push_back({as_kernel(without(unread, step.kernel)), step.items, {}});
            if (step.row_by_row) d.after.back().row_by_row = as_kernel(std::move(*step.row_by_row));
        }
        d.tapes = std::move(made.tapes);
        d.count_writes = made.count && made.count->writes;
        if (made.count) d.count = as_kernel(std::move(made.count->kernel));
        d.fits = std::move(made.fits);
        return d;
    };
    const auto finished = [&](Derived&& d) {
        d.primal = primal;
        d.by_group = depends_on_groups(*primal);
        if (d.fits)
            d.for_any_range = {[=] {
                Signature any = signature;
                any.any_range = true;
                return std::optional(derive_anew(primal, mode, any));
            }};
        return std::move(d);
    };
    if (mode == DerivativeMode::forward) return finished({as_kernel(derive::forward(*primal, signature)), mode, signature});
    if (mode == DerivativeMode::adjoint) {
        Adjoint a = derive::adjoint(*primal, signature);
        const std::vector<bool> unread = unread_arrays(a, signature);
        Derived d = with_rest(without(unread, a.kernel), a, unread);
        d.pairwise = when_asked<Derived::PairwiseKernels>(a.pairwise, unread);
        d.loop_partial_sums = when_asked<Derived::LoopPartialSumsKernels>(a.loop_partial_sums, unread);
        d.interchanged = when_asked<Derived::LoopPartialSumsKernels>(a.interchanged, unread);
        d.owner_computes = {[=, tapes = d.tapes, from = a.owner_computes]() -> std::optional<Derived::OwnerComputesKernels> {
            if (!from) return std::nullopt;
            Derived::OwnerComputesKernels kernels{
                {}, as_kernel(without(unread, from->rest)), summed_shadows(*primal, signature, from->accumulated, tapes, true)};
            for (const OwnerComputesAdjoint::Owner& owner : from->owners)
                kernels.owners.push_back({as_kernel(ir::Kernel(owner.kernel)), owner.range, owner.instructions});
            return kernels;
        }};
        d.footprint_gather = {[=, tapes = d.tapes,
                               from = a.footprint_gather]() -> std::optional<Derived::FootprintGatherKernels> {
            if (!from) return std::nullopt;
            Derived::FootprintGatherKernels kernels{
                {}, as_kernel(without(unread, from->rest)), summed_shadows(*primal, signature, from->accumulated, tapes, true)};
            for (const FootprintGatherAdjoint::Gatherer& g : from->gatherers)
                kernels.gatherers.push_back({as_kernel(ir::Kernel(g.kernel)), g.axes, g.parameter, g.groups});
            return kernels;
        }};
        return finished(std::move(d));
    }
    SplitDerivative s = derive::split(*primal, signature);
    if (mode == DerivativeMode::reverse) return finished(with_rest(std::move(s.reverse), s, {}));
    Derived d{as_kernel(std::move(s.augmented)), mode, signature};
    d.tapes = std::move(s.tapes);
    d.count_writes = s.count && s.count->writes;
    if (s.count) d.count = as_kernel(std::move(s.count->kernel));
    return finished(std::move(d));
}

}  // namespace

const Derived& derived_for(const Derived& derived, const HostValues& known, const std::array<int64_t, 3>& items) {
    return !derived.fits || derived.fits(known, items) ? derived : *derived.for_any_range;
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

Signature signature_of(const ir::Kernel& kernel, const std::vector<ArgumentSlot>& slots, int width, DerivativeMode mode) {
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
            const bool lost = mode != DerivativeMode::forward && activity != Activity::active && !slot.target;
            activity = lost || !is_float(slot.value.type) ? Activity::constant
                       : mode == DerivativeMode::forward  ? Activity::duplicated
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

const Derived& derived(const KernelBase& kernel, DerivativeMode mode, const Signature& signature) {
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
std::vector<TapeParameter> tapes_of(const KernelBase& kernel, const std::vector<TapeParameter>& noted = {}) {
    const auto made =
        kernel.kept("tapes", [&]() -> std::shared_ptr<void> { return std::make_shared<std::vector<TapeParameter>>(noted); });
    return *static_cast<const std::vector<TapeParameter>*>(made.get());
}

/// The adjoint as one kernel that users launch themselves (single_kernel_adjoint).
AnyKernel single_kernel(const KernelBase& kernel, const Signature& signature) {
    const auto made = kernel.kept(key_of("single", signature), [&]() -> std::shared_ptr<void> {
        check_dimensions(*kernel.recorded());
        const Adjoint a = single_kernel_adjoint(*kernel.recorded(), signature);
        const auto result = std::make_shared<AnyKernel>(as_kernel(without(unread_arrays(a, signature), a.kernel)));
        tapes_of(*result, a.tapes);
        return result;
    });
    return *static_cast<const AnyKernel*>(made.get());
}

}  // namespace

AnyKernel derivative(const KernelBase& kernel, const std::string& mode, const Signature& signature) {
    for (int m = 0; m < 4; ++m)
        if (mode == mode_names[m]) {
            check_no_rule(kernel, DerivativeMode(m) == DerivativeMode::forward, m == 0 ? "tangent" : "adjoint");
            // Integers, and arrays without floats, are constant, as in a call.
            const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
            Signature normalised = signature;
            for (size_t i = 0; i < normalised.params.size(); ++i) {
                const ir::Parameter& p = primal->params[i];
                if (!(p.is_array ? has_floats((*primal)[p.memory].element) : is_float(p.type)))
                    normalised.params[i] = Activity::constant;
            }
            normalised.any_range = true;
            if (DerivativeMode(m) == DerivativeMode::adjoint) return single_kernel(kernel, normalised);
            const Derived& made = derived(kernel, DerivativeMode(m), normalised);
            tapes_of(made.kernel, made.tapes);
            return made.kernel;
        }
    fail("a derivative of mode \"", mode, "\" is asked for: modes are forward, adjoint, augmented and reverse");
}

void check_tapeless(const KernelBase& kernel) {
    const std::vector<TapeParameter> tapes = tapes_of(kernel);
    if (tapes.empty()) return;
    const bool counted =
        std::ranges::any_of(tapes, [](const TapeParameter& t) { return t.size == TapeParameter::Sizing::counted; });
    fail(ir::named(*kernel.recorded()), " cannot be dumped: it takes ", tapes.size(), tapes.size() == 1 ? " array" : " arrays",
         " that autodiff makes for each launch, ",
         counted ? "as long as another kernel counts, which the files do not hold" : "of a length that the files do not hold",
         "; bound its loops by constants, so that what an item tapes is in 1024 elements of private memory, or call autodiff "
         "where it runs");
}

}  // namespace pumice::derive
