// Atomics of 64 bits on devices that have none: a plain read and write while the item holds a lock, one of a table of 32-bit words
// that the device keeps. Which lock is told by the element's place, so that all who update an element meet at the same one.
#include "codegen/glsl/glsl_emitter.h"
#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

/// Whoever gets the lock lets it go in the same iteration, and holds no other: items that run in step never wait for one of
/// themselves, and the device keeps running the group that holds a lock. Of a subgroup one item at a time tries, where one can be elected:
/// a compiler that moves the release out of the loop then has no other item of the subgroup waiting for it. Not where the driver
/// elects lanes without an item. The barriers keep the accesses between the lock's atomics.
Expression Emitter::atomic_under_lock(const Inst& i, const char* what) {
    interface.need_locks();
    const Memory& m = k[i.memory];
    const bool exchanges = i.op == Op::compare_exchange, local = m.kind == MemoryKind::local;
    const bool wide = options.wide_offsets && interface.by_address(i.memory);
    const auto operands = k.operands(i);
    std::string name = text(exchanges ? "compare_exchange" : std::string("atomic_") + what, "_", interface.name(i.memory));
    if (!m.element.is_scalar()) name += text("_", i.leaf);
    if (!own_functions.count(name)) {
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
        // Elements side by side have different locks, and so have groups that each update a local memory of their own.
        const size_t members = m.element.leaves.size(), first = i.leaf + 97 * i.memory.id;
        std::string number = wide ? "uint(index)" : "index";
        if (members > 1) number += text(" * ", members, "u");
        if (first > 0) number += text(" + ", first, "u");
        if (local) number += " + 61u * (gl_WorkGroupID.x + 17u * gl_WorkGroupID.y + 257u * gl_WorkGroupID.z)";
        const bool elects = (options.subgroups & Subgroups::basic) && !options.idle_lanes;
        if (elects) interface.need("GL_KHR_shader_subgroup_basic");
        const char* const fence = options.memory_barriers ? "            memoryBarrier();\n" : "";
        own_functions[name] =
            text(type, " ", name, "(", wide ? "int64_t" : "uint", " index, ", exchanges ? text(type, " expected, ") : "", type, " value) {\n",
                 "    const uint lock = (", number, ") & ", Binding::lock_count - 1, "u;\n    ", type, " old;\n",
                 "    for (bool done = false; !done;) {\n        if (", elects ? "subgroupElect() && " : "", "atomicExchange(locks[lock], 1u) == 0u) {\n",
                 fence, "            old = ", place, ";\n            ", update, "\n", fence,
                 "            atomicExchange(locks[lock], 0u);\n            done = true;\n        }\n    }\n    return old;\n}\n");
        function_order.push_back(name);
    }
    std::vector<Expression> arguments{indices_into(i)[0]};
    if (exchanges) arguments.push_back(use(operands[operands.size() - 2]));
    arguments.push_back(use(operands.back()));
    return fill(name + (wide ? "($0, " : "(uint($0), ") + (exchanges ? "$1, $2)" : "$1)"), arguments);
}

}  // namespace pumice::codegen
