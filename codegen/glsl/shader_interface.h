// What a kernel's GLSL declares before its functions: push constants, buffers, shared arrays, extensions.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "codegen/glsl/kernel_usage.h"
#include "codegen/glsl_text/expression.h"

namespace pumice::codegen {

/// Collects what the body turns out to need, then declares it.
class Interface {
public:
    /// With a block, the fields that are the same for all dispatches of a launch lie in it instead of the push constants.
    Interface(const ir::Kernel& kernel, const Options& options, const Usage& usage, bool with_block = false);

    /// The text that reads a field of the push-constant block, which has the field from now on: in main the name of a constant
    /// (see push_constants), of addresses and first elements the member itself, everywhere. `index` counts from 0, names from 1.
    std::string field(Field::Kind kind, int index, int axis, Scalar type);
    /// An element of a memory, to load from or store to; in GLSL's storage type, see stored_as_bits and glsl_type. One index, or
    /// one a dimension where the memory is nested.
    Expression element(ir::MemoryId m, uint32_t leaf, const std::vector<Expression>& indices);
    /// The leaf lies in memory as the unsigned integer of its bits, for atomics that floats do not have.
    bool stored_as_bits(ir::MemoryId m, uint32_t leaf) const;
    /// The leaf is smaller than a 32-bit word and lies in one, which is what GLSL knows of; see emit_subwords.cpp.
    bool in_words(ir::MemoryId m, uint32_t leaf) const;
    /// All leaves do so: the memory is an array of words, and its index counts them. Else each word is a member of the element.
    bool all_in_words(ir::MemoryId m) const;
    /// Atomics of 64 bits on this memory are done under the device's locks; see emit_locks.cpp.
    bool by_locks(ir::MemoryId m) const {
        return options.pairs || !(k[m].kind == ir::MemoryKind::local ? options.local_int64_atomics : options.int64_atomics);
    }
    void need_locks() { locks = true; }
    /// The GLSL type of an element's leaf as it lies in memory.
    std::string storage_type(ir::MemoryId m, uint32_t leaf) const;
    const std::string& name(ir::MemoryId m) const { return names[m.id]; }
    bool by_address(ir::MemoryId m) const;
    /// The array begins within its binding, with this element.
    bool shifted(ir::MemoryId m) const;
    std::string first_element(ir::MemoryId m);
    /// Whether the device's subgroups can do what the kernel wants of them; else it sees subgroups of one item.
    bool subgroups() const { return (usage.subgroup_needs & ~options.subgroups) == 0; }

    void need(std::string_view extension) {
        if (!extension.empty()) extensions.emplace(extension);
    }
    void need_type(Scalar type);
    /// The types that values have in GLSL.
    const std::set<Scalar>& value_types() const { return types; }

    std::string extension_lines() const;
    /// Push block, element structs, buffers and shared arrays. Sorts the fields and gives them their offsets.
    std::string declarations();
    /// Lines that read the push constants, for the start of main once its body is written: there they are read once for all
    /// items, which drivers do not make out of reads under a condition or in a loop.
    std::vector<std::string> push_constants();
    /// The bool that says that no item of any group is past the range.
    std::string full_groups() {
        asks_full_groups = true;
        return "full_groups";
    }
    /// The bool that says that the range begins at 0 and that the groups' indices count from the range's first group.
    std::string at_origin() {
        asks_at_origin = true;
        return "at_origin";
    }
    /// Lines that declare the private arrays, for the start of main.
    std::vector<std::string> private_arrays() const;
    void describe(Shader& shader) const;

private:
    std::string struct_name(ir::MemoryId m) const;
    std::string struct_declaration(ir::MemoryId m);
    std::string element_type(ir::MemoryId m) const;
    std::string buffer(ir::MemoryId m, int binding);
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
    std::set<std::string> extensions;
    std::set<Feature> features;
    std::set<Scalar> types;
    const bool with_block;
    std::vector<Field> fields, pushed, in_block;
    std::vector<Binding> bindings;
    uint32_t push_bytes = 0, block_bytes = 0;
    int64_t local_bytes = 0;
    std::vector<SizedLocal> sized_locals;
    std::vector<SizeStep> size_steps;
    bool asks_full_groups = false, asks_at_origin = false, locks = false;
};

}  // namespace pumice::codegen
