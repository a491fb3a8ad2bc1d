// Loops around barriers ask for the next iteration's memory: between two barriers stand the loads of all the group's packets, far
// from those of the next iteration, and where the loop strides from page to page no machine foresees them.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/error.h"
#include "cpu/emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t foreseen_bytes = 256;  ///< strides that machines follow by themselves
constexpr int64_t unknown = int64_t(1) << 31;  ///< a stride that only the launch knows, and the most that is told apart

/// How values grow with the index of a loop.
class Strides {
public:
    Strides(const Kernel& kernel, Value index) : k(kernel), index(index) {}

    /// By how much for each step of the index; none where that depends on more than arithmetic.
    std::optional<int64_t> of(Value v) {
        if (const auto known = strides.find(v.id); known != strides.end()) return known->second;
        const auto stride = found(v);
        return strides[v.id] = stride ? std::optional(std::clamp(*stride, -unknown, unknown)) : std::nullopt;
    }

private:
    std::optional<int64_t> found(Value v) {
        if (v == index) return 1;
        if (k[v].inst.id == none) return 0;
        const Inst& i = k[k[v].inst];
        if (!is_pure(i.op)) return std::nullopt;
        const auto v_of = k.operands(i);
        if (i.op == Op::cast) return of(v_of[0]);
        std::array<int64_t, 3> by{};
        bool grows = false;
        for (size_t o = 0; o < v_of.size(); ++o) {
            const auto stride = of(v_of[o]);
            if (!stride) return std::nullopt;
            by[o] = *stride, grows = grows || by[o] != 0;
        }
        if (!grows) return 0;
        if (i.op == Op::add) return by[0] + by[1];
        if (i.op == Op::sub) return by[0] - by[1];
        uint64_t bits = 0;
        if (i.op == Op::mul && by[1] == 0) return k.constant(v_of[1], bits) ? by[0] * int32_t(bits) : unknown;
        if (i.op == Op::mul && by[0] == 0) return k.constant(v_of[0], bits) ? by[1] * int32_t(bits) : unknown;
        return std::nullopt;
    }

    const Kernel& k;
    const Value index;
    std::map<uint32_t, std::optional<int64_t>> strides;
};

}  // namespace

/// Prefetches what the region's loads will load in the next iteration of the open loop around it.
void Emitter::fetch_ahead(std::span<const InstId> insts) {
    if (open_loops.empty() || open_loops.back().inst->op != Op::for_ || !running.all()) return;
    const OpenLoop& l = open_loops.back();
    const Value index = k[l.inst->blocks[0]].params[0];
    Strides strides(k, index);
    std::vector<InstId> far;
    for (const InstId id : executed(insts)) {
        const Inst& i = k[id];
        if (i.op != Op::load || k[i.memory].kind != MemoryKind::array || indices_of(k, i).size() != 1) continue;
        const auto stride = strides.of(indices_of(k, i)[0]);
        if (stride && std::abs(*stride) * int64_t(k[i.memory].element.size) > foreseen_bytes) far.push_back(id);
    }
    if (far.empty()) return;
    const std::vector<Held> now = values;
    const std::vector<bool> known = has_value;
    const std::string t = scalar_type(k.type_of(index));
    values[index.id].scalar = let(text("add ", t, " ", now[index.id].scalar, ", ", l.step));
    std::set<uint32_t> done{index.id};
    const std::function<void(Value)> again = [&](Value v) {
        if (strides.of(v) == 0 || !done.insert(v.id).second) return;
        const Inst& source = k[k[v].inst];
        for (const Value o : k.operands(source)) again(o);
        pure_value(source);
    };
    bringing_in = true;  // nothing of the next iteration is kept
    for (const InstId id : far) {
        again(indices_of(k, k[id])[0]);
        const Place next = access(k[id]);
        if (next.how == Place::How::scattered) continue;
        declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
        line(text("call void @llvm.prefetch.p0(ptr ", next.pointer, ", i32 0, i32 3, i32 1)"));
    }
    values = now;
    has_value = known;
    bringing_in = false;
}

}  // namespace pumice::cpu
