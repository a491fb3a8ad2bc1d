// Asks for memory ahead of its use: what packets, groups and iterations some way on will load. Threads go through arrays in order,
// but the processor's own prefetching follows a single stream too closely when it is read fast, and stops at the ends of pages;
// where a loop strides from page to page it foresees nothing.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "core/error.h"
#include "cpu/emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {

/// Memory is some 130 ns away, and gives a core 15 GB/s: from here on more is no gain.
constexpr int64_t bytes_ahead = 2048;
constexpr int64_t iterations_ahead = 8;
constexpr int64_t foreseen_bytes = 256;        ///< strides that machines follow by themselves
constexpr int64_t unknown = int64_t(1) << 31;  ///< a stride that only the launch knows, and the most that is told apart

/// How values grow with what `moved` names: a loop's index, or a group's.
class Strides {
public:
    Strides(const Kernel& kernel, std::function<bool(Value)> moved) : k(kernel), moved(std::move(moved)) {}

    /// By how much for each step of it; none where that depends on more than arithmetic.
    std::optional<int64_t> of(Value v) {
        if (const auto known = strides.find(v.id); known != strides.end()) return known->second;
        const auto stride = found(v);
        return strides[v.id] = stride ? std::optional(std::clamp(*stride, -unknown, unknown)) : std::nullopt;
    }

private:
    std::optional<int64_t> found(Value v) {
        if (moved(v)) return 1;
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
    const std::function<bool(Value)> moved;
    std::map<uint32_t, std::optional<int64_t>> strides;
};

}  // namespace

/// Whether a value is such an index along axis 0.
bool Emitter::is_index(Value v, Op op) const {
    const InstId source = k[v].inst;
    return source.id != none && k[source].op == op && k[source].immediate == 0;
}

/// A line that is to be in the first-level cache soon.
void Emitter::ask_for(const std::string& there) {
    if (there.empty()) return;
    declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
    line(text("call void @llvm.prefetch.p0(ptr ", there, ", i32 0, i32 3, i32 1)"));
}

void Emitter::prefetch(InstId id, const Place& a) {
    const Inst& i = k[id];
    if (a.how == Place::How::scattered || k[i.memory].kind != MemoryKind::array) return;
    const Structure& where = uniformity.structure();
    InstId loop = where.around(id);
    while (loop.id != none && !is_loop(k[loop].op)) loop = where.around(loop);
    if (loop.id != none) {
        if (k[loop].op == Op::for_) prefetch_iteration(i, loop, a);
        return;
    }
    if (!variant.streaming || a.how != Place::How::contiguous) return;
    const AffineForm& f = affine.of(indices_of(k, i).back());
    const int64_t size = k[i.memory].element.size;
    // Where an item's group says what it loads, the next groups' places. Groups go along rows, and by patches where these are across.
    if (f.known && f.global[0].zero()) {
        const auto moved = [&](Value v) { return is_index(v, Op::group_index) || is_index(v, Op::global_index); };
        const int64_t bytes = variant.group[0] * variant.group[1] * variant.group[2] * size;
        if (Strides(k, moved).of(indices_of(k, i).back()) == unknown) return;
        return ask_for(place_in_group(i, moved, int(std::max<int64_t>(bytes_ahead / bytes, 1))));
    }
    // One of neighbours is enough.
    const int64_t elements = std::max<int64_t>(64 / size, 1);
    if (f.known && !f.composed && indices_of(k, i).size() == 1 &&
        !prefetched.insert({i.memory.id, f.base.id, (f.offset + elements / 2) / elements}).second)
        return;
    ask_for(let(text("getelementptr i8, ptr ", a.pointer, ", i64 ", bytes_ahead)));
}

/// What a load in a loop gets some iterations later. A loop around barriers comes back only after all of the group's packets, and the
/// loads of its next iteration are far behind these; where it strides, that is worth it in arrays of any size.
void Emitter::prefetch_iteration(const Inst& i, InstId loop, const Place& a) {
    if (has_barriers && open_inst[loop.id]) {
        const Value index = k[k[loop].blocks[0]].params[0];
        const auto stride = Strides(k, [&](Value v) { return v == index; }).of(indices_of(k, i).back());
        const bool far = running.all() && stride && std::abs(*stride) * int64_t(k[i.memory].element.size) > foreseen_bytes;
        if (far || (variant.streaming && a.how == Place::How::contiguous))
            ask_for(place_in_iteration(i, k[loop], open_loops.back().step, variant.streaming ? 2 : 1));
        return;
    }
    const Value step = k.operands(k[loop])[2];
    if (!variant.streaming || a.how != Place::How::contiguous) return;
    if (has_value[step.id] && values[step.id].kind == Kind::uniform)
        ask_for(place_in_iteration(i, k[loop], values[step.id].scalar, iterations_ahead));
}

/// Where the access would be in a group so many further along axis 0, which changes what `moved` names; "" where that is the same
/// place, or costly to say.
std::string Emitter::place_in_group(const Inst& i, const std::function<bool(Value)>& moved, int further) {
    const std::string group = group_at[0], first = origin[0];
    const std::string there = pointer_after(i, moved, [&] {
        group_at[0] = let(text("add i32 ", group, ", ", further));
        origin[0] = let(text("add i32 ", first, ", ", further * variant.group[0]));
    });
    group_at[0] = group, origin[0] = first;
    return there;
}

/// The same so many iterations of a for later, which counts on by `step`.
std::string Emitter::place_in_iteration(const Inst& i, const Inst& loop, const std::string& step, int64_t later) {
    const Value index = k[loop.blocks[0]].params[0];
    if (kind_of(index) == Kind::vector) return "";
    const std::string type = scalar_type(k.type_of(index));
    return pointer_after(i, [&](Value v) { return v == index; }, [&] {
        const std::string on = later == 1 ? step : let(text("mul ", type, " ", step, ", ", later));
        values[index.id].scalar = let(text("add ", type, " ", values[index.id].scalar, ", ", on));
    });
}

/// What of the access's indices depends on what `moved` names, in order; none where nothing does, or it is costly.
std::optional<Emitter::Way> Emitter::way_to(const Inst& i, const std::function<bool(Value)>& moved) const {
    Way way;
    const std::function<bool(Value, bool&)> follow = [&](Value v, bool& depends) {
        const InstId source = k[v].inst;
        depends = moved(v);
        if (source.id == none || !is_pure(k[source].op)) return true;
        bool any = depends;
        for (const Value o : k.operands(k[source])) {
            bool here = false;
            if (!follow(o, here)) return false;
            any = any || here;
        }
        depends = any;
        if (any && std::find(way.begin(), way.end(), source) == way.end()) way.push_back(source);
        return way.size() <= 16 && !(any && is_costly(k[source]));
    };
    bool depends = false, all = true;
    for (const Value v : indices_of(k, i)) {
        bool here = false;
        all = all && follow(v, here);
        depends = depends || here;
    }
    if (!all || !depends) return std::nullopt;
    return way;
}

/// The access's place as it is behind `move`, which changes values from which `way` leads to its indices.
Emitter::Place Emitter::place_after(const Inst& i, const Way& way, const std::function<void()>& move) {
    const auto before = std::make_tuple(values, has_value, bringing_in);
    bringing_in = true;  // what is computed here is kept for nobody
    move();
    for (const InstId source : way) pure_value(k[source]);
    const Place there = access(i);
    std::tie(values, has_value, bringing_in) = before;
    return there;
}

/// The same as a ptr; "" where there is no way, or the lanes' places are apart.
std::string Emitter::pointer_after(const Inst& i, const std::function<bool(Value)>& moved, const std::function<void()>& move) {
    const auto way = way_to(i, moved);
    if (!way) return "";
    const Place there = place_after(i, *way, move);
    return there.how == Place::How::scattered ? "" : there.pointer;
}

}  // namespace pumice::cpu
