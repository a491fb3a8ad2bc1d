// Making an entry ready: values of expressions, lifetimes (live ranges) and memory of temporary buffers, steps.
//
// Memory is planned by linear scan over lifetimes (Poletto and Sarkar 1999, for registers): buffers in the order of their first
// commands take the smallest free slot that is large enough, else the largest free one, which grows, else a new one.
#include "runtime/program/rt_entry.h"

#include "runtime/program/rt_expressions.h"

namespace pumice_rt {

ProgramEntry::ProgramEntry(pumice_program_t& owner, const EntryRecord& entry)
    : record(entry),
      program(owner),
      values(owner.device->hooks),
      phases(owner.device->hooks),
      by_phase{List<uint32_t>(owner.device->hooks), List<uint32_t>(owner.device->hooks), List<uint32_t>(owner.device->hooks),
               List<uint32_t>(owner.device->hooks)},
      buffers(owner.device->hooks),
      steps(owner.device->hooks),
      launches(owner.device->hooks),
      arguments(owner.device->hooks),
      patches(owner.device->hooks),
      slots(owner.device->hooks),
      scalars(owner.device->hooks),
      totals(owner.device->hooks) {}

ProgramEntry::~ProgramEntry() {
    for (const ProgramBuffer& b : buffers)
        if (b.dynamic && b.memory) program.device->release(b.memory);
    for (const pumice_memory m : {constants, sums})
        if (m) program.device->release(m);
}

const ExpressionRecord& ProgramEntry::expression(uint32_t i) const {
    return program.bundle->expressions[record.expressions.first + i];
}
const CommandRecord& ProgramEntry::command(uint32_t i) const { return program.bundle->commands[record.commands.first + i]; }
const EntryArgumentRecord& ProgramEntry::argument(uint32_t i) const {
    return program.bundle->entry_arguments[record.arguments.first + i];
}
const ProgramParameterRecord& ProgramEntry::parameter(uint32_t i) const {
    return program.bundle->program_parameters[program.record->parameters.first + argument(i).parameter];
}

/// Calls f for each expression of the command that must be an integer.
template <class F> void ProgramEntry::each_number(const CommandRecord& c, F&& f) const {
    for (const uint32_t x : {c.to_offset, c.from_offset, c.bytes}) f(x);
    if (CommandKind(c.kind) != CommandKind::launch) return;
    for (int axis = 0; axis < 3; ++axis) f(c.start[axis]), f(c.extent[axis]);
    for (uint32_t i = 0; i < c.arguments.count; ++i) {
        const CommandArgumentRecord& a = program.bundle->command_arguments[c.arguments.first + i];
        f(a.offset), f(a.bytes);
        for (const uint32_t x : a.extents) f(x);
    }
}
template <class F> void ProgramEntry::each_buffer(const CommandRecord& c, F&& f) const {
    const CommandKind kind = CommandKind(c.kind);
    if (kind == CommandKind::launch) {
        for (uint32_t i = 0; i < c.arguments.count; ++i) {
            const uint32_t b = program.bundle->command_arguments[c.arguments.first + i].buffer;
            if (b != no_index) f(b);
        }
        return;
    }
    if (kind != CommandKind::sum) f(c.to);
    if (kind == CommandKind::copy || kind == CommandKind::sum) f(c.from);
}

static pumice_status no_memory(const pumice_program_t& program) {
    return fail(PUMICE_ERROR_MEMORY, "program \"%s\" cannot be made on %s: the system gives no more memory", program.name(),
                program.device->name);
}

pumice_status ProgramEntry::allocate_lists() {
    size_t launch_count = 0, argument_count = 0;
    for (uint32_t i = 0; i < record.commands.count; ++i) {
        if (CommandKind(command(i).kind) != CommandKind::launch) continue;
        ++launch_count, argument_count += command(i).arguments.count;
    }
    const bool there = values.resize(record.expressions.count) && phases.resize(record.expressions.count) &&
                       buffers.resize(record.buffers.count) && slots.resize(record.buffers.count) &&
                       steps.resize(record.commands.count) && launches.resize(launch_count) && arguments.resize(argument_count) &&
                       patches.reserve(argument_count) && scalars.resize(record.arguments.count) && totals.resize(record.scans);
    if (!there) return no_memory(program);
    for (ProgramBuffer& b : buffers) b = ProgramBuffer();
    for (Launch& l : launches) l = Launch();
    for (Launch::Argument& a : arguments) a = Launch::Argument();
    return PUMICE_OK;
}

/// Sorts the expressions by what they depend on, and computes those of sizes alone.
pumice_status ProgramEntry::order_expressions() {
    for (uint32_t i = 0; i < record.expressions.count; ++i) {
        const ExpressionRecord& x = expression(i);
        uint8_t phase = of_sizes;
        switch (ExpressionOp(x.op)) {
            case ExpressionOp::constant:
            case ExpressionOp::size: break;
            case ExpressionOp::scalar: phase = of_scalars; break;
            case ExpressionOp::scan_total: phase = of_scans; break;
            case ExpressionOp::sum: phase = of_sums; break;
            default:
                for (uint32_t o = 0; o < operand_count(ExpressionOp(x.op)); ++o)
                    if (phases[x.operands[o]] > phase) phase = phases[x.operands[o]];
        }
        if (const char* const missing = find_function(x))
            return fail(PUMICE_ERROR_SYSTEM, "program \"%s\" computes %s of its scalars, and the system has no libm.so.6 with it",
                        program.name(), missing);
        phases[i] = phase;
        if (!by_phase[phase].push(i)) return no_memory(program);
    }
    return evaluate_phase(of_sizes);
}

pumice_status ProgramEntry::evaluate_phase(Phase phase) {
    for (const uint32_t i : by_phase[phase]) {
        const ExpressionRecord& x = expression(i);
        switch (ExpressionOp(x.op)) {
            case ExpressionOp::size: values[i] = uint64_t(program.sizes[x.index]); break;
            case ExpressionOp::scalar: values[i] = scalars[x.index]; break;
            case ExpressionOp::scan_total: values[i] = totals[x.index]; break;
            case ExpressionOp::sum: break;  // deliver() has set it
            default:
                if (!evaluate(x, values.data(), values[i]))
                    return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\": its sizes are too large: a number of bytes passes 2^63",
                                program.name());
        }
    }
    return PUMICE_OK;
}

bool ProgramEntry::depends_on_scans(const CommandRecord& c) const {
    bool depends = false;
    each_number(c, [&](uint32_t x) { depends = depends || phases[x] == of_scans; });
    for (uint32_t i = 0; i < c.arguments.count && CommandKind(c.kind) == CommandKind::launch; ++i)
        depends = depends || phases[program.bundle->command_arguments[c.arguments.first + i].scalar] == of_scans;
    return depends;
}

pumice_status ProgramEntry::find_lifetimes() {
    bool bad = false;
    for (uint32_t i = 0; i < record.buffers.count; ++i) {
        const BufferRecord& r = program.bundle->buffers[record.buffers.first + i];
        ProgramBuffer& b = buffers[i];
        bad = bad || phases[r.bytes] == of_scalars || phases[r.bytes] == of_sums;
        b.bytes = number(r.bytes);
        if (BufferKind(r.kind) == BufferKind::argument)
            b.argument = r.argument;
        else
            b.dynamic = phases[r.bytes] == of_scans;
    }
    for (uint32_t i = 0; i < record.commands.count; ++i) {
        each_number(command(i), [&](uint32_t x) { bad = bad || phases[x] == of_scalars || phases[x] == of_sums; });
        each_buffer(command(i), [&](uint32_t b) {
            if (buffers[b].first == no_index) buffers[b].first = i;
            buffers[b].last = i;
            const uint32_t given = buffers[b].argument;
            if (given != no_index && argument(given).is_shadow && i < record.primal) splits = false;
        });
    }
    return bad ? fail(PUMICE_ERROR_BUNDLE, "program \"%s\": a number of bytes or items depends on a scalar", program.name())
               : PUMICE_OK;
}

/// Gives each temporary buffer a slot. Buffers are numbered in the order of their allocation.
pumice_status ProgramEntry::plan_memory() {
    for (pumice_program_t::Slot& s : program.slots) s.free_after = 0;
    size_t in_use = 0;  // slots [0, in_use) have had a buffer of this entry
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        ProgramBuffer& b = buffers[i];
        if (b.argument != no_index || b.dynamic || b.first == no_index) continue;
        if (b.bytes < 0 || b.bytes > INT64_MAX / 4)
            return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\": a buffer would have %lld bytes", program.name(),
                        longest(b.bytes));
        const int64_t wanted = (b.bytes + 255) / 256 * 256;
        size_t best = SIZE_MAX;
        for (size_t s = 0; s < in_use; ++s) {
            const pumice_program_t::Slot& slot = program.slots[s];
            if (slot.free_after >= b.first) continue;
            const bool fits = slot.bytes >= wanted, best_fits = best != SIZE_MAX && program.slots[best].bytes >= wanted;
            const bool smaller = best == SIZE_MAX || slot.bytes < program.slots[best].bytes;
            if (best == SIZE_MAX || (fits && (!best_fits || smaller)) || (!fits && !best_fits && !smaller)) best = s;
        }
        if (best == SIZE_MAX) {
            best = in_use++;
            if (best == program.slots.size() && !program.slots.push({nullptr, 0, 0})) return no_memory(program);
        }
        pumice_program_t::Slot& slot = program.slots[best];
        slot.free_after = b.last;
        if (slot.bytes < wanted) {
            if (slot.memory) program.device->release(slot.memory), program.bytes -= slot.bytes;
            slot.memory = nullptr, slot.bytes = wanted;
        }
        slots[i] = uint32_t(best);
    }
    for (pumice_program_t::Slot& s : program.slots) {
        if (s.memory || s.bytes == 0) continue;
        const pumice_status status = program.device->allocate(s.bytes, &s.memory);
        if (status != PUMICE_OK) {
            s.memory = nullptr, s.bytes = 0;
            return within(status, ", while program \"%s\" was made", program.name());
        }
        program.bytes += s.bytes;
    }
    bind_memory();
    return PUMICE_OK;
}

void ProgramEntry::bind_memory() {
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        ProgramBuffer& b = buffers[i];
        if (b.argument == no_index && !b.dynamic && b.first != no_index && b.bytes > 0) b.memory = program.slots[slots[i]].memory;
    }
}

pumice_status ProgramEntry::rebind() {
    bind_memory();
    for (ProgramStep& step : steps)
        if (!step.dynamic) RT_TRY(resolve(step));
    changed = true;
    return PUMICE_OK;
}

/// Brings the constants that commands write to the device, so that a run copies them there.
pumice_status ProgramEntry::upload_constants() {
    int64_t total = 0;
    for (uint32_t i = 0; i < record.commands.count; ++i) {
        if (CommandKind(command(i).kind) != CommandKind::write) continue;
        const int64_t bytes = number(command(i).bytes), all = program.bundle->count(SectionKind::data);
        if (phases[command(i).bytes] != of_sizes || bytes < 0 || bytes > all || int64_t(command(i).data) > all - bytes)
            return fail(PUMICE_ERROR_BUNDLE, "program \"%s\": a constant of %lld bytes from byte %llu on is not in the bundle",
                        program.name(), longest(bytes), (unsigned long long)command(i).data);
        total += (bytes + 255) / 256 * 256;
    }
    if (total == 0) return PUMICE_OK;
    RT_TRY(program.device->allocate(total, &constants));
    program.bytes += total;
    int64_t at = 0;
    for (uint32_t i = 0; i < record.commands.count; ++i) {
        if (CommandKind(command(i).kind) != CommandKind::write) continue;
        const int64_t bytes = number(command(i).bytes);
        if (bytes > 0) RT_TRY(program.device->write(constants, at, program.bundle->data + command(i).data, bytes));
        steps[i].from_offset = at;
        at += (bytes + 255) / 256 * 256;
    }
    return PUMICE_OK;
}

pumice_status ProgramEntry::make_steps() {
    size_t launch = 0, next = 0;
    for (uint32_t i = 0; i < record.commands.count; ++i) {
        ProgramStep& step = steps[i];
        const CommandRecord& c = command(i);
        step.record = &c, step.kind = CommandKind(c.kind);
        step.dynamic = depends_on_scans(c);
        each_buffer(c, [&](uint32_t b) { step.dynamic = step.dynamic || buffers[b].dynamic; });
        if (step.kind == CommandKind::launch) {
            step.launch = &launches[launch++];
            step.launch->bundle = program.bundle, step.launch->library = program.library, step.launch->kernel = c.kernel;
            step.launch->arguments = arguments.data() + next, step.launch->argument_count = c.arguments.count;
            step.launch->rank = int(c.rank), step.launch->counted = (c.flags & CommandRecord::counted) != 0;
            step.first_patch = uint32_t(patches.size());
            for (uint32_t a = 0; a < c.arguments.count; ++a, ++next) {
                const CommandArgumentRecord& given = program.bundle->command_arguments[c.arguments.first + a];
                const ParameterRecord& p = step.launch->parameter(a);
                const bool array = p.is_array && given.buffer != no_index && buffers[given.buffer].argument != no_index;
                const bool scalar = !p.is_array && phases[given.scalar] == of_scalars;
                if (!p.is_array && phases[given.scalar] == of_sums)
                    return fail(PUMICE_ERROR_BUNDLE, "program \"%s\": a scalar of a launch depends on a result", program.name());
                if (array || scalar) patches.push({&arguments[next], &given, p.type});
            }
            step.patch_count = uint32_t(patches.size()) - step.first_patch;
            RT_TRY(program.device->prepare(*program.bundle, *program.library, c.kernel));
        }
        if (!step.dynamic) RT_TRY(resolve(step));
    }
    return PUMICE_OK;
}

pumice_status ProgramEntry::prepare() {
    RT_TRY(allocate_lists());
    RT_TRY(order_expressions());
    RT_TRY(find_lifetimes());
    RT_TRY(plan_memory());
    RT_TRY(upload_constants());
    if (record.sums > 0) {
        RT_TRY(program.device->allocate(int64_t(record.sums) * 8, &sums));
        program.bytes += int64_t(record.sums) * 8;
    }
    return make_steps();
}

// ---- numbers of commands -------------------------------------------------------------------------------------------

/// Checks that the bytes lie in the buffer.
pumice_status ProgramEntry::part(uint32_t buffer, int64_t offset, int64_t bytes) const {
    const ProgramBuffer& b = buffers[buffer];
    if (offset >= 0 && bytes >= 0 && offset <= b.bytes && bytes <= b.bytes - offset) return PUMICE_OK;
    return fail(PUMICE_ERROR_ARGUMENT,
                "program \"%s\": with these sizes a command takes %lld bytes from byte %lld on of an array of %lld",
                program.name(), longest(bytes), longest(offset), longest(b.bytes));
}

/// Computes the numbers of a command, and checks them against its buffers.
pumice_status ProgramEntry::resolve(ProgramStep& step) {
    const CommandRecord& c = *step.record;
    if (step.kind == CommandKind::launch) return resolve_launch(step);
    step.to_offset = number(c.to_offset), step.bytes = number(c.bytes);
    if (step.kind != CommandKind::write) step.from_offset = number(c.from_offset);
    if (step.kind == CommandKind::allocate) {
        step.to_offset = 0, step.bytes = (buffers[c.to].bytes + 3) / 4 * 4;
        step.skipped = !(c.flags & CommandRecord::zeroed) || step.bytes == 0;
        return PUMICE_OK;
    }
    step.skipped = step.bytes == 0;
    if (step.kind != CommandKind::sum) RT_TRY(part(c.to, step.to_offset, step.bytes));
    if (step.kind == CommandKind::copy || step.kind == CommandKind::sum) RT_TRY(part(c.from, step.from_offset, step.bytes));
    const bool whole = step.kind == CommandKind::fill   ? step.bytes % c.pattern_bytes == 0
                       : step.kind == CommandKind::scan ? step.bytes % 4 == 0 && step.to_offset % 4 == 0
                       : step.kind == CommandKind::sum  ? step.bytes == (c.type == PUMICE_F64 ? 8 : 4)
                                                        : true;
    return whole ? PUMICE_OK
                 : fail(PUMICE_ERROR_BUNDLE, "program \"%s\": a command takes %lld bytes, which are no whole elements",
                        program.name(), longest(step.bytes));
}

pumice_status ProgramEntry::resolve_launch(ProgramStep& step) {
    const CommandRecord& c = *step.record;
    Launch& launch = *step.launch;
    const auto refuse = [&](const char* what, int64_t value) {
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\": with these sizes kernel \"%s\" (%s) has %s of %lld", program.name(),
                    launch.kernel_name(), program.bundle->text(launch.record().source), what, longest(value));
    };
    step.skipped = false;
    int64_t items = 1;
    for (int axis = 0; axis < 3; ++axis) {
        launch.start[axis] = number(c.start[axis]), launch.extent[axis] = number(c.extent[axis]),
        launch.group[axis] = c.group[axis];
        const int64_t start = launch.start[axis], extent = launch.extent[axis];
        if (extent < 0 || extent > INT32_MAX || __builtin_mul_overflow(items, extent, &items) || items > int64_t(1) << 48)
            return refuse("a range with an extent", extent);
        if (start < INT32_MIN || start + extent > INT32_MAX) return refuse("a range with a start", start);
        if (launch.record().range[0] && extent != launch.record().range[axis])
            return refuse("a range with another extent", extent);
    }
    step.skipped = items == 0;
    for (uint32_t i = 0; i < c.arguments.count; ++i) {
        const CommandArgumentRecord& given = program.bundle->command_arguments[c.arguments.first + i];
        const ParameterRecord& p = launch.parameter(i);
        Launch::Argument& to = const_cast<Launch::Argument&>(launch.arguments[i]);
        if (!p.is_array) {
            to.bits = bits_of_type(p.type, values[given.scalar]);
            continue;
        }
        int64_t bytes = p.element_bytes;
        for (uint32_t axis = 0; axis < PUMICE_MAX_RANK; ++axis) {
            to.extents[axis] = number(given.extents[axis]);
            if (to.extents[axis] < 0 || __builtin_mul_overflow(bytes, to.extents[axis], &bytes))
                return refuse("an array with an extent", to.extents[axis]);
        }
        to.offset = number(given.offset), to.bytes = number(given.bytes);
        if (bytes > to.bytes) return refuse("an array of more bytes than it is given", bytes);
        if (given.buffer == no_index) {
            if (bytes > 0 && !step.skipped) return refuse("an array without memory, and a size", bytes);
            continue;
        }
        RT_TRY(part(given.buffer, to.offset, to.bytes));
        const int64_t alignment = p.element_bytes % 4 == 0 ? 4 : p.element_bytes % 2 == 0 ? 2 : 1;
        if (to.offset % alignment != 0) return refuse("an array at byte", to.offset);
        if (buffers[given.buffer].argument == no_index) to.memory = buffers[given.buffer].memory;
    }
    if (launch.counted && !step.skipped) {
        const Launch::Argument& counts = launch.arguments[c.arguments.count - 1];
        if (counts.bytes < 6 * 4 || launch.start[0] != 0 || launch.start[1] != 0 || launch.start[2] != 0)
            return refuse("an indirect range with counts of bytes", counts.bytes);
    }
    return PUMICE_OK;
}

}  // namespace pumice_rt
