// Runs of programs: arguments, and one call of the device for each step.
//
// Cost: arguments are checked once a run, and a launch is only handed on: the numbers in it, its memory and its kernel have been
// checked.
#include <stdio.h>

#include "runtime/program/rt_entry.h"
#include "runtime/program/rt_expressions.h"

namespace pumice_rt {

// ---- arguments -----------------------------------------------------------------------------------------------------

namespace {

/// "array u0 of program "inverse"".
struct ArgumentLabel {
    char text[192];
};
ArgumentLabel label_of(const pumice_program_t& program, const ProgramParameterRecord& p, bool shadow) {
    ArgumentLabel l;
    snprintf(l.text, sizeof l.text, "program \"%s\": %s%s", program.name(), shadow ? "the shadow of " : "",
             program.bundle->text(p.name));
    return l;
}

}  // namespace

pumice_status ProgramEntry::take(const pumice_argument* given, uint32_t count, bool with_values, bool with_shadows) {
    uint32_t wanted = 0, next = 0;
    for (uint32_t i = 0; i < record.arguments.count; ++i) wanted += argument(i).is_shadow ? with_shadows : with_values;
    if (count != wanted || (count > 0 && !given))
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" takes %u arguments here and is given %u", program.name(), wanted,
                    count);
    for (uint32_t i = 0; i < record.arguments.count; ++i) {
        if (!(argument(i).is_shadow ? with_shadows : with_values)) continue;
        const pumice_argument& one = given[next++];
        const ProgramParameterRecord& p = parameter(i);
        if ((one.array != nullptr) != (p.is_array != 0))
            return fail(PUMICE_ERROR_ARGUMENT, "%s is %s, and the program takes %s",
                        label_of(program, p, argument(i).is_shadow).text,
                        one.array    ? "an array"
                        : p.is_array ? "no array"
                                     : "a scalar",
                        p.is_array ? "an array" : "a scalar");
        if (p.is_array) {
            RT_TRY(take_array(i, *one.array));
            continue;
        }
        if (uint32_t(one.type) != p.type)
            return fail(PUMICE_ERROR_ARGUMENT, "%s is of type %s, and the program takes %s", label_of(program, p, false).text,
                        type_name(uint32_t(one.type)), type_name(p.type));
        const uint64_t bits = bits_of_type(p.type, one.bits);
        changed = changed || scalars[i] != bits;
        scalars[i] = bits;
    }
    return check_overlaps();
}

pumice_status ProgramEntry::take_array(uint32_t i, const pumice_array& array) {
    const ProgramParameterRecord& p = parameter(i);
    const ArgumentLabel label = label_of(program, p, argument(i).is_shadow);
    if (uint32_t(array.type) != p.type || uint32_t(array.element_bytes) != p.element_bytes)
        return fail(PUMICE_ERROR_ARGUMENT, "%s is of type %s of %d bytes, and the program takes %s of %u bytes", label.text,
                    type_name(uint32_t(array.type)), array.element_bytes, type_name(p.type), p.element_bytes);
    if (uint32_t(array.rank) != p.rank)
        return fail(PUMICE_ERROR_ARGUMENT, "%s is a %d-dimensional array, and the program takes a %u-dimensional one", label.text,
                    array.rank, p.rank);
    int64_t bytes = p.element_bytes;
    for (uint32_t d = 0; d < p.rank; ++d) {
        const ProgramExtent& e = p.extents[d];
        int64_t extent = e.plus;
        if (e.size != no_index &&
            (__builtin_mul_overflow(program.sizes[e.size], e.times, &extent) || __builtin_add_overflow(extent, e.plus, &extent)))
            extent = -1;
        if (array.extents[d] != extent || extent < 0)
            return fail(PUMICE_ERROR_ARGUMENT, "%s has extent %lld along dimension %u, and the program takes %lld", label.text,
                        longest(array.extents[d]), d, longest(extent));
        if (__builtin_mul_overflow(bytes, extent, &bytes))
            return fail(PUMICE_ERROR_ARGUMENT, "%s has more than 2^63 bytes", label.text);
    }
    if (bytes > 0 && !array.memory)
        return fail(PUMICE_ERROR_ARGUMENT, "%s is an array that was never created, or was released", label.text);
    if (bytes > 0 && array.memory->device != program.device)
        return fail(PUMICE_ERROR_ARGUMENT, "%s lies on %s, and the program was made for %s", label.text,
                    array.memory->device->name, program.device->name);
    if (bytes > 0 && (array.offset < 0 || array.offset > array.memory->bytes || bytes > array.memory->bytes - array.offset))
        return fail(PUMICE_ERROR_ARGUMENT, "%s has %lld bytes from byte %lld on, and its memory has %lld", label.text,
                    longest(bytes), longest(array.offset), longest(array.memory->bytes));
    if (array.offset % (p.element_bytes % 4 == 0 ? 4 : p.element_bytes % 2 == 0 ? 2 : 1) != 0)
        return fail(PUMICE_ERROR_ARGUMENT, "%s begins at byte %lld, which is no multiple of its element's alignment", label.text,
                    longest(array.offset));
    for (ProgramBuffer& b : buffers) {
        if (b.argument != i) continue;
        if (b.bytes != bytes)
            return fail(PUMICE_ERROR_BUNDLE, "%s has %lld bytes, and its commands take %lld", label.text, longest(bytes),
                        longest(b.bytes));
        changed = changed || b.memory != array.memory || b.offset != array.offset;
        b.memory = array.memory, b.offset = array.offset;
    }
    return PUMICE_OK;
}

/// Arrays of the caller must not overlap if the program writes to one of them.
pumice_status ProgramEntry::check_overlaps() const {
    for (size_t i = 0; i < buffers.size(); ++i)
        for (size_t j = 0; j < i && buffers[i].argument != no_index; ++j) {
            const ProgramBuffer &a = buffers[i], &b = buffers[j];
            if (b.argument == no_index || !a.memory || a.memory != b.memory) continue;
            if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
            const EntryArgumentRecord &x = argument(a.argument), &y = argument(b.argument);
            if (!x.written && !y.written) continue;
            return fail(PUMICE_ERROR_ARGUMENT, "%s overlaps %s%s in memory, and one of them is written",
                        label_of(program, parameter(a.argument), x.is_shadow).text, y.is_shadow ? "the shadow of " : "",
                        program.bundle->text(parameter(b.argument).name));
        }
    return PUMICE_OK;
}

/// Puts the caller's arrays and scalars into a launch.
void ProgramEntry::patch(const ProgramStep& step) {
    for (uint32_t i = 0; i < step.patch_count; ++i) {
        const ProgramPatch& p = patches[step.first_patch + i];
        if (p.record->buffer == no_index || buffers[p.record->buffer].argument == no_index) {
            p.to->bits = bits_of_type(p.type, values[p.record->scalar]);
            continue;
        }
        const ProgramBuffer& b = buffers[p.record->buffer];
        p.to->memory = b.memory, p.to->offset = b.offset + number(p.record->offset);
    }
}

// ---- the run -------------------------------------------------------------------------------------------------------

pumice_status ProgramEntry::run(uint32_t from, uint32_t to, void* const* results, pumice_stream stream) {
    if (changed) {
        RT_TRY(evaluate_phase(of_scalars));
        for (const ProgramStep& step : steps)
            if (!step.dynamic) patch(step);
        changed = false;
    }
    bool wanted = false;
    for (uint32_t i = 0; i < record.results.count && results; ++i) wanted = wanted || results[i];
    for (uint32_t i = from; i < to; ++i) {
        ProgramStep& step = steps[i];
        if (step.dynamic) {
            RT_TRY(resolve(step));
            patch(step);
        }
        if (step.skipped || (step.kind == CommandKind::sum && !wanted)) continue;
        if (step.kind == CommandKind::launch) {
            step.launch->stream = stream;
            RT_TRY(program.device->launch(*step.launch));
        } else {
            RT_TRY(run_step(step, stream));
        }
    }
    return wanted ? deliver(results) : PUMICE_OK;
}

pumice_status ProgramEntry::run_step(ProgramStep& step, pumice_stream stream) {
    const CommandRecord& c = *step.record;
    const ProgramBuffer* const to = step.kind == CommandKind::sum ? nullptr : &buffers[c.to];
    const uint32_t zero = 0;
    switch (step.kind) {
        case CommandKind::allocate: return program.device->fill(to->memory, to->offset, step.bytes, &zero, sizeof zero, stream);
        case CommandKind::fill:
            return program.device->fill(to->memory, to->offset + step.to_offset, step.bytes, c.pattern, c.pattern_bytes, stream);
        case CommandKind::write:
            return program.device->copy(constants, step.from_offset, to->memory, to->offset + step.to_offset, step.bytes, stream);
        case CommandKind::copy: {
            const ProgramBuffer& from = buffers[c.from];
            return program.device->copy(from.memory, from.offset + step.from_offset, to->memory, to->offset + step.to_offset,
                                        step.bytes, stream);
        }
        case CommandKind::scan: return scan(step);
        case CommandKind::sum: {
            const ProgramBuffer& from = buffers[c.from];
            return program.device->copy(from.memory, from.offset + step.from_offset, sums, int64_t(c.index) * 8, step.bytes,
                                        stream);
        }
        default: return PUMICE_OK;
    }
}

/// Exclusive prefix sums on the host. Then the buffers are made whose sizes depend on the total.
pumice_status ProgramEntry::scan(ProgramStep& step) {
    const ProgramBuffer& b = buffers[step.record->to];
    const pumice_hooks& hooks = program.device->hooks;
    int32_t* const counts = static_cast<int32_t*>(allocate(hooks, size_t(step.bytes)));
    if (!counts)
        return fail(PUMICE_ERROR_MEMORY,
                    "program \"%s\" lacks %lld bytes for the counts of a tape: the system gives no more memory", program.name(),
                    longest(step.bytes));
    pumice_status status = program.device->read(b.memory, b.offset + step.to_offset, counts, step.bytes);
    uint64_t total = 0;
    for (int64_t i = 0; i < step.bytes / 4 && status == PUMICE_OK; ++i) {
        const uint64_t count = counts[i] == INT32_MAX ? uint64_t(1) << 31 : counts[i] < 0 ? 0 : uint64_t(counts[i]);
        counts[i] = int32_t(total < INT32_MAX ? total : INT32_MAX);
        total += count;
    }
    if (status == PUMICE_OK && total > step.record->data)
        status = fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" needs a tape of %llu elements, and a tape has %llu at most",
                      program.name(), (unsigned long long)total, (unsigned long long)step.record->data);
    if (status == PUMICE_OK) status = program.device->write(b.memory, b.offset + step.to_offset, counts, step.bytes);
    release(hooks, counts, size_t(step.bytes));
    RT_TRY(status);
    totals[step.record->index] = total;
    RT_TRY(evaluate_phase(of_scans));
    return grow(step);
}

/// Memory of the buffers whose sizes depend on scans. It is kept for the next run, and made anew where that needs more.
pumice_status ProgramEntry::grow(const ProgramStep& step) {
    const uint32_t now = uint32_t(&step - steps.data());
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        ProgramBuffer& b = buffers[i];
        if (!b.dynamic || b.first == no_index || b.first <= now) continue;
        b.bytes = number(program.bundle->buffers[record.buffers.first + i].bytes);
        if (b.bytes < 0 || b.bytes > INT64_MAX / 4)
            return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\": a buffer would have %lld bytes", program.name(),
                        longest(b.bytes));
        if (b.bytes <= b.capacity) continue;
        if (b.memory) program.device->release(b.memory), program.bytes -= b.capacity;
        b.memory = nullptr, b.capacity = 0;
        const int64_t wanted = (b.bytes + 255) / 256 * 256;
        RT_TRY(program.device->allocate(wanted, &b.memory));
        b.capacity = wanted, program.bytes += wanted;
    }
    return PUMICE_OK;
}

/// Reads the sums, computes the results, and gives them to the caller.
pumice_status ProgramEntry::deliver(void* const* results) {
    List<uint64_t> bits(program.device->hooks);
    if (!bits.resize(record.sums)) return fail(PUMICE_ERROR_MEMORY, "the results of a program lack memory");
    if (record.sums > 0) RT_TRY(program.device->read(sums, 0, bits.data(), int64_t(record.sums) * 8));
    for (const uint32_t i : by_phase[of_sums])
        if (ExpressionOp(expression(i).op) == ExpressionOp::sum)
            values[i] = expression(i).type == PUMICE_F64 ? bits[expression(i).index] : bits[expression(i).index] & 0xffffffffu;
    RT_TRY(evaluate_phase(of_sums));
    for (uint32_t i = 0; i < record.results.count; ++i) {
        const ResultRecord& r = program.bundle->results[record.results.first + i];
        const size_t size = r.type == PUMICE_F64 ? 8 : 4;
        if (results[i]) memcpy(results[i], &values[r.expression], size);
    }
    return PUMICE_OK;
}

}  // namespace pumice_rt
