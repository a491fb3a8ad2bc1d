// The IR verifier, tables: checks the rules of docs/ir.md for parameters, memories, functions, and all indices into tables.
//
// Why: the rest of the verifier, the printer and the passes index the tables of a kernel without checks. This part runs first, so
// that a broken index is a sentence and not a crash.
//
//   arg2: in f32[1] (x), memory "arg1" names parameter 1    ->  "parameter 2 and memory \"arg1\" do not name each other"
//   local tile: f32[0]                                      ->  "\"tile\" has extent 0; it must be at least 1"
//   function "f" (f32) : f32 reverse "g", g takes 2 values  ->  "the reverse rule of function \"f\" takes (f32, f32); ...";
//                                                               expected: f's parameter, f's result, and its adjoint
//
// Cost: linear in the tables, but for sets of names. Limits: the first broken rule ends the check; blocks and instructions are
// checked by verifier.cpp.
// Field's name: IR verifier (LLVM's Verifier.cpp).
#include "core/verify/verifier_tables.h"

#include <map>
#include <set>
#include <tuple>

#include "core/ir/ops.h"
#include "core/text/lexical_rules.h"
#include "core/text/names.h"

namespace pumice::ir {
namespace {

class Tables {
public:
    explicit Tables(const Kernel& kernel) : k(kernel) {}

    void whole() const {
        indices();
        parameters();
        identities();
        for (const Memory& m : k.memories) memory(m);
        function_names();
        for (const Function& f : k.functions) rules(f);
    }

private:
    template <class... Parts> [[noreturn]] void wrong(const Inst& i, const Parts&... parts) const { broken_by(k, i, parts...); }
    Types types(std::span<const Value> values) const { return types_of(k, values); }

    void indices() const {
        if (k.blocks.empty()) broken("the kernel has no body");
        for (const Block& b : k.blocks) {
            for (const Value v : b.params)
                if (v.id >= k.values.size()) broken("a block parameter is value ", v.id, " of ", k.values.size());
            for (const InstId i : b.insts)
                if (i.id >= k.insts.size()) broken("a block holds instruction ", i.id, " of ", k.insts.size());
        }
        for (const Function& f : k.functions)
            if (f.body.id >= k.blocks.size())
                broken("the body of function \"", f.name, "\" is block ", f.body.id, " of ", k.blocks.size());
        for (const Inst& i : k.insts) {
            if (int(i.op) >= op_count) broken("an instruction has op ", int(i.op), " of ", op_count);
            if (uint64_t(i.first_operand) + i.operand_count > k.pool.size())
                broken("the operands of an instruction lie outside the pool");
            if (i.result_count && uint64_t(i.first_result) + i.result_count > k.values.size())
                broken("the results of an instruction lie outside the table of values");
            for (const Value v : k.operands(i))
                if (v.id >= k.values.size()) wrong(i, "an operand is value ", v.id, " of ", k.values.size());
            const InstructionRow* row = is_scalar_op(i.op) ? nullptr : &instruction_row(i.op);
            const int blocks = row ? row->blocks() : 0;
            for (int b = 0; b < 2; ++b)
                if (b < blocks ? i.blocks[b].id >= k.blocks.size() : i.blocks[b].id != none)
                    wrong(i, "the instruction must own ", blocks, " blocks");
            if (!row || !row->names_memory()) continue;
            if (i.memory.id >= k.memories.size()) wrong(i, "the memory is ", i.memory.id, " of ", k.memories.size());
            const size_t leaves = k[i.memory].element.leaves.size();
            if (row->names_element() && i.leaf >= leaves) wrong(i, "the member is ", i.leaf, " of ", leaves);
        }
    }

    void parameters() const {
        if (k.rank < 0 || k.rank > 3) broken("the kernel's rank is ", k.rank, "; it must be 0 to 3");
        if (k.folded < 1 || (k.folded > 1 && k.rank != 3) || k.folded > max_rank - 2)
            broken("axis 2 stands for ", k.folded, " dimensions in a kernel of rank ", k.rank, "; ", max_rank - 2,
                   " in rank 3 is the limit");
        fixed_extents("group", k.group);
        fixed_extents("range", k.range);
        std::set<std::string> names;
        for (const Memory& m : k.memories) {
            if (!is_identifier(m.name)) broken("a memory is called \"", m.name, "\"; its name must be an identifier");
            if (!names.insert(m.name).second) broken("two memories are called \"", m.name, "\"");
        }
        for (size_t p = 0; p < k.params.size(); ++p) {
            const Parameter& param = k.params[p];
            if (param.origin != ParameterOrigin::argument &&
                (param.is_array || param.type != Scalar::i32 || param.dimension < 0 || param.dimension >= k.dimensions()))
                broken("parameter ", p + 1, " is given ", origin_name(param.origin), " ", param.dimension,
                       ", and is not an i32, or the range has no such dimension");
            if (!param.is_array) {
                if (names.count(text("arg", p + 1))) broken("a memory is called \"arg", p + 1, "\" as a scalar parameter is");
                continue;
            }
            if (param.memory.id >= k.memories.size())
                broken("parameter ", p + 1, " is memory ", param.memory.id, " of ", k.memories.size());
            const Memory& m = k[param.memory];
            if (m.kind != MemoryKind::array || m.argument != int(p))
                broken("parameter ", p + 1, " and memory \"", m.name, "\" do not name each other");
        }
    }

    /// Names are identifiers, and tell the user's parameters apart, as numbers and paths do. A shadow fits its parameter.
    void identities() const {
        std::map<std::string, std::tuple<int, int, int>> named;  // number, order (0: no shadow), direction
        std::map<int, std::string> names;                        // by number
        std::set<std::pair<std::string, std::string>> members;
        std::set<std::pair<int, std::string>> numbered;
        std::set<std::tuple<int, int, int>> shadows;
        int last = 0;
        for (size_t p = 0; p < k.params.size(); ++p) {
            const ParameterIdentity& id = k.params[p].identity;
            const bool shadow = id.shadow_of >= 0, user = k.params[p].origin == ParameterOrigin::argument && !id.extra;
            if (!id.name.empty() && !is_identifier(id.name))
                broken("parameter ", p + 1, " is named \"", id.name, "\"; its name must be an identifier");
            if ((shadow || !user) && (id.number || !id.path.empty()))
                broken("parameter ", p + 1, " has a number or path of its own, and is ",
                       shadow ? "a shadow" : "none of the user's");
            if (shadow) {
                shadow_fits(p);
                if (!shadows.emplace(id.shadow_of, id.order, id.direction).second)
                    broken("parameter ", p + 1, " is a second shadow of parameter ", id.shadow_of + 1,
                           ", of one direction and order");
            } else if (id.direction != -1 || id.order != 1) {
                broken("parameter ", p + 1, " has a direction or an order, and is no shadow");
            }
            const int number = k.number_of(p);
            if (user && !shadow) {
                if (number < last || number < 1)
                    broken("parameter ", p + 1, " belongs to parameter ", number, " of the user, and the one before it to ",
                           last);
                last = number;
                if (!numbered.emplace(number, id.path).second) broken("parameter ", p + 1, " is a second one for ", k.label(p));
                if (const auto [there, added] = names.emplace(number, id.name); !added && there->second != id.name)
                    broken("parameter ", p + 1, " is named \"", id.name, "\", and another member of its struct \"", there->second,
                           "\"");
            }
            if (id.name.empty()) continue;
            const auto [there, added] = named.emplace(id.name, std::tuple(number, shadow ? id.order : 0, id.direction));
            if (there->second != std::tuple(number, shadow ? id.order : 0, id.direction) ||
                !members.emplace(id.name, k.path_of(p)).second)
                broken("two parameters are named \"", id.name, "\"");
        }
    }

    void shadow_fits(size_t p) const {
        const Parameter& shadow = k.params[p];
        const ParameterIdentity& id = shadow.identity;
        if (size_t(id.shadow_of) >= p) broken("parameter ", p + 1, " is the shadow of parameter ", id.shadow_of + 1, " after it");
        const Parameter& primal = k.params[size_t(id.shadow_of)];
        const auto element = [&](const Parameter& of) { return of.is_array ? k[of.memory].element : Element::of(of.type); };
        if (id.order < 1 || id.direction < -1 || id.extra || shadow.origin != ParameterOrigin::argument ||
            primal.origin != ParameterOrigin::argument || (primal.is_array && !shadow.is_array) ||
            element(shadow) != element(primal))
            broken("parameter ", p + 1, " is no shadow of parameter ", id.shadow_of + 1, ": type, origin or order are wrong");
    }

    void fixed_extents(const char* what, const std::array<int64_t, 3>& of) const {
        if (of == std::array<int64_t, 3>{}) return;
        if (k.rank == 0) broken("the kernel fixes its ", what, ", yet takes ranges of any rank");
        for (int axis = 0; axis < 3; ++axis) {
            if (of[size_t(axis)] < 1 || of[size_t(axis)] > INT32_MAX)
                broken("the kernel's ", what, " has extent ", of[size_t(axis)], " along axis ", axis, "; it must be 1 to ",
                       INT32_MAX);
            if (axis >= k.rank && of[size_t(axis)] != 1)
                broken("the kernel's ", what, " has extent ", of[size_t(axis)], " past its rank");
        }
    }

    void image(const Memory& m) const {
        const ImageInfo& i = m.image;
        if (i.dimensions < 1 || i.dimensions > 3)
            broken("the image \"", m.name, "\" has ", i.dimensions, " dimensions; it must be 1 to 3");
        if (i.layout == ImageLayout::cube && i.dimensions != 2)
            broken("the cube \"", m.name, "\" has ", i.dimensions, " dimensions");
        if (m.rank != i.rank()) broken("the image \"", m.name, "\" has rank ", m.rank, "; it must be ", i.rank());
        if (m.access != Access::in && (i.kind == ImageInfo::Kind::texture || i.layout != ImageLayout::plain))
            broken("the image \"", m.name, "\" is ", access_name(m.access), "; textures, layers and cubes are in");
        const size_t channels = m.element.leaves.size();
        const Scalar type = m.element.leaves[0].type;
        bool good = channels == 1 || channels == 2 || channels == 4;
        for (const Leaf& l : m.element.leaves) good = good && l.type == type;
        if (!good || (type != Scalar::f32 && type != Scalar::i32 && type != Scalar::u32))
            broken("the texels of \"", m.name, "\" must be 1, 2 or 4 of f32, i32 or u32");
        if (!i.resolved) return;
        const FormatRow& row = row_of(i.format);
        if (size_t(row.channels) != channels || row.is_float() != (type == Scalar::f32))
            broken("the image \"", m.name, "\" has format ", row.name, ", which its texels do not fit");
        if (i.levels < 1) broken("the image \"", m.name, "\" has ", i.levels, " levels; it must have at least 1");
    }

    void memory(const Memory& m) const {
        const Element& e = m.element;
        std::set<std::string> paths;
        if (e.leaves.empty() || e.size == 0) broken("the element of \"", m.name, "\" is empty");
        for (const Leaf& l : e.leaves) {
            if (!paths.insert(l.path).second) broken("the element of \"", m.name, "\" has two members \"", l.path, "\"");
            if (uint64_t(l.offset) + size_of(l.type) > e.size)
                broken("the member \"", l.path, "\" of \"", m.name, "\" ends past the element's ", e.size, " bytes");
        }
        if (m.rank < 1) broken("\"", m.name, "\" has rank ", m.rank, "; it must be at least 1");
        if (m.kind == MemoryKind::array) {
            if (m.argument < 0 || size_t(m.argument) >= k.params.size() || !k.params[m.argument].is_array)
                broken("the array \"", m.name, "\" is no parameter");
            if (m.rank > max_rank) broken("the array \"", m.name, "\" has rank ", m.rank, "; the limit is ", max_rank);
            if (!m.extents.empty() || m.size) broken("the array \"", m.name, "\" has a size of its own");
            if (m.image) image(m);
            return;
        }
        if (m.image) broken("\"", m.name, "\" is an image and no parameter");
        if (m.access != Access::inout)
            broken("\"", m.name, "\" is ", access_name(m.access), "; local and private memory is inout");
        if (m.size) {
            if (m.kind != MemoryKind::local) broken("\"", m.name, "\" has a size known at launch; only local memory may");
            if (!m.extents.empty() || m.rank != 1)
                broken("\"", m.name, "\" has a size known at launch, and extents or another rank than 1");
        } else if (m.extents.size() != size_t(m.rank))
            broken("\"", m.name, "\" has ", m.extents.size(), " extents but rank ", m.rank);
        int64_t bytes = e.size;
        for (const int64_t extent : m.extents) {
            if (extent < 1) broken("\"", m.name, "\" has extent ", extent, "; it must be at least 1");
            if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > INT32_MAX)
                broken("\"", m.name, "\" takes more than ", INT32_MAX, " bytes, which is the limit");
        }
    }

    void function_names() const {
        std::set<std::string> names;
        for (const Function& f : k.functions) {
            if (f.name.empty()) broken("a function has no name");
            if (!names.insert(f.name).second) broken("two functions are called \"", f.name, "\"");
        }
    }

    /// The rule's parameters begin with those of the function.
    void rules(const Function& f) const {
        const auto check = [&](uint32_t rule, std::initializer_list<const Types*> takes, const Types& gives, const char* what) {
            if (rule == none) return;
            if (rule >= k.functions.size())
                broken("the ", what, " rule of function \"", f.name, "\" is function ", rule, " of ", k.functions.size());
            Types want;
            for (const Types* part : takes) want.insert(want.end(), part->begin(), part->end());
            const Types got = types(k[k.functions[rule].body].params);
            if (got != want)
                broken("the ", what, " rule of function \"", f.name, "\" takes ", listed(got), "; expected ", listed(want));
            if (k.functions[rule].results != gives)
                broken("the ", what, " rule of function \"", f.name, "\" gives ", listed(k.functions[rule].results),
                       "; expected ", listed(gives));
        };
        const Types params = types(k[f.body].params);
        check(f.reverse, {&params, &f.results, &f.results}, params, "reverse");
        check(f.forward, {&params, &params}, f.results, "forward");
    }

    const Kernel& k;
};

}  // namespace

Types types_of(const Kernel& kernel, std::span<const Value> values) {
    Types out;
    for (const Value v : values) out.push_back(kernel.type_of(v));
    return out;
}

std::string listed(std::span<const Scalar> types) {
    std::string out = "(";
    for (size_t i = 0; i < types.size(); ++i) out += text(i ? ", " : "", name_of(types[i]));
    return out + ")";
}

void verify_tables(const Kernel& kernel) { Tables(kernel).whole(); }

}  // namespace pumice::ir
