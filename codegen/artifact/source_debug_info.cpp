#include "codegen/artifact/source_debug_info.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "core/source/keep_variables.h"
#include "core/source/source_text.h"

namespace pumice::codegen {
namespace {

enum SpirvOp : uint32_t {
    op_source_continued = 2,
    op_source = 3,
    op_source_extension = 4,
    op_name = 5,
    op_string = 7,
    op_line = 8,
    op_extension = 10,
    op_import = 11,
    op_extended = 12,
    op_memory_model = 14,
    op_entry_point = 15,
    op_type_void = 19,
    op_type_bool = 20,
    op_type_int = 21,
    op_type_float = 22,
    op_type_pointer = 32,
    op_constant = 43,
    op_function = 54,
    op_function_end = 56,
    op_variable = 59,
    op_phi = 245,
    op_loop_merge = 246,
    op_selection_merge = 247,
    op_label = 248,
    op_no_line = 317,
    op_module_processed = 330,
};
enum Debug : uint32_t {
    debug_compilation_unit = 1,
    debug_type_basic = 2,
    debug_type_function = 8,
    debug_function = 20,
    debug_scope = 23,
    debug_local_variable = 26,
    debug_declare = 28,
    debug_expression = 31,
    debug_source = 35,
    debug_function_definition = 101,
    debug_source_continued = 102,
    debug_line = 103,
    debug_no_line = 104,
};
constexpr uint32_t header_words = 5, bound_word = 3, function_storage = 7;
constexpr uint32_t flag_local = 4, flag_definition = 8;
constexpr uint32_t unspecified = 0, boolean = 2, floating = 3, signed_number = 4, unsigned_number = 6;
constexpr const char* set_name = "NonSemantic.Shader.DebugInfo.100";
constexpr const char* extension_name = "SPV_KHR_non_semantic_info";
constexpr size_t most_text = 60000 * 4;  ///< bytes of a string: an instruction has at most 65535 words

using Words = std::vector<uint32_t>;

struct SpirvInst {
    uint32_t op;
    const uint32_t* words;
    uint32_t count;
};

template <class F> void each(const Words& spirv, F&& f) {
    for (size_t at = header_words; at < spirv.size() && spirv[at] >> 16 != 0; at += spirv[at] >> 16)
        f(SpirvInst{spirv[at] & 0xffff, spirv.data() + at, spirv[at] >> 16});
}

std::string string_at(const SpirvInst& i, uint32_t word) {
    if (word >= i.count) return "";
    const char* const begin = reinterpret_cast<const char*>(i.words + word);
    return {begin, strnlen(begin, (i.count - word) * 4)};
}

Words string_words(const std::string& text) {
    Words words(text.size() / 4 + 1);
    std::memcpy(words.data(), text.data(), text.size());
    return words;
}

void append(Words& to, uint32_t op, const Words& operands) {
    to.push_back(uint32_t(operands.size() + 1) << 16 | op);
    to.insert(to.end(), operands.begin(), operands.end());
}
void append(Words& to, const SpirvInst& i) { to.insert(to.end(), i.words, i.words + i.count); }

class DebugInfo {
public:
    DebugInfo(const Words& spirv, const ir::Kernel& k) : spirv(spirv), k(k), next(spirv[bound_word]) {
        each(spirv, [&](const SpirvInst& i) { note(i); });
    }

    Words module() {
        if (!entry || !void_type) return spirv;
        set = fresh();
        describe();
        Words out(spirv.begin(), spirv.begin() + header_words), body;
        bool in_functions = false;
        each(spirv, [&](const SpirvInst& i) {
            in_functions = in_functions || i.op == op_function;
            if (in_functions) function_instruction(i, body);
        });
        bool imported = false, declared = false;
        each(spirv, [&](const SpirvInst& i) {
            if (i.op == op_function) finished = true;
            if (finished) return;
            if (i.op == op_line || i.op == op_no_line || is_glsl_source(i)) return;
            if (!declared && (i.op == op_import || i.op == op_memory_model)) {
                append(out, op_extension, string_words(extension_name));
                declared = true;
            }
            if (!imported && i.op == op_memory_model) {
                Words import{set};
                const Words name = string_words(set_name);
                import.insert(import.end(), name.begin(), name.end());
                append(out, op_import, import);
                imported = true;
            }
            if (!strings.empty() && (i.op == op_name || is_after_names(i))) {
                out.insert(out.end(), strings.begin(), strings.end());
                strings.clear();
            }
            append(out, i);
        });
        for (const Words* part : {&constants, &globals, &body}) out.insert(out.end(), part->begin(), part->end());
        out[bound_word] = next;
        return out;
    }

private:
    struct SpirvType {
        uint32_t op = 0, bits = 0, sign = 0;
    };

    void note(const SpirvInst& i) {
        if (i.op == op_string) file_strings[i.words[1]] = string_at(i, 2);
        if (i.op == op_name) names[i.words[1]] = string_at(i, 2);
        if (i.op == op_entry_point) entry = i.words[2];
        if (i.op == op_type_void) void_type = i.words[1];
        if (i.op == op_type_bool) types[i.words[1]] = {i.op, 32, 0};
        if (i.op == op_type_float) types[i.words[1]] = {i.op, i.words[2], 0};
        if (i.op == op_type_int) {
            types[i.words[1]] = {i.op, i.words[2], i.words[3]};
            if (i.words[2] == 32 && i.words[3] == 0) uint_type = i.words[1];
        }
        if (i.op == op_type_pointer) pointees[i.words[1]] = i.words[3];
        if (i.op == op_constant && i.words[1] == uint_type && i.count == 4) numbers.try_emplace(i.words[3], i.words[2]);
        if (i.op == op_variable && i.words[3] == function_storage) variables.emplace_back(i.words[2], pointees[i.words[1]]);
    }
    static bool is_glsl_source(const SpirvInst& i) {
        return i.op == op_source || i.op == op_source_continued || i.op == op_source_extension || i.op == op_module_processed;
    }
    /// The strings stand after the execution modes, before names, decorations and types.
    static bool is_after_names(const SpirvInst& i) {
        return i.op == 6 || (i.op >= 71 && i.op <= 75) || (i.op >= op_type_void && i.op <= 39) || i.op == 332;
    }

    uint32_t fresh() { return next++; }
    uint32_t number(uint32_t value) {
        if (const auto known = numbers.find(value); known != numbers.end()) return known->second;
        if (!uint_type) {
            uint_type = fresh();
            append(constants, op_type_int, {uint_type, 32, 0});
        }
        const uint32_t id = fresh();
        append(constants, op_constant, {uint_type, id, value});
        return numbers[value] = id;
    }
    uint32_t string(const std::string& text) {
        const uint32_t id = fresh();
        Words words{id};
        const Words of = string_words(text);
        words.insert(words.end(), of.begin(), of.end());
        append(strings, op_string, words);
        return id;
    }
    uint32_t extended(Words& to, Debug what, const Words& operands) {
        const uint32_t id = fresh();
        Words words{void_type, id, set, what};
        words.insert(words.end(), operands.begin(), operands.end());
        append(to, op_extended, words);
        return id;
    }

    uint32_t source_of(const std::string& file) {
        if (const auto known = sources.find(file); known != sources.end()) return known->second;
        const ir::SourceText* const source = ir::source_text(file);
        Words operands{string(source ? source->path : file)};
        const std::string all = source ? source->text : std::string();
        if (!all.empty()) operands.push_back(string(all.substr(0, most_text)));
        const uint32_t id = extended(globals, debug_source, operands);
        for (size_t at = most_text; at < all.size(); at += most_text)
            extended(globals, debug_source_continued, {string(all.substr(at, most_text))});
        return sources[file] = id;
    }

    uint32_t type_of(uint32_t type) {
        if (const auto known = debug_types.find(type); known != debug_types.end()) return known->second;
        const SpirvType& t = types[type];
        const uint32_t encoding = t.op == op_type_bool    ? boolean
                                  : t.op == op_type_float ? floating
                                  : t.sign                ? signed_number
                                                          : unsigned_number;
        const std::string sizes = std::to_string(t.bits);
        const std::string name = t.op == op_type_bool    ? "bool"
                                 : t.op == op_type_float ? (t.bits == 32   ? "float"
                                                            : t.bits == 64 ? "double"
                                                                           : "half")
                                 : t.bits == 32          ? (t.sign ? "int" : "unsigned int")
                                                         : (t.sign ? "int" : "uint") + sizes + "_t";
        return debug_types[type] =
                   extended(globals, debug_type_basic, {string(name), number(t.bits), number(encoding), number(0)});
    }

    /// The instructions outside of functions.
    void describe() {
        const std::string home = k.loc.file < k.files.size() ? k.files[k.loc.file] : "?";
        for (const std::string& file : k.files) source_of(file);
        const uint32_t source = source_of(home), line = number(k.loc.line), none = number(0);
        const uint32_t unit = extended(globals, debug_compilation_unit, {number(1), number(4), source, number(unspecified)});
        const uint32_t signature = extended(globals, debug_type_function, {number(0), void_type});
        const uint32_t name = string(k.name);
        function =
            extended(globals, debug_function, {name, signature, source, line, none, unit, name, number(flag_definition), line});
        const uint32_t expression = extended(globals, debug_expression, {});
        std::map<std::string, const ir::Memory*> kept;
        for (const ir::Memory& m : k.memories)
            if (!ir::kept_name(m).empty()) kept[m.name] = &m;
        for (const auto& [id, type] : variables) {
            const auto at = kept.find(names[id]);
            if (at == kept.end() || !types.count(type)) continue;
            const ir::Loc loc = at->second->loc;
            const std::string file = loc.file < k.files.size() ? k.files[loc.file] : home;
            const uint32_t of = type_of(type), where = source_of(file);
            const uint32_t variable =
                extended(globals, debug_local_variable,
                         {string(ir::kept_name(*at->second)), of, where, number(loc.line), none, function, number(flag_local)});
            extended(declares, debug_declare, {variable, id, expression});
        }
    }

    /// Copies an instruction of a function, but for OpLine and OpNoLine: DebugLine and DebugNoLine say the same. Debug
    /// instructions stand after the labels, variables and phis of a block, and never between a merge and its branch.
    void function_instruction(const SpirvInst& i, Words& to) {
        if (i.op == op_function) in_entry = i.words[2] == entry, first_block = true;
        if (i.op == op_label) at_beginning = in_entry;
        if (i.op == op_line || i.op == op_no_line) {
            line = in_entry && i.op == op_line ? line_of(i) : 0;
            line_file = line ? file_strings[i.words[1]] : "";
            return;
        }
        const bool opens = i.op == op_label || i.op == op_variable || i.op == op_phi || i.op == op_function || i.op == 55;
        if (!opens && at_beginning) {
            at_beginning = false;
            if (first_block) extended(to, debug_function_definition, {function, entry});
            extended(to, debug_scope, {function});
            if (first_block) to.insert(to.end(), declares.begin(), declares.end());
            first_block = false;
            told_line = 0;
        }
        if (!opens && in_entry && !after_merge && i.op != op_function_end && (line != told_line || line_file != told_file)) {
            if (line) {
                const uint32_t n = number(line);
                extended(to, debug_line, {source_of(line_file), n, n, number(0), number(0)});
            } else {
                extended(to, debug_no_line, {});
            }
            told_line = line, told_file = line_file;
        }
        after_merge = i.op == op_loop_merge || i.op == op_selection_merge;
        append(to, i);
    }
    uint32_t line_of(const SpirvInst& i) {
        const std::string& file = file_strings[i.words[1]];
        return std::ranges::find(k.files, file) != k.files.end() ? i.words[2] : 0;
    }

    const Words& spirv;
    const ir::Kernel& k;
    uint32_t next, entry = 0, void_type = 0, uint_type = 0, set = 0, function = 0;
    std::map<uint32_t, std::string> file_strings, names;
    std::map<uint32_t, SpirvType> types;
    std::map<uint32_t, uint32_t> pointees, numbers, debug_types;
    std::map<std::string, uint32_t> sources;
    std::vector<std::pair<uint32_t, uint32_t>> variables;  ///< of functions, with their types
    Words strings, constants, globals, declares;
    bool in_entry = false, first_block = false, at_beginning = false, after_merge = false, finished = false;
    uint32_t line = 0, told_line = 0;
    std::string line_file, told_file;
};

}  // namespace

Words with_source_debug_info(const Words& spirv, const ir::Kernel& lowered) { return DebugInfo(spirv, lowered).module(); }

Words without_source_debug_info(const Words& spirv) {
    Words out(spirv.begin(), spirv.begin() + header_words);
    uint32_t set = 0;
    each(spirv, [&](const SpirvInst& i) {
        if (i.op == op_import && string_at(i, 2) == set_name) set = i.words[1];
        const bool of_set = i.op == op_import ? set && i.words[1] == set : set && i.op == op_extended && i.words[3] == set;
        if (!of_set && !(i.op == op_extension && string_at(i, 1) == extension_name)) append(out, i);
    });
    return out;
}

}  // namespace pumice::codegen
