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

namespace {

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

/// Words that nothing can have as its name: keywords, and types and macros of C's headers.
bool is_reserved(const std::string& name) {
    static constexpr const char* words[] = {"errno",    "NULL",     "int8_t",   "int16_t", "int32_t", "int64_t",  "uint8_t",
                                            "uint16_t", "uint32_t", "uint64_t", "EOF",     "NAN",     "alloca",   "assert",
                                            "offsetof", "setjmp",   "va_arg",   "va_copy", "va_end",  "va_start", "INFINITY"};
    for (const char* const word : words)
        if (name == word) return true;
    return is_keyword(name);
}

/// Macros have such names: MAX_RANK. One capital is the name of a matrix.
bool is_upper_case(const std::string& name) {
    bool letter = false;
    for (const char c : name) {
        if (c >= 'a' && c <= 'z') return false;
        letter = letter || (c >= 'A' && c <= 'Z');
    }
    return letter && name.size() > 1;
}

bool is_used(const std::string& name) {
    return is_reserved(name) || is_upper_case(name) || name.starts_with("pumice_") || name.starts_with("PUMICE_");
}

}  // namespace

std::string function_name(const std::string& kernel) {
    std::string name = kernel;
    for (char& c : name)
        if (c == '.' || c == '-') c = '_';
    // NAME_library is the table.
    return is_reserved(name) || name == "library" || (!name.empty() && name[0] >= '0' && name[0] <= '9') ? "kernel_" + name
                                                                                                         : name;
}

std::string program_function_name(const std::string& program) {
    std::string name = function_name(program);
    static constexpr const char* functions[] = {"forward", "gradient", "augmented", "reverse", "create", "handle"};
    for (const char* const function : functions)
        if (name == function) return "program_" + name;
    return name;
}

// The last ones are macros of <complex.h> and of Qt.
ParameterNames::ParameterNames(const std::string& library)
    : taken{"device", "range",  "arguments", "program", "stream",  "results", "sizes", "pumice",  "memcpy",
            "memset", "handle", "create",    "I",       "signals", "slots",   "emit",  "foreach", "forever"} {
    taken.insert(library + "_library");
}

std::string ParameterNames::take(std::string name) {
    // Macros of the compiler begin and end with underscores.
    if (name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'))) name = "argument" + name;
    if (is_used(name)) name += '_';
    while (!taken.insert(name).second) name += '_';
    return name;
}

}  // namespace pumice::ship
