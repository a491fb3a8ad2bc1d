// Recording of a program: the commands, the bytes that adjoints read, and what is saved before it is overwritten.
//
// Each launch notes the arrays that its adjoint reads (needs_of). When a later command overwrites such bytes, the contents are
// copied first: a "to be recorded" decision at run time.
//
//     launch y = f(x)       the adjoint of f reads x: x is needed
//     launch x = g(x)       x is saved before the launch, as it is needed
//     fill   y = 0          y is not needed, nothing is saved
//
// With checkpoints (Reverse.checkpoints(n)) a command saves nothing that adjoints need. The second launch starts a new group of
// commands instead, and the reverse sweep repeats groups from states (program_checkpoints.cpp). A buffer from outside the program
// is saved as a whole before the program's first write to it: its contents belong to the first state.
// Cost: a device copy for each save. Limits: without checkpoints, saves are whole spans, never parts.
// See Hascoet, Naumann and Pascual, "'To be recorded' analysis in reverse-mode automatic differentiation", 2005.
#include "autodiff/program/program_tape.h"

#include <utility>

#include "autodiff/api/check_annotations.h"
#include "autodiff/api/custom_rules.h"
#include "autodiff/api/reverse_step.h"
#include "core/kernel/indirect.h"

namespace pumice::derive {

void ProgramTape::seed(const HostArgument& array) {
    if (array.image ? array.image->image->released : array.array ? array.array->released : true)
        fail("a program whose derivative is asked for returns an array or image that was never allocated, or was released");
    if (const BufferSpan span = span_of(array); span.any()) seeds.push_back(span);
}

/// The adjoint of the command that is being recorded reads these bytes.
void ProgramTape::need(const BufferSpan& s) { use(s.buffer).needed.add(s.offset, s.end()); }

/// With checkpoints: a command that overwrites bytes which adjoints of its group need starts the next group.
void ProgramTape::open_group(ProgramCommand& command, std::span<const BufferSpan> written) {
    command.starts_group = std::exchange(next_starts_group, false);
    for (const BufferSpan& s : written)
        if (s.any() && use(s.buffer).needed.meets(s.offset, s.end())) command.starts_group = true;
    if (states > 0 && command.starts_group)
        for (BufferUse& u : table) u.needed.clear();
}

/// A copy of the contents of the span. Where there is no memory, the error says what would need less.
Contents ProgramTape::kept(const BufferSpan& s) const {
    const Contents now = contents_of(s);
    const Contents copy = [&] {
        try {
            return now.room();
        } catch (const Error& e) {
            if (states > 0)
                throw e.within(text("while keeping the states of a program, ", states,
                                    " at most: a smaller n in Reverse.checkpoints(n) needs less"));
            throw e.within(text("while keeping what a program overwrites, ", saved_bytes, " bytes after ", commands.size(),
                                " commands: Reverse.checkpoints(n) needs less"));
        }
    }();
    now.copy_to(copy);
    return copy;
}

/// The command is about to overwrite the span: saves it if an adjoint needs it.
void ProgramTape::overwrite(const BufferSpan& s, ProgramCommand& command) {
    BufferUse& u = use(s.buffer);
    const bool wanted = u.needed.meets(s.offset, s.end());
    u.needed.remove(s.offset, s.end());
    const bool first = !u.written && !buffers[size_t(s.buffer)].inside;
    u.written = true;
    const auto save = [&](const BufferSpan& what) {
        Contents copy = kept(what);
        saved_bytes += copy.bytes();
        return copy;
    };
    if (states == 0 && wanted) command.saved.push_back({s, save(s)});
    if (states > 0 && first) u.initial = std::make_shared<const Contents>(save(whole(s.buffer)));
}

BufferSpan ProgramTape::whole(int buffer) const {
    const ProgramBuffer& b = buffers[size_t(buffer)];
    return {buffer, 0, b.bytes / int64_t(b.element->size) * int64_t(b.element->size), b.element};
}

void ProgramTape::push(ProgramCommand&& command) {
    for (const BufferSpan& s : command.spans) {
        if (!s.any()) continue;
        std::vector<int>& uses = use(s.buffer).uses;
        if (uses.empty() || uses.back() != int(commands.size())) uses.push_back(int(commands.size()));
    }
    commands.push_back(std::move(command));
}

bool ProgramTape::launch(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) {
    const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
    ProgramCommand c(ProgramCommand::Kind::launch);
    c.kernel.emplace(kernel);
    c.range = range;
    if (range.stream.state) {  // saved copies and the reverse sweep use the default stream
        streams_used = true;
        wait_for(*range.stream.state->device);
        c.range.stream = Stream();
    }
    keep_arguments(c, arguments);
    c.spans = spans_of(arguments);
    c.signature = activity(kernel, arguments, c.spans);
    for (const BufferSpan& s : c.spans) c.varied.push_back(is_varied(s));
    const auto written = [&](size_t i) {
        return c.spans[i].any() && (*primal)[primal->params[i].memory].access != ir::Access::in;
    };

    std::vector<BufferSpan> outputs;
    for (size_t i = 0; i < c.spans.size(); ++i)
        if (written(i)) outputs.push_back(c.spans[i]);
    open_group(c, outputs);
    if (!c.signature.params.empty()) {
        const std::vector<bool> needs = needs_of(for_images(kernel, arguments), c.signature);
        for (size_t i = 0; i < needs.size(); ++i)
            if (needs[i] && c.spans[i].any()) need(c.spans[i]);
    }
    for (size_t i = 0; i < c.spans.size(); ++i) {
        if (!written(i)) continue;
        next_starts_group = next_starts_group || use(c.spans[i].buffer).needed.meets(c.spans[i].offset, c.spans[i].end());
        if (c.signature.params.empty() && is_varied(c.spans[i])) c.ended.push_back(c.spans[i]);
        overwrite(c.spans[i], c);
    }
    if (range.stream.state && !c.saved.empty()) wait_for(*range.stream.state->device);
    after_launch(*primal, c.spans, c.signature);
    for (size_t i = 0; i < c.spans.size(); ++i) c.varied[i] = c.varied[i] || is_varied(c.spans[i]);
    push(std::move(c));
    return outer && outer->launching(kernel, range, arguments);
}

/// The command's arguments, which live longer than those of the launch.
void ProgramTape::keep_arguments(ProgramCommand& command, std::span<const HostArgument> arguments) {
    command.arguments.assign(arguments.begin(), arguments.end());
    for (HostArgument& a : command.arguments) {
        if (!a.image) continue;
        auto state = std::make_shared<ImageState>();
        state->device = a.image->image->device;
        state->shape = a.image->image->shape;
        command.bindings.push_back(
            std::make_unique<const detail::ImageBinding>(detail::ImageBinding{std::move(state), a.image->info}));
        a.image = command.bindings.back().get();
        a.array = nullptr;
    }
}

void ProgramTape::allocate(int buffer) {
    ProgramCommand c(ProgramCommand::Kind::allocate);
    c.spans = {whole(buffer)};
    if (states > 0) buffers[size_t(buffer)].memory = nullptr;  // the handles of the program keep it
    push(std::move(c));
}

/// A write of floats after a read may carry a derivative.
void ProgramTape::write(const BufferSpan& to, std::span<const std::byte> data, int level, int64_t layer,
                        const Device& streaming) {
    ProgramCommand c(ProgramCommand::Kind::write);
    c.spans = {to};
    c.level = level, c.layer = layer;
    c.data.assign(data.begin(), data.end());
    c.cut = read_what_varies && to.any() && has_floats(*to.element) && !derivatives_off();
    streams_used = streams_used || streaming;
    const int64_t before = saved_bytes;
    if (is_varied(to)) c.ended = c.spans;
    open_group(c, c.spans);
    overwrite(to, c);
    // An upload after a read may carry a derivative, so its way to the results is followed (find_live).
    set_varied(to, c.cut);
    push(std::move(c));
    if (streaming && saved_bytes > before) wait_for(*streaming);
}

void ProgramTape::fill(const BufferSpan& to, std::span<const std::byte> value) {
    ProgramCommand c(ProgramCommand::Kind::fill);
    c.spans = {to};
    c.data.assign(value.begin(), value.end());
    if (is_varied(to)) c.ended = c.spans;
    open_group(c, c.spans);
    overwrite(to, c);
    set_varied(to, false);
    push(std::move(c));
}

void ProgramTape::copy(const BufferSpan& from, const BufferSpan& to, const Device& streaming) {
    ProgramCommand c(ProgramCommand::Kind::copy);
    c.spans = {from, to};
    const bool varies = is_varied(from) && !is_constant(to) && !derivatives_off();
    if (is_varied(to) || varies) c.ended = {to};
    c.varied = {varies, varies};
    const BufferSpan written = is_image(to) ? whole(to.buffer) : to;  // a copy of an image runs again for all its levels
    open_group(c, {&written, 1});
    overwrite(to, c);
    streams_used = streams_used || streaming;
    if (streaming && !c.saved.empty()) wait_for(*streaming);
    set_varied(to, varies);
    push(std::move(c));
}

void ProgramTape::call(const detail::HostCall& call, std::span<const HostArgument> arguments, std::vector<BufferSpan> spans,
                       bool active) {
    ProgramCommand c(ProgramCommand::Kind::call);
    c.host = call;
    keep_arguments(c, arguments);
    c.spans = std::move(spans);
    std::vector<BufferSpan> outputs;
    for (size_t i = 0; i < c.spans.size(); ++i)
        if (call.written[i]) outputs.push_back(c.spans[i]);
    open_group(c, outputs);
    for (const BufferSpan& s : c.spans)
        if (active && s.any()) need(s);
    for (size_t i = 0; i < c.spans.size(); ++i) {
        const bool written = call.written[i] && c.spans[i].any();
        c.varied.push_back(active && c.spans[i].any() && has_floats(*c.spans[i].element) && (written || is_varied(c.spans[i])) &&
                           !is_constant(c.spans[i]));
        if (!written) continue;
        next_starts_group = next_starts_group || active;
        if (!active && is_varied(c.spans[i])) c.ended.push_back(c.spans[i]);
        overwrite(c.spans[i], c);
        set_varied(c.spans[i], c.varied[i]);
    }
    push(std::move(c));
}

}  // namespace pumice::derive
