// The shader's interface: push constants, buffers, shared arrays and extensions that a kernel's GLSL declares.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "codegen/glsl/kernel_usage.h"
#include "codegen/glsl_text/expression.h"

namespace pumice::codegen {

/// True for an element of 2 or 4 leaves of one 32-bit type, without gaps: a vector of GLSL has the same layout.
bool has_vector_layout(const Element& element);

/// Collects the declarations that the body needs while it is emitted, then emits them.
class Interface {
public:
    /// `with_block`: the fields that are the same for all dispatches of a launch are in an argument block instead of the push
    /// constants.
    Interface(const ir::Kernel& kernel, const Options& options, const Usage& usage, bool with_block = false);

    /// The text that reads a field of the push-constant block; adds the field if it is missing. The text is the name of a
    /// constant of main (see push_constants); for addresses and first elements it is the block's member, valid in every function.
    /// `index` counts from 0, names from 1.
    std::string field(Field::Kind kind, int index, int axis, Scalar type);
    /// An element of a memory, to load from or store to; its type is the storage type, see stored_as_bits and glsl_type. One
    /// index, or one for each dimension if the memory is nested.
    Expression element(ir::MemoryId m, uint32_t leaf, const std::vector<Expression>& indices);
    /// True if the leaf is declared as the unsigned integer of its bits, for atomics that floats do not have.
    bool stored_as_bits(ir::MemoryId m, uint32_t leaf) const;
    /// True if the leaf is smaller than a 32-bit word, and GLSL declares the word around it; see emit_subwords.cpp.
    bool in_words(ir::MemoryId m, uint32_t leaf) const;
    /// True if all leaves are in words: the memory is then an array of words, indexed by word. Else each word is a member of the
    /// element.
    bool all_in_words(ir::MemoryId m) const;
    uint32_t local_size(ir::MemoryId m) const;
    /// True if 64-bit atomics on this memory are done under the device's locks; see emit_locks.cpp.
    bool by_locks(ir::MemoryId m) const {
        return options.pairs || !(k[m].kind == ir::MemoryKind::local ? options.local_int64_atomics : options.int64_atomics);
    }
    void need_locks() { locks = true; }
    /// By memory: true for arrays whose elements are vectors in GLSL; see element_accesses.h.
    const std::vector<bool>& vectors() const { return is_vector; }
    /// "vec4", or "ivec2" and so on: the type of an element that is a vector.
    std::string vector_type(ir::MemoryId m) const;
    /// The same as element(), but the whole element, which is a vector.
    Expression whole_element(ir::MemoryId m, const std::vector<Expression>& indices);
    /// The GLSL type of an element's leaf in memory.
    std::string storage_type(ir::MemoryId m, uint32_t leaf) const;
    const std::string& name(ir::MemoryId m) const { return names[m.id]; }
    bool by_address(ir::MemoryId m) const;
    /// True if the array begins at an element inside its binding; first_element() is the text of that element's number.
    bool shifted(ir::MemoryId m) const;
    std::string first_element(ir::MemoryId m);
    /// True if the device's subgroups have every capability that the kernel needs; else the kernel sees subgroups of one item.
    bool subgroups() const { return (usage.subgroup_needs & ~options.subgroups) == 0; }

    // The names of an image parameter's bindings: to fetch texels, to sample, to load and store. Each declares what it names.
    std::string texels(ir::MemoryId m) { return image_name(m, Binding::Kind::texels, "_texels"); }
    std::string sampler(ir::MemoryId m) { return image_name(m, Binding::Kind::sampler, "_sampler"); }
    std::string storage_image(ir::MemoryId m) { return image_name(m, Binding::Kind::storage_image, "_image"); }
    /// Declares that texels of a storage image are loaded, too.
    void load_texels(ir::MemoryId m) { loads_texels.insert(m.id); }

    void need(std::string_view extension) {
        if (!extension.empty()) extensions.emplace(extension);
    }
    void need_type(Scalar type);
    /// The types that values have in GLSL.
    const std::set<Scalar>& value_types() const { return types; }

    std::string extension_lines() const;
    /// Push block, element structs, buffers and shared arrays. Sorts the fields and assigns their offsets.
    std::string declarations();
    /// Lines that read the push constants, for the start of main, once its body is written. There they are read once; drivers do
    /// not hoist reads out of conditions and loops.
    std::vector<std::string> push_constants();
    /// Name of the specialisation constant that is true only if no item of any group is past the range.
    std::string full_groups() {
        asks_full_groups = true;
        return "full_groups";
    }
    /// Name of the specialisation constant that is true only if the range begins at 0 and group indices count from the range's
    /// first group.
    std::string at_origin() {
        asks_at_origin = true;
        return "at_origin";
    }
    /// Lines that declare the private arrays, for the start of main.
    std::vector<std::string> private_arrays() const;
    void describe(Shader& shader) const;
    /// Bytes of an item's private arrays.
    int64_t private_bytes() const;

private:
    std::string struct_name(ir::MemoryId m) const;
    std::string struct_declaration(ir::MemoryId m);
    std::string element_type(ir::MemoryId m) const;
    std::string buffer(ir::MemoryId m, int binding);
    std::string image_name(ir::MemoryId m, Binding::Kind kind, const char* suffix);
    std::string image(ir::MemoryId m, Binding::Kind kind, int binding);
    std::string array_extents(ir::MemoryId m) const;
    std::string push_type(const Field& f) const;
    /// The variable of the block that has the field: "push" or "block".
    const char* holder(const Field& f) const;
    std::string fields_of(const char* holder_name, std::vector<Field>& into, uint32_t& bytes);
    void sort_fields();
    std::string size_constant(ir::MemoryId m);

    const ir::Kernel& k;
    const Options& options;
    const Usage& usage;
    std::vector<std::string> names;                 ///< of memories
    std::vector<std::vector<std::string>> members;  ///< of each memory's leaves
    std::vector<bool> is_vector;                    ///< by memory
    std::set<std::string> extensions;
    std::set<Feature> features;
    std::set<Scalar> types;
    const bool with_block;
    std::vector<Field> fields, pushed, in_block;
    std::vector<Binding> bindings;
    std::set<std::pair<uint32_t, Binding::Kind>> images;  ///< bindings of images, by memory
    std::set<uint32_t> loads_texels;                      ///< storage images, by memory
    uint32_t push_bytes = 0, block_bytes = 0;
    int64_t local_bytes = 0;
    std::vector<SizedLocal> sized_locals;
    std::vector<SizeStep> size_steps;
    bool asks_full_groups = false, asks_at_origin = false, locks = false;
};

}  // namespace pumice::codegen
