// Derivatives of device functions: in kernels by recording the tangents, on the host by the interpreter.
//
// Why: `gradient(f, x, y)` inside a kernel gives the partial derivatives of a function at that point; on the host the same call
// gives numbers, without a device.
//
//     in a kernel    record_gradient     forward derivative of f with one direction for each float parameter (1, 0), (0, 1), ...
//                                        its body is copied into the recording (Replay): arrays become private memory
//     on the host    reverse_function    f as a kernel of one item on the interpreter; the adjoint of its result is 1
//
// Forward mode serves for gradients in kernels, since functions have few parameters and nothing has to be taped.
// Cost: in kernels the tangent code once for each float parameter; on the host one launch of the interpreter. Derived functions
// are kept for each function.
// Limits: integers get a zero. Arithmetic on the host is not part of a program that is being differentiated. Field's name:
// forward-mode gradients, Jacobian-vector products with unit vectors (Griewank and Walther, section 3.1).
#include "autodiff/api/derivative_functions.h"

#include <map>

#include "autodiff/api/shadow_arrays.h"
#include "core/host/trace_hook.h"
#include "core/ir/evaluate.h"
#include "core/ir/rewriter.h"
#include "core/passes/inlining.h"
#include "core/passes/promote.h"
#include "core/support/ascii.h"

namespace pumice::derive {
namespace {

using detail::Handle;
using detail::Recorder;
using ir::Op;

/// Copies the body of a derived kernel into a recording: scalar parameters become values, arrays become private memory, local
/// memory stays local memory.
class Replay {
public:
    Replay(const ir::Kernel& from, Recorder& r, std::span<const Handle> scalars) : from(from), r(r), values(from.values.size()) {
        size_t next = 0;
        for (const ir::Parameter& p : from.params) arguments.push_back(p.is_array ? ir::Value{} : r.use(scalars[next++], {}));
        for (const ir::Memory& m : from.memories) {
            ir::Memory own = m;
            if (m.kind == ir::MemoryKind::array) own.kind = ir::MemoryKind::private_;
            own.argument = -1;
            own.access = ir::Access::inout;
            if (m.kind == ir::MemoryKind::array) own.extents = {1}, own.rank = 1;
            if (m.kind == ir::MemoryKind::local && m.extents.empty()) own.size = follow(m.size);
            own.name = text(from.name, "_", m.name, "_", r.kernel.memories.size());
            for (char& c : own.name)
                if (!ascii::is_alphanumeric(c)) c = '_';
            memories.push_back(r.add_memory(std::move(own), {}));
        }
    }

    void run() { block(ir::BlockId{0}); }
    /// The value that was stored in the array of parameter `index`.
    Handle stored(size_t index, uint32_t leaf) {
        const ir::Value first = r.build.constant_int(Scalar::i32, 0);
        return r.handle(r.build.load(memories[from.params[index].memory.id], leaf, {&first, 1}));
    }

private:
    ir::Value of(ir::Value v) const { return values[v.id]; }
    /// A size of local memory: made of constants and the size of the group, and needed before the body is copied.
    ir::Value follow(ir::Value v) {
        std::vector<ir::Value> operands;
        const ir::Inst& i = from[from[v].inst];
        for (const ir::Value o : from.operands(i)) operands.push_back(follow(o));
        return ir::emit_like(r.build, i, operands);
    }

    void block(ir::BlockId id) {
        for (const ir::InstId i : from[id].insts) {
            if (from[i].op == Op::return_) return;
            inst(from[i]);
        }
    }

    void inst(const ir::Inst& i) {
        std::vector<ir::Value> operands;
        for (const ir::Value v : from.operands(i)) operands.push_back(of(v));
        if (i.op == Op::argument) return set(i, arguments[i.immediate]);
        if (ir::is_pure(i.op) && i.op != Op::extent) return set(i, ir::emit_like(r.build, i, operands));
        if (is_report(i.op)) return r.build.report(i.op, from.strings[i.immediate], operands);
        ir::Inst now;
        now.op = i.op;
        now.type = i.type;
        now.leaf = i.leaf;
        now.immediate = i.immediate;
        if (i.memory.id != ir::none) now.memory = memories[i.memory.id];
        for (int b = 0; b < 2; ++b) {
            if (i.blocks[b].id == ir::none) continue;
            std::vector<Scalar> types;
            for (const ir::Value p : from[i.blocks[b]].params) types.push_back(from.type_of(p));
            now.blocks[b] = r.build.new_block(types);
            for (size_t p = 0; p < types.size(); ++p) values[from[i.blocks[b]].params[p].id] = r.kernel[now.blocks[b]].params[p];
            r.build.enter(now.blocks[b]);
            block(i.blocks[b]);
            r.build.leave();
        }
        std::vector<Scalar> types;
        for (int k = 0; k < i.result_count; ++k) types.push_back(from.type_of(from.result(i, k)));
        const ir::Inst made = r.kernel[r.build.append(now, operands, types)];
        for (int k = 0; k < i.result_count; ++k) values[from.result(i, k).id] = r.kernel.result(made, k);
    }
    void set(const ir::Inst& i, ir::Value v) { values[from.result(i).id] = v; }

    const ir::Kernel& from;
    Recorder& r;
    std::vector<ir::Value> values, arguments;
    std::vector<ir::MemoryId> memories;
};

/// True if the kernel made of the function has its last parameter, the results.
bool gives_results(const ir::Kernel& function) { return !function.params.empty() && function.params.back().is_array; }

}  // namespace

std::string derived_name(const std::string& name, const char* what) { return name + "." + what; }

std::shared_ptr<void> derived_function(const FunctionBase& f, const char* what,
                                       const std::function<std::shared_ptr<void>()>& make) {
    // The derived function keeps the body of the function alive, so that its address stays unique.
    struct DerivedFunction {
        std::shared_ptr<const detail::FunctionBody> body;
        std::shared_ptr<void> made;
    };
    static std::recursive_mutex mutex;
    static std::map<std::pair<const void*, std::string>, DerivedFunction> all;
    std::lock_guard lock(mutex);
    DerivedFunction& kept = all[{f.body().get(), what}];
    if (!kept.made) kept = {f.body(), make()};
    return kept.made;
}

std::vector<Handle> record_tangents(Recorder& r, const FunctionBase& f, std::span<const Handle> params,
                                    const std::vector<std::vector<Handle>>& directions, bool as_reverse) {
    const std::shared_ptr<const ir::Kernel> primal = f.recorded();
    if (!gives_results(*primal)) return {};
    Signature signature;
    signature.width = int(directions.size());
    signature.as_reverse = as_reverse;
    for (const ir::Parameter& p : primal->params)
        signature.params.push_back(p.is_array || is_float(p.type) ? Activity::duplicated : Activity::constant);
    const ir::Kernel tangents = ir::promote(ir::inlining(forward(*primal, signature)));

    // The scalars of the derived kernel: each parameter, followed by its tangents if it is a float.
    std::vector<Handle> scalars;
    size_t floating = 0, result = 0;
    for (size_t i = 0; i < primal->params.size(); ++i) {
        if (primal->params[i].is_array) continue;
        scalars.push_back(params[i]);
        ++result;
        if (!is_float(primal->params[i].type)) continue;
        for (const std::vector<Handle>& direction : directions) scalars.push_back(direction[floating]);
        result += directions.size();
        ++floating;
    }
    Replay replay(tangents, r, scalars);
    replay.run();
    const Element& element = (*primal)[primal->params.back().memory].element;
    std::vector<Handle> all;
    for (size_t d = 0; d < directions.size(); ++d)
        for (uint32_t leaf = 0; leaf < element.leaves.size(); ++leaf)
            all.push_back(is_float(element.leaves[leaf].type) ? replay.stored(result + 1 + d, leaf)
                                                              : r.handle(r.build.constant(element.leaves[leaf].type, 0)));
    return all;
}

std::vector<Handle> record_gradient(Recorder& r, const FunctionBase& f, std::span<const Handle> params) {
    const std::vector<Scalar>& types = f.body()->params;
    std::vector<std::vector<Handle>> directions;
    for (size_t along = 0; along < types.size(); ++along) {
        if (!is_float(types[along])) continue;
        directions.emplace_back();
        for (size_t i = 0; i < types.size(); ++i)
            if (is_float(types[i])) directions.back().push_back(r.handle(r.build.constant_float(types[i], i == along ? 1 : 0)));
    }
    const std::vector<Handle> tangents =
        directions.empty() ? std::vector<Handle>() : record_tangents(r, f, params, directions, true);
    std::vector<Handle> gradient;
    size_t next = 0;
    const Scalar result = tangents.empty() ? Scalar::f32 : r.kernel.type_of(tangents[0].value);
    for (const Scalar type : types) {
        if (!is_float(type))
            gradient.push_back(r.handle(r.build.constant(type, 0)));
        else if (type == result)
            gradient.push_back(tangents[next++]);
        else
            gradient.push_back(r.handle(r.build.cast(type, tangents[next++].value)));
    }
    return gradient;
}

HostDerivative reverse_function(const FunctionBase& f, std::vector<ArgumentSlot> slots) {
    const std::shared_ptr<const ir::Kernel> primal = f.recorded();
    static std::mutex mutex;
    static std::map<const ir::Kernel*, AnyKernel>
        kernels;  // they keep the recorded kernel alive, so that its address stays unique
    std::unique_lock lock(mutex);
    const AnyKernel kernel = kernels.try_emplace(primal.get(), primal).first->second;
    lock.unlock();

    for (size_t i = 0; i < slots.size(); ++i) {
        if (slots[i].activity == Activity::active && !is_float(slots[i].value.type) && primal->params.size() <= 2)
            fail("the derivative of function \"", f.name(), "\": argument ", i + 1, " is Active and of type ",
                 name_of(slots[i].value.type), ", which has no derivative: write Const");
        slots[i].mixed = true;  // integers in structs give a zero
    }
    if (!gives_results(*primal)) return {{}, std::vector<uint64_t>(slots.size())};
    static const Device device = Device::open("interp");
    detail::ArrayState like;
    like.device = device.state;
    like.element = &(*primal)[primal->params.back().memory].element;
    detail::ScopedTraceHook aside(nullptr);  // arithmetic of the host is not part of a program
    const auto result = allocate_like(like, int64_t(like.element->size), true),
               shadow = allocate_like(like, int64_t(like.element->size), true);
    std::vector<uint64_t> ones;
    for (const Leaf& leaf : like.element->leaves) { ones.push_back(is_float(leaf.type) ? real_bits(leaf.type, 1) : 0); }
    detail::write(*shadow, ones.data(), 1, 1);
    ArgumentSlot out{Activity::duplicated, argument_of(*result), {argument_of(*shadow)}, nullptr, true};
    slots.push_back(out);
    HostDerivative d;
    d.adjoints = reverse({kernel, ndrange(1), slots, 1});
    d.results.resize(like.element->leaves.size());
    detail::read(*result, d.results.data());
    return d;
}

}  // namespace pumice::derive
