#include "cpu/retarget/compile_object.h"

#include <algorithm>

#include "core/ir/ops.h"
#include "core/support/ascii.h"
#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/native/foreign_object.h"
#include "cpu/plan/cpu_group_size.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/retarget/c_interface.h"
#include "cpu/retarget/target_processor.h"

namespace pumice::cpu {

using namespace ir;

namespace {

bool is_c_name(const std::string& name) {
    const bool good = std::all_of(name.begin(), name.end(), [](char c) { return ascii::is_alphanumeric(c) || c == '_'; });
    return good && !name.empty() && !(name[0] >= '0' && name[0] <= '9');
}

/// Names that a C program cannot give to a function, beside the headers that it usually includes.
bool is_c_word(std::string_view name) {
    constexpr std::string_view words[] = {
        "alignas",   "alignof",  "asm",       "auto",     "bool",     "break",    "case",          "char",      "const",
        "continue",  "default",  "do",        "double",   "else",     "enum",     "extern",        "false",     "float",
        "for",       "goto",     "if",        "inline",   "int",      "long",     "main",          "nullptr",   "register",
        "restrict",  "return",   "short",     "signed",   "sizeof",   "static",   "static_assert", "struct",    "switch",
        "true",      "typedef",  "typeof",    "union",    "unsigned", "void",     "volatile",      "while",     "thread_local",
        "NULL",      "EOF",      "errno",     "stdin",    "stdout",   "stderr",   "assert",        "offsetof",  "INT_MAX",
        "INT_MIN",   "UINT_MAX", "LONG_MAX",  "FLT_MAX",  "DBL_MAX",  "SIZE_MAX", "NAN",           "INFINITY",  "HUGE_VAL",
        "M_PI",      "signbit",  "isnan",     "isinf",    "isfinite", "isnormal", "fpclassify",    "int8_t",    "int16_t",
        "int32_t",   "int64_t",  "uint8_t",   "uint16_t", "uint32_t", "uint64_t", "intptr_t",      "uintptr_t", "intmax_t",
        "uintmax_t", "size_t",   "ptrdiff_t", "wchar_t"};
    const bool is_reserved = name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
    return is_reserved || std::find(std::begin(words), std::end(words), name) != std::end(words);
}
/// Functions of the C library that programs usually call: an object that defined one would replace it in the program.
bool is_called_by_programs(std::string_view name) {
    constexpr std::string_view names[] = {
        "abort",   "abs",    "accept", "access",  "alarm",  "atexit",   "atof",    "atoi",    "bind",   "bsearch",
        "calloc",  "clock",  "close",  "connect", "div",    "exit",     "fclose",  "fopen",   "fork",   "fprintf",
        "fputs",   "fread",  "free",   "fseek",   "fwrite", "getenv",   "index",   "kill",    "labs",   "link",
        "listen",  "malloc", "memchr", "memcmp",  "mmap",   "open",     "pause",   "pipe",    "poll",   "printf",
        "putchar", "puts",   "qsort",  "raise",   "rand",   "read",     "realloc", "recv",    "remove", "rename",
        "scanf",   "select", "send",   "signal",  "sleep",  "snprintf", "socket",  "sprintf", "srand",  "stat",
        "strcat",  "strchr", "strcmp", "strcpy",  "strlen", "strtod",   "strtol",  "sync",    "system", "time",
        "unlink",  "usleep", "wait",   "write",   "lgamma", "tgamma",   "frexp",   "modf"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
/// Functions of the C library that code may call: those of the ops, for double and float, and what LLVM makes of loops.
bool is_of_c_library(std::string_view name) {
    constexpr std::string_view others[] = {"sqrt", "floor", "ceil", "trunc", "round", "rint",   "roundeven", "copysign",
                                           "fabs", "fma",   "fmin", "fmax",  "fdim",  "memcpy", "memmove",   "memset"};
    const auto is_one = [&](std::string_view n) {
        const auto op = op_named(n);
        return (op && is_scalar_op(*op) && llvm_text(*op, Scalar::f64).starts_with("sleef")) || n == "nextafter" ||
               n == "ldexp" || n == "ilogb" || n == "logb" ||
               std::find(std::begin(others), std::end(others), n) != std::end(others);
    };
    return is_one(name) || (name.ends_with('f') && is_one(name.substr(0, name.size() - 1)));
}

/// The exported name: as asked for, or the kernel's with _ for other characters.
std::string symbol_of(const Kernel& k, const ObjectOptions& options, const std::string& what) {
    std::string name = options.symbol.empty() ? k.name : options.symbol;
    if (options.symbol.empty()) {
        for (char& c : name) c = ascii::is_alphanumeric(c) ? c : '_';
        if (name[0] >= '0' && name[0] <= '9') name = text("_", name);
    }
    if (!is_c_name(name)) fail(what, " is exported as \"", name, "\"; a symbol is a name of C");
    if (is_c_word(name) || is_of_c_library(name) || is_called_by_programs(name))
        fail(what, " is exported as \"", name,
             "\", which is a word or a function of C; ObjectOptions::symbol gives another name");
    if (name == "groups" || name == "jammed_rows" || name == "jammed_group" || name == "pumice_kernel")
        fail(what, " is exported as \"", name, "\", which the code itself uses; ObjectOptions::symbol gives another name");
    const bool odd =
        std::any_of(options.section.begin(), options.section.end(), [](char c) { return c < ' ' || c == '"' || c == '\\'; });
    if (odd) fail(what, " is put into a section whose name has a quote, a backslash or a control character");
    return name;
}

std::array<int64_t, 3> group_of(const Kernel& k, const ObjectOptions& options, const std::string& what) {
    const int rank = k.rank == 0 ? 1 : k.rank;
    if (options.group.empty()) return k.group[0] ? k.group : choose_group(k, {256, 1, 1}, rank);
    std::array<int64_t, 3> group{1, 1, 1};
    if (int(options.group.size()) != rank)
        fail(what, " is compiled for groups of ", options.group.size(), " dimensions; its range has ", rank);
    int64_t items = 1;
    for (int d = 0; d < rank; ++d) {
        const int64_t n = options.group[size_t(d)];
        if (n < 1 || n > 1024) fail(what, " is compiled for groups of extent ", n, "; extents are 1 to 1024");
        group[size_t(rank - 1 - d)] = n;
        items *= n;
    }
    if (items > 1024) fail(what, " is compiled for groups of ", items, " items; the limit is 1024");
    if (k.group[0] && group != k.group) fail(what, " fixes another group than the one that it is compiled for");
    return group;
}

/// The parameter whose elements an item returns: a function's last one, or the Out array of a kernel for BPF.
int returned_parameter(const Kernel& k) {
    for (size_t p = 0; p < k.params.size(); ++p)
        if (k.params[p].is_array && k[k.params[p].memory].access == Access::out) return int(p);
    return -1;
}

ObjectCode made(const Kernel& recorded, ObjectOf of, TargetProcessor processor, const ObjectOptions& options,
                const std::string& what) {
    ObjectCode code;
    code.triple = processor.machine.triple;
    code.symbol = symbol_of(recorded, options, what);
    const bool one_item = of == ObjectOf::function || processor.is_bpf;
    Target& target = processor.target;
    Variant variant;
    if (one_item) {
        target.use = CodeUse::function;
        target.width = 1;
        target.rules = rules_without("all");
        variant.full = true;
    } else {
        variant.group = group_of(recorded, options, what);
    }
    const Kernel lowered = lower(recorded, false, Privatisation::none, target.rules);
    check_limits(lowered, of, processor.is_bpf, what);
    const Emitted emitted = emit_llvm(lowered, target, variant);
    if (one_item && emitted.scratch_bytes > 0)
        fail(what, " needs ", emitted.scratch_bytes, " bytes of memory for a work-item; a function has 32 KiB on the stack");
    const CInterface c =
        one_item ? item_interface(lowered, code.symbol, options.section, returned_parameter(lowered), processor)
                 : range_interface(lowered, code.symbol, options.section, variant.group, emitted.scratch_bytes, code.triple);
    std::string module = emitted.text + c.text;
    if (!processor.abi.empty())
        module += text("!llvm.module.flags = !{!1000000}\n!1000000 = !{i32 1, !\"target-abi\", !\"", processor.abi, "\"}\n");
    const ForeignObject object = make_foreign_object(module, processor.machine, options.assembly);
    if (processor.is_bpf && !object.undefined.empty())
        fail(what, " calls the function ", object.undefined[0], "; a BPF program has no library");
    code.bytes = object.bytes;
    code.assembly = object.assembly;
    code.needs = object.undefined;
    code.prototype = c.prototype;
    code.header = c.header;
    code.scratch_bytes = emitted.scratch_bytes;
    return code;
}

}  // namespace

ObjectCode compile_object(const Kernel& recorded, ObjectOf of, const std::string& triple, const std::string& cpu,
                          const ObjectOptions& options) {
    const std::string what =
        text(of == ObjectOf::kernel ? "kernel" : "function", " \"", recorded.name, "\" (", recorded.where(recorded.loc), ")");
    const std::string processor = text(triple, cpu.empty() ? "" : " and the processor " + cpu);
    try {
        return made(recorded, of, target_processor(triple, cpu, options), options, what);
    } catch (const Error& e) { throw e.within(text("while compiling ", what, " for ", processor)); }
}

}  // namespace pumice::cpu
