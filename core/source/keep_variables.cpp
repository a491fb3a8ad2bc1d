#include "core/source/keep_variables.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/ir/rewriter.h"
#include "core/source/source_text.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

constexpr std::string_view prefix = "debug_";
constexpr size_t most_kept = 1000;  ///< variables of a kernel; an unrolled loop declares one in each iteration

std::string_view line_of(const Kernel& k, Loc loc) {
    if (loc.line == 0 || loc.file >= k.files.size()) return {};
    const SourceText* const source = source_text(k.files[loc.file]);
    return source ? source->line(loc.line) : std::string_view();
}

std::vector<std::string> lambda_names(const Kernel& k, Loc loc) {
    if (loc.line == 0 || loc.file >= k.files.size()) return {};
    const SourceText* const source = source_text(k.files[loc.file]);
    return source ? parameter_names(*source, loc.line) : std::vector<std::string>();
}

/// Of the variables of a run: the declared names one by one, or the members of the only one.
std::vector<std::string> names_of_variables(const std::vector<std::string>& declared, size_t count) {
    if (declared.size() == count) return declared;
    if (declared.size() != 1) return {};
    std::vector<std::string> names;
    for (size_t n = 0; n < count; ++n)
        names.push_back(count <= 4 ? text(declared[0], ".", "xyzw"[n]) : text(declared[0], ".", n));
    return names;
}

/// The memories to add, and the values that are stored into them.
struct VariablesPlan {
    explicit VariablesPlan(const Kernel& kernel) : k(kernel), memories(kernel.memories) {
        for (uint32_t b = 0; b < k.blocks.size(); ++b) runs_of(k.blocks[b]);
        const std::vector<std::string> names = argument_names(k);
        for (size_t p = 0; p < k.params.size(); ++p)
            if (!k.params[p].is_array && k.params[p].origin == ParameterOrigin::argument)
                arguments.emplace_back(int(p), added(names[p], k.params[p].type, k.loc));
        for (size_t f = 0; f < k.functions.size(); ++f) {
            const std::vector<Value>& values = k[k.functions[f].body].params;
            const std::vector<std::string> known = lambda_names(k, k.functions[f].loc);
            for (size_t p = 0; p < values.size() && known.size() == values.size(); ++p)
                params[values[p].id] = added(known[p], k.type_of(values[p]), k.functions[f].loc);
        }
    }

    void runs_of(const Block& block) {
        for (size_t at = 0; at < block.insts.size();) {
            size_t end = at;
            while (end < block.insts.size() && k[block.insts[end]].loc == k[block.insts[at]].loc) ++end;
            run(std::span(block.insts).subspan(at, end - at));
            at = end;
        }
    }

    void run(std::span<const InstId> insts) {
        const Loc loc = k[insts[0]].loc;
        const std::string_view line = line_of(k, loc);
        for (const InstId i : insts) {
            if (k[i].op == Op::for_)
                params[k[k[i].blocks[0]].params[0].id] = added(loop_name(line), k.type_of(k[k[i].blocks[0]].params[0]), loc);
        }
        if (loc == k.loc) return;  // it declares the kernel
        const std::vector<std::string> declared = declared_names(line);
        if (declared.empty()) return;
        std::vector<Value> variables, results;
        for (const InstId i : insts) {
            if (k[i].op == Op::var) variables.push_back(k.result(k[i]));
            if (k[i].result_count == 1 && !is_control(k[i].op)) results.push_back(k.result(k[i]));
        }
        if (!variables.empty()) {
            const std::vector<std::string> names = names_of_variables(declared, variables.size());
            for (size_t n = 0; n < names.size(); ++n)
                this->variables[variables[n].id] = added(names[n], k.type_of(variables[n]), loc);
            return;
        }
        if (results.size() < declared.size()) return;
        results.erase(results.begin(), results.end() - std::ptrdiff_t(declared.size()));
        // `auto [i, j] = global_index<2>()`: the first name is the slowest axis, in whatever order they were recorded.
        const Op op = k[k[results[0]].inst].op;
        if (instruction_is_axis(op) && std::ranges::all_of(results, [&](Value v) { return k[k[v].inst].op == op; }))
            std::ranges::sort(results, [&](Value a, Value b) { return k[k[a].inst].immediate > k[k[b].inst].immediate; });
        for (size_t n = 0; n < declared.size(); ++n)
            after[k[results[n]].inst.id] = added(declared[n], k.type_of(results[n]), loc);
    }
    static bool instruction_is_axis(Op op) {
        return op == Op::global_index || op == Op::local_index || op == Op::group_index || op == Op::global_size ||
               op == Op::group_size || op == Op::group_count;
    }

    /// Adds memory for a variable; none without a name, or past the limit.
    MemoryId added(const std::string& name, Scalar type, Loc loc) {
        if (name.empty() || memories.size() - k.memories.size() >= most_kept) return {};
        Memory m;
        m.kind = MemoryKind::private_;
        m.name = text(prefix, memories.size() - k.memories.size() + 1, "_", name.size(), "_", name);
        std::ranges::replace(m.name, '.', '_');
        std::ranges::replace(m.name, '$', '_');
        m.element = Element::of(type);
        m.extents = {1};
        m.loc = loc;
        memories.push_back(m);
        return {uint32_t(memories.size() - 1)};
    }

    const Kernel& k;
    std::vector<Memory> memories;
    std::map<uint32_t, MemoryId> variables;  ///< by the result of var
    std::map<uint32_t, MemoryId> after;      ///< by instruction: its result is stored
    std::map<uint32_t, MemoryId> params;     ///< by block parameter: it is stored at the beginning of its block
    std::vector<std::pair<int, MemoryId>> arguments;
};

class KeepVariables : public Rewriter {
public:
    KeepVariables(const Kernel& kernel, const VariablesPlan& plan) : Rewriter(kernel), plan(plan) {}

private:
    void keep(MemoryId m, Value now) {
        if (m.id == none || b.terminated()) return;
        const Value first = b.constant_int(Scalar::i32, 0);
        b.store(of(m), 0, {&first, 1}, now);
    }
    void keep_params(BlockId block) {
        for (const Value p : from[block].params)
            if (const auto at = plan.params.find(p.id); at != plan.params.end()) keep(at->second, of(p));
    }

    void body() override {
        b.loc = from.loc;
        for (const auto& [index, memory] : plan.arguments)
            if (memory.id != none) keep(memory, b.argument(index, from.params[size_t(index)].type));
        Rewriter::body();
    }
    void function(const Function& f) override {
        b.loc = f.loc;
        keep_params(f.body);
        insts(f.body);
    }
    void block(const Inst& construct, int which) override {
        b.loc = construct.loc;
        keep_params(construct.blocks[which]);
        insts(construct.blocks[which]);
    }
    void inst(InstId id) override {
        copy(id);
        const Inst& i = from[id];
        if (i.op == Op::var || i.op == Op::set) {
            const Value variable = i.op == Op::var ? from.result(i) : from.operands(i)[0];
            if (const auto at = plan.variables.find(variable.id); at != plan.variables.end())
                keep(at->second, of(from.operands(i).back()));
        } else if (const auto at = plan.after.find(id.id); at != plan.after.end()) {
            keep(at->second, of(from.result(i)));
        }
    }

    const VariablesPlan& plan;
};

}  // namespace

Kernel keep_variables(const Kernel& kernel) {
    const VariablesPlan plan(kernel);
    Kernel extended = kernel;
    extended.memories = plan.memories;
    return KeepVariables(extended, plan).run();
}

std::string kept_name(const Memory& memory) {
    if (memory.kind != MemoryKind::private_ || !memory.name.starts_with(prefix)) return "";
    char* end = nullptr;
    std::strtoul(memory.name.c_str() + prefix.size(), &end, 10);
    if (*end != '_') return "";
    const size_t size = std::strtoul(end + 1, &end, 10);
    return *end == '_' ? std::string(end + 1).substr(0, size) : "";
}

std::vector<std::string> argument_names(const Kernel& kernel) {
    const std::vector<std::string> written = lambda_names(kernel, kernel.loc);
    std::vector<std::string> names;
    for (size_t p = 0; p < kernel.params.size(); ++p) {
        const ParameterIdentity& identity = kernel.params[p].identity;
        std::string name = identity.name;
        const size_t number = size_t(kernel.number_of(p));
        if (name.empty() && identity.shadow_of < 0 && !identity.extra && number >= 1 && number <= written.size())
            name = written[number - 1];
        if (const std::string& path = kernel.path_of(p); !name.empty() && !path.empty()) name += "_" + path;
        for (char& c : name)
            if (c == '.' || c == '[') c = '_';
        std::erase(name, ']');
        names.push_back(name);
    }
    return names;
}

}  // namespace pumice::ir
