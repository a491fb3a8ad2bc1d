// 64-bit atomics under spin locks, for devices without 64-bit atomics: an item reads and writes the element while it holds a
// lock.
//
// The device keeps a table of Binding::lock_count (4096) 32-bit locks. The element's index selects the lock (lock striping), so
// all items that update an element use the same lock.
//
//   %3 = atomic add arg1[%0], %2 : u64      for (bool done = false; !done;) {
//                                               if (subgroupElect() && atomicExchange(locks[lock], 1u) == 0u) {
//                                                   old = arg1[index]; arg1[index] = pm_pair_add(old, value);
//                                                   atomicExchange(locks[lock], 0u); done = true;
//                                               }
//                                           }
//
// Cost: two atomics an update, and the items of a subgroup go one after another. Limits: the lock makes an element atomic only
// against other accesses under the lock; progress relies on the device to keep running the group that holds a lock, which Vulkan
// does not promise.
// Textbook name: spin lock (test-and-set) with lock striping (Herlihy and Shavit, "The Art of Multiprocessor Programming").
#include "codegen/glsl_body/emit_locks.h"

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

/// Freedom from deadlock: an item that takes the lock releases it in the same iteration and holds no other, so items in lockstep
/// never wait for each other, and the device keeps running the group that holds a lock. If the device can elect, one item of a
/// subgroup tries at a time: should a compiler move the release out of the loop, no other item of the subgroup waits for it.
/// There is no election where the driver elects lanes without an item (Options::idle_lanes). The memory barriers keep the
/// accesses between the lock's atomics.
Expression LockEmitter::atomic(const Inst& i, const char* what) {
    interface.need_locks();
    const Memory& m = k[i.memory];
    const bool exchanges = i.op == Op::compare_exchange, local = m.kind == MemoryKind::local;
    const bool wide = options.wide_offsets && interface.by_address(i.memory);
    const auto operands = k.operands(i);
    std::string name = text(exchanges ? "compare_exchange" : std::string("atomic_") + what, "_", interface.name(i.memory));
    if (!m.element.is_scalar()) name += text("_", i.leaf);
    if (!out.has_function(name)) {
        const auto named = [](const char* text) { return Expression{text, primary, {}, {}}; };
        const std::string_view type = glsl_type(i.type, options.pairs).value;
        const std::string place = interface.element(i.memory, i.leaf, {named("index")}).text;
        std::string update;
        if (exchanges) {
            const std::string bits = is_float(i.type) ? "unpackDouble2x32($0) == unpackDouble2x32($1)" : "$0 == $1";
            update = text("if (", fill(bits, {named("old"), named("expected")}).text, ") ", place, " = value;");
        } else {
            constexpr Op ops[] = {Op::add, Op::sub, Op::min, Op::max, Op::and_, Op::or_, Op::xor_};
            const bool plain = Atomic(i.immediate) == Atomic::exchange;
            const std::string pattern = plain ? "$1" : op_text(ops[i.immediate], i.type, false, options.pairs);
            update = text(place, " = ", fill(pattern, {named("old"), named("value")}).text, ";");
        }
        // Adjacent elements have different locks. The group's index is part of the number for local memory, so that groups, which
        // each have local memory of their own, rarely share a lock.
        const size_t members = m.element.leaves.size(), first = i.leaf + 97 * i.memory.id;
        std::string number = wide ? "uint(index)" : "index";
        if (members > 1) number += text(" * ", members, "u");
        if (first > 0) number += text(" + ", first, "u");
        if (local) number += " + 61u * (gl_WorkGroupID.x + 17u * gl_WorkGroupID.y + 257u * gl_WorkGroupID.z)";
        const bool elects = (options.subgroups & Subgroups::basic) && !options.idle_lanes;
        if (elects) interface.need("GL_KHR_shader_subgroup_basic");
        const char* const fence = options.memory_barriers ? "            memoryBarrier();\n" : "";
        out.define_function(
            name, text(type, " ", name, "(", wide ? "int64_t" : "uint", " index, ", exchanges ? text(type, " expected, ") : "",
                       type, " value) {\n", "    const uint lock = (", number, ") & ", Binding::lock_count - 1, "u;\n    ", type,
                       " old;\n", "    for (bool done = false; !done;) {\n        if (", elects ? "subgroupElect() && " : "",
                       "atomicExchange(locks[lock], 1u) == 0u) {\n", fence, "            old = ", place, ";\n            ",
                       update, "\n", fence,
                       "            atomicExchange(locks[lock], 0u);\n            done = true;\n        }\n    }\n    return "
                       "old;\n}\n"));
    }
    std::vector<Expression> arguments{indices.of(i)[0]};
    if (exchanges) arguments.push_back(values.use(operands[operands.size() - 2]));
    arguments.push_back(values.use(operands.back()));
    return fill(name + (wide ? "($0, " : "(uint($0), ") + (exchanges ? "$1, $2)" : "$1)"), arguments);
}

}  // namespace pumice::codegen
