// The shader's interface: the text of what a kernel declares before its functions, and the description that a host needs for a
// launch.
//
// The emitter asks for fields, elements and extensions while it writes the body; the Interface collects them and declares exactly
// these.
//
//   arg3: f32, range            layout(push_constant, std430) uniform Push { int start_x; int end_x; float arg3; } push;
//   arg1: inout f32[1]          layout(set = 0, binding = 0, std430) restrict buffer Arg1 { float arg1[]; };
//   local local1: f32[4, 8]     shared float local1[4][8];
//
// Push constants: wide fields first, so that no field needs padding; if they are too many, all fields that do not depend on the
// dispatch go to an argument block, a storage buffer. Structs: members have the host's offsets under scalar block layout; gaps
// are filled with arrays of unsigned integers. An array is bound, bound with an offset in elements (Options::shifted), or reached
// by device address (Options::by_address). `restrict` is dropped if several arrays share a binding; `coherent` is added if items
// exchange data through the array. Cost: linear in the parameters and in what the body asked for. Limits: fails for an element
// whose members GLSL cannot place at the host's offsets.
#include "codegen/glsl/shader_interface.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/member_names.h"
#include "core/source/keep_variables.h"
#include "core/support/ascii.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

using namespace ir;

constexpr const char* axis_names[max_rank] = {"x", "y", "z", "3", "4", "5"};
constexpr const char* axis_names_of_vectors[] = {"x", "y", "z", "w"};

std::string field_name(const Field& f) {
    const std::string argument = text("arg", f.index + 1);
    switch (f.kind) {
        case Field::Kind::start: return text("start_", axis_names[f.axis]);
        case Field::Kind::end: return text("end_", axis_names[f.axis]);
        case Field::Kind::size: return text("size_", axis_names[f.axis]);
        case Field::Kind::group_base: return text("group_base_", axis_names[f.axis]);
        case Field::Kind::group_count: return text("group_count_", axis_names[f.axis]);
        case Field::Kind::argument: return argument;
        case Field::Kind::extent: return argument + "_extent_" + axis_names[f.axis];
        case Field::Kind::address: return argument + "_address";
        case Field::Kind::first: return argument + "_first";
        case Field::Kind::launch: return "launch";
    }
    library_bug("a push-constant field has no kind");
}

/// True for fields that functions read as well as main: they are read from the block each time, not copied to a constant of main.
bool everywhere(Field::Kind kind) { return kind == Field::Kind::address || kind == Field::Kind::first; }

bool same(const Field& a, const Field& b) { return a.kind == b.kind && a.index == b.index && a.axis == b.axis; }

/// A variable of the user, for debuggers: one scalar instead of an array.
bool is_kept(const Memory& m) { return !kept_name(m).empty(); }

/// The name of the struct member that is the 32-bit word around a sub-word leaf.
std::string word_name(const Leaf& leaf) { return text("word_", leaf.offset / 4); }

}  // namespace

bool has_vector_layout(const Element& element) {
    const std::vector<Leaf>& leaves = element.leaves;
    if ((leaves.size() != 2 && leaves.size() != 4) || element.size != 4 * leaves.size()) return false;
    const Scalar type = leaves[0].type;
    if (type != Scalar::f32 && type != Scalar::i32 && type != Scalar::u32) return false;
    for (size_t n = 0; n < leaves.size(); ++n)
        if (leaves[n].type != type || leaves[n].offset != 4 * n) return false;
    return true;
}

Interface::Interface(const Kernel& kernel, const Options& o, const Usage& u, bool block)
    : k(kernel), options(o), usage(u), with_block(block) {
    int locals = 0, privates = 0;
    for (const Memory& m : k.memories) {
        members.push_back(member_names(m.element));
        if (m.kind == MemoryKind::array)
            names.push_back(text("arg", m.argument + 1));
        else if (m.kind == MemoryKind::local)
            names.push_back(text("local", ++locals));
        else
            names.push_back(is_kept(m) ? m.name : text("private", ++privates));
    }
    for (uint32_t id = 0; id < k.memories.size(); ++id) {
        const MemoryId m{id};
        const bool exchanges = usage.memories[id].cross_item_dependent;
        is_vector.push_back(k[m].kind == MemoryKind::array && !k[m].image && has_vector_layout(k[m].element) && !exchanges &&
                            !by_address(m) && !stored_as_bits(m, 0));
    }
    for (const Inst& i : k.insts)
        if (is_atomic(i.op) && i.memory.id != none) is_vector[i.memory.id] = false;
    for (size_t m = 0; m < members.size(); ++m)
        for (size_t leaf = 0; is_vector[m] && leaf < members[m].size(); ++leaf) members[m][leaf] = axis_names_of_vectors[leaf];
}

std::string Interface::vector_type(MemoryId m) const {
    const Element& element = k[m].element;
    const char* const prefix = element.leaves[0].type == Scalar::f32   ? "vec"
                               : element.leaves[0].type == Scalar::i32 ? "ivec"
                                                                       : "uvec";
    return text(prefix, element.leaves.size());
}

std::string Interface::field(Field::Kind kind, int index, int axis, Scalar type) {
    const Field f{kind, index, axis, 0, type};
    if (std::ranges::none_of(fields, [&](const Field& g) { return same(f, g); })) fields.push_back(f);
    if (kind != Field::Kind::address) need_type(type);
    return everywhere(kind) ? text(holder(f), ".", field_name(f)) : field_name(f);
}

const char* Interface::holder(const Field& f) const {
    const bool of_launch = f.kind == Field::Kind::argument || f.kind == Field::Kind::extent || everywhere(f.kind);
    return with_block && of_launch ? "block" : "push";
}

bool Interface::by_address(MemoryId m) const {
    const size_t argument = size_t(k[m].argument);
    return k[m].kind == MemoryKind::array && argument < options.by_address.size() && options.by_address[argument];
}

bool Interface::shifted(MemoryId m) const {
    const size_t argument = size_t(k[m].argument);
    return k[m].kind == MemoryKind::array && argument < options.shifted.size() && options.shifted[argument];
}

std::string Interface::first_element(MemoryId m) { return field(Field::Kind::first, k[m].argument, 0, Scalar::u32); }

bool Interface::stored_as_bits(MemoryId m, uint32_t leaf) const {
    const Usage::OfMemory& used = usage.memories[m.id];
    if (size_of(k[m].element.leaves[leaf].type) == 8 && by_locks(m)) return false;
    // The options for float atomics are about f32 only.
    const bool instruction = k[m].element.leaves[leaf].type == Scalar::f32 &&
                             (k[m].kind == MemoryKind::array ? options.float_atomics : options.local_float_atomics);
    return used.bit_atomics[leaf] || (used.float_atomics[leaf] && !instruction);
}

bool Interface::in_words(MemoryId m, uint32_t leaf) const {
    const Memory& memory = k[m];
    const std::vector<Leaf>& leaves = memory.element.leaves;
    if (size_of(leaves[leaf].type) >= 4) return false;
    const auto is_bool = [](const Leaf& l) { return l.type == Scalar::boolean; };
    const auto is_bf16 = [](const Leaf& l) { return l.type == Scalar::bf16; };
    const bool lacks_bytes = !options.byte_storage && std::ranges::any_of(leaves, is_bool);
    const bool lacks_shorts = !options.short_storage && std::ranges::any_of(leaves, is_bf16);
    return usage.memories[m.id].small_atomics || ((lacks_bytes || lacks_shorts) && memory.kind == MemoryKind::array);
}

bool Interface::all_in_words(MemoryId m) const {
    for (uint32_t leaf = 0; leaf < k[m].element.leaves.size(); ++leaf)
        if (!in_words(m, leaf)) return false;
    return true;
}

std::string Interface::storage_type(MemoryId m, uint32_t leaf) const {
    if (in_words(m, leaf)) return "uint";
    const Scalar type = k[m].element.leaves[leaf].type;
    if (stored_as_bits(m, leaf)) return std::string(glsl_type(bits_type(type), options.pairs).value);
    const GlslType& t = glsl_type(type, options.pairs);
    return std::string(k[m].kind == MemoryKind::array ? t.storage : t.value);
}

/// Bytes of an element in local memory, where a bf16 is a float.
uint32_t Interface::local_size(MemoryId m) const {
    const Element& element = k[m].element;
    if (all_in_words(m)) return element.size;
    const auto is_bf16 = [](const Leaf& l) { return l.type == Scalar::bf16; };
    return element.size + 2 * uint32_t(std::ranges::count_if(element.leaves, is_bf16));
}

Expression Interface::whole_element(MemoryId m, const std::vector<Expression>& indices) {
    return fill(shifted(m) ? text(names[m.id], "[", first_element(m), " + uint($0)]") : names[m.id] + "[$0]", indices);
}

Expression Interface::element(MemoryId m, uint32_t leaf, const std::vector<Expression>& indices) {
    const Memory& memory = k[m];
    std::string pattern = names[m.id];
    for (size_t d = 0; d < indices.size() && !is_kept(memory); ++d) pattern += text("[$", d, "]");
    // For arrays of words, the caller counts from the beginning of the binding, since an element need not begin at a word.
    if (shifted(m) && !all_in_words(m)) pattern = text(names[m.id], "[", first_element(m), " + uint($0)]");
    if (by_address(m)) {
        const bool words = all_in_words(m);
        std::string address = field(Field::Kind::address, memory.argument, 0, Scalar::u64);
        const std::string block = text("Arg", memory.argument + 1);
        if (words)
            address =
                options.wide_offsets ? text("(", address, " & ~3ul)") : text("uvec2(", address, ".x & ~3u, ", address, ".y)");
        // GLSL has no 64-bit subscripts, so a 64-bit index is added to the address.
        pattern = options.wide_offsets
                      ? text(block, "(", address, " + uint64_t($0) * ", words ? 4 : memory.element.size, "ul).at[0]")
                      : text(block, "(", address, ").at[$0]");
    }
    if (!memory.element.is_scalar() && !all_in_words(m)) {
        const Leaf& l = memory.element.leaves[leaf];
        pattern += "." + (in_words(m, leaf) ? word_name(l) : members[m.id][leaf]);
    }
    Expression e = fill(pattern, indices);
    e.precedence = postfix;
    return e;
}

void Interface::need_type(Scalar type) {
    const GlslType& t = glsl_type(type, options.pairs);
    if (!options.pairs || !is_pair(type)) types.insert(type);
    need(t.extension);
    if (t.feature) features.insert(*t.feature);
}

std::string Interface::extension_lines() const {
    std::string out;
    for (const std::string& e : extensions) out += "#extension " + e + " : require\n";
    return out;
}

std::string Interface::struct_name(MemoryId m) const {
    std::string name = names[m.id];
    name[0] = ascii::upper(name[0]);
    return name + "Element";
}

std::string Interface::element_type(MemoryId m) const {
    if (is_vector[m.id]) return vector_type(m);
    return k[m].element.is_scalar() || all_in_words(m) ? storage_type(m, 0) : struct_name(m);
}

/// Declares the struct of an element; in arrays, members have the host's offsets. A member that the kernel does not touch is
/// left out if its type needs a device feature. Scalar block layout aligns each member to its own size. Gaps beyond that
/// alignment are filled with arrays of unsigned integers: words if the element is aligned to words and one fits, else integers of
/// the size of the member after the gap, a type that the device then has.
std::string Interface::struct_declaration(MemoryId m) {
    const Element& element = k[m].element;
    const bool laid_out = k[m].kind == MemoryKind::array;
    const auto align = [](uint32_t offset, uint32_t to) { return (offset + to - 1) / to * to; };
    struct Member {
        std::string declaration;
        uint32_t offset, size, alignment;
        const std::string* path;
    };
    std::vector<Member> declared;
    uint32_t alignment = 1;
    for (uint32_t leaf = 0; leaf < element.leaves.size(); ++leaf) {
        const Leaf& l = element.leaves[leaf];
        const GlslType& type = glsl_type(l.type);
        if (!usage.memories[m.id].touched[leaf] && (type.feature || !type.storage_extension.empty())) continue;
        const bool word = in_words(m, leaf);
        const uint32_t size = word ? 4 : uint32_t(size_of(l.type)), offset = word ? l.offset / 4 * 4 : l.offset;
        if (word && !declared.empty() && declared.back().offset == offset) continue;  // the word is already declared
        // A vector is aligned to its components, so a pair of words is aligned to 4.
        const uint32_t own = options.pairs && is_pair(l.type) ? 4 : size;
        declared.push_back(
            {word ? "uint " + word_name(l) : storage_type(m, leaf) + " " + members[m.id][leaf], offset, size, own, &l.path});
        alignment = std::max(alignment, own);
    }
    std::string out = "struct " + struct_name(m) + " {\n";
    uint32_t at = 0;
    int gaps = 0;
    // Fills the gap up to the offset at which a member with this alignment, or the next element, begins without further padding.
    const auto fill_to = [&](uint32_t offset, uint32_t next_alignment) {
        for (uint32_t unit : {4u, 2u, 1u}) {
            if (unit > alignment || (unit < 4 && unit > next_alignment) || align(at, next_alignment) >= offset) continue;
            const uint32_t first = align(at, unit), count = first < offset ? (offset - first) / unit : 0;
            if (count == 0) continue;
            out += text("    ",
                        unit == 4   ? "uint"
                        : unit == 2 ? "uint16_t"
                                    : "uint8_t",
                        " gap", ++gaps, count > 1 ? text("[", count, "]") : "", ";\n");
            at = first + count * unit;
        }
        return align(at, next_alignment) == offset;
    };
    for (const Member& member : declared) {
        if (laid_out && !fill_to(member.offset, member.alignment))
            fail("the element of ", names[m.id], " has member \"", *member.path, "\" at byte ", member.offset,
                 ", where GLSL cannot put it");
        out += "    " + member.declaration + ";\n";
        at = member.offset + member.size;
    }
    if (!laid_out) return out + "};\n";
    if (!fill_to(element.size, alignment))
        fail("the element of ", names[m.id], " has ", element.size, " bytes, which GLSL would lay out as ", align(at, alignment));
    need("GL_EXT_scalar_block_layout");
    return out + "};\n";
}

std::string Interface::buffer(MemoryId m, int binding) {
    const Memory& memory = k[m];
    const std::string block = text("Arg", memory.argument + 1);
    const char* layout = memory.element.is_scalar() || all_in_words(m) || is_vector[m.id] ? "std430" : "scalar";
    const bool under_locks = usage.memories[m.id].wide_atomics && by_locks(m);
    std::string qualifiers = usage.memories[m.id].cross_item_dependent || under_locks ? "restrict coherent " : "restrict ";
    const size_t argument = size_t(memory.argument);
    // A shared binding aliases other arrays, so it is not restrict.
    if (argument < options.shares.size() && options.shares[argument] >= 0) qualifiers.erase(0, std::strlen("restrict "));
    if (memory.access == Access::in) qualifiers += "readonly ";
    for (uint32_t leaf = 0; leaf < memory.element.leaves.size(); ++leaf) {
        const GlslType& t = glsl_type(memory.element.leaves[leaf].type, options.pairs);
        if (in_words(m, leaf) || !usage.memories[m.id].touched[leaf]) continue;
        need(t.storage_extension);
        if (t.feature) features.insert(*t.feature);
    }
    if (by_address(m)) {
        need("GL_EXT_buffer_reference");
        if (!options.wide_offsets) need("GL_EXT_buffer_reference_uvec2");
        uint32_t alignment = 1;
        if (all_in_words(m)) alignment = 4;
        for (const Leaf& l : memory.element.leaves) alignment = std::max(alignment, uint32_t(size_of(l.type)));
        return text("layout(buffer_reference, ", layout, ", buffer_reference_align = ", alignment, ") ", qualifiers, "buffer ",
                    block, " { ", element_type(m), " at[]; };\n");
    }
    bindings.push_back({memory.argument, binding, memory.access});
    return text("layout(set = 0, binding = ", binding, ", ", layout, ") ", qualifiers, "buffer ", block, " { ", element_type(m),
                " ", names[m.id], "[]; };\n");
}

/// Declares the specialisation constant that is a local array's length. Its default is the length for groups of one item.
std::string Interface::size_constant(MemoryId m) {
    const std::vector<SizeStep> steps = codegen::size_steps(k, k[m].size);
    Shader with;
    with.sized_locals.push_back({uint32_t(5 + sized_locals.size()), 0, uint32_t(steps.size()), local_size(m), all_in_words(m)});
    with.size_steps = steps;
    SizedLocal local = with.sized_locals[0];
    const std::string out = text("layout(constant_id = ", local.constant, ") const int ", names[m.id],
                                 "_size = ", with.length_of(local, {1, 1, 1}), ";\n");
    local.first_step = uint32_t(size_steps.size());
    sized_locals.push_back(local);
    size_steps.insert(size_steps.end(), steps.begin(), steps.end());
    return out;
}

std::string Interface::declarations() {
    std::string blocks;
    if (asks_full_groups) blocks += "layout(constant_id = 3) const bool full_groups = false;\n";
    if (asks_at_origin) blocks += "layout(constant_id = 4) const bool at_origin = false;\n";
    int binding = 0;
    std::map<int, int> shared;  // bindings of several arrays, by the first one's parameter
    for (uint32_t id = 0; id < k.memories.size(); ++id) {
        const MemoryId m{id};
        const Memory& memory = k[m];
        const bool used = usage.memories[id].loaded || usage.memories[id].stored;
        // An unused array gets no binding: only its extents can be used, and they are push constants.
        if (!used) continue;
        if (memory.image) {
            for (const Binding::Kind kind : {Binding::Kind::texels, Binding::Kind::sampler, Binding::Kind::storage_image})
                if (images.count({id, kind})) blocks += image(m, kind, binding++);
            continue;
        }
        if (!memory.element.is_scalar() && !all_in_words(m) && !is_vector[id]) blocks += struct_declaration(m);
        if (memory.kind == MemoryKind::array) {
            const bool bound = !by_address(m);
            const size_t argument = size_t(memory.argument);
            const bool shares = bound && argument < options.shares.size() && options.shares[argument] >= 0;
            const auto [with, first] =
                shares ? shared.try_emplace(options.shares[argument], binding) : std::pair(shared.end(), bound);
            blocks += buffer(m, shares ? with->second : binding);
            binding += first;
        } else if (memory.kind == MemoryKind::local) {
            int64_t count = 1;
            for (const int64_t e : memory.extents) count *= e;
            if (memory.extents.empty())
                blocks += size_constant(m);
            else
                local_bytes += count * local_size(MemoryId{id});
            blocks += text("shared ", element_type(m), " ", names[id], array_extents(m), ";\n");
        }
    }
    if (usage.reports) {
        blocks += text("layout(set = 0, binding = ", binding, ", std430) coherent buffer Ring { uint ring[]; };\n");
        bindings.push_back({int(k.params.size()), binding++, Access::inout});
    }
    if (locks) {
        blocks += text("layout(set = 0, binding = ", binding, ", std430) coherent buffer Locks { uint locks[]; };\n");
        bindings.push_back({Binding::locks, binding++, Access::inout});
    }
    if (fields.empty()) return blocks;

    sort_fields();
    const std::string push = fields_of("push", pushed, push_bytes), block = fields_of("block", in_block, block_bytes);
    std::string out;
    if (!pushed.empty()) out += "layout(push_constant, std430) uniform Push {\n" + push + "} push;\n";
    if (!in_block.empty()) {
        bindings.push_back({Binding::argument_block, binding, Access::in});
        out += text("layout(set = 0, binding = ", binding, ", std430) restrict readonly buffer Block {\n", block, "} block;\n");
    }
    return out + blocks;
}

/// The members of a block, with their offsets.
std::string Interface::fields_of(const char* holder_name, std::vector<Field>& into, uint32_t& bytes) {
    std::string members;
    for (Field f : fields) {
        if (holder(f) != std::string_view(holder_name)) continue;
        f.offset = bytes;
        bytes += uint32_t(size_of(f.type));
        members += text("    ", push_type(f), " ", field_name(f), ";\n");
        if (f.kind == Field::Kind::address && options.wide_offsets) need_type(Scalar::u64);
        into.push_back(f);
    }
    return members;
}

/// Sorts the wide fields first, so that no field needs padding.
void Interface::sort_fields() {
    std::ranges::stable_sort(fields, [](const Field& a, const Field& b) {
        const auto key = [](const Field& f) { return std::tuple(-size_of(f.type), f.kind, f.index, f.axis); };
        return key(a) < key(b);
    });
}

std::string Interface::push_type(const Field& f) const {
    const bool pair = f.kind == Field::Kind::address && !options.wide_offsets;
    return std::string(pair ? "uvec2" : glsl_type(f.type, options.pairs).push);
}

std::vector<std::string> Interface::push_constants() {
    sort_fields();
    std::vector<std::string> out;
    for (const Field& f : fields)
        if (!everywhere(f.kind))
            out.push_back(text("const ", push_type(f), " ", field_name(f), " = ", holder(f), ".", field_name(f), ";"));
    return out;
}

/// The brackets of a local or private array's declaration.
std::string Interface::array_extents(MemoryId m) const {
    const Memory& memory = k[m];
    if (memory.extents.empty()) return "[" + names[m.id] + "_size]";
    if (is_kept(memory)) return "";
    std::string nested;
    int64_t count = 1;
    for (const int64_t e : memory.extents) {
        count *= e;
        nested += text("[", e, "]");
    }
    if (all_in_words(m)) count = (count * memory.element.size + 3) / 4;
    return usage.memories[m.id].nested ? nested : text("[", count, "]");
}

std::vector<std::string> Interface::private_arrays() const {
    std::vector<std::string> out;
    for (uint32_t id = 0; id < k.memories.size(); ++id) {
        const Memory& m = k.memories[id];
        if (m.kind != MemoryKind::private_ || !(usage.memories[id].loaded || usage.memories[id].stored)) continue;
        out.push_back(text(element_type(MemoryId{id}), " ", names[id], array_extents(MemoryId{id}), ";"));
    }
    return out;
}

int64_t Interface::private_bytes() const {
    int64_t bytes = 0;
    for (uint32_t id = 0; id < k.memories.size(); ++id) {
        const Memory& memory = k.memories[id];
        if (memory.kind != MemoryKind::private_ || !(usage.memories[id].loaded || usage.memories[id].stored)) continue;
        int64_t count = 1;
        for (const int64_t extent : memory.extents) count *= extent;
        bytes += count * local_size(MemoryId{id});
    }
    return bytes;
}

void Interface::describe(Shader& shader) const {
    shader.bindings = bindings;
    shader.push = pushed;
    shader.push_bytes = push_bytes;
    shader.block = in_block;
    shader.block_bytes = block_bytes;
    shader.local_bytes = local_bytes;
    shader.private_bytes = private_bytes();
    shader.sized_locals = sized_locals;
    shader.size_steps = size_steps;
    shader.features.assign(features.begin(), features.end());
    shader.asks_full_groups = asks_full_groups;
    shader.asks_at_origin = asks_at_origin;
}

}  // namespace pumice::codegen
