// Memory accesses as GLSL: loads, stores, atomics and barriers. Addresses are those of element_indices.h.
//
//   %v = load arg1[%0, %1] : f32            arg1[i * arg1_extent_x + j]
//   %o = atomic add arg1[%p], %x : f32      uint old = arg1[index];
//     (no float atomics)                    while (true) {
//                                               uint now = floatBitsToUint(uintBitsToFloat(old) + value);
//                                               uint seen = atomicCompSwap(arg1[index], old, now);
//                                               if (seen == old) return uintBitsToFloat(old); else old = seen;
//                                           }
//
// Atomics: GLSL's function if the device has one for the type; else a compare-exchange loop on the bits (f32, f64), on the word
// around the element (emit_subwords.cpp), or a lock (emit_locks.cpp). A float memory with such atomics is declared as unsigned
// integers. Barriers: barrier() orders local memory; it becomes a controlBarrier with buffer semantics if the items of a group
// exchange data through a buffer (core/analysis/cross_item_dependence.h). Cost: a loop for each atomic that the device
// lacks.
#include "codegen/glsl_body/emit_accesses.h"

#include <algorithm>

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

constexpr const char* atomic_words[] = {"add", "sub", "min", "max", "and", "or", "xor", "exchange"};

/// GLSL's function for an atomic on integers; a subtraction adds the negation.
const char* integer_function(Atomic a) {
    switch (a) {
        case Atomic::add:
        case Atomic::sub: return "atomicAdd";
        case Atomic::min: return "atomicMin";
        case Atomic::max: return "atomicMax";
        case Atomic::and_: return "atomicAnd";
        case Atomic::or_: return "atomicOr";
        case Atomic::xor_: return "atomicXor";
        case Atomic::exchange: return "atomicExchange";
    }
    return "atomicExchange";
}

/// The new value that a compare-exchange loop on the bits of a float stores, as a pattern over the old value $0 and the operand
/// $1.
std::string float_update(Atomic a, Scalar type) {
    switch (a) {
        case Atomic::add: return "$0 + $1";
        case Atomic::sub: return "$0 - $1";
        case Atomic::min: return op_text(Op::min, type, false);
        case Atomic::max: return op_text(Op::max, type, false);
        default: library_bug("a float has no such atomic");
    }
}

}  // namespace

Expression AccessEmitter::leaf_of_vector(const Inst& i) {
    std::string name;
    if (const std::string* const known = held.known(i)) {
        name = *known;
    } else {
        const Expression whole = interface.whole_element(i.memory, indices.of(i));
        name = held.new_name("element");
        out.line(text("const ", interface.vector_type(i.memory), " ", name, " = ", whole.text, ";"));
        held.keep(i, name);
    }
    return {text(name, ".", "xyzw"[i.leaf]), postfix, {}, {}};
}

Expression AccessEmitter::load(const Inst& i) {
    const bool words = interface.in_words(i.memory, i.leaf);
    Expression e = words ? subwords.load(i) : interface.element(i.memory, i.leaf, indices.of(i));
    if (!words && interface.stored_as_bits(i.memory, i.leaf))
        e = fill(bitcast_text(bits_type(i.type), i.type), {e});
    else if (!words && i.type == Scalar::boolean && k[i.memory].kind == MemoryKind::array)
        e = fill("uint($0) != 0u", {e});
    else if (!words && i.type == Scalar::bf16 && k[i.memory].kind == MemoryKind::array)
        e = fill("uintBitsToFloat(uint($0) << 16)", {e});
    e.memories.push_back(i.memory.id);
    return e;
}

Expression AccessEmitter::to_storage(const Inst& i, const Expression& value) const {
    const Scalar type = k[i.memory].element.leaves[i.leaf].type;
    if (interface.stored_as_bits(i.memory, i.leaf)) return fill(bitcast_text(type, bits_type(type)), {value});
    if (type == Scalar::boolean && k[i.memory].kind == MemoryKind::array) return fill("uint8_t(uint($0))", {value});
    if (type == Scalar::bf16 && k[i.memory].kind == MemoryKind::array)
        return fill("uint16_t(floatBitsToUint($0) >> 16)", {value});
    return value;
}

void AccessEmitter::store(const Inst& i, uint32_t id) {
    if (elements.merged[id]) return;
    if (const auto whole = elements.stores.find(id); whole != elements.stores.end()) {
        const Expression place = interface.whole_element(i.memory, indices.of(i));
        std::string leaves;
        for (const Value v : whole->second) leaves += (leaves.empty() ? "" : ", ") + values.use(v).text;
        values.flush(i.memory.id);
        return out.line(text(place.text, " = ", interface.vector_type(i.memory), "(", leaves, ");"));
    }
    if (interface.in_words(i.memory, i.leaf)) return subwords.store(i);
    const Expression place = interface.element(i.memory, i.leaf, indices.of(i));
    const Expression value = to_storage(i, values.use(k.operands(i).back()));
    values.flush(i.memory.id);
    out.line(place.text + " = " + value.text + ";");
}

/// Defines, if needed, the function that updates one float atomically by a compare-exchange loop on its bits; returns the
/// function's name.
std::string AccessEmitter::atomic_function(const Inst& i) {
    const Memory& m = k[i.memory];
    const std::string_view what = atomic_words[i.immediate];
    std::string name = text("atomic_", what, "_", interface.name(i.memory));
    if (m.element.leaves.size() > 1) name += text("_", i.leaf);
    if (out.has_function(name)) return name;
    const Scalar bits = bits_type(i.type);
    const std::string_view real = glsl_type(i.type).value, word = glsl_type(bits).value;
    const std::string place = interface.element(i.memory, i.leaf, {Expression{"index", primary, {}, {}}}).text;
    const Expression old = fill(bitcast_text(bits, i.type), {Expression{"old", primary, {}, {}}});
    const Expression updated = fill(float_update(Atomic(i.immediate), i.type), {old, Expression{"value", primary, {}, {}}});
    const std::string index_type = options.wide_offsets && interface.by_address(i.memory) ? "int64_t" : "uint";
    out.define_function(name, text(real, " ", name, "(", index_type, " index, ", real, " value) {\n    ", word, " old = ", place,
                                   ";\n    while (true) {\n        const ", word, " seen = atomicCompSwap(", place, ", old, ",
                                   fill(bitcast_text(i.type, bits), {updated}).text, ");\n        if (seen == old) return ",
                                   old.text, ";\n        old = seen;\n    }\n}\n"));
    return name;
}

void AccessEmitter::atomic(const Inst& i) {
    const auto operands = k.operands(i);
    const bool bits = interface.stored_as_bits(i.memory, i.leaf);
    if (size_of(i.type) < 4) return define_atomic(i, subwords.atomic(i, atomic_words[i.immediate]));
    if (size_of(i.type) == 8) {
        if (interface.by_locks(i.memory)) return define_atomic(i, locks.atomic(i, atomic_words[i.immediate]));
        interface.need("GL_EXT_shader_atomic_int64");
        interface.need_type(Scalar::u64);
    }
    const std::vector<Expression> place = indices.of(i);
    Expression e;
    if (i.op == Op::compare_exchange) {
        const Expression expected = to_storage(i, values.use(operands[operands.size() - 2])),
                         desired = to_storage(i, values.use(operands.back()));
        e = fill("atomicCompSwap($0, $1, $2)", {interface.element(i.memory, i.leaf, place), expected, desired});
        if (bits) e = fill(bitcast_text(bits_type(i.type), i.type), {e});
    } else {
        const Atomic what = Atomic(i.immediate);
        const Expression value = values.use(operands.back());
        if (bits && what != Atomic::exchange) {
            const bool wide = options.wide_offsets && interface.by_address(i.memory);
            e = fill(atomic_function(i) + (wide ? "($0, $1)" : "(uint($0), $1)"), {place[0], value});
        } else {
            if (!bits && is_float(i.type)) interface.need("GL_EXT_shader_atomic_float");
            const std::string argument = what == Atomic::sub ? "-$1" : "$1";
            e = fill(std::string(integer_function(what)) + "($0, " + argument + ")",
                     {interface.element(i.memory, i.leaf, place), to_storage(i, value)});
            if (bits) e = fill(bitcast_text(bits_type(i.type), i.type), {e});
        }
    }
    define_atomic(i, e);
}

/// Writes the atomic as a statement at this point, whether its result is used or not.
void AccessEmitter::define_atomic(const Inst& i, const Expression& e) {
    values.flush(i.memory.id);
    const Value result = k.result(i);
    if (usage.uses.any(result))
        values.declare(result, e);
    else
        out.line(e.text + ";");
}

void AccessEmitter::barrier() {
    values.flush(none);
    held.forget_texels();
    if (!usage.buffers_exchange()) return out.line("barrier();");
    interface.need("GL_KHR_memory_scope_semantics");
    const bool images = std::ranges::any_of(k.memories, [](const Memory& m) { return bool(m.image); });
    out.line(text("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared",
                  images ? " | gl_StorageSemanticsImage" : "", ", gl_SemanticsAcquireRelease);"));
}

}  // namespace pumice::codegen
