#include <algorithm>
#include <set>

#include "core/ir/rewriter.h"
#include "core/passes/passes.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// Instructions that a kernel may have with all its calls inlined: each function that calls another one twice doubles them.
constexpr uint64_t most_instructions = uint64_t(1) << 20;
/// Calls in calls, and blocks in blocks: passes and compilers recurse into them. Kernel text is read to as many blocks.
constexpr int deepest_calls = 1000, deepest_blocks = 256;

/// Throws Error where the kernel would grow past the limits, before anything is inlined. Functions call those before them only.
class Growth {
public:
    Growth(const Kernel& kernel, bool keep_rules) : k(kernel), keep_rules(keep_rules) {
        for (const Function& f : k.functions) all.push_back(of(f.body));
        const Size whole = of(BlockId{0});
        if (whole.depth > deepest_calls)
            fail("kernel \"", k.name, "\" (", k.where(k.loc), ") calls functions in functions ", whole.depth,
                 " deep; the limit is ", deepest_calls);
        if (whole.blocks > deepest_blocks)
            fail("kernel \"", k.name, "\" (", k.where(k.loc), ") nests constructs ", whole.blocks,
                 " deep with its functions inlined; the limit is ", deepest_blocks);
        if (whole.instructions > most_instructions)
            fail("kernel \"", k.name, "\" (", k.where(k.loc), ") has ",
                 whole.instructions == UINT64_MAX ? "2^64" : text(whole.instructions),
                 whole.instructions == UINT64_MAX ? " or more" : "", " instructions with its functions inlined; the limit is ",
                 most_instructions, ": a function that is called twice stands there twice");
    }

private:
    struct Size {
        uint64_t instructions = 0;
        int depth = 0, blocks = 0;

        void add(const Size& part) {
            if (__builtin_add_overflow(instructions, part.instructions, &instructions)) instructions = UINT64_MAX;
            depth = std::max(depth, part.depth);
            blocks = std::max(blocks, part.blocks);
        }
    };
    Size of(BlockId body) const {
        Size size;
        for (const InstId id : k[body].insts) {
            const Inst& i = k[id];
            size.add({1, 0, 1});
            if (i.op == Op::call && !(keep_rules && k.functions[i.immediate].has_rule())) {
                Size callee = all[i.immediate];
                ++callee.depth;
                size.add(callee);
            }
            for (const BlockId b : i.blocks) {
                if (b.id == none) continue;
                Size inner = of(b);
                ++inner.blocks;
                size.add(inner);
            }
        }
        return size;
    }

    const Kernel& k;
    const bool keep_rules;
    std::vector<Size> all;  ///< of each function
};

class Inlining : public Rewriter {
public:
    Inlining(const Kernel& kernel, bool keep_rules)
        : Rewriter(kernel), keep_rules(keep_rules), own(kernel.functions.size()), calls(kernel.functions.size()) {
        find_kept();
        find_own_memories();
    }

private:
    bool keeps_function(const Function& f) const override { return kept.count(uint32_t(&f - from.functions.data())) > 0; }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.op != Op::call || (keep_rules && from.functions[i.immediate].has_rule())) return copy(id);
        const uint32_t f = uint32_t(i.immediate);
        const Function& callee = from.functions[f];
        const std::vector<Value> arguments = of(from.operands(i));
        // The caller's values are mapped once more where it is called again; the callee's are never the caller's.
        const auto& params = from[callee.body].params;
        for (size_t p = 0; p < params.size(); ++p) map(params[p], arguments[p]);
        if (calls[f]++ > 0)
            for (const MemoryId m : own[f]) map(m, another(m));
        splice(i, callee.body);
    }

    MemoryId another(MemoryId m) {
        const MemoryId made{uint32_t(to.memories.size())};
        Memory copy = to[of(m)];
        do copy.name = text(from[m].name, "_", ++copies);
        while (name_taken(copy.name));
        to.memories.push_back(std::move(copy));
        return made;
    }
    bool name_taken(const std::string& name) const {
        for (const Memory& m : to.memories)
            if (m.name == name) return true;
        return false;
    }

    /// Functions with a rule, and the rules.
    void find_kept() {
        if (!keep_rules) return;
        for (uint32_t f = 0; f < from.functions.size(); ++f) {
            const Function& function = from.functions[f];
            if (function.has_rule()) kept.insert(f);
            if (function.reverse != none) kept.insert(function.reverse);
            if (function.forward != none) kept.insert(function.forward);
        }
    }

    /// Local and private memories that one function uses, and nothing else.
    void find_own_memories() {
        if (from.functions.empty()) return;
        std::vector<std::set<uint32_t>> users(from.memories.size());
        const auto look = [&](BlockId body, uint32_t user) {
            const auto use = [&](const Inst& i) {
                if (i.memory.id != none) users[i.memory.id].insert(user);
            };
            for (const InstId id : from[body].insts) {
                use(from[id]);
                each_inside(from, from[id], [&](InstId inner) { use(from[inner]); });
            }
        };
        look(BlockId{0}, none);
        for (uint32_t f = 0; f < from.functions.size(); ++f) look(from.functions[f].body, f);
        for (uint32_t m = 0; m < users.size(); ++m)
            if (from.memories[m].kind != MemoryKind::array && users[m].size() == 1 && *users[m].begin() != none)
                own[*users[m].begin()].push_back({m});
    }

    const bool keep_rules;
    std::set<uint32_t> kept;
    std::vector<std::vector<MemoryId>> own;  ///< memories of each function
    std::vector<int> calls;                  ///< of each function so far
    int copies = 0;
};

}  // namespace

namespace {
Kernel inlined(const Kernel& kernel, bool keep_rules) {
    if (kernel.functions.empty()) return kernel;
    Growth(kernel, keep_rules);
    return Inlining(kernel, keep_rules).run();
}
}  // namespace

Kernel inlining(const Kernel& kernel) { return inlined(kernel, false); }
Kernel inlining_without_rules(const Kernel& kernel) { return inlined(kernel, true); }

}  // namespace pumice::ir
