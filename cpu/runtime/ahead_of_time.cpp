#include "cpu/runtime/ahead_of_time.h"

#include <algorithm>
#include <map>

#include "core/support/error.h"
#include "cpu/native/foreign_object.h"
#include "cpu/plan/alignment_peeling.h"
#include "cpu/plan/cpu_group_size.h"
#include "cpu/plan/index_polynomial.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::cpu {
namespace {

using Group = std::array<int64_t, 3>;

/// Ranges of typical extents, axis 0 first: rows that are a multiple of a long group, and rows that are not; and short ranges.
std::vector<Launch> typical_launches(int rank) {
    static constexpr Group extents[3][3] = {{{1 << 20, 1, 1}, {256, 1, 1}, {256, 1, 1}},
                                            {{4096, 4096, 1}, {1000, 1000, 1}, {64, 64, 1}},
                                            {{256, 256, 256}, {100, 100, 100}, {32, 32, 32}}};
    std::vector<Launch> all;
    for (int r = rank == 0 ? 1 : rank; r <= (rank == 0 ? 3 : rank); ++r)
        for (const Group& extent : extents[r - 1]) {
            Launch launch;
            launch.rank = r, launch.extent = extent;
            all.push_back(launch);
        }
    return all;
}

/// A group size, and whether launches over long ranges have it.
struct SizedGroup {
    Group group;
    bool is_long = true;
};

std::vector<SizedGroup> typical_groups(CpuProgram& program, const ir::Kernel& kernel) {
    std::vector<SizedGroup> groups;
    for (Launch launch : typical_launches(kernel.rank)) {
        launch.arguments.resize(kernel.params.size());
        launch.group = choose_group(kernel, launch.extent, launch.rank);
        if (kernel.folded > 1) launch.group[2] = 1;
        const Group group = program.arranged(launch, 2, false).group;
        const bool known = std::any_of(groups.begin(), groups.end(), [&](const SizedGroup& one) { return one.group == group; });
        const auto& e = launch.extent;
        if (!known) groups.push_back({group, e[0] * e[1] * e[2] >= long_range});
    }
    return groups;
}

/// The variants for one group size, the general one first.
std::vector<Variant> variants_of(const CpuProgram& p, const SizedGroup& sized, int width, bool wide) {
    const Group& group = sized.group;
    std::vector<Variant> all;
    const auto add = [&](bool streaming, bool peeled, Privatisation sums, bool wide_offsets) {
        Variant v;
        v.group = group, v.streaming = streaming, v.peeled = peeled, v.sums = sums, v.wide_offsets = wide_offsets;
        all.push_back(v);
        // A second variant is for ranges that are a multiple of the group (`full`; not the option whole_groups). It gains where
        // the items of a group work together, since its packets need no masks, and over long ranges, since the loops over a
        // group's items have constant length and are unrolled. Peeled code and code with 64-bit offsets have no such variant.
        v.full = p.asks_range && !wide_offsets && !peeled && (!p.movable || sized.is_long);
        if (v.full) all.push_back(v);
    };
    const bool peels =
        sized.is_long && p.movable && !p.reports && width > 1 && group[0] % most_peeled == 0 && row_begin(*p.kernel);
    add(false, false, Privatisation::none, false);
    for (const bool streaming : {false, true}) {  // code for large arrays also has prefetches
        if (p.added_to.empty() || (streaming && !sized.is_long)) break;
        add(streaming, false, Privatisation::copies, false);
        if (width > 1) add(streaming, false, Privatisation::lanes, false);
    }
    if (sized.is_long) add(true, false, Privatisation::none, false);
    if (peels) {
        add(false, true, Privatisation::none, false);
        add(true, true, Privatisation::none, false);
    }
    if (wide) add(false, false, Privatisation::none, true);
    return all;
}

/// Turns the declarations of SLEEF's functions into functions that call through the library's table of pointers.
std::string through_table(std::string text, const std::string& table, std::vector<std::string>& functions) {
    bool any = false;
    for (size_t at = 0; (at = text.find("declare ", at)) != text.npos;) {
        const size_t end = text.find('\n', at), name = text.find('@', at), open = text.find('(', name);
        if (text.compare(name, 7, "@Sleef_") != 0 || name > end) {
            at = end;
            continue;
        }
        const std::string result = text.substr(at + 8, name - at - 9), function = text.substr(name + 1, open - name - 1);
        const size_t close = text.find(") nounwind", open);
        std::string types = text.substr(open + 1, close - open - 1), parameters, arguments;
        int number = 0;
        for (size_t from = 0; from < types.size();) {  // vector types hold no comma
            const size_t comma = std::min(types.find(", ", from), types.size());
            const std::string one = pumice::text(types.substr(from, comma - from), " %a", number++);
            parameters += (parameters.empty() ? "" : ", ") + one, arguments += (arguments.empty() ? "" : ", ") + one;
            from = comma + 2;
        }
        auto found = std::find(functions.begin(), functions.end(), function);
        if (found == functions.end()) found = functions.insert(found, function);
        const std::string body =
            pumice::text("define internal ", result, " @", function, "(", parameters,
                         ") nounwind noinline memory(none) {\n  %at = getelementptr ptr, ptr @", table, ", i64 ",
                         found - functions.begin(), "\n  %function = load ptr, ptr %at, !invariant.load !{}\n  %r = tail call ",
                         result, " %function(", arguments, ")\n  ret ", result, " %r\n}");
        text.replace(at, end - at, body);
        at += body.size();
        any = true;
    }
    return any ? text + "@" + table + " = external hidden global [0 x ptr]\n" : text;
}

bool is_riscv(const Machine& machine) { return machine.triple.starts_with("riscv"); }

std::string object_of(std::string text, const Machine& machine) {
    if (!is_riscv(machine)) return make_object(text, machine).bytes;
    // The ABI of RISC-V is a flag of the module.
    text += "!llvm.module.flags = !{!100000}\n!100000 = !{i32 1, !\"target-abi\", !\"lp64d\"}\n";
    return make_foreign_object(text, machine, false).bytes;
}

std::string with_symbol(std::string text, const std::string& from, const std::string& to) {
    const std::string definition = "define void @" + from + "(";
    const size_t at = text.find(definition);
    if (at == text.npos) library_bug("an emitted module does not define its kernel");
    return text.replace(at, definition.size(), "define hidden void @" + to + "(");
}

}  // namespace

std::optional<RowBegin> row_begin(const ir::Kernel& k) {
    for (const ir::Op op : {ir::Op::store, ir::Op::load})
        for (const ir::Inst& i : k.insts) {
            if (i.op != op || k[i.memory].kind != ir::MemoryKind::array || k[i.memory].element.leaves.size() > 1) continue;
            const auto past = offset_from_item(k, ir::indices_of(k, i).back(), 0);
            return RowBegin{k[i.memory].argument, past.has_value(), past.value_or(0)};
        }
    return std::nullopt;
}

AheadOfTime::AheadOfTime(const Machine& machine, std::string name)
    // Without the vector extension, vectors of RISC-V would be taken apart.
    : compiler(std::make_shared<Compiler>(is_riscv(machine) ? 1 : 0, machine)), library(std::move(name)) {}

std::shared_ptr<CpuProgram> AheadOfTime::program(std::shared_ptr<const ir::Kernel> kernel) const {
    return std::make_shared<CpuProgram>(compiler, without_group_operations(std::move(kernel), compiler->target.rules));
}

AheadVariant AheadOfTime::emit(const CpuProgram& program, const Variant& variant, bool sleef, std::string& text) const {
    Target target = compiler->target;
    target.sleef = sleef;
    const Emitted emitted = emit_llvm(lower(*program.kernel, variant.wide_offsets, variant.sums, target.rules), target, variant);
    AheadVariant made;
    made.variant = variant, made.width = target.width, made.scratch_bytes = emitted.scratch_bytes, made.sums = emitted.sums;
    made.symbol = emitted.symbol;
    made.group_ns = estimated_group_ns(*program.kernel, variant, target.width);
    made.calls_sleef = std::any_of(emitted.functions.begin(), emitted.functions.end(),
                                   [](const std::string& name) { return name.starts_with("Sleef_"); });
    text = emitted.text;
    return made;
}

std::vector<AheadVariant> AheadOfTime::compile(const CpuProgram& given, const std::string& tag, const std::vector<Group>& asked,
                                               std::vector<std::string>& sleef_functions) const {
    CpuProgram program(compiler, given.kernel);  // arranged() keeps state
    const ir::Kernel& kernel = *given.kernel;
    std::vector<SizedGroup> groups;
    for (const Group& group : asked) groups.push_back({group});
    if (kernel.group[0]) groups = {{kernel.group}};
    if (groups.empty()) groups = typical_groups(program, kernel);
    std::vector<AheadVariant> all;
    std::map<std::string, std::string> symbols;  // of texts
    for (const SizedGroup& group : groups)
        for (const Variant& variant : variants_of(given, group, compiler->target.width, &group == &groups.front()))
            for (const bool sleef : {true, false}) {
                // Without SLEEF the code differs only if it calls SLEEF with it.
                if (!sleef && !all.back().calls_sleef) continue;
                std::string text;
                AheadVariant made = emit(given, variant, sleef, text);
                const auto same = symbols.find(text);
                if (same != symbols.end()) {
                    made.symbol = same->second;
                } else {
                    const std::string symbol = pumice::text(library, "_", tag, "_", symbols.size());
                    symbols[text] = symbol;
                    text = with_symbol(std::move(text), made.symbol, symbol);
                    if (made.calls_sleef) text = through_table(std::move(text), library + "_vector_functions", sleef_functions);
                    made.symbol = symbol;
                    made.object = object_of(std::move(text), compiler->machine);
                }
                all.push_back(std::move(made));
            }
    return all;
}

}  // namespace pumice::cpu
