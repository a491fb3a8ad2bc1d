// Programs are checked like the other records: each reference once, when the bundle is opened. The values of expressions, which
// depend on sizes, are checked by runtime/program when a program is made.
#include "runtime/bundle/program_checks.h"

namespace pumice_rt {
namespace {

pumice_status below(uint64_t value, uint64_t limit, const char* what) {
    if (value < limit) return PUMICE_OK;
    return fail(PUMICE_ERROR_BUNDLE, "%s is %llu; there are %llu", what, (unsigned long long)value, (unsigned long long)limit);
}
pumice_status wrong(const char* what) { return fail(PUMICE_ERROR_BUNDLE, "%s", what); }

class ProgramCheck {
public:
    ProgramCheck(const Bundle& of, const ProgramRecord& one) : b(of), program(one) {}

    pumice_status all() {
        RT_TRY(below(program.name, b.count(SectionKind::text), "the place of a program's name"));
        RT_TRY(below(program.source, b.count(SectionKind::text), "the place of a program's source line"));
        RT_TRY(span(program.sizes, SectionKind::program_sizes));
        RT_TRY(span(program.parameters, SectionKind::program_parameters));
        RT_TRY(span(program.entries, SectionKind::entries));
        RT_TRY(below(program.sizes.count, most_program_sizes + 1, "the number of sizes of a program"));
        RT_TRY(below(program.parameters.count, most_entry_arguments + 1, "the number of parameters of a program"));
        for (uint32_t i = 0; i < program.sizes.count; ++i) {
            const ProgramSizeRecord& s = b.program_sizes[program.sizes.first + i];
            RT_TRY(below(s.name, b.count(SectionKind::text), "the place of a size's name"));
            if (s.least < 1 || s.step < 1) return wrong("a size of a program has no least value, or no step");
        }
        for (uint32_t i = 0; i < program.parameters.count; ++i)
            RT_TRY(parameter(b.program_parameters[program.parameters.first + i]));
        for (uint32_t i = 0; i < program.entries.count; ++i) RT_TRY(entry(b.entries[program.entries.first + i]));
        return PUMICE_OK;
    }

private:
    pumice_status span(const RecordRange& s, SectionKind kind) const {
        if (s.count == 0 || uint64_t(s.first) + s.count <= b.count(kind)) return PUMICE_OK;
        return fail(PUMICE_ERROR_BUNDLE, "a program refers to records %u to %llu of a section of %u", s.first,
                    (unsigned long long)s.first + s.count, b.count(kind));
    }
    static pumice_status type(uint32_t t, bool structs) {
        return structs && t == type_struct ? PUMICE_OK : below(t, type_count, "the type of a parameter");
    }

    pumice_status parameter(const ProgramParameterRecord& p) const {
        RT_TRY(below(p.name, b.count(SectionKind::text), "the place of a parameter's name"));
        RT_TRY(type(p.type, p.is_array != 0));
        if (!p.is_array) return PUMICE_OK;
        RT_TRY(below(p.access, uint32_t(Access::count), "the access of a parameter"));
        if (p.rank < 1 || p.rank > PUMICE_MAX_RANK) return wrong("an array of a program has no dimension, or too many");
        if (p.element_bytes < 1 || p.element_bytes > 1u << 16) return wrong("an array of a program has elements of no size");
        for (uint32_t d = 0; d < p.rank; ++d)
            if (p.extents[d].size != no_index) RT_TRY(below(p.extents[d].size, program.sizes.count, "the size of an extent"));
        return PUMICE_OK;
    }

    pumice_status entry(const EntryRecord& e) {
        RT_TRY(below(e.kind, uint32_t(EntryKind::count), "the kind of an entry"));
        RT_TRY(span(e.expressions, SectionKind::expressions));
        RT_TRY(span(e.buffers, SectionKind::buffers));
        RT_TRY(span(e.commands, SectionKind::commands));
        RT_TRY(span(e.arguments, SectionKind::entry_arguments));
        RT_TRY(span(e.results, SectionKind::results));
        RT_TRY(below(e.arguments.count, most_entry_arguments + 1, "the number of arguments of an entry"));
        RT_TRY(below(e.results.count, most_results + 1, "the number of results of an entry"));
        RT_TRY(below(e.primal, uint64_t(e.commands.count) + 1, "the number of commands of the primal"));
        RT_TRY(below(e.scans, most_scans, "the number of scans"));
        RT_TRY(below(e.sums, uint64_t(e.commands.count) + 1, "the number of sums"));
        for (uint32_t i = 0; i < e.arguments.count; ++i) RT_TRY(argument(b.entry_arguments[e.arguments.first + i]));
        for (uint32_t i = 0; i < e.expressions.count; ++i) RT_TRY(expression(e, i));
        for (uint32_t i = 0; i < e.buffers.count; ++i) RT_TRY(buffer(e, b.buffers[e.buffers.first + i]));
        for (uint32_t i = 0; i < e.commands.count; ++i) RT_TRY(command(e, b.commands[e.commands.first + i]));
        for (uint32_t i = 0; i < e.results.count; ++i) {
            const ResultRecord& r = b.results[e.results.first + i];
            RT_TRY(below(r.parameter, program.parameters.count, "the parameter of a result"));
            RT_TRY(type(r.type, false));
            RT_TRY(below(r.expression, e.expressions.count, "the expression of a result"));
        }
        return PUMICE_OK;
    }
    pumice_status argument(const EntryArgumentRecord& a) const {
        RT_TRY(below(a.parameter, program.parameters.count, "the parameter of an argument"));
        if (a.is_shadow && !parameter_of(a).is_array) return wrong("a scalar of a program has a shadow");
        return PUMICE_OK;
    }
    const ProgramParameterRecord& parameter_of(const EntryArgumentRecord& a) const {
        return b.program_parameters[program.parameters.first + a.parameter];
    }
    pumice_status is_argument(const EntryRecord& e, uint32_t number, bool array) const {
        RT_TRY(below(number, e.arguments.count, "the number of an argument"));
        const bool is = parameter_of(b.entry_arguments[e.arguments.first + number]).is_array != 0;
        return is == array ? PUMICE_OK : wrong("an argument of a program is an array in one place and a scalar in another");
    }

    pumice_status expression(const EntryRecord& e, uint32_t number) const {
        const ExpressionRecord& x = b.expressions[e.expressions.first + number];
        RT_TRY(below(x.op, uint32_t(ExpressionOp::count), "the op of an expression"));
        RT_TRY(type(x.type, false));
        switch (ExpressionOp(x.op)) {
            case ExpressionOp::constant: return PUMICE_OK;
            case ExpressionOp::size: return below(x.index, program.sizes.count, "the size of an expression");
            case ExpressionOp::scan_total: return below(x.index, e.scans, "the scan of an expression");
            case ExpressionOp::scalar: return is_argument(e, x.index, false);
            case ExpressionOp::sum: return below(x.index, e.sums, "the sum of an expression");
            case ExpressionOp::call: RT_TRY(below(x.index, unary_count, "the function of an expression")); break;
            case ExpressionOp::call_two: RT_TRY(below(x.index, binary_count, "the function of an expression")); break;
            default: break;
        }
        for (uint32_t o = 0; o < operand_count(ExpressionOp(x.op)); ++o)
            RT_TRY(below(x.operands[o], number, "the operand of an expression"));
        return PUMICE_OK;
    }
    static pumice_status in_entry(const EntryRecord& e, uint32_t expression) {
        return below(expression, e.expressions.count, "the number of an expression");
    }

    pumice_status buffer(const EntryRecord& e, const BufferRecord& r) const {
        RT_TRY(below(r.kind, uint32_t(BufferKind::count), "the kind of a buffer"));
        RT_TRY(in_entry(e, r.bytes));
        return BufferKind(r.kind) == BufferKind::argument ? is_argument(e, r.argument, true) : PUMICE_OK;
    }

    pumice_status command(const EntryRecord& e, const CommandRecord& c) const {
        RT_TRY(below(c.kind, uint32_t(CommandKind::count), "the kind of a command"));
        const CommandKind kind = CommandKind(c.kind);
        for (const uint32_t x : {c.to_offset, c.from_offset, c.bytes}) RT_TRY(in_entry(e, x));
        if (kind == CommandKind::launch) return launch(e, c);
        if (kind != CommandKind::sum) RT_TRY(below(c.to, e.buffers.count, "the buffer of a command"));
        if (kind == CommandKind::copy || kind == CommandKind::sum)
            RT_TRY(below(c.from, e.buffers.count, "the buffer of a command"));
        if (kind == CommandKind::allocate && BufferKind(b.buffers[e.buffers.first + c.to].kind) != BufferKind::temporary)
            return wrong("a program allocates one of its arguments");
        if (kind == CommandKind::fill &&
            (c.pattern_bytes < 1 || c.pattern_bytes > sizeof c.pattern || (c.pattern_bytes & (c.pattern_bytes - 1)) != 0))
            return wrong("a fill of a program has a pattern that is not 1, 2, 4, 8 or 16 bytes");
        if (kind == CommandKind::scan) RT_TRY(below(c.index, e.scans, "the number of a scan"));
        if (kind == CommandKind::sum) {
            RT_TRY(below(c.index, e.sums, "the number of a sum"));
            if (c.type != PUMICE_F32 && c.type != PUMICE_F64) return wrong("a sum of a program is neither f32 nor f64");
        }
        return PUMICE_OK;
    }

    pumice_status launch(const EntryRecord& e, const CommandRecord& c) const {
        RT_TRY(below(c.kernel, b.kernel_count, "the kernel of a launch"));
        const KernelRecord& k = b.kernels[c.kernel];
        if (c.rank < 1 || c.rank > 3 || (k.rank != 0 && k.rank != c.rank))
            return wrong("a launch has another rank than its kernel");
        RT_TRY(span(c.arguments, SectionKind::command_arguments));
        if (c.arguments.count != k.parameters.count) return wrong("a launch has another number of arguments than its kernel");
        if (c.flags & CommandRecord::counted) {
            if (c.arguments.count == 0) return wrong("a launch over an indirect range has no counts");
            const ParameterRecord& p = b.parameters[k.parameters.first + c.arguments.count - 1];
            if (!p.is_array || p.type != PUMICE_I32 || p.element_bytes != 4)
                return wrong("the counts of an indirect range are no array of i32");
        }
        uint64_t items = 1;
        for (int axis = 0; axis < 3; ++axis) {
            RT_TRY(in_entry(e, c.start[axis]));
            RT_TRY(in_entry(e, c.extent[axis]));
            if ((c.group[axis] == 0) != (c.group[0] == 0)) return wrong("an extent of a group is 0");
            RT_TRY(below(c.group[axis], 65536, "the extent of a group"));
            items *= c.group[axis] ? c.group[axis] : 1;
            if (k.group[0] && c.group[axis] != k.group[axis]) return wrong("a launch has other groups than its kernel fixes");
        }
        RT_TRY(below(items, 65537, "the number of items of a group"));
        for (uint32_t i = 0; i < c.arguments.count; ++i) {
            const CommandArgumentRecord& a = b.command_arguments[c.arguments.first + i];
            if (a.buffer != no_index) RT_TRY(below(a.buffer, e.buffers.count, "the buffer of an argument"));
            for (const uint32_t x : {a.offset, a.bytes, a.scalar}) RT_TRY(in_entry(e, x));
            for (const uint32_t x : a.extents) RT_TRY(in_entry(e, x));
        }
        return PUMICE_OK;
    }

    const Bundle& b;
    const ProgramRecord& program;
};

}  // namespace

pumice_status check_programs(const Bundle& bundle) {
    for (uint32_t i = 0; i < bundle.count(SectionKind::programs); ++i) RT_TRY(ProgramCheck(bundle, bundle.programs[i]).all());
    return PUMICE_OK;
}

}  // namespace pumice_rt
