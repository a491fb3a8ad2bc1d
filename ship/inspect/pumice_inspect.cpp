// pumice-inspect FILE: prints a bundle's manifest as JSON (docs/bundle.schema.json), or the reason why the file is no bundle.
//
// The keys are those of the schema; most have the names that dump() writes into a manifest (docs/dump.md). Arguments count from
// 1. `offset` and keys that end in `bytes` are in bytes, or formulas of a program's sizes as text ("4 * n + 8"). `elements`
// counts elements, or words where `unit` says so.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/bundle/bundle.h"

namespace {

using namespace pumice_rt;
using Json = nlohmann::ordered_json;

constexpr const char* types[type_count] = {"bool", "i8",  "i16", "i32", "i64", "u8",  "u16",
                                           "u32",  "u64", "f16", "f32", "f64", "bf16"};
constexpr const char* accesses[] = {"in", "out", "inout"};
constexpr const char* fields[] = {"start",    "end",    "size",    "group_base", "group_count",
                                  "argument", "extent", "address", "first",      "launch"};
constexpr const char* ops[] = {"constant", "group_size", "add",        "sub",         "mul",  "div", "rem",
                               "min",      "max",        "shift_left", "shift_right", "and_", "or_", "xor_"};
constexpr const char* axes[] = {"x", "y", "z", "3", "4", "5"};

/// The name of a property bit, as Vulkan's feature where there is one.
const char* property_name(int bit) {
    switch (bit) {
        case 0: return "shaderInt8";
        case 1: return "shaderInt16";
        case 2: return "shaderInt64";
        case 3: return "shaderFloat16";
        case 4: return "shaderFloat64";
        case 5: return "storageBuffer8BitAccess";
        case 6: return "storageBuffer16BitAccess";
        case 7: return "shaderBufferInt64Atomics";
        case 8: return "shaderSharedInt64Atomics";
        case 9: return "shaderBufferFloat32AtomicAdd";
        case 10: return "shaderSharedFloat32AtomicAdd";
        case 11: return "bufferDeviceAddress";
        case 12: return "scalarBlockLayout";
        case 16: return "subgroup:basic";
        case 17: return "subgroup:vote";
        case 18: return "subgroup:arithmetic";
        case 19: return "subgroup:ballot";
        case 20: return "subgroup:shuffle";
        case 21: return "subgroup:relative";
        case 22: return "shaderSubgroupExtendedTypes";
        case 23: return "subgroups:linear";
        case 24: return "subgroups:packed";
        case 32: return "works:barriers";
        case 33: return "works:ordered_atomics";
        case 34: return "works:all_iterations";
        case 35: return "works:no_idle_lanes";
        case 36: return "works:signed_order";
        case 37: return "works:unsigned_to_float";
        case 38: return "works:precise_unrolled";
        case 39: return "works:bit_merges";
        case 40: return "works:conversions";
        case 41: return "works:rounded_division";
        case 42: return "works:locks";
        case 43: return "works:idle_lanes";
        case 48: return "shaderSignedZeroInfNanPreserveFloat32";
        case 49: return "shaderDenormPreserveFloat32";
        case 50: return "shaderRoundingModeRTEFloat32";
        case 51: return "cheap:private_memory";
        case 52: return "shaderSignedZeroInfNanPreserveFloat64";
        default: return "unknown";
    }
}

class BundlePrinter {
public:
    explicit BundlePrinter(const Bundle& of) : b(of) {}

    Json manifest() const {
        Json kernels = Json::array();
        for (uint32_t k = 0; k < b.kernel_count; ++k) kernels.push_back(kernel(b.kernels[k]));
        Json programs = Json::array();
        for (uint32_t p = 0; p < b.count(SectionKind::programs); ++p) programs.push_back(program(b.programs[p]));
        return {{"format_version", bundle_version}, {"kernels", kernels}, {"programs", programs}};
    }

private:
    static Json properties(uint64_t bits) {
        Json all = Json::array();
        for (int bit = 0; bit < 64; ++bit)
            if (bits >> bit & 1) all.push_back(property_name(bit));
        return all;
    }
    static Json extents(const uint32_t (&e)[3]) { return {e[0], e[1], e[2]}; }

    Json members(const RecordRange& leaves) const {
        Json all = Json::array();
        for (uint32_t i = 0; i < leaves.count; ++i) {
            const LeafRecord& l = b.leaves[leaves.first + i];
            all.push_back({{"path", b.text(l.path)}, {"type", types[l.type]}, {"offset", l.offset}});
        }
        return all;
    }
    Json argument(const ParameterRecord& p, uint32_t number) const {
        Json out = {{"argument", number}};
        if (*b.text(p.name)) out["name"] = b.text(p.name);
        out["parameter"] = p.parameter;
        if (*b.text(p.path)) out["path"] = b.text(p.path);
        if (p.origin != 0) {
            out["kind"] = p.origin == 1 ? "range_start" : "range_extent";
            out["dimension"] = p.dimension;
        } else if (!p.is_array) {
            out["kind"] = "scalar";
        } else {
            out["kind"] = "array";
            out["access"] = accesses[p.access], out["rank"] = p.rank;
            if (p.type == type_struct)
                out["element"] = {{"bytes", p.element_bytes}, {"members", members(p.leaves)}};
            else
                out["element"] = types[p.type];
            return out;
        }
        out["type"] = types[p.type];
        return out;
    }
    Json size(const RecordRange& steps, uint32_t at) const {
        const SizeStepRecord& s = b.size_steps[steps.first + at];
        if (SizeOp(s.op) == SizeOp::constant) return s.constant;
        if (SizeOp(s.op) == SizeOp::group_size) return {"group_size", axes[s.axis]};
        return {ops[s.op], size(steps, s.operands[0]), size(steps, s.operands[1])};
    }
    Json field_list(const RecordRange& span) const {
        Json all = Json::array();
        for (uint32_t i = 0; i < span.count; ++i) {
            const FieldRecord& f = b.fields[span.first + i];
            const FieldKind kind = FieldKind(f.kind);
            const bool of_argument = kind == FieldKind::argument || kind == FieldKind::extent || kind == FieldKind::address ||
                                     kind == FieldKind::first;
            Json out = {{"kind", fields[f.kind]}};
            if (of_argument) out["argument"] = f.index + 1;
            if ((!of_argument || kind == FieldKind::extent) && kind != FieldKind::launch) out["axis"] = axes[f.axis];
            out["offset"] = f.offset, out["type"] = types[f.type];
            all.push_back(out);
        }
        return all;
    }
    Json module(const ModuleRecord& m) const {
        Json out = {{"wants", properties(m.wants)}, {"spirv_bytes", 4 * uint64_t(m.words.count)}};
        out["any_offset"] = (m.flags & ModuleRecord::shifted) != 0;
        out["full_groups"] = (m.flags & ModuleRecord::asks_full_groups) != 0;
        out["at_origin"] = (m.flags & ModuleRecord::asks_at_origin) != 0;
        out["subgroups"] = (m.flags & ModuleRecord::subgroups) != 0;
        out["bindings"] = Json::array();
        for (uint32_t i = 0; i < m.bindings.count; ++i) {
            const BindingRecord& one = b.bindings[m.bindings.first + i];
            Json to = {{"binding", one.binding}};
            if (one.argument >= 0)
                to["argument"] = one.argument + 1, to["access"] = accesses[one.access];
            else
                to["kind"] = one.argument == BindingRecord::ring    ? "ring"
                             : one.argument == BindingRecord::locks ? "locks"
                                                                    : "argument_block";
            out["bindings"].push_back(to);
        }
        out["push_constants"] = {{"bytes", m.push_bytes}, {"fields", field_list(m.push)}};
        out["argument_block"] = {{"bytes", m.block_bytes}, {"fields", field_list(m.block)}};
        out["local_bytes"] = m.local_bytes;
        out["sized_locals"] = Json::array();
        for (uint32_t i = 0; i < m.sized_locals.count; ++i) {
            const SizedLocalRecord& s = b.sized_locals[m.sized_locals.first + i];
            out["sized_locals"].push_back({{"specialization_constant", s.constant},
                                           {"unit", s.in_words ? "words" : "elements"},
                                           {"element_bytes", s.element_bytes},
                                           {"elements", size(s.steps, s.steps.count - 1)}});
        }
        return out;
    }
    Json native(const NativeRecord& n) const {
        constexpr const char* sums[] = {"atomics", "copies", "lanes"};
        return {{"level", level_name(n.level)},
                {"function", n.entry},
                {"group_size", extents(n.group)},
                {"width", n.width},
                {"streaming", (n.flags & NativeRecord::streaming) != 0},
                {"peeled", (n.flags & NativeRecord::peeled) != 0},
                {"wide_offsets", (n.flags & NativeRecord::wide_offsets) != 0},
                {"vector_functions", (n.flags & NativeRecord::vector_functions) != 0},
                {"sums", sums[n.sum_kind]},
                {"scratch_bytes", n.scratch_bytes}};
    }
    static std::string level_name(uint32_t level) {
        if (level <= 4) return "x86-64-v" + std::to_string(level);
        return level == uint32_t(NativeLevel::aarch64)   ? "aarch64"
               : level == uint32_t(NativeLevel::riscv64) ? "riscv64"
                                                         : "generic";
    }

    Json kernel(const KernelRecord& k) const {
        Json out = {{"kernel", b.text(k.name)}, {"source", b.text(k.source)}, {"hash", b.text(k.hash)}};
        out["range_rank"] = k.rank == 0 ? 0 : k.rank + k.folded - 1;
        out["whole_groups"] = (k.flags & KernelRecord::whole_groups) != 0;
        if (k.group[0]) out["group_size_required"] = extents(k.group);
        if (k.range[0]) out["range_required"] = extents(k.range);
        out["arguments"] = Json::array();
        for (uint32_t i = 0; i < k.parameters.count; ++i)
            out["arguments"].push_back(argument(b.parameters[k.parameters.first + i], i + 1));
        out["private_bytes"] = k.private_bytes;
        out["locals"] = Json::array();
        for (uint32_t i = 0; i < k.locals.count; ++i) {
            const LocalRecord& l = b.locals[k.locals.first + i];
            out["locals"].push_back({{"element_bytes", l.element_bytes}, {"elements", size(l.steps, l.steps.count - 1)}});
        }
        out["reports"] = Json::array();
        for (uint32_t i = 0; i < k.formats.count; ++i) {
            const FormatRecord& f = b.formats[k.formats.first + i];
            Json values = Json::array();
            for (uint32_t v = 0; v < f.types.count; ++v) values.push_back(types[b.leaves[f.types.first + v].type]);
            out["reports"].push_back({{"kind", f.is_requirement ? "require" : "print"},
                                      {"format", b.text(f.text)},
                                      {"number", f.index},
                                      {"source", b.text(f.source)},
                                      {"values", values}});
        }
        out["modules"] = Json::array();
        for (uint32_t i = 0; i < k.modules.count; ++i) out["modules"].push_back(module(b.modules[k.modules.first + i]));
        out["natives"] = Json::array();
        for (uint32_t i = 0; i < k.natives.count; ++i) out["natives"].push_back(native(b.natives[k.natives.first + i]));
        return out;
    }

    /// A number, or "2 * n + 1".
    Json extent(const ProgramRecord& program, const ProgramExtent& e) const {
        if (e.size == no_index) return e.plus;
        std::string out = b.text(b.program_sizes[program.sizes.first + e.size].name);
        if (e.times != 1) out = std::to_string(e.times) + " * " + out;
        if (e.plus != 0) out += (e.plus > 0 ? " + " : " - ") + std::to_string(e.plus > 0 ? e.plus : -e.plus);
        return out;
    }
    Json program(const ProgramRecord& p) const {
        static constexpr const char* access[] = {"in", "out", "inout"};
        Json out = {{"program", b.text(p.name)}, {"source", b.text(p.source)}};
        out["sizes"] = Json::array(), out["parameters"] = Json::array(), out["entries"] = Json::array();
        for (uint32_t i = 0; i < p.sizes.count; ++i) {
            const ProgramSizeRecord& s = b.program_sizes[p.sizes.first + i];
            out["sizes"].push_back({{"name", b.text(s.name)}, {"least", s.least}, {"step", s.step}});
        }
        for (uint32_t i = 0; i < p.parameters.count; ++i) {
            const ProgramParameterRecord& one = b.program_parameters[p.parameters.first + i];
            Json parameter = {{"name", b.text(one.name)}, {"differentiated", one.active != 0}};
            parameter["type"] = one.type == type_struct ? "struct" : types[one.type];
            parameter["access"] = one.is_array ? access[one.access] : "in";
            parameter["extents"] = Json::array();  // none: a scalar
            for (uint32_t d = 0; d < one.rank && one.is_array; ++d) parameter["extents"].push_back(extent(p, one.extents[d]));
            out["parameters"].push_back(parameter);
        }
        for (uint32_t i = 0; i < p.entries.count; ++i) out["entries"].push_back(entry(p, b.entries[p.entries.first + i]));
        return out;
    }
    /// The entry's integers of sizes and of totals of scans, such as "4 * n + 8". Operands come before what uses them.
    std::vector<std::string> numbers(const ProgramRecord& p, const EntryRecord& e) const {
        constexpr size_t longest = 400;  // those of edited bundles may double from one expression to the next
        std::vector<std::string> all;
        const auto factor = [](const std::string& of) { return of.find(' ') == of.npos ? of : "(" + of + ")"; };
        for (uint32_t i = 0; i < e.expressions.count; ++i) {
            const ExpressionRecord& x = b.expressions[e.expressions.first + i];
            const auto operand = [&](uint32_t o) -> const std::string& { return all[x.operands[o]]; };
            std::string text = "a number of scalars";
            switch (ExpressionOp(x.op)) {
                case ExpressionOp::constant: text = std::to_string(int64_t(x.bits)); break;
                case ExpressionOp::size: text = b.text(b.program_sizes[p.sizes.first + x.index].name); break;
                case ExpressionOp::scan_total: text = "total " + std::to_string(x.index); break;
                case ExpressionOp::int_add: text = operand(0) + " + " + operand(1); break;
                case ExpressionOp::int_mul: text = factor(operand(0)) + " * " + factor(operand(1)); break;
                case ExpressionOp::int_floor_div: text = "floor(" + factor(operand(0)) + " / " + factor(operand(1)) + ")"; break;
                default: break;
            }
            all.push_back(text.size() > longest ? "a long expression" : text);
        }
        return all;
    }
    Json entry(const ProgramRecord& p, const EntryRecord& e) const {
        static constexpr const char* kinds[] = {"allocate", "fill", "write", "copy", "launch", "scan", "sum"};
        Json devices = Json::array(), commands = Json::object();
        if (e.devices & EntryRecord::on_cpu) devices.push_back("cpu");
        if (e.devices & EntryRecord::on_vulkan) devices.push_back("vulkan");
        int counts[uint32_t(CommandKind::count)] = {};
        for (uint32_t i = 0; i < e.commands.count; ++i) ++counts[b.commands[e.commands.first + i].kind];
        for (uint32_t k = 0; k < uint32_t(CommandKind::count); ++k) commands[kinds[k]] = counts[k];
        const std::vector<std::string> texts = numbers(p, e);
        Json buffers = Json::array();
        for (uint32_t i = 0; i < e.buffers.count; ++i) {
            const BufferRecord& r = b.buffers[e.buffers.first + i];
            Json buffer = Json::object();
            if (ExpressionOp(b.expressions[e.expressions.first + r.bytes].op) == ExpressionOp::constant)
                buffer["bytes"] = int64_t(b.expressions[e.expressions.first + r.bytes].bits);
            else
                buffer["bytes"] = texts[r.bytes];
            if (BufferKind(r.kind) == BufferKind::argument) {
                const EntryArgumentRecord& a = b.entry_arguments[e.arguments.first + r.argument];
                buffer["parameter"] = b.text(b.program_parameters[p.parameters.first + a.parameter].name);
                buffer["shadow"] = a.is_shadow != 0;
            }
            buffers.push_back(buffer);
        }
        return {{"kind", EntryKind(e.kind) == EntryKind::forward ? "forward" : "gradient"},
                {"devices", devices},
                {"commands", commands},
                {"buffers", buffers}};
    }

    const Bundle& b;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: pumice-inspect FILE\n", stderr);
        return 2;
    }
    std::ifstream file(argv[1], std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "pumice-inspect: the file %s cannot be opened\n", argv[1]);
        return 1;
    }
    std::string bytes;
    try {
        bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    } catch (const std::ios_base::failure& e) {  // of a folder, say
        std::fprintf(stderr, "pumice-inspect: %s cannot be read: %s\n", argv[1], e.code().message().c_str());
        return 1;
    }
    const pumice_hooks hooks = {};
    Bundle bundle(hooks);
    if (bundle.open(bytes.data(), bytes.size(), argv[1]) != PUMICE_OK) {
        std::fprintf(stderr, "pumice-inspect: %s\n", pumice_error());
        return 1;
    }
    if (std::puts(BundlePrinter(bundle).manifest().dump(2).c_str()) >= 0 && std::fflush(stdout) == 0) return 0;
    std::fprintf(stderr, "pumice-inspect: the output cannot be written: %s\n", std::strerror(errno));
    return 1;
}
