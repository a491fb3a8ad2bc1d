// Shadow layout: the parameters and memories of a derivative kernel.
//
// Each differentiated parameter is followed by its shadows, tangents or adjoints, one a direction. Local and private memory that
// is active gets a shadow of the same extents. Tapes are appended later (add_array). For axpy(y, a, x) in reverse mode with
// Duplicated y, Active a and Duplicated x:
//
//     primal    arg1: inout f32[1] (y)                 arg2: f32 (a)                    arg3: in f32[1] (x)
//     adjoint   arg1 (y)  arg2: inout f32[1] (dy)      arg3: f32 (a)  arg4: f32[1] (da)  arg5 (x)  arg6: inout f32[1] (dx)
//
// Names: the shadow of `x` is `d_x`, in a batch `d_x_0`, `d_x_1`, ...; a name that is taken gets a number (in the derivative of a
// derivative `d_x_2`, beside `d_d_x`). The text says which parameter a shadow belongs to: arg2 "d_y" shadow of arg1.
//
// Cost: none at run time. Limits: the shadow of a struct array has the whole struct, integers included.
// Textbook name: association by name, shadow (dual) arrays beside the primal ones, as in Tapenade and Enzyme; the alternative is
// association by address (Griewank and Walther, chapter 6).
#include "autodiff/analysis/shadows.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// The names of a derivative's parameters: those of the primal, and those made for shadows.
class Names {
public:
    explicit Names(const std::vector<Parameter>& params) {
        for (const Parameter& p : params) taken.insert(p.identity.name);
    }
    /// The shadow's name; "" for a parameter without one. Members of one struct share theirs.
    std::string shadow(const std::string& of, int direction) {
        if (of.empty()) return "";
        std::string& name = made[{of, direction}];
        if (name.empty()) name = unused(direction < 0 ? "d_" + of : text("d_", of, "_", direction));
        return name;
    }
    /// The wanted name, with a number if it is taken.
    std::string unused(const std::string& wanted) {
        std::string name = wanted;
        for (int n = 2; !taken.insert(name).second; ++n) name = text(wanted, "_", n);
        return name;
    }

private:
    std::set<std::string> taken;
    std::map<std::pair<std::string, int>, std::string> made;
};

/// The order of the derivative that is made of this kernel.
int next_order(const Kernel& from) {
    int order = 1;
    for (const Parameter& p : from.params)
        if (p.identity.shadow_of >= 0) order = std::max(order, p.identity.order + 1);
    return order;
}

MemoryId add_memory(Kernel& to, Memory memory) {
    to.memories.push_back(std::move(memory));
    return {uint32_t(to.memories.size() - 1)};
}

/// Adds a parameter for an array; `memory` has everything but the name and the position.
MemoryId add_parameter(Kernel& to, Memory memory, std::string label, ParameterIdentity identity) {
    memory.kind = MemoryKind::array;
    memory.image = {};  // the shadow of an image is an array of texels
    memory.argument = int(to.params.size());
    memory.name = text("arg", to.params.size() + 1);
    const MemoryId id = add_memory(to, std::move(memory));
    to.params.push_back({true, Scalar::f32, id, std::move(label), ParameterOrigin::argument, 0, std::move(identity)});
    return id;
}

ParameterIdentity extra(const Kernel& to, const std::string& name) {
    ParameterIdentity identity;
    identity.name = Names(to.params).unused(name);
    identity.extra = true;
    return identity;
}

}  // namespace

MemoryId add_own_memory(Kernel& to, Memory memory) {
    const auto taken = [&](const std::string& name) {
        return std::ranges::any_of(to.memories, [&](const Memory& m) { return m.name == name; });
    };
    const std::string wanted = memory.name;
    for (int n = 2; taken(memory.name); ++n) memory.name = text(wanted, "_", n);
    return add_memory(to, std::move(memory));
}

MemoryId Shadows::add_array(Kernel& to, Scalar type, Access access, const std::string& name, const std::string& label) {
    Memory m;
    m.element = Element::of(type);
    m.access = access;
    m.loc = to.loc;
    return add_parameter(to, std::move(m), label, extra(to, name));
}

Value Shadows::add_scalar(Builder& b, Kernel& to, const std::string& name, const std::string& label, Scalar type) {
    const Value value = b.argument(int(to.params.size()), type);
    to.params.push_back({false, type, {}, label, ParameterOrigin::argument, 0, extra(to, name)});
    return value;
}

Shadows::Shadows(Kernel& to, const Kernel& from, const Signature& signature, const Analysis& analysis, bool reverse)
    : params(from.params.size()), memories(from.memories.size()), scalars(from.params.size()) {
    to.params.clear();
    Names names(from.params);
    const int order = next_order(from);
    for (size_t p = 0; p < from.params.size(); ++p) {
        params[p] = int(to.params.size());
        Parameter kept = from.params[p];
        ParameterIdentity& user = kept.identity;
        if (user.shadow_of >= 0)
            user.shadow_of = params[size_t(user.shadow_of)];
        else
            user.number = from.number_of(p);
        const bool array = kept.is_array;
        if (array) {
            Memory& memory = to.memories[kept.memory.id];
            memory.argument = params[p];
            memory.name = text("arg", params[p] + 1);
        }
        to.params.push_back(kept);
        if (signature.params[p] == Activity::constant) continue;
        for (int w = 0; w < signature.width; ++w) {
            const int direction = signature.width == 1 ? -1 : w;
            ParameterIdentity identity{names.shadow(user.name, direction), 0, "", params[p], direction, order};
            if (array) {
                Memory shadow = from[kept.memory];
                if (reverse) shadow.access = Access::inout;
                memories[kept.memory.id].push_back(add_parameter(to, shadow, "", std::move(identity)));
            } else if (reverse) {
                Memory adjoint;
                adjoint.element = Element::of(kept.type);
                adjoint.loc = to.loc;
                scalars[p].push_back(add_parameter(to, std::move(adjoint), "", std::move(identity)));
            } else {
                to.params.push_back({false, kept.type, {}, "", ParameterOrigin::argument, 0, std::move(identity)});
            }
        }
    }
    for (uint32_t m = 0; m < from.memories.size(); ++m) {
        if (from.memories[m].kind == MemoryKind::array || !analysis.active(MemoryId{m})) continue;
        for (int w = 0; w < signature.width; ++w) {
            Memory shadow = to.memories[m];
            shadow.name = text(shadow.name, "_d", w + 1);
            memories[m].push_back(add_own_memory(to, shadow));
        }
    }
}

Kernel in_order(Kernel k) {
    std::vector<MemoryId> now(k.memories.size());
    std::vector<Memory> sorted;
    const auto take = [&](MemoryId m) {
        now[m.id] = {uint32_t(sorted.size())};
        sorted.push_back(k.memories[m.id]);
    };
    for (Parameter& p : k.params)
        if (p.is_array) take(p.memory), p.memory = now[p.memory.id];
    for (const MemoryKind kind : {MemoryKind::local, MemoryKind::private_})
        for (uint32_t m = 0; m < k.memories.size(); ++m)
            if (k.memories[m].kind == kind) take({m});
    for (Inst& i : k.insts)
        if (i.memory.id != none) i.memory = now[i.memory.id];
    k.memories = std::move(sorted);
    return k;
}

}  // namespace pumice::derive
