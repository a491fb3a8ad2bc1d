// Shadow layout: the parameters and memories of a derivative kernel.
//
// Each differentiated parameter is followed by its shadows, tangents or adjoints, one a direction. Local and private memory that is
// active gets a shadow of the same extents. Tapes are appended later (add_array). For axpy(y, a, x) in reverse mode with Duplicated
// y, Active a and Duplicated x:
//
//     primal    arg1: inout f32[1] (y)                 arg2: f32 (a)                    arg3: in f32[1] (x)
//     adjoint   arg1 (y)  arg2: inout f32[1] (dy)      arg3: f32 (a)  arg4: f32[1] (da)  arg5 (x)  arg6: inout f32[1] (dx)
//
// Cost: none at run time. Limits: the shadow of a struct array has the whole struct, integers included.
// Textbook name: association by name, shadow (dual) arrays beside the primal ones, as in Tapenade and Enzyme; the alternative is
// association by address (Griewank and Walther, chapter 6).
#include "autodiff/analysis/shadows.h"

#include <algorithm>

#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// The name of a shadow in messages.
std::string label_of(const Kernel& from, size_t p, const char* what, int w, int width) {
    return width == 1 ? text(what, " of ", from.label(p)) : text(what, " ", w + 1, " of ", from.label(p));
}

MemoryId add_memory(Kernel& to, Memory memory) {
    to.memories.push_back(std::move(memory));
    return {uint32_t(to.memories.size() - 1)};
}

/// Adds a parameter for an array; `memory` has everything but the name and the position.
MemoryId add_parameter(Kernel& to, Memory memory, std::string label) {
    memory.kind = MemoryKind::array;
    memory.argument = int(to.params.size());
    memory.name = text("arg", to.params.size() + 1);
    const MemoryId id = add_memory(to, std::move(memory));
    to.params.push_back({true, Scalar::f32, id, std::move(label)});
    return id;
}

}  // namespace

MemoryId add_own_memory(Kernel& to, Memory memory) {
    const auto taken = [&](const std::string& name) {
        return std::any_of(to.memories.begin(), to.memories.end(), [&](const Memory& m) { return m.name == name; });
    };
    const std::string wanted = memory.name;
    for (int n = 2; taken(memory.name); ++n) memory.name = text(wanted, "_", n);
    return add_memory(to, std::move(memory));
}

MemoryId Shadows::add_array(Kernel& to, Scalar type, Access access, const std::string& label) {
    Memory m;
    m.element = Element::of(type);
    m.access = access;
    m.loc = to.loc;
    return add_parameter(to, std::move(m), label);
}

Shadows::Shadows(Kernel& to, const Kernel& from, const Signature& signature, const Analysis& analysis, bool reverse)
    : params(from.params.size()), memories(from.memories.size()), scalars(from.params.size()) {
    to.params.clear();
    for (size_t p = 0; p < from.params.size(); ++p) {
        params[p] = int(to.params.size());
        Parameter kept = from.params[p];
        kept.label = from.label(p);
        const bool array = kept.is_array;
        if (array) {
            Memory& memory = to.memories[kept.memory.id];
            memory.argument = params[p];
            memory.name = text("arg", params[p] + 1);
        }
        to.params.push_back(kept);
        if (signature.params[p] == Activity::constant) continue;
        for (int w = 0; w < signature.width; ++w) {
            if (array) {
                Memory shadow = from[kept.memory];
                if (reverse) shadow.access = Access::inout;
                memories[kept.memory.id].push_back(
                    add_parameter(to, shadow, label_of(from, p, "the shadow", w, signature.width)));
            } else if (reverse) {
                const std::string label = label_of(from, p, "the adjoint", w, signature.width);
                scalars[p].push_back(add_array(to, kept.type, Access::inout, label));
            } else {
                Parameter tangent = kept;
                tangent.label = label_of(from, p, "the tangent", w, signature.width);
                to.params.push_back(tangent);
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
