// Memory accesses as GLSL: address computation, loads, stores, atomics and barriers.
//
// Addresses: several indices become one row-major offset by Horner's rule, `((i * extent_j) + j) * extent_k + k`; a local or
// private array of constant extents that is always accessed by all its indices stays a nested GLSL array.
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
// exchange data through a buffer (core/analysis/cross_item_dependence.h). Cost: a multiplication and an addition for each further
// index; a loop for each atomic that the device lacks. Limits: offsets are 32-bit unless Options::wide_offsets; no bounds checks,
// except that an index that is constant and out of bounds is hidden from GLSL's compiler, which would refuse it.
#include <algorithm>
#include <limits>

#include "codegen/glsl_body/glsl_emitter.h"
#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/ir/ops.h"
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

/// True if GLSL's compiler could reject the access: all indices are constants, and the element may lie outside of the array. Of a
/// local array whose size the launch fixes, only element 0 is known to exist.
bool GlslEmitter::may_be_refused(const Inst& i) const {
    const Memory& m = k[i.memory];
    const auto indices = indices_of(k, i);
    const bool fixed = !m.extents.empty(), nested = usage.memories[i.memory.id].nested;
    int64_t place = 0, count = fixed ? 1 : m.kind == MemoryKind::array ? std::numeric_limits<int32_t>::max() : 1;
    for (size_t d = 0; d < indices.size(); ++d) {
        uint64_t bits = 0;
        if (!k.constant(indices[d], bits) || (d > 0 && !fixed)) return false;  // the extents of arrays are not constants
        const int64_t index =
            std::clamp<int64_t>(signed_value(k.type_of(indices[d]), bits), -1, std::numeric_limits<int32_t>::max());
        if (nested && fixed && (index < 0 || index >= m.extents[d])) return true;
        place = d > 0 ? place * m.extents[d] + index : index;
        if (place < 0) return true;
    }
    if (fixed)
        for (const int64_t extent : m.extents) count *= extent;
    return place >= count;
}

/// Passes constant indices through a function, so that GLSL's compiler does not see constants. An access outside of its array is
/// an error only if an item executes it, not at compile time.
void GlslEmitter::hide_constants(std::vector<Expression>& indices) {
    const std::string name = "not_constant";
    if (!own_functions.count(name)) {
        own_functions[name] = text("int ", name, "(int index) {\n    return index;\n}\n");
        function_order.push_back(name);
    }
    for (Expression& index : indices) index = fill(text(name, "(int($0))"), {index});
}

/// The element's index: one index as it is, several indices as a row-major offset, `((i * extent_j) + j) * extent_k + k`. For
/// nested memory, all indices.
std::vector<Expression> GlslEmitter::indices_into(const Inst& i) {
    const auto indices = indices_of(k, i);
    const Memory& m = k[i.memory];
    // A single index into a bound array needs no 64-bit arithmetic: a binding ends at 4 GiB.
    const bool wide =
        options.wide_offsets && m.kind == MemoryKind::array && (indices.size() > 1 || interface.by_address(i.memory));
    if (wide) interface.need_type(Scalar::i64);
    const auto integer = [&](Value v) {
        const Scalar type = k.type_of(v);
        const Expression e = use(v);
        if (wide) return type == Scalar::i64 ? e : fill("int64_t($0)", {e});
        if (type == Scalar::i32 || (type == Scalar::u32 && indices.size() == 1)) return e;
        if (options.pairs && is_pair(type)) return fill(indices.size() == 1 ? "$0.x" : "int($0.x)", {e});
        return fill(is_unsigned_int(type) && indices.size() == 1 ? "uint($0)" : "int($0)", {e});
    };
    if (usage.memories[i.memory.id].nested) {
        std::vector<Expression> all;
        for (const Value v : indices) all.push_back(integer(v));
        if (may_be_refused(i)) hide_constants(all);
        return all;
    }
    Expression index = integer(indices[0]);
    for (size_t d = 1; d < indices.size(); ++d) {
        const int axis = int(indices.size() - 1 - d);
        std::string extent;
        if (m.kind != MemoryKind::array)
            extent = std::to_string(m.extents[d]);
        else
            extent = interface.field(Field::Kind::extent, m.argument, axis, wide ? Scalar::i64 : Scalar::i32);
        const Expression row = fill("$0 * " + extent, {index});
        const Expression next = integer(indices[d]);
        index = next.text == "0" ? row : fill("$0 + $1", {row, next});
    }
    if (wide && !interface.by_address(i.memory)) index = fill("uint($0)", {index});
    std::vector<Expression> one{index};
    if (!wide && may_be_refused(i)) hide_constants(one);
    return one;
}

/// A leaf of an element, as part of a variable that other leaves share.
Expression GlslEmitter::leaf_of_vector(const Inst& i) {
    std::string name;
    if (const std::string* const known = known_element(i)) {
        name = *known;
    } else {
        const auto operands = k.operands(i);
        const Expression whole = interface.whole_element(i.memory, indices_into(i));
        name = text("element", next_texel++);
        line(text("const ", interface.vector_type(i.memory), " ", name, " = ", whole.text, ";"));
        texels.push_back({i.memory.id, i.op, {operands.begin(), operands.end()}, name});
    }
    return {text(name, ".", "xyzw"[i.leaf]), postfix, {}, {}};
}

/// Forgets the elements of a memory that is written next (`none`: of any memory).
void GlslEmitter::forget_elements(uint32_t memory) {
    std::erase_if(texels, [&](const Texel& t) { return t.memory == memory || (memory == none && !k.memories[t.memory].image); });
}

Expression GlslEmitter::load(const Inst& i) {
    const bool words = interface.in_words(i.memory, i.leaf);
    Expression e = words ? load_of_word(i) : interface.element(i.memory, i.leaf, indices_into(i));
    if (!words && interface.stored_as_bits(i.memory, i.leaf))
        e = fill(bitcast_text(bits_type(i.type), i.type), {e});
    else if (!words && i.type == Scalar::boolean && k[i.memory].kind == MemoryKind::array)
        e = fill("uint($0) != 0u", {e});
    else if (!words && i.type == Scalar::bf16 && k[i.memory].kind == MemoryKind::array)
        e = fill("uintBitsToFloat(uint($0) << 16)", {e});
    e.memories.push_back(i.memory.id);
    return e;
}

Expression GlslEmitter::to_storage(const Inst& i, const Expression& value) const {
    const Scalar type = k[i.memory].element.leaves[i.leaf].type;
    if (interface.stored_as_bits(i.memory, i.leaf)) return fill(bitcast_text(type, bits_type(type)), {value});
    if (type == Scalar::boolean && k[i.memory].kind == MemoryKind::array) return fill("uint8_t(uint($0))", {value});
    if (type == Scalar::bf16 && k[i.memory].kind == MemoryKind::array)
        return fill("uint16_t(floatBitsToUint($0) >> 16)", {value});
    return value;
}

void GlslEmitter::store(const Inst& i, uint32_t id) {
    if (elements.merged[id]) return;
    if (const auto whole = elements.stores.find(id); whole != elements.stores.end()) {
        const Expression place = interface.whole_element(i.memory, indices_into(i));
        std::string values;
        for (const Value v : whole->second) values += (values.empty() ? "" : ", ") + use(v).text;
        flush(i.memory.id);
        return line(text(place.text, " = ", interface.vector_type(i.memory), "(", values, ");"));
    }
    if (interface.in_words(i.memory, i.leaf)) return store_of_word(i);
    const Expression place = interface.element(i.memory, i.leaf, indices_into(i));
    const Expression value = to_storage(i, use(k.operands(i).back()));
    flush(i.memory.id);
    line(place.text + " = " + value.text + ";");
}

/// Defines, if needed, the function that updates one float atomically by a compare-exchange loop on its bits; returns the
/// function's name.
std::string GlslEmitter::atomic_function(const Inst& i) {
    const Memory& m = k[i.memory];
    const std::string_view what = atomic_words[i.immediate];
    std::string name = text("atomic_", what, "_", interface.name(i.memory));
    if (m.element.leaves.size() > 1) name += text("_", i.leaf);
    if (own_functions.count(name)) return name;
    const Scalar bits = bits_type(i.type);
    const std::string_view real = glsl_type(i.type).value, word = glsl_type(bits).value;
    const std::string place = interface.element(i.memory, i.leaf, {Expression{"index", primary, {}, {}}}).text;
    const Expression old = fill(bitcast_text(bits, i.type), {Expression{"old", primary, {}, {}}});
    const Expression updated = fill(float_update(Atomic(i.immediate), i.type), {old, Expression{"value", primary, {}, {}}});
    const std::string index_type = options.wide_offsets && interface.by_address(i.memory) ? "int64_t" : "uint";
    own_functions[name] = text(real, " ", name, "(", index_type, " index, ", real, " value) {\n    ", word, " old = ", place,
                               ";\n    while (true) {\n        const ", word, " seen = atomicCompSwap(", place, ", old, ",
                               fill(bitcast_text(i.type, bits), {updated}).text, ");\n        if (seen == old) return ", old.text,
                               ";\n        old = seen;\n    }\n}\n");
    function_order.push_back(name);
    return name;
}

void GlslEmitter::atomic(const Inst& i) {
    const auto operands = k.operands(i);
    const bool bits = interface.stored_as_bits(i.memory, i.leaf);
    if (size_of(i.type) < 4) return define_atomic(i, atomic_of_word(i, atomic_words[i.immediate]));
    if (size_of(i.type) == 8) {
        if (interface.by_locks(i.memory)) return define_atomic(i, atomic_under_lock(i, atomic_words[i.immediate]));
        interface.need("GL_EXT_shader_atomic_int64");
        interface.need_type(Scalar::u64);
    }
    const std::vector<Expression> indices = indices_into(i);
    Expression e;
    if (i.op == Op::compare_exchange) {
        const Expression expected = to_storage(i, use(operands[operands.size() - 2])),
                         desired = to_storage(i, use(operands.back()));
        e = fill("atomicCompSwap($0, $1, $2)", {interface.element(i.memory, i.leaf, indices), expected, desired});
        if (bits) e = fill(bitcast_text(bits_type(i.type), i.type), {e});
    } else {
        const Atomic what = Atomic(i.immediate);
        const Expression value = use(operands.back());
        if (bits && what != Atomic::exchange) {
            const bool wide = options.wide_offsets && interface.by_address(i.memory);
            e = fill(atomic_function(i) + (wide ? "($0, $1)" : "(uint($0), $1)"), {indices[0], value});
        } else {
            if (!bits && is_float(i.type)) interface.need("GL_EXT_shader_atomic_float");
            const std::string argument = what == Atomic::sub ? "-$1" : "$1";
            e = fill(std::string(integer_function(what)) + "($0, " + argument + ")",
                     {interface.element(i.memory, i.leaf, indices), to_storage(i, value)});
            if (bits) e = fill(bitcast_text(bits_type(i.type), i.type), {e});
        }
    }
    define_atomic(i, e);
}

/// Writes the atomic as a statement at this point, whether its result is used or not.
void GlslEmitter::define_atomic(const Inst& i, const Expression& e) {
    flush(i.memory.id);
    const Value result = k.result(i);
    if (usage.uses.any(result))
        declare(result, e);
    else
        line(e.text + ";");
}

/// GLSL's barrier() orders shared memory only. If items exchange data through a buffer, a controlBarrier orders buffers too.
void GlslEmitter::barrier() {
    flush(none);
    forget_texels();
    if (!usage.buffers_exchange()) return line("barrier();");
    interface.need("GL_KHR_memory_scope_semantics");
    const bool images = std::ranges::any_of(k.memories, [](const Memory& m) { return bool(m.image); });
    line(text("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared",
              images ? " | gl_StorageSemanticsImage" : "", ", gl_SemanticsAcquireRelease);"));
}

}  // namespace pumice::codegen
