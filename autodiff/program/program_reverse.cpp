// Reverse sweep of a program: liveness of the recorded commands, and the adjoint of each.
//
// A command is live if it writes bytes whose shadow may be nonzero: bytes of an annotated array, of the returned array, or
// inputs of a later live command. Dead commands are skipped.
//
//     forward     launch u = f(x);   copy u -> v;   fill u = 0;   launch y = g(v)
//     reverse     adjoint of g: dv;  du = 0;        du += dv, dv = 0;  adjoint of f: dx
//
// Without checkpoints the sweep restores saved contents before each adjoint; with checkpoints see program_checkpoints.cpp.
// Cost: one adjoint launch a live command. Limits: floats that the host uploads after it has read active data are refused
// where the result depends on them.
// Textbook name: liveness (useful variables) analysis on a trace.
#include "autodiff/api/check_annotations.h"
#include "autodiff/api/reverse_step.h"
#include "autodiff/api/shadow_arrays.h"
#include "autodiff/program/program_tape.h"
#include "core/ir/evaluate.h"
#include "core/support/debug.h"
#include "core/support/trace.h"

namespace pumice::derive {

void ProgramTape::reverse() {
    trace::Span span("derivative", "reverse sweep of a program");
    span.add("commands", int64_t(commands.size()));
    span.add("kept bytes", int64_t(saved_bytes));
    span.add("checkpoints", int64_t(states));
    find_live();
    detail::ScopedTraceHook aside(outer);
    if (streams_used)  // the reverse sweep runs on the default stream
        for (const ProgramBuffer& b : buffers) wait_for(*b.device);
    for (const BufferSpan& s : seeds)
        for (int w = 0; w < width; ++w) {
            const std::shared_ptr<ArrayState> shadow = shadow_of(s, w);
            const Scalar type = s.element->leaves[0].type;
            const auto is_like = [&](const Leaf& leaf) { return leaf.type == type; };
            if (!is_float(type) || !std::ranges::all_of(s.element->leaves, is_like) ||
                int64_t(s.element->size) != size_of(type) * int64_t(s.element->leaves.size()))
                fail(
                    "a program whose derivative is asked for returns an array or image whose elements are not floats of one "
                    "type");
            const uint64_t one = real_bits(type, 1);
            detail::fill(*shadow, &one, size_of(type));
        }
    debug::log_line(text("the tape of a program has ", commands.size(), commands.size() == 1 ? " command" : " commands",
                         " and keeps ", saved_bytes, " bytes",
                         states ? text("; ", states, " of its states are kept at most") : std::string()));
    states > 0 ? reverse_from_states() : reverse_all();
    for (const ScalarSum& sum : scalar_sums) {
        if (outer && outer->summing(*sum.array, scalars.get(), sum.number)) continue;
        uint64_t bits = 0;
        detail::read(*sum.array, &bits);
        scalars->derivative(sum.number, sum.direction) +=
            from_bits<double>(cast_bits(sum.array->element->leaves[0].type, Scalar::f64, bits));
    }
    scalars->sweep();
}

/// Backward liveness from the shadows of the caller: a command is live if it writes bytes of a live shadow.
void ProgramTape::find_live() {
    std::vector<ByteIntervals> live(buffers.size());
    for (size_t b = 0; b < buffers.size(); ++b)
        for (const ProgramBuffer::Region& r : buffers[b].regions) live[b].add(r.from, r.to);
    for (const BufferSpan& s : seeds) live[size_t(s.buffer)].add(s.offset, s.end());
    const auto is_live = [&](const BufferSpan& s) { return s.any() && live[size_t(s.buffer)].meets(s.offset, s.end()); };
    const auto set_live = [&](const BufferSpan& s) {
        if (s.any()) live[size_t(s.buffer)].add(s.offset, s.end());
    };

    for (size_t n = commands.size(); n-- > 0;) {
        ProgramCommand& c = commands[n];
        if (c.cut && is_live(c.spans[0])) fail_cut(c.spans[0].bytes / int64_t(c.spans[0].element->size));
        for (const BufferSpan& s : c.ended) c.live = c.live || is_live(s);
        for (const BufferSpan& s : c.ended) live[size_t(s.buffer)].remove(s.offset, s.end());
        if (c.kind == ProgramCommand::Kind::allocate) live[size_t(c.spans[0].buffer)].clear();
        if (c.kind == ProgramCommand::Kind::copy && c.live && c.varied[0]) set_live(c.spans[0]);
        if (c.kind != ProgramCommand::Kind::launch && c.kind != ProgramCommand::Kind::call) continue;

        const auto active = [&](size_t i) {
            return c.kind == ProgramCommand::Kind::call
                       ? bool(c.varied[i])
                       : !c.signature.params.empty() && c.signature.params[i] != Activity::constant;
        };
        const auto written = [&](size_t i) {
            return c.kind == ProgramCommand::Kind::call ? bool(c.host->written[i])
                                                        : active(i) && c.signature.params[i] == Activity::duplicated_no_need;
        };
        for (size_t i = 0; i < c.spans.size(); ++i) c.live = c.live || (active(i) && written(i) && is_live(c.spans[i]));
        for (size_t i = 0; i < c.spans.size() && c.live; ++i)
            if (active(i)) set_live(c.spans[i]);
    }
}

// ---- adjoints of commands -------------------------------------------------------------------------------------------

void ProgramTape::adjoint_of(const ProgramCommand& c) {
    if (!c.live) return;
    if (c.kind == ProgramCommand::Kind::launch && !c.signature.params.empty()) return adjoint_of_launch(c);
    if (c.kind == ProgramCommand::Kind::call && std::ranges::find(c.varied, true) != c.varied.end()) return adjoint_of_call(c);
    if (c.kind == ProgramCommand::Kind::copy && c.varied[0]) return adjoint_of_copy(c);
    for (const BufferSpan& s : c.ended) zero_shadows(s);
}

void ProgramTape::adjoint_of_copy(const ProgramCommand& c) {
    for (int w = 0; w < width; ++w) {
        const std::shared_ptr<ArrayState> to = shadow_of(c.spans[1], w), from = shadow_of(c.spans[0], w);
        const bool overlapping = overlap(*from, *to);
        std::shared_ptr<ArrayState> given = to;
        if (overlapping || to->device->backend != from->device->backend) {
            given = allocate_like(*from, from->bytes, false);
            detail::copy(*to, *given);
        }
        if (overlapping) fill_zero(*to);
        accumulate(from, given);
        if (!overlapping) fill_zero(*to);
    }
}

void ProgramTape::adjoint_of_launch(const ProgramCommand& c) {
    OtherMemory memory;
    Call call{for_images(*c.kernel, c.arguments), c.range, {}, width};
    for (size_t i = 0; i < c.arguments.size(); ++i) {
        ArgumentSlot slot{c.signature.params[i], c.arguments[i], {}, nullptr, false};
        if (c.spans[i].any()) {
            slot.value = now(c.arguments[i], c.spans[i], memory);
            for (int w = 0; w < width && slot.activity != Activity::constant; ++w)
                slot.shadows.push_back(memory.shadow(c.arguments[i], shadow_of(c.spans[i], w)));
        }
        call.arguments.push_back(std::move(slot));
    }
    const TapeArrays sums = reverse_step(std::move(call));
    size_t next = 0;
    for (size_t i = 0; i < c.arguments.size(); ++i)
        for (int w = 0; w < width && c.signature.params[i] == Activity::active; ++w)
            scalar_sums.push_back({c.arguments[i].number, w, sums[next++]});
}

void ProgramTape::adjoint_of_call(const ProgramCommand& c) {
    for (int w = 0; w < width; ++w) {
        OtherMemory memory;
        std::vector<HostArgument> values = c.arguments, shadows = c.arguments;
        for (size_t i = 0; i < c.arguments.size(); ++i) {
            if (!c.arguments[i].is_array) continue;
            shadows[i].array = nullptr, shadows[i].image = nullptr;
            if (!c.spans[i].any()) continue;
            values[i] = now(c.arguments[i], c.spans[i], memory);
            if (c.varied[i]) shadows[i] = memory.shadow(c.arguments[i], shadow_of(c.spans[i], w));
        }
        c.host->reverse(values, shadows);
    }
}

// ---- without checkpoints --------------------------------------------------------------------------------------------

/// The span in memory that the reverse sweep may overwrite with saved, older contents. At the first time for a buffer that the
/// program or its caller still holds, the whole buffer is copied and the tape goes on with the copy; the holder's memory keeps
/// what the forward run left in it.
Contents ProgramTape::restorable(const BufferSpan& s) {
    ProgramBuffer& b = buffers[size_t(s.buffer)];
    if (!use(s.buffer).scratch && (!b.inside || b.memory.use_count() > 1)) {
        const Contents now = contents_of(whole(s.buffer)), copy = now.room();
        now.copy_to(copy);
        b.memory = copy.memory();
    }
    use(s.buffer).scratch = true;
    return contents_of(s);
}

/// At the reverse of an allocation: the buffer did not exist before.
void ProgramTape::forget(int buffer) {
    buffers[size_t(buffer)].own.clear();
    if (buffers[size_t(buffer)].inside) buffers[size_t(buffer)].memory = nullptr;
}

void ProgramTape::reverse_all() {
    for (size_t n = commands.size(); n-- > 0;) {
        ProgramCommand& c = commands[n];
        for (const ProgramCommand::Saved& saved : c.saved) saved.copy.copy_to(restorable(saved.span));
        c.saved.clear();
        adjoint_of(c);
        if (c.kind == ProgramCommand::Kind::allocate) forget(c.spans[0].buffer);
    }
}

}  // namespace pumice::derive
