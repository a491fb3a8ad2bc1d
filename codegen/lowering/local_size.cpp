// Host evaluation of local-array sizes: the size expression of a dynamically sized local array becomes a list of steps, which
// each launch evaluates for its group; the result is one specialisation constant an array.
//
//   local local1: f32[size %n]         layout(constant_id = 5) const int local1_size = 1;   steps: group_size x, constant 2, div
//   %n = div group_size 0, 2           shared float local1[local1_size];                    group of 64: local1_size = 32
//
// Why on the host: drivers fold expressions of specialisation constants by rules of their own; a division by zero crashes one
// driver and hangs another. The host evaluates with ir::evaluate, the interpreter's semantics.
// Cost: a few steps an array and launch. Limits: constants, group extents, selects, casts and scalar ops with at most three
// operands; the result is an i32. A size below 1 is an error of the launch. The constant of an array that is kept
// in words is the number of words.
// Textbook name: partial evaluation, with the group's extents as the inputs that are known (Jones, Gomard and Sestoft, 1993).
#include <algorithm>
#include <map>

#include "codegen/glsl/codegen.h"
#include "core/ir/builder.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

/// Appends the steps that compute a value, in post-order, each once; returns the number of the value's step.
uint32_t append(const ir::Kernel& k, ir::Value v, std::vector<SizeStep>& steps, std::map<uint32_t, uint32_t>& made) {
    if (const auto there = made.find(v.id); there != made.end()) return there->second;
    const ir::Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    SizeStep step{i.op, i.type, Scalar::i32, uint32_t(operands.size()), {}, i.immediate};
    if (operands.size() > std::size(step.operands))
        library_bug(text("the size of a local array is computed by ", ir::print(k, i)));
    for (size_t o = 0; o < operands.size(); ++o) step.operands[o] = append(k, operands[o], steps, made);
    if (!operands.empty()) step.operand_type = k.type_of(operands[i.op == ir::Op::select ? 1 : 0]);
    steps.push_back(step);
    return made[v.id] = uint32_t(steps.size() - 1);
}

}  // namespace

std::vector<SizeStep> size_steps(const ir::Kernel& kernel, ir::Value size) {
    std::vector<SizeStep> steps;
    std::map<uint32_t, uint32_t> made;
    append(kernel, size, steps, made);
    return steps;
}

int64_t elements_of(std::span<const SizeStep> steps, const std::array<int64_t, 3>& group) {
    std::vector<uint64_t> values;
    for (const SizeStep& step : steps) {
        uint64_t operands[3] = {}, result = step.immediate;
        for (uint32_t o = 0; o < step.count; ++o) operands[o] = values[step.operands[o]];
        ir::Inst inst;
        inst.op = step.op, inst.type = step.type;
        if (step.op == ir::Op::group_size)
            result = uint32_t(group[step.immediate]);
        else if (step.op != ir::Op::constant && !ir::evaluate(inst, step.operand_type, {operands, step.count}, result))
            library_bug(text("the size of a local array is computed by ", name_of(step.op)));
        values.push_back(result);
    }
    return int32_t(values.back());
}

std::span<const SizeStep> Shader::steps_of(const SizedLocal& local) const {
    return std::span(size_steps).subspan(local.first_step, local.step_count);
}

int64_t Shader::length_of(const SizedLocal& local, const std::array<int64_t, 3>& group) const {
    const int64_t elements = std::max<int64_t>(elements_of(steps_of(local), group), 1);
    return local.in_words ? (elements * local.element_bytes + 3) / 4 : elements;
}

int64_t Shader::local_bytes_for(const std::array<int64_t, 3>& group) const {
    int64_t bytes = local_bytes;
    for (const SizedLocal& local : sized_locals) bytes += elements_of(steps_of(local), group) * local.element_bytes;
    return bytes;
}

}  // namespace pumice::codegen
