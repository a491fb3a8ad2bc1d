#include "core/language/recorder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/ir/evaluate.h"
#include "core/source/source_text.h"
#include "core/support/error.h"

namespace pumice::detail {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local Recorder* recording = nullptr;  // which each launch reads
std::atomic<uint32_t> serials{0};

std::string base_name(const std::string& file) { return file.substr(file.find_last_of('/') + 1); }

}  // namespace

std::string where(SourceLocation p) { return text(base_name(p.file), ":", p.line); }

Recorder::Recorder(std::string name, SourceLocation location, Nested nested)
    : build(kernel), serial(++serials), outer(recording) {
    if (outer && nested == Nested::no)
        fail("kernel \"", name, "\" is recorded while kernel \"", outer->kernel.name,
             "\" is being recorded: a kernel cannot launch or define another one (", where(location), ")");
    recording = this;
    kernel.name = std::move(name);
    build.enter(build.new_block());
    at(location);
    kernel.loc = build.loc;
}

Recorder::~Recorder() { recording = outer; }

Recorder* Recorder::current_or_null() { return recording; }

Recorder& Recorder::current(const char* what, SourceLocation location) {
    if (!recording)
        fail(what, " is used outside a kernel", location.line ? text(" (", where(location), ")") : "",
             ": device code stands in a lambda given to kernel() or function()");
    return *recording;
}

uint32_t Recorder::file_index(const char* file) {
    if (file == last_file) return last_file_index;
    const std::string name = ir::source_debugging() ? file : base_name(file);  // debuggers open the file
    last_file = file;
    for (last_file_index = 0; last_file_index < kernel.files.size(); ++last_file_index)
        if (kernel.files[last_file_index] == name) return last_file_index;
    kernel.files.push_back(name);
    return last_file_index;
}

Recorder& Recorder::at(SourceLocation location) {
    if (!location.line) return *this;  // unknown line: keeps the line of the preceding operation
    build.loc = {file_index(location.file), uint32_t(location.line)};
    return *this;
}

ir::Value Recorder::use(Handle h, SourceLocation location) {
    const auto here = [&] { return location.line ? where(location) : kernel.where(build.loc); };  // or the preceding line
    if (h.recording != serial)
        fail("a device value of another kernel is used in kernel \"", kernel.name, "\" (", here(),
             "): values, variables and "
             "local arrays live only while their own kernel is recorded");
    if (!frames.empty() && h.value && h.block < frames.back().first_block)
        fail("function \"", frames.back().function->name, "\" uses a value of the code around it at ", here(),
             ": a function sees its parameters only");
    if (h.block < closed.size() && closed[h.block] == by_function)
        fail("a device value of a function is used outside it, in kernel \"", kernel.name, "\" (", here(),
             "): a function gives what its lambda returns");
    if (h.block < closed.size() && closed[h.block])
        fail("a device value is used outside the $if, $for or $while that computes it, in kernel \"", kernel.name, "\" (", here(),
             "): write Var x = ... before the construct and assign x inside");
    return h.value;
}

ir::Value Recorder::whole_constant(Scalar type, Whole whole, SourceLocation location) {
    at(location);
    if (is_float(type)) return build.constant_float(type, whole.negative ? double(int64_t(whole.bits)) : double(whole.bits));
    if (type == Scalar::boolean) return build.constant_bool(whole.bits != 0);
    const int value_bits = 8 * size_of(type) - is_signed_int(type);
    const uint64_t largest = ~uint64_t(0) >> (64 - value_bits);
    const bool fits =
        !whole.negative ? whole.bits <= largest : is_signed_int(type) && int64_t(whole.bits) >= -int64_t(largest) - 1;
    if (!fits)
        fail("the constant ", whole.negative ? text(int64_t(whole.bits)) : text(whole.bits), " does not fit into ", name_of(type),
             ", which holds ", is_signed_int(type) ? text(-int64_t(largest) - 1) : "0", " to ", largest, " (", where(location),
             ", kernel \"", kernel.name, "\")");
    return build.constant(type, whole.bits);
}

ir::Value Recorder::real_constant(Scalar type, double real, SourceLocation location) {
    at(location);
    const double limit = largest_real(type);
    if (std::isfinite(real) && std::fabs(real) > limit)
        fail("the constant ", real, " does not fit into ", name_of(type), ", whose largest number is ", limit, " (",
             where(location), ", kernel \"", kernel.name, "\")");
    return build.constant_float(type, real);
}

void Recorder::require_rank(int rank, const char* what, SourceLocation location) {
    if (kernel.rank != 0 && kernel.dimensions() != rank)
        fail("kernel \"", kernel.name, "\" asks for ", what, "<", rank, ">() at ", where(location), " but uses ",
             kernel.dimensions(),
             "-dimensional indices before: one kernel has one rank (the _linear functions work in every rank)");
    kernel.rank = std::min(rank, 3);
    kernel.folded = std::max(rank - 2, 1);
}

ir::Value Recorder::range_value(ir::ParameterOrigin what, int dimension) {
    auto& params = kernel.params;
    const auto found =
        std::ranges::find_if(params, [&](const ir::Parameter& p) { return p.origin == what && p.dimension == dimension; });
    const int index = int(found - params.begin());
    if (found == params.end()) params.push_back({false, Scalar::i32, {}, "", what, dimension});
    return build.argument(index, Scalar::i32);
}

ir::MemoryId Recorder::add_memory(ir::Memory memory, SourceLocation location) {
    at(location);
    memory.loc = build.loc;
    if (memory.name.empty()) {
        int same = 1;
        for (const ir::Memory& m : kernel.memories) same += m.kind == memory.kind;
        memory.name = text(memory.kind == ir::MemoryKind::local      ? "local"
                           : memory.kind == ir::MemoryKind::private_ ? "private"
                                                                     : "arg",
                           same);
    }
    kernel.memories.push_back(std::move(memory));
    return {uint32_t(kernel.memories.size() - 1)};
}

ir::Value Recorder::index_value(ir::Value v) {
    return build.cast(size_of(kernel.type_of(v)) == 8 ? Scalar::i64 : Scalar::i32, v);
}

// ---- control flow -------------------------------------------------------------------------------------------------

// Ends the block with a yield unless it already has a terminator.
void Recorder::close_block() {
    if (!build.terminated()) build.terminate(ir::Op::yield);
    closed.resize(kernel.blocks.size());
    closed[build.current().id] = by_construct;
    build.leave();
}

// Removes the yield of a closed block, so that more instructions can follow.
void Recorder::reopen(ir::BlockId block) {
    kernel.blocks[block.id].insts.pop_back();
    closed[block.id] = no;
    build.enter(block);
}

// Compilers of the generated code recurse into constructs and fail at about twice this depth.
size_t Recorder::depth() const {
    size_t depth = 0;
    for (const Open& o : open) depth += std::max<size_t>(o.else_blocks.size(), 1);
    return depth;
}

void Recorder::check_depth(size_t depth, SourceLocation location) {
    deepest = std::max(deepest, depth);
    if (depth > size_t(max_depth))
        fail("kernel \"", kernel.name, "\" nests more than ", max_depth, " constructs at ", where(location),
             " (each $elif counts), which is the limit");
}

void Recorder::begin_if(Handle condition, SourceLocation location) {
    at(location);
    check_depth(depth() + 1, location);
    const ir::Value c = use(condition, location);
    const ir::BlockId block = build.new_block();
    open.push_back({ConstructKind::if_, location, false, block, {}, {}, {}, {c, {}, {}}});
    build.enter(block);
}

void Recorder::begin_else(bool elif, SourceLocation location) {
    at(location);
    const auto& insts = kernel[build.current()].insts;
    if (insts.empty() || last_if.else_blocks.empty() || insts.back() != last_if.chain)
        fail(elif ? "$elif" : "$else", " at ", where(location), " does not follow a $if (kernel \"", kernel.name,
             "\"): nothing may stand between them");
    open.push_back(
        {ConstructKind::else_, location, elif, last_if.else_blocks.back(), {}, last_if.else_blocks, last_if.chain, {}});
    for (const ir::BlockId b : open.back().else_blocks) reopen(b);
}

void Recorder::begin_while(SourceLocation location) {
    at(location);
    check_depth(depth() + 1, location);
    const ir::BlockId test = build.new_block();
    open.push_back({ConstructKind::while_, location, false, {}, test, {}, {}, {}});
    build.enter(test);
}

void Recorder::while_condition(Handle condition, SourceLocation location) {
    at(location);
    const ir::Value c = use(condition, location);
    build.terminate(ir::Op::test, {&c, 1});
    build.leave();
    open.back().block = build.new_block();
    build.enter(open.back().block);
}

Handle Recorder::begin_for(ir::Value from, ir::Value to, ir::Value step, bool unroll, SourceLocation location) {
    at(location);
    check_depth(depth() + 1, location);
    const Scalar type = kernel.type_of(from);
    const ir::BlockId block = build.new_block({&type, 1});
    open.push_back({ConstructKind::for_, location, false, block, {}, {}, {}, {from, to, step}, unroll});
    build.enter(block);
    return {kernel[block].params[0], serial, block.id};
}

void Recorder::end() {
    const Open top = std::move(open.back());
    open.pop_back();
    at(top.location);
    switch (top.kind) {
        case ConstructKind::if_: {
            close_block();
            const ir::BlockId otherwise = build.new_block();
            build.enter(otherwise);
            close_block();
            const ir::InstId inst = build.control(ir::Op::if_, {top.operands, 1}, {top.block, otherwise});
            last_if = {inst, {otherwise}};
            // An elif is an if that ends the else arm of its chain: closing the chain closes that arm, too.
            if (!open.empty() && open.back().elif) {
                Open arm = std::move(open.back());
                open.pop_back();
                for ([[maybe_unused]] const ir::BlockId b : arm.else_blocks) close_block();
                last_if = {arm.chain, std::move(arm.else_blocks)};
                last_if.else_blocks.push_back(otherwise);
            }
            return;
        }
        case ConstructKind::else_:
            for ([[maybe_unused]] const ir::BlockId b : top.else_blocks) close_block();
            last_if = {};
            return;
        case ConstructKind::while_:
            close_block();
            build.control(ir::Op::while_, {}, {top.test, top.block});
            return;
        case ConstructKind::for_:
            close_block();
            kernel.insts[build.control(ir::Op::for_, {top.operands, 3}, {top.block}).id].immediate =
                uint64_t(top.unroll ? ir::LoopHint::unroll : ir::LoopHint::none);
            return;
    }
}

int Recorder::loops_open() const {
    int loops = 0;
    for (const Open& o : open) loops += o.kind == ConstructKind::while_ || o.kind == ConstructKind::for_;
    return loops;
}

void Recorder::leave(ir::Op how, const char* what, SourceLocation location) {
    at(location);
    if (how != ir::Op::return_ && loops_open() == 0)
        fail(what, " at ", where(location), " stands outside a $for or $while (kernel \"", kernel.name, "\")");
    if (how == ir::Op::return_ && !frames.empty())
        fail(what, " at ", where(location), " stands in function \"", frames.back().function->name,
             "\": a function ends where its lambda does, with what that returns");
    build.terminate(how);
    // The rest of this block is unreachable: it is recorded into a block without owner.
    build.leave();
    build.enter(build.new_block());
}

// ---- functions ----------------------------------------------------------------------------------------------------

std::vector<Handle> Recorder::call(const std::shared_ptr<const FunctionBody>& function, std::span<const Handle> arguments,
                                   SourceLocation location) {
    at(location);
    std::vector<ir::Value> operands;
    for (const Handle& h : arguments) operands.push_back(use(h, location));
    const uint32_t index = record_function(function, location);
    check_depth(depth() + functions.at(function.get()).deepest, location);
    at(location);
    const ir::Inst called = kernel[build.call(index, operands)];
    std::vector<Handle> results;
    for (const ir::Value v : results_of(kernel, called)) results.push_back(handle(v));
    return results;
}

uint32_t Recorder::record_function(const std::shared_ptr<const FunctionBody>& function, SourceLocation location) {
    if (const auto found = functions.find(function.get()); found != functions.end()) return found->second.index;
    for (size_t f = 0; f < frames.size(); ++f)
        if (frames[f].function == function.get())
            fail("function \"", function->name, "\" (", where(function->location), ") calls itself",
                 f + 1 < frames.size() ? text(" through function \"", frames.back().function->name, "\"") : "",
                 location.line ? " at " + where(location) : "", ": there is no recursion on devices; write a loop");
    ir::Function made;
    at(function->location);
    made.loc = build.loc;
    made.body = build.new_block(function->params);
    frames.push_back(
        {function.get(), made.body.id, std::exchange(open, {}), std::exchange(last_if, {}), std::exchange(deepest, 0), made.loc});
    build.enter_function(made.body);
    std::vector<Handle> params;
    for (const ir::Value v : std::vector(kernel[made.body].params)) params.push_back(handle(v));
    std::vector<ir::Value> results;
    try {
        for (const Handle& h : function->record(*this, params)) results.push_back(use(h, {}));
    } catch (const Error& e) {
        throw e.within(text("while recording function \"", function->name, "\" (", where(function->location), ")"));
    }
    if (!open.empty())
        fail("function \"", function->name, "\" ends inside the construct opened at ", where(open.back().location));
    for (const ir::Value v : results) made.results.push_back(kernel.type_of(v));
    build.terminate(ir::Op::yield, results);
    build.leave_function();
    closed.resize(kernel.blocks.size());
    std::fill(closed.begin() + made.body.id, closed.end(), by_function);
    CallFrame frame = std::move(frames.back());
    frames.pop_back();
    open = std::move(frame.open);
    last_if = std::move(frame.last_if);
    const size_t its_depth = std::exchange(deepest, frame.deepest);

    made.name = unique_name(function->name);  // after its callees got theirs
    made.inactive = function->inactive;
    const uint32_t index = uint32_t(kernel.functions.size());
    kernel.functions.push_back(std::move(made));
    functions[function.get()] = {function, index, its_depth};
    // Rules are recorded after their function, which they may call.
    const uint32_t reverse = function->reverse ? record_function(function->reverse, location) : ir::none;
    const uint32_t forward = function->forward ? record_function(function->forward, location) : ir::none;
    kernel.functions[index].reverse = reverse;
    kernel.functions[index].forward = forward;
    return index;
}

std::string Recorder::unique_name(const std::string& name) const {
    const auto taken = [&](const std::string& n) {
        return std::ranges::any_of(kernel.functions, [&](const ir::Function& f) { return f.name == n; });
    };
    std::string unique = name;
    for (int n = 2; taken(unique); ++n) unique = text(name, ".", n);
    return unique;
}

std::shared_ptr<const ir::Kernel> Recorder::finish() {
    if (!first_misuse.empty()) throw Error(first_misuse);
    if (!open.empty()) fail("kernel \"", kernel.name, "\" ends inside the construct opened at ", where(open.back().location));
    if (!build.terminated()) build.terminate(ir::Op::return_);
    build.leave();
    if (const std::string broken = ir::verify(kernel); !broken.empty())
        fail("kernel \"", kernel.name, "\" (", kernel.where(kernel.loc),
             ") uses a value outside the block that computes it, or breaks another rule of the language: ", broken);
    return std::make_shared<const ir::Kernel>(std::move(kernel));
}

}  // namespace pumice::detail
