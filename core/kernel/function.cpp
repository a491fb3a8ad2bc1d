#include "core/kernel/function.h"

#include "core/interp/interp.h"
#include "core/passes/inlining.h"
#include "core/support/error.h"

namespace pumice {

using namespace internal;
namespace {

using ir::Op;

/// True for instructions that only work in a launch, not in a host call.
bool needs_a_launch(Op op) { return layout_of(op) == ir::Layout::axis || op == Op::in_range || is_barrier(op); }

/// One member for each scalar, 8 bytes each.
Element results_element(const std::vector<Scalar>& types) {
    Element e;
    for (size_t r = 0; r < types.size(); ++r) e.leaves.push_back({text("r", r), types[r], uint32_t(8 * r)});
    e.size = uint32_t(8 * types.size());
    return e;
}

std::shared_ptr<const ir::Kernel> as_kernel(const std::shared_ptr<const detail::FunctionBody>& body) {
    detail::Recorder r(body->name, body->location, detail::Recorder::Nested::yes);
    try {
        std::vector<detail::Handle> arguments;
        for (const Scalar type : body->params) {
            const int index = int(r.kernel.params.size());
            r.kernel.params.push_back({false, type, {}, ""});
            arguments.push_back(r.handle(r.build.argument(index, type)));
        }
        const std::vector<detail::Handle> results = r.call(body, arguments, body->location);
        if (!results.empty()) {
            std::vector<Scalar> types;
            for (const detail::Handle& h : results) types.push_back(r.kernel.type_of(h.value));
            ir::Memory m;
            m.name = "result";
            m.element = results_element(types);
            m.access = ir::Access::out;
            m.argument = int(r.kernel.params.size());
            const ir::MemoryId id = r.add_memory(std::move(m), body->location);
            r.kernel.params.push_back({true, types[0], id, "the result"});
            const ir::Value first = r.build.constant_int(Scalar::i32, 0);
            for (uint32_t n = 0; n < results.size(); ++n) r.build.store(id, n, {&first, 1}, results[n].value);
        }
        return r.finish();
    } catch (const Error& e) { throw r.misused().empty() ? e : Error(r.misused()); }
}

Backend& interpreter() {
    static const auto* const device = new std::shared_ptr<Backend>(open_interp());  // never destroyed, as element_of
    return **device;
}

}  // namespace

FunctionBase::FunctionBase(detail::FunctionBody body) : state(std::make_shared<State>()) {
    detail::check_name("function", body.name);
    state->body = std::make_shared<const detail::FunctionBody>(std::move(body));
}

const std::shared_ptr<const detail::FunctionBody>& FunctionBase::body() const {
    if (!state) detail::fail_undefined("function");
    return state->body;
}

const std::string& FunctionBase::name() const { return body()->name; }

std::shared_ptr<const ir::Kernel> FunctionBase::recorded() const {
    const std::shared_ptr<const detail::FunctionBody>& recordable = body();  // throws where there is no state
    std::lock_guard lock(state->mutex);
    if (!state->recorded) state->recorded = as_kernel(recordable);
    return state->recorded;
}

std::string FunctionBase::ir() const { return ir::print(*recorded()); }

std::vector<uint64_t> FunctionBase::evaluate(std::span<const detail::HostArgument> arguments) const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    std::shared_ptr<Executable> executable;
    {
        std::lock_guard lock(state->mutex);
        if (!state->executable) {
            const ir::Kernel whole = ir::inlining(*kernel);
            for (const ir::Block& b : whole.blocks)
                for (const ir::InstId id : b.insts)
                    if (needs_a_launch(whole[id].op))
                        fail("function \"", name(), "\" (", whole.where(whole.loc), ") is called on the host and uses ",
                             name_of(whole[id].op), " (", whole.where(whole[id].loc), "), which only a kernel's launch has");
            state->executable = interpreter().compile(kernel);
        }
        executable = state->executable;
    }
    Launch launch;
    launch.group = {1, 1, 1};
    for (const detail::HostArgument& a : arguments) launch.arguments.push_back({{}, a.bits});
    std::vector<uint64_t> results(
        kernel->params.size() - arguments.size() ? kernel->memories[kernel->params.back().memory.id].element.leaves.size() : 0);
    std::shared_ptr<Allocation> memory;
    const int64_t bytes = int64_t(8 * results.size());
    if (bytes) {
        memory = interpreter().allocate(bytes, true);
        launch.arguments.push_back({{memory.get(), 0, bytes, Launch::Array::ones()}, 0});
    }
    interpreter().launch(executable, launch);
    if (bytes)
        interpreter().read(*memory, 0, results.data(), bytes);
    else
        interpreter().synchronize();
    return results;
}

}  // namespace pumice
