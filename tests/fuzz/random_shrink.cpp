#include "tests/fuzz/random_shrink.h"

#include "core/ir/evaluate.h"

namespace fuzz {

using namespace pumice;

namespace {

class Shrinker {
public:
    Shrinker(Program program, const std::function<bool(const Program&)>& fails, int attempts)
        : program(std::move(program)), fails(fails), attempts(attempts) {}

    Program shrink() {
        for (bool smaller = true; smaller && attempts > 0;) {
            smaller = steps();
            smaller |= block(program.body);
            for (FunctionTree& f : program.functions) {
                smaller |= block(f.body);
                smaller |= expression(f.result);
            }
            smaller |= shapes();
        }
        return std::move(program);
    }

private:
    /// Applies `change` to the program, and undoes it if the program does not fail any more.
    template <class T, class F> bool attempt(T& part, F change) {
        if (attempts-- <= 0) return false;
        T before = part;
        change(part);
        if (fails(program)) return true;
        part = std::move(before);
        return false;
    }

    bool steps() {
        bool smaller = false;
        for (size_t n = program.steps.size(); n-- > 0;)
            if (program.steps.size() > 1)
                smaller |= attempt(program.steps, [&](auto& all) { all.erase(all.begin() + std::ptrdiff_t(n)); });
        for (Step& s : program.steps)
            if (s.on_stream && s.kind != Step::call) smaller |= attempt(s, [](Step& step) { step.on_stream = false; });
        return smaller;
    }

    bool shapes() {
        bool smaller = false;
        for (Memory& m : program.memories)
            if (m.view) smaller |= attempt(m, [](Memory& memory) { memory.view = 0; });
        for (size_t d = 0; d < program.shape.to.size(); ++d)
            for (int64_t items = 1; items < program.shape.to[d] - program.shape.from[d]; items *= 2)
                if (attempt(program.shape, [&](Shape& s) { s.to[d] = s.from[d] + items; })) {
                    smaller = true;
                    break;
                }
        return smaller;
    }

    bool block(Block& b) {
        bool smaller = false;
        // Many statements at once, then one by one, from the last to the first.
        for (size_t count = b.size() / 2; count > 0; count /= 2)
            for (size_t n = b.size() / count * count; n > 0; n -= count) {
                const size_t from = n - count;
                if (from + count > b.size()) continue;
                smaller |= attempt(b, [&](Block& all) {
                    all.erase(all.begin() + std::ptrdiff_t(from), all.begin() + std::ptrdiff_t(from + count));
                });
            }
        if (b.size() == 1) smaller |= attempt(b, [](Block& all) { all.clear(); });
        for (size_t n = 0; n < b.size(); ++n) {
            for (size_t inner = 0; n < b.size() && inner < b[n].blocks.size(); ++inner)
                smaller |= attempt(b, [&](Block& all) {
                    const Block lifted = all[n].blocks[inner];
                    all.erase(all.begin() + std::ptrdiff_t(n));
                    all.insert(all.begin() + std::ptrdiff_t(n), lifted.begin(), lifted.end());
                });
            if (n < b.size()) smaller |= statement(b[n]);
        }
        return smaller;
    }

    bool statement(Statement& s) {
        bool smaller = false;
        if (s.kind == Statement::together && s.of.size() > 1)
            for (size_t n = s.of.size(); n-- > 0 && s.of.size() > 1;)
                smaller |= attempt(s, [&](Statement& all) {
                    all.of.erase(all.of.begin() + std::ptrdiff_t(n));
                    all.targets.erase(all.targets.begin() + std::ptrdiff_t(n));
                });
        if (s.kind == Statement::branch && s.blocks.size() > s.of.size())
            smaller |= attempt(s, [](Statement& all) { all.blocks.pop_back(); });
        for (Expr& e : s.of) smaller |= expression(e);
        for (Block& b : s.blocks) smaller |= block(b);
        return smaller;
    }

    /// Replaces an expression by a part of the same type, or by a number.
    bool expression(Expr& e) {
        if (e.kind == Expr::constant) return false;
        const auto to_number = [&](uint64_t bits) {
            return attempt(e, [&](Expr& all) {
                Expr one;
                one.type = all.type;
                one.bits = bits;
                if (is_float(all.type)) one.bits = real_bits(all.type, 1.5);
                all = one;
            });
        };
        if (e.kind != Expr::variable && e.kind != Expr::argument && e.kind != Expr::item && e.kind != Expr::loop_index)
            if (to_number(1)) return true;
        for (size_t n = 0; n < e.of.size(); ++n)
            if (e.of[n].type == e.type && attempt(e, [&](Expr& all) {
                    Expr part = all.of[n];
                    all = std::move(part);
                }))
                return true;
        bool smaller = false;
        for (Expr& inner : e.of) smaller |= expression(inner);
        return smaller;
    }

    Program program;
    const std::function<bool(const Program&)>& fails;
    int attempts;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts) {
    return Shrinker(std::move(program), fails, attempts).shrink();
}

}  // namespace fuzz
