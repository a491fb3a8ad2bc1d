// Forward mode of programs: tangents run along with the commands.
//
// A launch with active arguments runs as the forward kernel of its kernel, on arrays and their tangents. A copy of bytes that
// vary is repeated on the tangents; a command that overwrites such bytes with constants clears their tangents.
//
//     launch u = f(x)    =>    launch f.forward(u, du, x, dx)
//     copy u -> v        =>    copy u -> v, copy du -> dv
//     fill u = 0         =>    fill u = 0, fill du = 0
//
// Cost: the forward kernel in place of the primal one; nothing is kept. Limits: a host step needs a rule for forward mode.
// Textbook name: tangent-linear program, forward accumulation (Wengert 1964).
#include "autodiff/program/program_tangents.h"

#include "autodiff/api/check_annotations.h"
#include "autodiff/api/custom_rules.h"
#include "autodiff/api/reverse_step.h"
#include "autodiff/api/shadow_arrays.h"
#include "core/ir/evaluate.h"
#include "core/kernel/indirect.h"

namespace pumice::derive {

/// Ends the derivative of the span: its bytes do not vary any more.
void ProgramTangents::end(const BufferSpan& s) {
    if (!is_varied(s)) return;
    zero_shadows(s);
    set_varied(s, false);
}

std::shared_ptr<ArrayState> ProgramTangents::tangent(const HostArgument& of, int direction) {
    detail::ScopedTraceHook aside(outer);
    if (!of.array && !of.image) return nullptr;
    const BufferSpan span = span_of(of);
    ArrayState like;
    like.device = of.device();
    like.element = of.element;
    const auto copy = allocate_like(like, span.bytes, true);
    if (span.any() && is_varied(span)) detail::copy(*shadow_of(span, direction), *copy);
    return copy;
}

bool ProgramTangents::launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) {
    if (range.counts && !find_rules(kernel)) {
        const detail::DirectLaunch direct = detail::direct_launch(kernel, range);
        std::vector<HostArgument> all(arguments.begin(), arguments.end());
        all.push_back(direct.last);
        return launching(direct.kernel, direct.range, all);
    }
    const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
    const std::vector<BufferSpan> spans = spans_of(arguments);
    const Signature signature = activity(kernel, arguments, spans);
    detail::ScopedTraceHook aside(outer);
    if (signature.params.empty()) {
        for (size_t i = 0; i < spans.size(); ++i)
            if (spans[i].any() && (*primal)[primal->params[i].memory].access != ir::Access::in) end(spans[i]);
        return outer && outer->launching(kernel, range, arguments);
    }
    OtherMemory memory;
    Call call{for_images(kernel, arguments), range, {}, width};
    for (size_t i = 0; i < arguments.size(); ++i) {
        const bool active = signature.params[i] != Activity::constant;
        ArgumentSlot slot{active ? Activity::duplicated : Activity::constant, arguments[i], {}, nullptr, false};
        for (int w = 0; w < width && active; ++w) {
            if (follows(arguments[i])) {
                slot.shadows.push_back(arguments[i]);
                slot.shadows.back().bits =
                    cast_bits(Scalar::f64, arguments[i].type, to_bits(scalars->derivative(arguments[i].number, w)));
                continue;
            }
            slot.shadows.push_back(memory.shadow(arguments[i], shadow_of(spans[i], w)));
        }
        call.slots.push_back(std::move(slot));
    }
    forward(call);
    after_launch(*primal, spans, signature);
    return true;
}

void ProgramTangents::allocated(const std::shared_ptr<ArrayState>& array, bool zero) {
    if (array->memory) enter_inside(array, zero);
    detail::ScopedTraceHook aside(outer);
    if (outer) outer->allocated(array, zero);
}

void ProgramTangents::image_allocated(const ImageState& image) {
    enter_inside(image);
    detail::ScopedTraceHook aside(outer);
    if (outer) outer->image_allocated(image);
}

void ProgramTangents::image_writing(const ImageState& to, int level, int64_t layer, const void* pixels) {
    detail::ScopedTraceHook aside(outer);
    end(span_of(to, level, layer));
    if (outer) outer->image_writing(to, level, layer, pixels);
}

void ProgramTangents::image_reading(const ImageState& from) {
    detail::ScopedTraceHook aside(outer);
    if (outer) outer->image_reading(from);
}

void ProgramTangents::writing(const ArrayState& to, const void* from, int stream) {
    detail::ScopedTraceHook aside(outer);
    end(span_of(to));
    if (outer) outer->writing(to, from, stream);
}

void ProgramTangents::reading(const ArrayState& from) {
    detail::ScopedTraceHook aside(outer);
    if (outer) outer->reading(from);
}

void ProgramTangents::filling(const ArrayState& to, const void* value, int size) {
    detail::ScopedTraceHook aside(outer);
    end(span_of(to));
    if (outer) outer->filling(to, value, size);
}

void ProgramTangents::copy_tangents(const BufferSpan& from, const BufferSpan& to) {
    if (!is_varied(from) || is_constant(to) || derivatives_off()) return end(to);
    for (int w = 0; w < width; ++w) detail::copy(*shadow_of(from, w), *shadow_of(to, w));
    set_varied(to, true);
}

void ProgramTangents::copying(const ArrayState& from, const ArrayState& to, int stream) {
    detail::ScopedTraceHook aside(outer);
    const BufferSpan source = span_of(from);
    copy_tangents(source, span_of(to));
    if (outer) outer->copying(from, to, stream);
}

void ProgramTangents::image_copying(const ImageState& from, const ImageState& to) {
    detail::ScopedTraceHook aside(outer);
    const BufferSpan source = span_of(from);
    copy_tangents(source, span_of(to));
    if (outer) outer->image_copying(from, to);
}

bool ProgramTangents::calling(const detail::HostCall& call, std::span<const HostArgument> arguments) {
    const std::vector<BufferSpan> spans = spans_of(arguments);
    detail::ScopedTraceHook aside(outer);
    bool varies = false;
    for (const BufferSpan& s : spans) varies = varies || is_varied(s);
    const bool active = varies && !call.inactive && !derivatives_off();
    if (active && !call.forward)
        fail("the host step \"", call.name,
             "\" works on arrays that depend on what is differentiated and has no rule for forward mode: add .forward(rule) or "
             ".inactive()");
    for (int w = 0; w < width && active; ++w) {
        OtherMemory memory;
        std::vector<HostArgument> tangents(arguments.begin(), arguments.end());
        for (size_t i = 0; i < spans.size(); ++i) {
            if (!tangents[i].is_array) continue;
            tangents[i].array = nullptr, tangents[i].image = nullptr;
            if (!spans[i].any() || !has_floats(*spans[i].element) || is_constant(spans[i])) continue;
            tangents[i] = memory.shadow(arguments[i], shadow_of(spans[i], w));
        }
        call.forward(arguments, tangents);
    }
    for (size_t i = 0; i < spans.size(); ++i) {
        if (!call.written[i] || !spans[i].any()) continue;
        active&& has_floats(*spans[i].element) && !is_constant(spans[i]) ? set_varied(spans[i], true) : end(spans[i]);
    }
    if (!outer || !outer->calling(call, arguments)) call.primal(arguments);
    return true;
}

}  // namespace pumice::derive
