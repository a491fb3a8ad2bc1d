// Checks of annotations: types, widths, shapes, devices, and overlaps of shadows in memory. Each error is a sentence with the
// argument.
//
// Why: a wrong annotation would give a wrong derivative without a word, or a data race between two shadows.
//
//     autodiff(Reverse, f, r, Duplicated(y, dy), Duplicated(x, half))        the shadow has extents [50], and the array has [100]
//     autodiff(Reverse, f, r, Duplicated(y, dy), Duplicated(x, dy))          the shadows of y and x overlap, and y is written
//     autodiff(Forward, f, r, Duplicated(y, dy), Active(a))                  forward mode gives no derivative back
//
// Two shadows may overlap if neither array is written: both are added to. A shadow may overlap no argument.
// Cost: all pairs of arrays of a call; labels are made only for an error, since a launch should be fast.
// Limits: overlaps are found by the views' bytes, not by the elements that the kernel touches. Field's name: activity annotations
// (Enzyme's Const, Active, Duplicated, DuplicatedNoNeed).
#include "autodiff/api/check_annotations.h"

#include <algorithm>

#include "autodiff/api/custom_rules.h"
#include "core/ir/evaluate.h"

namespace pumice::derive {
namespace {

std::string extents_of(const HostArgument& array) {
    std::string s = "[";
    for (int d = 0; d < array.rank; ++d) s += (d ? ", " : "") + std::to_string(array.extents[d]);
    return s + "]";
}

std::string wrong_width(const ArgumentSlot& slot, const std::string& who, int width) {
    if (int(slot.shadows.size()) == width) return "";
    return text(who, " has ", slot.shadows.size(), slot.shadows.size() == 1 ? " shadow" : " shadows", ", and the batch has ",
                width, " directions");
}

class CallCheck {
public:
    CallCheck(const Call& call, bool forward) : call(call), forward(forward), kernel(call.kernel.recorded()) {}

    void run() const {
        const auto given = [](const ir::Parameter& p) { return p.origin == ir::ParameterOrigin::argument; };
        const size_t takes = size_t(std::ranges::count_if(kernel->params, given));
        const size_t of_autodiff =
            size_t(std::ranges::count_if(kernel->params, [&](const ir::Parameter& p) { return given(p) && p.identity.extra; }));
        if (of_autodiff > 0 && call.arguments.size() + of_autodiff == takes)
            refuse("it takes ", of_autodiff, of_autodiff == 1 ? " array" : " arrays",
                   " that autodiff makes for each launch, so its derivative is not taken by a launch");
        if (call.arguments.size() != takes)
            refuse("it takes ", takes, takes == 1 ? " argument" : " arguments", " and is given ", call.arguments.size());
        for (size_t i = 0; i < call.arguments.size(); ++i) {
            const ArgumentSlot& slot = call.arguments[i];
            if (slot.activity == Activity::constant) continue;
            slot.value.is_array ? check_array(i, slot) : check_scalar(i, slot);
        }
        for (size_t i = 0; i < call.arguments.size(); ++i) check_overlaps(i);
    }

private:
    template <class... Parts> [[noreturn]] void refuse(const Parts&... parts) const {
        fail("the derivative of kernel \"", kernel->name, "\" (", kernel->where(kernel->loc), "): ", parts...);
    }

    // Labels are made only for an error, because a launch should be fast.
    void check_scalar(size_t i, const ArgumentSlot& slot) const {
        if (!slot.mixed && !wrong_scalar(slot, "", call.width, forward).empty())
            refuse(wrong_scalar(slot, kernel->label(i), call.width, forward));
    }

    void check_array(size_t i, const ArgumentSlot& slot) const {
        if (!wrong_array(slot, "", call.width).empty()) refuse(wrong_array(slot, kernel->label(i), call.width));
    }

    // A shadow must not overlap an argument, nor another shadow if one of their arrays is written: no order of updates would be
    // right.
    void check_overlaps(size_t i) const {
        for (const HostArgument& shadow : call.arguments[i].shadows) {
            if (!shadow.is_array || !shadow.array) continue;
            for (size_t j = 0; j < call.arguments.size(); ++j) {
                const ArgumentSlot& other = call.arguments[j];
                if (!other.value.is_array) continue;
                if (other.value.array && overlap(*shadow.array, *other.value.array))
                    refuse("the shadow of ", kernel->label(i), " overlaps ", kernel->label(j), " in memory");
                for (const HostArgument& second : other.shadows)
                    if (&second != &shadow && second.array && overlap(*shadow.array, *second.array) &&
                        (written(i) || written(j) || i == j))
                        refuse("the shadows of ", kernel->label(std::min(i, j)), " and ", kernel->label(std::max(i, j)),
                               " overlap in memory, and ", kernel->label(written(i) ? i : j), " is written");
            }
        }
    }
    bool written(size_t i) const { return (*kernel)[kernel->params[i].memory].access != ir::Access::in; }

    const Call& call;
    const bool forward;
    const std::shared_ptr<const ir::Kernel> kernel;
};

}  // namespace

std::string wrong_scalar(const ArgumentSlot& slot, const std::string& who, int width, bool forward) {
    if (forward && slot.activity == Activity::active)
        return who + " is Active in forward mode, which gives no derivative back: write Duplicated(value, tangent)";
    if (!forward && slot.activity != Activity::active)
        return who + " is a scalar and Duplicated in reverse mode: write Active(value), and its derivative comes back";
    if (!is_float(slot.value.type))
        return text(who, " is ", forward ? "Duplicated" : "Active", " and of type ", name_of(slot.value.type),
                    ", which has no derivative: write Const");
    return forward ? wrong_width(slot, who, width) : "";
}

std::string wrong_in_program(const ArgumentSlot& slot, int width, bool forward) {
    if (slot.activity == Activity::constant) return "";
    if (!slot.mixed) return wrong_scalar(slot, slot.label, width, forward);
    if (!is_float(slot.value.type)) return "";
    if (slot.activity == Activity::active) return wrong_scalar(slot, slot.label, width, forward);
    if (slot.target) return wrong_width(slot, slot.label, width);
    // The program receives the plain struct, so the derivative cannot follow its numbers: they are constant.
    const auto moves = [&](const HostArgument& t) { return from_bits<double>(cast_bits(t.type, Scalar::f64, t.bits)) != 0; };
    if (!forward || std::ranges::none_of(slot.shadows, moves)) return "";
    return slot.label +
           " has a tangent in a struct that is Duplicated, whose numbers the derivative of a program does not follow: "
           "write MixedDuplicated, and let the program take the struct as auto&";
}

std::string wrong_array(const ArgumentSlot& slot, const std::string& who, int width) {
    if (slot.activity == Activity::active)
        return who + " is an array and Active: write Duplicated(array, shadow), and its derivative is added to the shadow";
    if (!slot.mixed && !has_floats(*slot.value.element))
        return text(who, " is Duplicated and of type ",
                    slot.value.element->is_scalar() ? name_of(slot.value.element->leaves[0].type) : "struct without floats",
                    ", which has no derivative: write Const");
    if (const std::string wrong = wrong_width(slot, who, width); !wrong.empty()) return wrong;
    if (slot.value.image && slot.value.image->image->released) return who + " is an image that was released";
    for (const HostArgument& shadow : slot.shadows) {
        if (!shadow.array && slot.mixed) continue;
        if (!slot.value.array && !slot.value.image) return who + " is an array that was never allocated";
        if (!shadow.array) return text("the shadow of ", who, " is an array that was never allocated");
        if (shadow.extents != slot.value.extents)
            return text("the shadow of ", who, " has extents ", extents_of(shadow), ", and the ",
                        slot.value.image ? "image" : "array", " has ", extents_of(slot.value));
        if (shadow.device()->backend != slot.value.device()->backend)
            return text("the shadow of ", who, " lies on ", shadow.device()->name, ", and the array on ",
                        slot.value.device()->name);
    }
    return "";
}

void check(const Call& call, bool forward) { CallCheck(call, forward).run(); }

bool has_floats(const Element& element) {
    for (const Leaf& leaf : element.leaves)
        if (is_float(leaf.type)) return true;
    return false;
}

bool overlap(const detail::ArrayState& a, const detail::ArrayState& b) {
    return a.memory && a.memory == b.memory && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

void check_no_rule(const KernelBase& kernel, bool forward, std::string_view who) {
    const KernelRules* rules = find_rules(kernel);
    if (!rules || !(rules->inactive || (forward ? bool(rules->forward) : bool(rules->reverse)))) return;
    const ir::Kernel& primal = *kernel.recorded();
    fail("kernel \"", primal.name, "\" (", primal.where(primal.loc), ") ",
         rules->inactive ? "is inactive" : text("has a rule for ", forward ? "forward" : "reverse", " mode"), ", and ", who,
         " differentiates its code, without the rule: call autodiff, which applies it");
}

}  // namespace pumice::derive
