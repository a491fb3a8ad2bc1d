// Calls of derivatives: a kernel called directly, and as a step of a program; by custom rules or by the transforms.
//
// Why: a user may give a kernel rules of its own (custom_rules.h). They replace the transforms in reverse(), in forward(), and
// in steps of programs. The halves of a split derivative are made by the transforms alone, and refuse a kernel with rules.
//
//     reverse(call)     inactive kernel   launch the primal; the shadows of written arrays = 0
//                       augmented rule    kept = augmented(call); adjoints = rule(call, kept)
//                       reverse rule      adjoints = rule(call); launch the primal
//                       no rule           launch the adjoint kernel (launch_derivative.cpp)
//     split             launch the augmented half, which gives the tape; later the reverse half takes it
//     forward(call)     forward rule      rule(call); launch the primal
//                       no rule           launch the forward kernel
//
// A rule runs once for each direction of a batch. An augmented rule runs once for all directions. Errors name the call's
// arguments (check_annotations.cpp).
// Cost: that of the kernels. Limits: a rule for forward mode has no tangents of scalars; a rule of reverse mode returns an
// adjoint for each floating scalar, in order. Field's name: custom derivative rules (custom_vjp and custom_jvp of JAX, rrule and
// frule of ChainRules.jl).
#include "autodiff/api/derivative_call.h"

#include <algorithm>

#include "autodiff/api/check_annotations.h"
#include "autodiff/api/custom_rules.h"
#include "autodiff/api/launch_derivative.h"
#include "autodiff/api/reverse_step.h"
#include "autodiff/api/shadow_arrays.h"
#include "core/kernel/indirect.h"

namespace pumice::derive {
namespace {

bool is_written(const ir::Kernel& kernel, size_t parameter) {
    const ir::Parameter& p = kernel.params[parameter];
    return p.is_array && kernel[p.memory].access != ir::Access::in;
}

std::vector<HostArgument> values_of(const Call& call) {
    std::vector<HostArgument> values;
    for (const ArgumentSlot& slot : call.arguments) values.push_back(slot.value);
    return values;
}

/// A call over an indirect range as one over a range that the host knows; other calls stay as they are.
class DirectCall {
public:
    /// The range is one of range_now().
    explicit DirectCall(const Call& given) : call(given) {
        if (!given.range.counts) return;
        made.emplace(detail::direct_launch(given.kernel, given.range));
        direct.emplace(Call{made->kernel, made->range, given.arguments, given.width});
        direct->arguments.push_back({Activity::constant, made->last, {}, nullptr, false});
    }
    operator const Call&() const { return direct ? *direct : call; }
    const Call* operator->() const { return direct ? &*direct : &call; }
    /// The counts of an indirect range.
    const std::shared_ptr<detail::ArrayState>& counts() const { return made->counts; }

private:
    const Call& call;
    std::optional<detail::DirectLaunch> made;
    std::optional<Call> direct;
};

Range range_now(const Call& call) {
    if (!call.range.counts) return call.range;
    return detail::range_now(call.kernel, call.range, device_of(call.range, call.arguments).get());
}

/// The call for one direction of a batch.
Call direction(const Call& call, int w) {
    Call one = call;
    one.width = 1;
    for (ArgumentSlot& slot : one.arguments)
        if (!slot.shadows.empty()) slot.shadows = {slot.shadows[size_t(w)]};
    return one;
}

/// Runs the reverse rule once for each direction. The adjoints come in the order of the floating scalars.
std::vector<uint64_t> sweep_by_rule(const KernelRules& rules, const Call& call, const std::any& kept) {
    std::vector<std::vector<uint64_t>> directions;
    for (int w = 0; w < call.width; ++w) directions.push_back(rules.reverse(direction(call, w), kept));
    std::vector<uint64_t> bits;
    size_t scalar = 0;
    for (const ArgumentSlot& slot : call.arguments) {
        if (slot.value.is_array || !is_float(slot.value.type)) continue;
        for (int w = 0; w < call.width && slot.activity == Activity::active; ++w) {
            if (scalar >= directions[size_t(w)].size())
                fail("the rule of kernel \"", call.kernel.name(), "\" gives ", directions[size_t(w)].size(),
                     directions[size_t(w)].size() == 1 ? " adjoint" : " adjoints",
                     " of scalars, and more scalars are Active: it returns one for each floating scalar, in order");
            bits.push_back(directions[size_t(w)][scalar]);
        }
        ++scalar;
    }
    return bits;
}

std::vector<uint64_t> reverse_by_rule(const KernelRules& rules, const Call& call) {
    if (rules.inactive) {
        call.kernel.launch(call.range, values_of(call));
        std::vector<uint64_t> bits;
        for (size_t i = 0; i < call.arguments.size(); ++i) {
            if (is_written(*call.kernel.recorded(), i))
                for (const HostArgument& shadow : call.arguments[i].shadows)
                    if (shadow.array) fill_zero(*shadow.array);
            if (call.arguments[i].activity == Activity::active) bits.resize(bits.size() + size_t(call.width), 0);
        }
        return bits;
    }
    if (rules.augmented) return sweep_by_rule(rules, call, rules.augmented(call));
    const std::vector<uint64_t> bits = sweep_by_rule(rules, call, {});
    call.kernel.launch(call.range, values_of(call));
    return bits;
}

}  // namespace

KernelRules& rules_of(const KernelBase& kernel) {
    return *static_cast<KernelRules*>(
        kernel.kept("rules", []() -> std::shared_ptr<void> { return std::make_shared<KernelRules>(); }).get());
}
const KernelRules* find_rules(const KernelBase& kernel) {
    const KernelRules& rules = rules_of(kernel);
    return rules.inactive || rules.reverse || rules.forward ? &rules : nullptr;
}
bool is_inactive(const KernelBase& kernel) { return rules_of(kernel).inactive; }

const KernelBase& for_images(const KernelBase& kernel, const std::vector<ArgumentSlot>& slots) {
    const auto is_image = [](const ArgumentSlot& slot) { return slot.value.image != nullptr; };
    if (std::ranges::none_of(slots, is_image)) return kernel;
    std::vector<HostArgument> values;
    for (const ArgumentSlot& slot : slots) values.push_back(slot.value);
    return for_images(kernel, values);
}

const KernelBase& for_images(const KernelBase& kernel, std::span<const HostArgument> arguments) {
    const auto is_image = [](const HostArgument& argument) { return argument.image != nullptr; };
    if (std::ranges::none_of(arguments, is_image) || find_rules(kernel)) return kernel;
    return kernel.for_images(arguments, false);
}

std::vector<uint64_t> reverse(const Call& given) {
    check(given, false);
    const Range range = range_now(given);
    const Call call{given.kernel, range, given.arguments, given.width};
    const KernelRules* rules = find_rules(call.kernel);
    if (rules && (rules->inactive || rules->reverse)) return reverse_by_rule(*rules, call);
    std::vector<uint64_t> adjoints;
    launch(DirectCall(call), DerivativeMode::adjoint, &adjoints);
    return adjoints;
}

void forward(const Call& given) {
    check(given, true);
    const Range range = range_now(given);
    const Call call{given.kernel, range, given.arguments, given.width};
    const KernelRules* rules = find_rules(call.kernel);
    if (rules && rules->inactive) {
        reverse_by_rule(*rules, call);  // the tangents of what is written are zero as well
    } else if (rules && rules->forward) {
        for (size_t i = 0; i < call.arguments.size(); ++i)
            if (!call.arguments[i].value.is_array && call.arguments[i].activity != Activity::constant)
                fail("the rule of kernel \"", call.kernel.name(), "\" for forward mode is called with tangents of arrays, and ",
                     call.kernel.recorded()->label(i),
                     " is a Duplicated scalar: write Const, or put it into an array of one element");
        for (int w = 0; w < call.width; ++w) rules->forward(direction(call, w));
        call.kernel.launch(call.range, values_of(call));
    } else {
        launch(DirectCall(call), DerivativeMode::forward, nullptr);
    }
}

namespace {
const Derived& half_of(const Call& call, DerivativeMode mode) {
    return derived(call.kernel, mode, signature_of(*call.kernel.recorded(), call.arguments, call.width, mode));
}
}  // namespace

std::vector<Activity> activities_of(const Call& call) {
    std::vector<Activity> all;
    for (const ArgumentSlot& slot : call.arguments)
        all.push_back(slot.activity == Activity::duplicated_no_need ? Activity::duplicated : slot.activity);
    return all;
}

TapeArrays split_forward(const Call& call) {
    check(call, false);
    check_no_rule(call.kernel, false, "autodiff_split");
    const Range range = range_now(call);
    const Call over{call.kernel, range, call.arguments, call.width};
    const DirectCall direct(over);
    TapeArrays tape;
    launch(half_of(direct, DerivativeMode::augmented), direct->range, direct->arguments, nullptr, &tape);
    if (call.range.counts) tape.push_back(direct.counts());
    return tape;
}

std::vector<uint64_t> split_reverse(const Call& call, const TapeArrays& tape) {
    check(call, false);
    check_no_rule(call.kernel, false, "autodiff_split");
    TapeArrays arrays = tape;
    Range range = call.range;
    if (range.counts) {  // the tape ends in the counts of the first half
        if (tape.empty() || tape.back()->element->leaves[0].type != Scalar::i32 || tape.back()->bytes != detail::counts_bytes)
            fail("the reverse half of kernel \"", call.kernel.name(),
                 "\" has an indirect range, and is given a tape of another one: both halves take the same range and annotations");
        range = detail::with_counts(range, tape.back());
        arrays.pop_back();
    }
    const Call over{call.kernel, range, call.arguments, call.width};
    const DirectCall direct(over);
    const Derived& half = half_of(direct, DerivativeMode::reverse);
    check_tapes(half, direct->range, direct->arguments, arrays);
    std::vector<uint64_t> adjoints;
    launch(half, direct->range, direct->arguments, &adjoints, &arrays);
    return adjoints;
}

// ---- steps of a program --------------------------------------------------------------------------------------------

std::vector<bool> needs_of(const KernelBase& kernel, const Signature& signature) {
    const KernelRules* rules = find_rules(kernel);
    if (rules && rules->reverse) return std::vector<bool>(signature.params.size(), true);
    return derived(kernel, DerivativeMode::adjoint, signature).reads;
}

TapeArrays reverse_step(Call given) {
    const KernelRules* rules = find_rules(given.kernel);
    const bool by_rule = rules && rules->reverse;
    std::optional<DirectCall> direct;
    if (!by_rule) direct.emplace(given);
    Call step = by_rule ? given : Call(*direct);
    const std::shared_ptr<const ir::Kernel> primal = step.kernel.recorded();
    const Derived* adjoint = nullptr;
    if (!by_rule)
        adjoint =
            &derived(step.kernel, DerivativeMode::adjoint, signature_of(*primal, step.arguments, 1, DerivativeMode::adjoint));

    // Arrays of the primal that the adjoint writes are replaced by copies.
    OtherMemory copies;
    for (size_t i = 0; i < step.arguments.size(); ++i) {
        HostArgument& value = step.arguments[i].value;
        const bool writes = by_rule ? rules->augmented && is_written(*primal, i) : bool(adjoint->writes[i]);
        if (writes && has_memory(value)) value = copies.copy_of(value, by_rule || adjoint->reads[i]);
    }
    TapeArrays sums;
    if (!by_rule) {
        if (step.width == 1)
            launch(*adjoint, step.range, step.arguments, nullptr, nullptr, &sums);
        else
            launch(step, DerivativeMode::adjoint, nullptr, &sums);
        return sums;
    }
    const std::vector<uint64_t> bits = sweep_by_rule(*rules, step, rules->augmented ? rules->augmented(step) : std::any());
    const int64_t one = 1;
    for (const ArgumentSlot& slot : step.arguments)
        for (int w = 0; w < step.width && slot.activity == Activity::active; ++w) {
            sums.push_back(detail::allocate(device_of(step.range, step.arguments), &one, 1, element_of(slot.value.type), false));
            detail::write(*sums.back(), &bits[sums.size() - 1], 1, 1);
        }
    return sums;
}

}  // namespace pumice::derive
