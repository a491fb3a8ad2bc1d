// Inlining: the body of a function replaces each call of it. No function is left, or only those with derivative rules.
// Why: no other pass and no backend sees through a call.
//
//   function "square" (%a: f32) : f32 {    |
//     %s = mul %a, %a : f32                |
//     yield %s                             |
//   }                                      |
//   %l = load arg1[%i] : f32               |  %1 = load arg1[%0] : f32
//   %p = call "square" %l : f32            |  %2 = mul %1, %1 : f32
//
// Local and private memory that only one function uses belongs to the call: the first call keeps it, each further call gets a
// copy.
// Cost: linear in the size of the result. That size may be exponential in the depth of calls, as a function that calls another
// one twice holds it twice. Growth computes the size in advance and refuses more than 2^20 instructions, 1000 nested calls or
// 256 nested blocks.
// Limits: no recursion (ir::verify lets a function call only those in front of it); every call is inlined, without a cost
// model.
// Textbook name: procedure integration (Muchnick, chapter 15).
#include "core/passes/inlining.h"

#include <algorithm>
#include <set>

#include "core/ir/rewriter.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// Limit on the instructions of a kernel after inlining. They double with each function that calls another one twice.
constexpr uint64_t most_instructions = uint64_t(1) << 20;
/// Limits on nested calls and nested blocks, since passes and compilers recurse into both. ir::parse has the same limit on
/// blocks.
constexpr int deepest_calls = 1000, deepest_blocks = 256;

/// Throws Error, before anything is inlined, if the kernel would exceed the limits. A function calls only functions in front of
/// it, so that one pass over the functions in order suffices.
class Growth {
public:
    Growth(const Kernel& kernel, bool keep_rules) : k(kernel), keep_rules(keep_rules) {
        for (const Function& f : k.functions) all.push_back(of(f.body));
        const CodeSize whole = of(BlockId{0});
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
    struct CodeSize {
        uint64_t instructions = 0;
        int depth = 0, blocks = 0;

        void add(const CodeSize& part) {
            if (__builtin_add_overflow(instructions, part.instructions, &instructions)) instructions = UINT64_MAX;
            depth = std::max(depth, part.depth);
            blocks = std::max(blocks, part.blocks);
        }
    };
    CodeSize of(BlockId body) const {
        CodeSize size;
        for (const InstId id : k[body].insts) {
            const Inst& i = k[id];
            size.add({1, 0, 1});
            if (i.op == Op::call && !(keep_rules && k.functions[i.immediate].has_rule())) {
                CodeSize callee = all[i.immediate];
                ++callee.depth;
                size.add(callee);
            }
            for (const BlockId b : i.owned()) {
                CodeSize inner = of(b);
                ++inner.blocks;
                size.add(inner);
            }
        }
        return size;
    }

    const Kernel& k;
    const bool keep_rules;
    std::vector<CodeSize> all;  ///< of each function
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
        // Another call of the same function maps its parameters and values anew; caller and callee share no values.
        map_params(callee.body, of(from.operands(i)));
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

    /// Collects the functions that have a derivative rule, and the functions that are rules.
    void find_kept() {
        if (!keep_rules) return;
        for (uint32_t f = 0; f < from.functions.size(); ++f) {
            const Function& function = from.functions[f];
            if (function.has_rule()) kept.insert(f);
            if (function.reverse != none) kept.insert(function.reverse);
            if (function.forward != none) kept.insert(function.forward);
        }
    }

    /// Finds the local and private memories that exactly one function uses and the kernel's body does not.
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
    std::vector<std::vector<MemoryId>> own;  ///< by function: memories that it alone uses
    std::vector<int> calls;                  ///< by function: calls inlined so far
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
