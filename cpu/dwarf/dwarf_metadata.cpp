#include "cpu/dwarf/dwarf_metadata.h"

#include <filesystem>

#include "core/source/keep_variables.h"
#include "core/source/source_text.h"
#include "core/support/error.h"

namespace pumice::cpu {

using namespace ir;

namespace {

/// A text in LLVM's quotes: other characters than printable ones, and `"` and `\`, by their hexadecimal code.
std::string quoted(const std::string& s) {
    constexpr char digits[] = "0123456789ABCDEF";
    std::string out = "\"";
    for (const char c : s) {
        const auto u = static_cast<unsigned char>(c);
        if (u < 32 || u > 126 || c == '"' || c == '\\')
            out += {'\\', digits[u >> 4], digits[u & 15]};
        else
            out += c;
    }
    return out + "\"";
}

}  // namespace

DwarfMetadata::DwarfMetadata(const Kernel& kernel, Add added)
    : k(kernel), add(std::move(added)), structure(kernel), names(argument_names(kernel)) {
    for (const InstId i : structure.order())
        if (k[i].op == Op::store) block_of_kept.try_emplace(k[i].memory.id, structure.block_of(i));
    const std::string home = file(k.loc.file);
    // gdb reads expressions as those of C++.
    unit = add(text("distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: ", home,
                    ", producer: \"pumice\", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)"));
    const std::string none = add("!{null}"), signature = add(text("!DISubroutineType(types: ", none, ")"));
    subprogram =
        add(text("distinct !DISubprogram(name: ", quoted(k.name), ", scope: ", home, ", file: ", home, ", line: ", k.loc.line,
                 ", type: ", signature, ", scopeLine: ", k.loc.line, ", spFlags: DISPFlagDefinition, unit: ", unit, ")"));
    scopes[0] = subprogram;
}

std::string DwarfMetadata::file(uint32_t index) {
    const std::string name = index < k.files.size() ? k.files[index] : "?";
    const SourceText* const source = source_text(name);
    const std::filesystem::path path = source ? source->path : name;
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    return add(text("!DIFile(filename: ", quoted(path.filename().string()), ", directory: ", quoted(folder), ")"));
}

/// The lexical block of a construct's block; the function itself for the body.
std::string DwarfMetadata::scope(BlockId block) {
    if (const auto known = scopes.find(block.id); known != scopes.end()) return known->second;
    const InstId owner = structure.owner_of(block);
    if (owner.id == ir::none) return subprogram;
    const Inst& construct = k[owner];
    const std::string outer = scope(structure.block_of(owner));
    // The ifs of predicate_range_tail are not the user's.
    if (construct.op == Op::if_) {
        const InstId condition = k[k.operands(construct)[0]].inst;
        if (condition.id != ir::none && k[condition].op == Op::in_range) return scopes[block.id] = outer;
    }
    const std::string made = add(text("distinct !DILexicalBlock(scope: ", outer, ", file: ", file(construct.loc.file),
                                      ", line: ", construct.loc.line, ", column: 1)"));
    return scopes[block.id] = made;
}

/// The scope for lines of another file than the kernel's: those of a device function.
std::string DwarfMetadata::scope_in(BlockId block, uint32_t file_index) {
    const std::string plain = scope(block);
    if (file_index == k.loc.file) return plain;
    return add(text("!DILexicalBlockFile(scope: ", plain, ", file: ", file(file_index), ", discriminator: 0)"));
}

std::string DwarfMetadata::location(InstId i) {
    const Loc loc = k[i].loc;
    return add(text("!DILocation(line: ", loc.line, ", column: ", loc.line ? 1 : 0,
                    ", scope: ", scope_in(structure.block_of(i), loc.file), ")"));
}

std::string DwarfMetadata::no_line() { return add(text("!DILocation(line: 0, column: 0, scope: ", subprogram, ")")); }

std::string DwarfMetadata::type(Scalar t) {
    const char* const name = t == Scalar::boolean ? "bool"
                             : t == Scalar::i8    ? "signed char"
                             : t == Scalar::u8    ? "unsigned char"
                             : t == Scalar::i16   ? "short"
                             : t == Scalar::u16   ? "unsigned short"
                             : t == Scalar::i32   ? "int"
                             : t == Scalar::u32   ? "unsigned int"
                             : t == Scalar::i64   ? "long"
                             : t == Scalar::u64   ? "unsigned long"
                             : t == Scalar::f16   ? "_Float16"
                             : t == Scalar::bf16  ? "__bf16"  // gdb knows both formats by these names
                             : t == Scalar::f32   ? "float"
                                                  : "double";
    const char* const encoding = t == Scalar::boolean ? "DW_ATE_boolean"
                                 : is_float(t)        ? "DW_ATE_float"
                                 : is_unsigned_int(t) ? "DW_ATE_unsigned"
                                                      : "DW_ATE_signed";
    return add(text("!DIBasicType(name: \"", name, "\", size: ", 8 * (t == Scalar::boolean ? 1 : size_of(t)),
                    ", encoding: ", encoding, ")"));
}

/// A struct has one member for each scalar, whose name is its path with _ between the parts.
std::string DwarfMetadata::type(const Element& element) {
    if (element.is_scalar()) return type(element.leaves[0].type);
    std::string members;
    for (const Leaf& leaf : element.leaves) {
        std::string name;
        for (const char c : leaf.path)
            if (c != ']') name += c == '.' || c == '[' ? '_' : c;
        const std::string base = type(leaf.type);
        members += (members.empty() ? "" : ", ") +
                   add(text("!DIDerivedType(tag: DW_TAG_member, name: ", quoted(name), ", baseType: ", base,
                            ", size: ", 8 * size_of(leaf.type), ", offset: ", 8 * leaf.offset, ")"));
    }
    const std::string elements = add(text("!{", members, "}"));
    return add(text("!DICompositeType(tag: DW_TAG_structure_type, name: \"element\", size: ", 8 * element.size,
                    ", elements: ", elements, ")"));
}

std::string DwarfMetadata::declare(const std::string& pointer, const std::string& variable, const std::string& expression,
                                   const std::string& where) {
    return text("  call void @llvm.dbg.declare(metadata ptr ", pointer, ", metadata ", variable, ", metadata !DIExpression(",
                expression, ")), !dbg ", where, "\n");
}

std::string DwarfMetadata::declare_variable(MemoryId m, const std::string& pointer, const std::string& expression) {
    const std::string name = kept_name(k[m]);
    const auto block = block_of_kept.find(m.id);
    if (name.empty() || block == block_of_kept.end()) return "";
    const std::string within = scope_in(block->second, k[m].loc.file), of = type(k[m].element);
    const std::string variable = add(text("!DILocalVariable(name: ", quoted(name), ", scope: ", within,
                                          ", file: ", file(k[m].loc.file), ", line: ", k[m].loc.line, ", type: ", of, ")"));
    return declare(pointer, variable, expression,
                   add(text("!DILocation(line: ", k[m].loc.line, ", column: 1, scope: ", within, ")")));
}

std::string DwarfMetadata::declare_array(size_t parameter, const std::string& slot) {
    if (names[parameter].empty()) return "";
    const std::string element = type(k[k.params[parameter].memory].element);
    const std::string pointer = add(text("!DIDerivedType(tag: DW_TAG_pointer_type, baseType: ", element, ", size: 64)"));
    const std::string variable = add(text("!DILocalVariable(name: ", quoted(names[parameter]), ", scope: ", subprogram,
                                          ", file: ", file(k.loc.file), ", line: ", k.loc.line, ", type: ", pointer, ")"));
    return declare(slot, variable, "", add(text("!DILocation(line: ", k.loc.line, ", column: 1, scope: ", subprogram, ")")));
}

std::string DwarfMetadata::module_lines() {
    const std::string dwarf = add("!{i32 7, !\"Dwarf Version\", i32 4}"),
                      version = add("!{i32 2, !\"Debug Info Version\", i32 3}");
    return text("declare void @llvm.dbg.declare(metadata, metadata, metadata)\n!llvm.dbg.cu = !{", unit,
                "}\n!llvm.module.flags = !{", dwarf, ", ", version, "}\n");
}

}  // namespace pumice::cpu
