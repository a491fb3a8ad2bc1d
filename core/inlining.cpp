#include <set>

#include "core/error.h"
#include "core/passes.h"
#include "core/rewrite.h"

namespace pumice::ir {
namespace {

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
            const auto use = [&](const Inst& i) { if (i.memory.id != none) users[i.memory.id].insert(user); };
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

Kernel inlining(const Kernel& kernel) { return kernel.functions.empty() ? kernel : Inlining(kernel, false).run(); }
Kernel inlining_without_rules(const Kernel& kernel) { return kernel.functions.empty() ? kernel : Inlining(kernel, true).run(); }

}  // namespace pumice::ir
