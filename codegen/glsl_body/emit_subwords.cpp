// Sub-word access: elements and members of 8 or 16 bits are read, written and updated through the 32-bit word around them.
//
// Why: GLSL's atomics exist on words only, and buffers of a device without 8-bit storage hold no bytes (bools).
//
//   %1 = load arg1[%0] : bool       bitfieldExtract(arg1[at >> 2], (at & 3) * 8, 8) != 0u
//   store arg1[%0], %2 : bool       atomicAnd(word, ~(255u << shift)); atomicOr(word, bits << shift);
//   atomic add arg2[%0], %3 : i16   a compare-exchange loop: extract, add, bitfieldInsert, atomicCompSwap
//
// A store is two atomics, so that concurrent stores to the other elements of the word are preserved; between the two atomics the
// element is briefly 0. A store is one atomic if all its bits are 0 or all are 1. Cost: a store is up to two atomics, an atomic a
// loop. Limits: two items that store to one element at once are a race, as for any other element. A struct of sub-word members is
// addressed from a multiple of four elements on, since a byte offset may exceed 32 bits.
// Textbook name: read-modify-write of the containing word, compare-exchange loop.
#include "codegen/glsl_body/emit_subwords.h"

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

Expression named(const std::string& name) { return {name, primary, {}, {}}; }

}  // namespace

/// Defines `RESULT what_NAME(INDEX index, PARAMETERS)`, and returns its name. In its statements, $0 is the word around the
/// element or member, and `shift` the position of its lowest bit in that word.
std::string SubwordEmitter::word_function(const Inst& i, std::string_view result, const std::string& what,
                                          const std::string& parameters, const std::string& statements) {
    const Element& element = k[i.memory].element;
    std::string name = what + "_" + interface.name(i.memory);
    if (!element.is_scalar()) name += text("_", i.leaf);
    if (out.has_function(name)) return name;
    const bool wide = options.wide_offsets && interface.by_address(i.memory);
    const std::string_view index = wide ? "int64_t" : "uint";
    const uint32_t offset = element.leaves[i.leaf].offset;
    std::string word, place;
    if (interface.all_in_words(i.memory)) {
        const bool halves = element.is_scalar() && element.size == 2;
        std::string inside;  // byte of the word (by address) or of the binding (shifted) at which the array begins; "" for 0
        if (interface.by_address(i.memory)) {
            const std::string address = interface.field(Field::Kind::address, k[i.memory].argument, 0, Scalar::u64);
            inside = wide ? text("int64_t(", address, " & 3ul)") : text("(", address, ".x & 3u)");
        }
        if (interface.shifted(i.memory)) inside = text("(", interface.first_element(i.memory), " * ", element.size, "u)");
        const auto plus = [](const std::string& term) { return term.empty() ? "" : " + " + term; };
        std::string at, before;
        if (halves) {  // in units of the scalar
            at = "index" + plus(inside.empty() ? "" : "(" + inside + " >> 1)");
        } else if (element.size == 1) {
            at = "index" + plus(inside);
        } else {
            // Bytes are counted from a multiple of four elements: the byte offset from the array's start may exceed 32 bits.
            before = text("(index >> 2) * ", element.size);
            at = text("(index & 3) * ", element.size) + plus(offset ? std::to_string(offset) : "") + plus(inside);
        }
        const std::string number = fill(halves ? "at >> 1" : "at >> 2", {}).text;
        word = interface.element(i.memory, i.leaf, {named(before.empty() ? number : text(before, " + (", number, ")"))}).text;
        place =
            text("    const ", index, " at = ", at, ";\n    const int shift = (int(at) & ", halves ? "1) * 16" : "3) * 8", ";\n");
    } else {
        word = interface.element(i.memory, i.leaf, {named("index")}).text;
        place = text("    const int shift = ", offset % 4 * 8, ";\n");
    }
    std::string body = statements;
    for (size_t p = body.find("$0"); p != body.npos; p = body.find("$0", p + word.size())) body.replace(p, 2, word);
    out.define_function(name, text(result, " ", name, "(", index, " index", parameters.empty() ? "" : ", ", parameters, ") {\n",
                                   place, body, "}\n"));
    return name;
}

/// A call of a function that word_function defined, with the element's index and `more` arguments.
Expression SubwordEmitter::word_call(const Inst& i, const std::string& name, const std::vector<Expression>& more) {
    const bool wide = options.wide_offsets && interface.by_address(i.memory);
    std::vector<Expression> arguments = indices.of(i);
    std::string pattern = name + (wide ? "($0" : "(uint($0)");
    for (const Expression& e : more) {
        pattern += text(", $", arguments.size());
        arguments.push_back(e);
    }
    return fill(pattern + ")", arguments);
}

Expression SubwordEmitter::load(const Inst& i) {
    const std::string statements = text("    return bitfieldExtract($0, shift, ", 8 * size_of(i.type), ");\n");
    return fill(from_bits_text(i.type), {word_call(i, word_function(i, "uint", "read", "", statements), {})});
}

void SubwordEmitter::store(const Inst& i) {
    const uint32_t mask = (1u << 8 * size_of(i.type)) - 1;
    const std::string statements = text("    if (bits != ", mask, "u) atomicAnd($0, ~(", mask,
                                        "u << shift));\n    if (bits != 0u) atomicOr($0, bits << shift);\n");
    const std::string name = word_function(i, "void", "write", "uint bits", statements);
    const Expression bits = fill(to_bits_text(i.type), {values.use(k.operands(i).back())});
    const Expression call = word_call(i, name, {bits});
    values.flush(i.memory.id);
    out.line(call.text + ";");
}

Expression SubwordEmitter::atomic(const Inst& i, const char* what) {
    const int width = 8 * size_of(i.type);
    const auto operands = k.operands(i);
    const auto bits = [&](Value v) { return fill(to_bits_text(i.type), {values.use(v)}); };
    const std::string before = text("bitfieldExtract(old, shift, ", width, ")");
    const std::string loop = "    uint old = $0;\n    while (true) {\n        const uint before = " + before + ";\n";
    const std::string exchange = text("        const uint seen = atomicCompSwap($0, old, bitfieldInsert(old, now, shift, ", width,
                                      "));\n        if (seen == old) return before;\n        old = seen;\n    }\n");
    Expression call;
    if (i.op == Op::compare_exchange) {
        const std::string statements =
            loop + "        if (before != expected) return before;\n        const uint now = desired;\n" + exchange;
        const std::string name = word_function(i, "uint", "compare_exchange", "uint expected, uint desired", statements);
        const Expression expected = bits(operands[operands.size() - 2]), desired = bits(operands.back());
        call = word_call(i, name, {expected, desired});
    } else {
        constexpr Op ops[] = {Op::add, Op::sub, Op::min, Op::max, Op::and_, Op::or_, Op::xor_};
        const std::string_view type = glsl_type(i.type).value;
        const std::string old = fill(from_bits_text(i.type), {named("before")}).text;
        const Atomic kind = Atomic(i.immediate);
        const bool rounds = i.type == Scalar::bf16 && kind != Atomic::exchange;
        const std::string updated = kind == Atomic::exchange
                                        ? "value"
                                        : fill(op_text(ops[i.immediate], i.type, false), {named("element"), named("value")}).text;
        const std::string statements =
            loop +
            text("        const ", type, " element = ", old,
                 ", next = ", rounds ? rounded_to_bf16(updated) : text(type, "(", updated, ")"), ";\n") +
            "        const uint now = " + fill(to_bits_text(i.type), {named("next")}).text + ";\n" + exchange;
        const std::string name = word_function(i, "uint", std::string("atomic_") + what, text(type, " value"), statements);
        call = word_call(i, name, {values.use(operands.back())});
    }
    return fill(from_bits_text(i.type), {call});
}

}  // namespace pumice::codegen
