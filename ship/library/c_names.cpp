#include "ship/library/c_names.h"

namespace pumice::ship {

const char* c_type(uint32_t type) {
    static constexpr const char* names[] = {"bool",     "int8_t",   "int16_t",  "int32_t", "int64_t", "uint8_t", "uint16_t",
                                            "uint32_t", "uint64_t", "uint16_t", "float",   "double",  "uint16_t"};
    return names[type];
}
const char* cpp_type(uint32_t type) {
    return type == 9 ? "::pumice::rt::half" : type == 12 ? "::pumice::rt::bfloat16" : c_type(type);
}
const char* type_constant(uint32_t type) {
    static constexpr const char* names[] = {"PUMICE_BOOL", "PUMICE_I8",  "PUMICE_I16", "PUMICE_I32", "PUMICE_I64",
                                            "PUMICE_U8",   "PUMICE_U16", "PUMICE_U32", "PUMICE_U64", "PUMICE_F16",
                                            "PUMICE_F32",  "PUMICE_F64", "PUMICE_BF16"};
    return names[type];
}

bool is_keyword(const std::string& name) {
    static constexpr const char* words[] = {
        "alignas",     "alignof",      "and",       "and_eq",   "asm",       "auto",         "bitand",   "bitor",
        "bool",        "break",        "case",      "catch",    "char",      "char8_t",      "char16_t", "char32_t",
        "class",       "co_await",     "co_return", "co_yield", "compl",     "concept",      "const",    "const_cast",
        "consteval",   "constexpr",    "constinit", "continue", "decltype",  "default",      "delete",   "do",
        "double",      "dynamic_cast", "else",      "enum",     "explicit",  "export",       "extern",   "false",
        "float",       "for",          "friend",    "goto",     "if",        "inline",       "int",      "linux",
        "long",        "mutable",      "namespace", "new",      "noexcept",  "not",          "not_eq",   "nullptr",
        "operator",    "or",           "or_eq",     "private",  "protected", "public",       "register", "reinterpret_cast",
        "requires",    "restrict",     "return",    "short",    "signed",    "sizeof",       "static",   "static_assert",
        "static_cast", "struct",       "switch",    "template", "this",      "thread_local", "throw",    "true",
        "try",         "typedef",      "typeid",    "typename", "typeof",    "union",        "unix",     "unsigned",
        "using",       "virtual",      "void",      "volatile", "wchar_t",   "while",        "xor",      "xor_eq"};
    for (const char* const word : words)
        if (name == word) return true;
    return false;
}

std::string function_name(const std::string& kernel) {
    std::string name = kernel;
    for (char& c : name)
        if (c == '.' || c == '-') c = '_';
    // NAME_library is the table.
    return is_keyword(name) || name == "library" || (!name.empty() && name[0] >= '0' && name[0] <= '9') ? "kernel_" + name : name;
}

}  // namespace pumice::ship
