// Binomial checkpointing of programs: the reverse sweep with few states kept, and groups of commands run again from these states.
//
// A state is the contents of the buffers that later commands use and the program changes. Commands are grouped so that, within
// a group, nothing is overwritten that an adjoint of the group reads; a group is reversed after one run from the state at its
// start. The chain of groups is reversed by the binomial schedule (binomial_schedule.h): advance, keep a state, reverse the
// rest from it, restore.
//
//     groups 0 .. 9, 3 states:   keep state 0;  run 0 .. 3;  keep state 4;  reverse 4 .. 9 with 2 states;
//                                restore state 0;  reverse 0 .. 3 with 3 states
//
// States share copies of buffers that have not changed between them (buffer and version).
// Cost: memory for n states; each command runs again as often as the schedule says.
// Limits: a group is the unit, so one long command sequence without overwrites is one group. Conditions of the host are not
// evaluated again; what a kernel prints is printed again.
// See Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 2000.
#include "autodiff/program/program_tape.h"

#include "autodiff/api/shadow_arrays.h"
#include "core/support/trace.h"

namespace pumice::derive {

/// True if some command of [from, to) uses the buffer.
bool ProgramTape::used(int buffer, int from, int to) const {
    const std::vector<int>& uses = table[size_t(buffer)].uses;
    const auto next = std::ranges::lower_bound(uses, from);
    return next != uses.end() && *next < to;
}

/// Executes the command again, on the current memory of the buffers.
void ProgramTape::execute(const ProgramCommand& c, int index) {
    OtherMemory memory;
    std::vector<HostArgument> arguments = c.arguments;
    for (size_t i = 0; i < c.arguments.size(); ++i)
        if (c.spans[i].any()) arguments[i] = now(c.arguments[i], c.spans[i], memory);
    switch (c.kind) {
        case ProgramCommand::Kind::allocate: {
            ProgramBuffer& b = buffers[size_t(c.spans[0].buffer)];
            if (b.image) {
                b.memory = detail::new_image(b.device, *b.image, b.native)->allocation();
                break;
            }
            ArrayState like;
            like.device = b.device;
            like.element = b.element;
            b.memory = allocate_like(like, c.spans[0].bytes, b.zero)->memory;
            break;
        }
        case ProgramCommand::Kind::launch: c.kernel->launch(c.range, arguments); break;
        case ProgramCommand::Kind::fill: detail::fill(*array_of(c.spans[0]), c.data.data(), int(c.data.size())); break;
        case ProgramCommand::Kind::write: {
            if (is_image(c.spans[0])) {
                detail::write_pixels(*image_of(c.spans[0].buffer), c.level, c.layer, c.data.data(), int64_t(c.data.size()));
                break;
            }
            const int64_t elements = c.spans[0].bytes / int64_t(c.spans[0].element->size);
            detail::write(*array_of(c.spans[0]), c.data.data(), elements, elements);
            break;
        }
        case ProgramCommand::Kind::copy: contents_of(c.spans[0]).copy_to(contents_of(c.spans[1])); break;
        case ProgramCommand::Kind::call: c.host->primal(arguments); break;
    }
    for (size_t i = 0; i < c.spans.size(); ++i) {
        if (!c.spans[i].any()) continue;
        const bool written = c.kind == ProgramCommand::Kind::launch
                                 ? (*c.kernel->recorded())[c.kernel->recorded()->params[i].memory].access != ir::Access::in
                             : c.kind == ProgramCommand::Kind::call ? bool(c.host->written[i])
                             : c.kind == ProgramCommand::Kind::copy ? i == 1
                                                                    : true;
        if (written) use(c.spans[i].buffer).version = index;
    }
}

/// Waits for the devices: memory that is released with work pending is held until then, and the host would run far ahead.
void ProgramTape::settle() {
    dropped = 0;
    const detail::DeviceState* last = nullptr;
    for (const ProgramBuffer& b : buffers)
        if (b.device.get() != last) wait_for(*b.device), last = b.device.get();
}

/// Runs the commands [from, to). Releases buffers that no later command before `end` uses.
void ProgramTape::advance(int from, int to, int end) {
    trace::Span span("derivative", "recompute from a checkpoint");
    span.add("commands", to - from);
    for (int i = from; i < to; ++i) {
        execute(commands[size_t(i)], i);
        for (const BufferSpan& s : commands[size_t(i)].spans)
            if (s.any() && buffers[size_t(s.buffer)].inside && buffers[size_t(s.buffer)].memory && !used(s.buffer, i + 1, end))
                buffers[size_t(s.buffer)].memory = nullptr, ++dropped;
        if (dropped >= 4) settle();
    }
}

/// Takes the state before command `at`: copies of the buffers that have memory now, that commands of [at, end) read or write, and
/// that the program has allocated or writes. States share the copy of a buffer that has not been written in between.
ProgramTape::Checkpoint ProgramTape::take(int at, int end) {
    Checkpoint checkpoint;
    for (int b = 0; b < int(table.size()); ++b) {
        const BufferUse& u = table[size_t(b)];
        if (!buffers[size_t(b)].memory || (!buffers[size_t(b)].inside && !u.written) || !used(b, at, end)) continue;
        std::weak_ptr<const Contents>& known = copies[{b, u.version}];
        std::shared_ptr<const Contents> copy = known.lock();
        if (!copy) known = copy = std::make_shared<const Contents>(kept(whole(b)));
        checkpoint.parts.push_back({b, u.version, copy});
    }
    return checkpoint;
}

/// Restores the state that was taken before command `at`, as far as commands of [at, end) use it.
void ProgramTape::restore(const Checkpoint& checkpoint, int at, int end) {
    for (int b = 0; b < int(table.size()); ++b)
        if (buffers[size_t(b)].inside) {
            const auto has = [&](const Checkpoint::SavedBuffer& p) { return p.buffer == b; };
            if (std::ranges::none_of(checkpoint.parts, has)) buffers[size_t(b)].memory = nullptr;
        }
    for (const Checkpoint::SavedBuffer& part : checkpoint.parts) {
        ProgramBuffer& b = buffers[size_t(part.buffer)];
        if (!used(part.buffer, at, end)) {
            b.memory = nullptr;
            continue;
        }
        if (b.memory && use(part.buffer).version == part.version) continue;
        if (!b.memory) b.memory = part.copy->room().memory();
        part.copy->copy_to(contents_of(whole(part.buffer)));
        use(part.buffer).version = part.version;
    }
}

/// Reverses a group from the state at its start.
void ProgramTape::reverse_group(int group) {
    const int from = groups[size_t(group)], to = groups[size_t(group) + 1];
    int last = to;  // commands after the last live one need not run
    while (last > from && !commands[size_t(last) - 1].live) --last;
    for (int i = from; i < last - 1; ++i) execute(commands[size_t(i)], i);  // all buffers stay, for the adjoints
    for (int i = last; i-- > from;) adjoint_of(commands[size_t(i)]);
    for (int i = to; i-- > from;)
        if (commands[size_t(i)].kind == ProgramCommand::Kind::allocate) forget(commands[size_t(i)].spans[0].buffer);
}

/// Reverses the groups [from, to). The current state and `at_from` are the state at the first group; `spare` more states may be
/// kept.
void ProgramTape::reverse_groups(int from, int to, int spare, const Checkpoint& at_from) {
    while (to > from) {
        const int start = groups[size_t(from)], end = groups[size_t(to)];
        if (to - from == 1) return reverse_group(from);
        if (spare == 0) {
            advance(start, groups[size_t(to) - 1], end);
            reverse_group(--to);
        } else {
            const int middle = from + int(binomial_advance(to - from, spare + 1)), at = groups[size_t(middle)];
            advance(start, at, end);
            {
                const Checkpoint checkpoint = take(at, end);
                reverse_groups(middle, to, spare - 1, checkpoint);
                to = middle;
            }
            settle();
        }
        restore(at_from, start, groups[size_t(to)]);
    }
}

void ProgramTape::reverse_from_states() {
    groups = {0};
    int last = 0;  // commands after the last live one are not run again
    for (int i = 0; i < int(commands.size()); ++i)
        if (commands[size_t(i)].live) last = i + 1;
    for (int i = 1; i < last; ++i)
        if (commands[size_t(i)].starts_group) groups.push_back(i);
    groups.push_back(last);
    if (last == 0) return;

    // Arrays of the caller keep their final contents: earlier contents are computed in other memory.
    Checkpoint first;
    for (int b = 0; b < int(table.size()); ++b) {
        BufferUse& u = table[size_t(b)];
        if (buffers[size_t(b)].inside || u.written) buffers[size_t(b)].memory = nullptr;
        if (u.initial) first.parts.push_back({b, -1, std::move(u.initial)});
    }
    restore(first, 0, last);
    reverse_groups(0, int(groups.size()) - 1, states - 1, first);
}

}  // namespace pumice::derive
