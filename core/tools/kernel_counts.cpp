#include "core/tools/kernel_counts.h"

#include <limits>

#include "core/analysis/loop_info.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/ir/structure.h"

namespace pumice::tools {

using namespace ir;

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

bool is_float_op(const Kernel& k, const Inst& i) { return is_float(k.type_of(k.operands(i)[0])); }

/// The jumps out of a construct's blocks: those that leave the loop around it, and those that leave the kernel.
struct Jumps {
    bool ends_iteration = false, ends_loop = false, ends_item = false;
};
Jumps jumps_out_of(const Kernel& k, BlockId block) {
    Jumps found;
    for (const InstId id : k[block].insts) {
        const Inst& i = k[id];
        found.ends_iteration |= i.op == Op::continue_;
        found.ends_loop |= i.op == Op::break_;
        found.ends_item |= i.op == Op::return_;
        for (const BlockId inner : i.owned()) {
            const Jumps below = jumps_out_of(k, inner);
            found.ends_item |= below.ends_item;
            if (is_loop(i.op)) continue;
            found.ends_iteration |= below.ends_iteration;
            found.ends_loop |= below.ends_loop;
        }
    }
    return found;
}

}  // namespace

int float_operations(const Kernel& kernel, const Inst& inst) {
    if (!is_scalar_op(inst.op) || !is_float_op(kernel, inst)) return 0;
    return inst.op == Op::fma ? 2 : 1;
}
int integer_operations(const Kernel& kernel, const Inst& inst) {
    return is_scalar_op(inst.op) && !is_float_op(kernel, inst) ? 1 : 0;
}
int64_t bytes_read(const Kernel& kernel, const Inst& inst) {
    if (!reads_memory(inst.op) || inst.memory.id == none || kernel[inst.memory].kind != MemoryKind::array) return 0;
    return size_of(inst.type);
}
int64_t bytes_written(const Kernel& kernel, const Inst& inst) {
    if (!writes_memory(inst.op) || inst.memory.id == none || kernel[inst.memory].kind != MemoryKind::array) return 0;
    return size_of(inst.type);
}

KernelCounts::KernelCounts(const Kernel& kernel, const LaunchFacts& launch)
    : k(kernel),
      facts(launch),
      executed(kernel.insts.size()),
      read_of(kernel.memories.size()),
      written_of(kernel.memories.size()),
      values(kernel.values.size()),
      asked(kernel.values.size()),
      asked_arguments(kernel.params.size()) {
    walk(BlockId{0}, {1, 1});
    add_up();
}

void KernelCounts::add_up() {
    for (uint32_t n = 0; n < k.insts.size(); ++n) {
        const Inst& i = k.insts[n];
        const Bounds& times = executed[n];
        if (times.most == 0) continue;
        floats += times * tools::float_operations(k, i);
        integers += times * tools::integer_operations(k, i);
        if (i.memory.id == none) continue;
        const Bounds in = times * double(tools::bytes_read(k, i)), out = times * double(tools::bytes_written(k, i));
        read += in, written += out;
        read_of[i.memory.id] += in, written_of[i.memory.id] += out;
    }
}

/// Notes the executions of the block's instructions. Returns how often control reaches the block's end.
Bounds KernelCounts::walk(BlockId block, Bounds flow) {
    for (const InstId id : k[block].insts) {
        executed[id.id] += flow;
        if (is_control(k[id].op)) flow = control(id, flow);
    }
    return flow;
}

/// Returns how often control goes on after the construct.
Bounds KernelCounts::control(InstId id, Bounds flow) {
    const Inst& i = k[id];
    const auto after = [&](const Jumps& jumps) { return Bounds{jumps.ends_item ? 0 : flow.least, flow.most}; };
    if (i.op == Op::if_) {
        Bounds on = flow;
        const auto condition = known(k.operands(i)[0]);
        for (size_t arm = 0; arm < 2; ++arm) {
            if (condition && (*condition != 0) != (arm == 0)) continue;
            walk(i.blocks[arm], {condition ? flow.least : 0, flow.most});
            const Jumps jumps = jumps_out_of(k, i.blocks[arm]);
            if (jumps.ends_iteration || jumps.ends_loop || jumps.ends_item) on.least = 0;
        }
        return on;
    }
    const Jumps jumps = jumps_out_of(k, i.op == Op::for_ ? i.blocks[0] : i.blocks[1]);
    const bool may_end = jumps.ends_loop || jumps.ends_item;
    if (i.op == Op::for_) {
        const auto n = trips(i);
        const double most = n ? *n : no_limit;
        // An item that leaves early has begun the first iteration, if there is one.
        const double least = !n ? 0 : may_end ? std::min(*n, 1.0) : *n;
        walk(i.blocks[0], {flow.least * least, flow.most == 0 || most == 0 ? 0 : flow.most * most});
        return after(jumps);
    }
    const double most = flow.most == 0 ? 0 : no_limit;
    walk(i.blocks[0], {flow.least, most});
    walk(i.blocks[1], {0, most});
    return after(jumps);
}

std::optional<double> KernelCounts::trips(const Inst& loop) {
    const auto operands = k.operands(loop);
    WideInt bounds[3];
    for (size_t n = 0; n < 3; ++n) {
        const auto bits = known(operands[n]);
        if (!bits) return std::nullopt;
        bounds[n] = wide_integer(k.type_of(operands[n]), *bits);
    }
    return double(trip_count(bounds[0], bounds[1], bounds[2]));
}

/// The value's bits, if constants and the launch give them.
std::optional<uint64_t> KernelCounts::known(Value v) {
    if (asked[v.id]) return values[v.id];
    asked[v.id] = true;
    const InstId id = k[v].inst;
    if (id.id == none) return std::nullopt;
    const Inst& i = k[id];
    if (i.op == Op::constant) return values[v.id] = i.immediate;
    if (const auto bits = given(i)) return values[v.id] = bits;
    const bool computed = is_scalar_op(i.op) || i.op == Op::select || i.op == Op::cast || i.op == Op::bitcast;
    if (!computed) return std::nullopt;
    std::vector<uint64_t> operands;
    for (const Value operand : k.operands(i)) {
        const auto bits = known(operand);
        if (!bits) return std::nullopt;
        operands.push_back(*bits);
    }
    uint64_t result = 0;
    const Scalar type = k.type_of(k.operands(i)[i.op == Op::select ? 1 : 0]);
    if (evaluate(i, type, operands, result)) values[v.id] = result;
    return values[v.id];
}

/// The bits of what the launch gives to all items.
std::optional<uint64_t> KernelCounts::given(const Inst& i) {
    const size_t n = size_t(i.immediate);
    const auto number = [](int64_t value) { return std::optional<uint64_t>(to_bits(int32_t(value))); };
    switch (i.op) {
        case Op::argument: asked_arguments[n] = true; return n < facts.arguments.size() ? facts.arguments[n] : std::nullopt;
        case Op::global_size: return facts.extent[n] > 0 ? number(facts.extent[n]) : std::nullopt;
        case Op::group_size: return facts.group[n] > 0 ? number(facts.group[n]) : std::nullopt;
        case Op::group_count:
            if (facts.extent[n] <= 0 || facts.group[n] <= 0) return std::nullopt;
            return number((facts.extent[n] + facts.group[n] - 1) / facts.group[n]);
        case Op::extent: {
            const int argument = k[i.memory].argument;
            if (argument < 0 || size_t(argument) >= facts.extents.size()) return std::nullopt;
            return number(facts.extents[size_t(argument)][n]);
        }
        default: return std::nullopt;
    }
}

}  // namespace pumice::tools
