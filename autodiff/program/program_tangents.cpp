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

/// A write from the host.
void ProgramTangents::write(const BufferSpan& s, std::span<const std::byte>, int, int64_t, const Device&) {
    end(s);
    const bool is = read_what_varies && s.any() && has_floats(*s.element) && !derivatives_off();
    if (is && lost_elements == 0) lost_elements = s.bytes / int64_t(s.element->size);
    set_lost(s, is);
}

bool ProgramTangents::is_lost(const BufferSpan& s) const {
    return s.any() && size_t(s.buffer) < lost.size() && lost[size_t(s.buffer)].meets(s.offset, s.end());
}

void ProgramTangents::set_lost(const BufferSpan& s, bool is) {
    if (!s.any() || (!is && size_t(s.buffer) >= lost.size())) return;
    if (lost.size() < buffers.size()) lost.resize(buffers.size());
    is ? lost[size_t(s.buffer)].add(s.offset, s.end()) : lost[size_t(s.buffer)].remove(s.offset, s.end());
}

/// A launch or call, if it has a derivative, makes what it writes lost where what it reads is.
void ProgramTangents::pass_loss(bool active, const std::vector<BufferSpan>& spans, const std::function<bool(size_t)>& reads,
                                const std::function<bool(size_t)>& writes) {
    bool any = false;
    for (size_t i = 0; i < spans.size() && active; ++i) any = any || (reads(i) && is_lost(spans[i]));
    for (size_t i = 0; i < spans.size() && any; ++i)
        if (spans[i].any() && writes(i) && has_floats(*spans[i].element) && !is_constant(spans[i])) set_lost(spans[i], true);
}

void ProgramTangents::check_results() const {
    for (size_t b = 0; b < lost.size(); ++b)
        for (const ProgramBuffer::Region& r : buffers[b].regions)
            if (lost[b].meets(r.from, r.to)) fail_cut(lost_elements);
}

std::shared_ptr<ArrayState> ProgramTangents::tangent(const HostArgument& of, int direction) {
    detail::ScopedTraceHook aside(outer);
    if (!of.array && !of.image) return nullptr;
    const BufferSpan span = span_of(of);
    if (is_lost(span)) fail_cut(lost_elements);
    ArrayState like;
    like.device = of.device();
    like.element = of.element;
    const auto copy = allocate_like(like, span.bytes, true);
    if (span.any() && is_varied(span)) detail::copy(*shadow_of(span, direction), *copy);
    return copy;
}

bool ProgramTangents::launch(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) {
    const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
    const std::vector<BufferSpan> spans = spans_of(arguments);
    const Signature signature = activity(kernel, arguments, spans);
    const auto access = [&](size_t i) { return (*primal)[primal->params[i].memory].access; };
    pass_loss(
        !is_inactive(kernel) && !derivatives_off(), spans,
        [&](size_t i) { return spans[i].any() && access(i) != ir::Access::out; },
        [&](size_t i) { return access(i) != ir::Access::in; });
    if (signature.params.empty()) {
        for (size_t i = 0; i < spans.size(); ++i)
            if (spans[i].any() && access(i) != ir::Access::in) end(spans[i]);
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
        call.arguments.push_back(std::move(slot));
    }
    forward(call);
    after_launch(*primal, spans, signature);
    return true;
}

void ProgramTangents::fill(const BufferSpan& to, std::span<const std::byte>) {
    end(to);
    set_lost(to, false);
}

void ProgramTangents::copy(const BufferSpan& from, const BufferSpan& to, const Device&) {
    set_lost(to, is_lost(from) && !is_constant(to) && !derivatives_off());
    if (!is_varied(from) || is_constant(to) || derivatives_off()) return end(to);
    for (int w = 0; w < width; ++w) detail::copy(*shadow_of(from, w), *shadow_of(to, w));
    set_varied(to, true);
}

void ProgramTangents::call(const detail::HostCall& call, std::span<const HostArgument> arguments, std::vector<BufferSpan> spans,
                           bool active) {
    const bool passes = !call.inactive && !derivatives_off();
    pass_loss(passes, spans, [](size_t) { return true; }, [&](size_t i) { return bool(call.written[i]); });
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
}

}  // namespace pumice::derive
