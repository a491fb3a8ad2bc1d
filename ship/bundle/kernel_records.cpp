#include "ship/bundle/kernel_records.h"

#include <algorithm>

#include "codegen/glsl/codegen.h"
#include "core/host/reports.h"
#include "core/ir/cache_key.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"
#include "cpu/plan/alignment_peeling.h"

namespace pumice::ship {
namespace {

ParameterRecord parameter_record(const ir::Kernel& k, size_t index, BundleWriter& to) {
    const ir::Parameter& p = k.params[index];
    ParameterRecord r{};
    r.name = to.text(p.identity.name), r.path = to.text(k.path_of(index)), r.parameter = uint32_t(k.number_of(index));
    r.origin = uint32_t(p.origin), r.dimension = uint32_t(p.dimension);
    if (!p.is_array) {
        r.type = uint32_t(p.type);
        return r;
    }
    const ir::Memory& m = k[p.memory];
    r.is_array = 1, r.access = uint32_t(m.access), r.rank = uint32_t(m.rank), r.element_bytes = m.element.size;
    r.type = m.element.is_scalar() ? uint32_t(m.element.leaves[0].type) : type_struct;
    std::vector<LeafRecord> leaves;
    for (const Leaf& leaf : m.element.leaves) leaves.push_back({to.text(leaf.path), uint32_t(leaf.type), leaf.offset});
    r.leaves = BundleWriter::append(to.leaves, leaves);
    return r;
}

uint32_t private_bytes(const ir::Kernel& k) {
    int64_t bytes = 0;
    for (const ir::Memory& m : k.memories) {
        if (m.kind != ir::MemoryKind::private_) continue;
        int64_t one = m.element.size;
        for (const int64_t extent : m.extents) one *= extent;
        bytes += one;
    }
    return uint32_t(std::min<int64_t>(bytes, UINT32_MAX));
}

SizeOp size_op(const ir::Kernel& k, ir::Op op) {
    switch (op) {
        case ir::Op::constant: return SizeOp::constant;
        case ir::Op::group_size: return SizeOp::group_size;
        case ir::Op::add: return SizeOp::add;
        case ir::Op::sub: return SizeOp::sub;
        case ir::Op::mul: return SizeOp::mul;
        case ir::Op::div: return SizeOp::div;
        case ir::Op::rem: return SizeOp::mod;
        case ir::Op::min: return SizeOp::min;
        case ir::Op::max: return SizeOp::max;
        case ir::Op::shl: return SizeOp::shift_left;
        case ir::Op::shr: return SizeOp::shift_right;
        case ir::Op::and_: return SizeOp::bit_and;
        case ir::Op::or_: return SizeOp::bit_or;
        case ir::Op::xor_: return SizeOp::bit_xor;
        default:
            fail("kernel \"", k.name, "\" (", k.where(k.loc), ") cannot be shipped: the size of a local array is computed by ",
                 ir::name_of(op), ", which bundles do not have; they have sums, products, quotients, minima, shifts and bits");
    }
}

}  // namespace

RecordRange size_steps(const ir::Kernel& k, std::span<const codegen::SizeStep> steps, BundleWriter& to) {
    std::vector<SizeStepRecord> records;
    std::vector<uint32_t> place;  // of each step among the records: casts between integers are the record of their operand
    for (const codegen::SizeStep& step : steps) {
        if (step.op == ir::Op::cast && is_int(step.type)) {
            place.push_back(place[step.operands[0]]);
            continue;
        }
        SizeStepRecord r{};
        r.op = uint32_t(size_op(k, step.op));
        if (!is_int(step.type))
            fail("kernel \"", k.name, "\" cannot be shipped: the size of a local array is computed in fractions");
        for (uint32_t o = 0; o < step.count && o < 2; ++o) r.operands[o] = place[step.operands[o]];
        if (step.op == ir::Op::group_size) r.axis = uint32_t(step.immediate);
        if (step.op == ir::Op::constant) r.constant = int64_t(cast_bits(step.type, Scalar::i64, step.immediate));
        r.bits = uint32_t(8 * size_of(step.type)), r.is_unsigned = is_unsigned_int(step.type);
        place.push_back(uint32_t(records.size()));
        records.push_back(r);
    }
    return BundleWriter::append(to.size_steps, records);
}

std::vector<FormatRecord> format_records(const ir::Kernel& k, BundleWriter& to) {
    std::vector<FormatRecord> all;
    for (uint32_t format = 0; format < k.strings.size(); ++format) {
        const ir::Inst* const by = report_of(k, format);
        if (!by) continue;
        FormatRecord r{};
        r.text = to.text(k.strings[format]), r.is_requirement = by->op == ir::Op::require, r.index = format;
        r.source = to.text(k.where(by->loc));
        std::vector<LeafRecord> types;
        for (const ir::Value v : k.operands(*by).subspan(r.is_requirement)) types.push_back({0, uint32_t(k.type_of(v)), 0});
        r.types = BundleWriter::append(to.leaves, types);
        all.push_back(r);
    }
    return all;
}

KernelRecord kernel_record(const ir::Kernel& k, const std::string& name, BundleWriter& to) {
    KernelRecord r{};
    CacheKey key;
    key.add(k);
    r.name = to.text(name), r.source = to.text(k.where(k.loc)), r.hash = to.text(key.hash());
    r.rank = uint32_t(k.rank), r.folded = uint32_t(k.folded);
    if (k.whole_groups) r.flags |= KernelRecord::whole_groups;
    if (reports(k)) r.flags |= KernelRecord::reports;
    for (size_t axis = 0; axis < 3; ++axis) r.group[axis] = uint32_t(k.group[axis]), r.range[axis] = uint32_t(k.range[axis]);
    std::vector<ParameterRecord> parameters;
    for (size_t i = 0; i < k.params.size(); ++i) parameters.push_back(parameter_record(k, i, to));
    r.parameters = BundleWriter::append(to.parameters, parameters);
    std::vector<LocalRecord> locals;
    for (const ir::Memory& m : k.memories) {
        if (m.kind != ir::MemoryKind::local) continue;
        RecordRange steps;
        if (m.extents.empty()) {
            steps = size_steps(k, codegen::size_steps(k, m.size), to);
        } else {
            SizeStepRecord step{};
            step.constant = 1;
            for (const int64_t extent : m.extents) step.constant *= extent;
            steps = BundleWriter::append(to.size_steps, {step});
        }
        locals.push_back({m.element.size, steps});
    }
    r.locals = BundleWriter::append(to.locals, locals);
    r.across = -1, r.jammed_rows = 1, r.private_bytes = private_bytes(k);
    return r;
}

void set_native_traits(const cpu::CpuProgram& program, KernelRecord& r, BundleWriter& to) {
    if (program.movable) r.flags |= KernelRecord::movable;
    if (program.swapped) r.flags |= KernelRecord::swapped;
    if (program.asks_range) r.flags |= KernelRecord::asks_range;
    if (cpu::mostly_stores(*program.kernel, 0)) r.flags |= KernelRecord::clears;
    if (cpu::mostly_stores(*program.kernel, 2)) r.flags |= KernelRecord::mostly_stores;
    r.stencil = program.stencil, r.across = program.across, r.jammed_rows = uint32_t(program.jammed_rows);
    for (const ir::MemoryId m : program.added_to) {
        const size_t argument = size_t((*program.kernel)[m].argument);
        ParameterRecord& p = to.parameters[r.parameters.first + argument];
        p.added_to = 1;
        if (program.ranges.empty() || program.ranges[argument].bounds < 0) continue;
        const cpu::OwnedRanges& owned = program.ranges[argument];
        if (owned.offset != int32_t(owned.offset)) continue;
        p.bounds = uint32_t(owned.bounds) + 1, p.bounds_offset = int32_t(owned.offset);
    }
    if (const auto begin = cpu::row_begin(*program.kernel))
        r.stores = BundleWriter::append(to.stores, {StoreRecord{uint32_t(begin->argument), begin->known, begin->offset}});
}

}  // namespace pumice::ship
