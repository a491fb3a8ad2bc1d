#include "autodiff/api/explain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autodiff/analysis/canonical_form.h"
#include "autodiff/api/check_annotations.h"
#include "autodiff/sweep/primal.h"
#include "core/host/trace_hook.h"
#include "core/kernel/host_argument.h"
#include "core/passes/inlining.h"
#include "core/support/error.h"
#include "core/tools/explain_kernel.h"
#include "core/tools/kernel_counts.h"

namespace pumice {

using namespace internal;
namespace derive {
namespace {

using namespace ir;

/// Derivatives by every array and scalar of floats.
Signature by_all_floats(const ir::Kernel& kernel) {
    Signature signature;
    signature.any_range = false;
    for (const Parameter& p : kernel.params) {
        const bool floats = p.is_array ? has_floats(kernel[p.memory].element) : is_float(p.type);
        const bool given = p.origin == ParameterOrigin::argument;
        signature.params.push_back(!floats || !given ? Activity::constant : p.is_array ? Activity::duplicated : Activity::active);
    }
    return signature;
}

/// The reason for which TapePlan::choose keeps a value.
std::string reason_of(const Primal& p, Value v) {
    const ir::Kernel& k = p.kernel;
    const ValueInfo& info = k[v];
    if (info.inst.id == none) return "a loop carries it, and each iteration changes it";
    const Inst& i = k[info.inst];
    if (i.op == Op::load) return text("it is loaded from ", tools::name_of(k, i.memory), ", which the kernel writes");
    if (i.op == Op::if_) return "an if inside of a loop gives it";
    if (is_loop(i.op)) return "a loop inside of a loop gives it";
    return text("a ", name_of(i.op), " may not be repeated");
}

Loc line_of(const Primal& p, Value v) {
    const ValueInfo& info = p.kernel[v];
    const InstId owner = info.inst.id != none ? info.inst : p.where.owner_of(info.block);
    return p.kernel[owner].loc;
}

std::string bound_text(const std::optional<TapeBound>& bound, int64_t size) {
    if (!bound) return "as many bytes as the loops run";
    if (bound->more) return text("bytes that the arguments bound");
    return text(bound->exact ? "" : "at most ", bound->number * size, " bytes");
}

void put_tape(std::string& out, const Primal& p) {
    const ir::Kernel& k = p.kernel;
    bool any = false;
    for (size_t t = 0; t < scalar_count; ++t) {
        const Scalar type = Scalar(t);
        std::string lines;
        for (uint32_t b = 0; b < k.blocks.size(); ++b) {
            for (const Value v : p.plan.taped(BlockId{b}, type))
                lines += text("  ", k.where(line_of(p, v)), ": a value of ", pumice::internal::name_of(k.type_of(v)),
                              " is kept in each iteration: ", reason_of(p, v), "\n");
            if (type == Scalar::i32)
                for (const InstId loop : p.plan.taped_counts(BlockId{b}))
                    lines += text("  ", k.where(k[loop].loc), ": the number of iterations of a while is kept\n");
        }
        if (lines.empty()) continue;
        any = true;
        out += text("the tape of ", pumice::internal::name_of(type), " has ", bound_text(p.plan.bound(type), size_of(type)),
                    " an item:\n", lines);
    }
    if (!any) out += "no tape: the reverse sweep computes what it needs again\n";
}

/// The reason for which additions to a memory's shadow are not gathered.
std::string no_gather(const Primal& p, MemoryId m) {
    if (p.kernel[m].image)
        if (const char* problem = p.footprints.why_not(m)) return problem;
    const Gather::Refusal refusal = p.gather.why_not(m);
    if (!refusal.condition) return "one kernel is not gathered and scattered at once";
    const ir::Kernel& k = p.kernel;
    const std::string where = refusal.at.id == none ? "" : text(" (", k.where(k[refusal.at].loc), ")");
    const std::string memory = refusal.memory.id == none ? "" : " " + tools::name_of(k, refusal.memory);
    return text(refusal.condition, memory, where);
}

void put_additions(std::string& out, const Primal& p, const std::vector<Accumulated>& accumulated) {
    const ir::Kernel& k = p.kernel;
    std::vector<std::string> said;
    for (const Accumulated& a : accumulated) {
        const auto memory = std::ranges::find_if(k.memories, [&](const Memory& m) { return m.name == a.memory; });
        if (memory == k.memories.end()) continue;
        const MemoryId m{uint32_t(memory - k.memories.begin())};
        std::string how;
        switch (a.how) {
            case Accumulation::plain: how = "plain additions: no other item adds to the element"; break;
            case Accumulation::group: how = "a sum over the group, then over cells: all items add to one element"; break;
            case Accumulation::gather: how = "gathered: an item adds what its neighbours contribute"; break;
            case Accumulation::atomic:
                how = p.footprints.has(m) ? "atomic additions, or a gather by each texel where its footprint is small"
                                          : "atomic additions, and no gather: " + no_gather(p, m);
                break;
        }
        const std::string line = text("  ", k.where(a.loc), ": the shadow of ", tools::name_of(k, m), " gets ", how, "\n");
        if (std::ranges::find(said, line) == said.end()) said.push_back(line);
    }
    if (said.empty()) return;
    out += "additions to shadows:\n";
    for (const std::string& line : said) out += line;
}

std::string explain_derivative(const ir::Kernel& recorded) {
    const Signature signature = by_all_floats(recorded);
    const bool any = std::ranges::any_of(signature.params, [](Activity a) { return a != Activity::constant; });
    if (!any || recorded.folded > 1) return "";
    try {
        const Adjoint made = adjoint(recorded, signature);
        const ir::Kernel kernel = canonical(recorded);
        const Primal primal(kernel, signature, false);
        std::string out = "reverse mode, by all floats: ";
        put_tape(out, primal);
        put_additions(out, primal, made.accumulated);
        return out;
    } catch (const Error& e) { return text("reverse mode: there is no derivative by all floats: ", e.what(), "\n"); }
}

}  // namespace
}  // namespace derive

std::string explain(const KernelBase& kernel) {
    const auto recorded = kernel.recorded();
    const ir::Kernel flat = recorded->functions.empty() ? *recorded : ir::inlining(*recorded);
    return tools::explain(tools::explained(flat)) + derive::explain_derivative(*recorded);
}

namespace {

/// Notes the launches of a program, which run as they would without it.
class LaunchNotes : public detail::TraceHook {
public:
    struct KernelLaunches {
        KernelBase kernel;
        int64_t launches = 0;
        tools::Bounds bytes, operations;
    };
    std::vector<KernelLaunches> kernels;

    bool launching(const KernelBase& kernel, const Range& range, std::span<const detail::HostArgument> arguments) override {
        auto at = std::ranges::find_if(kernels, [&](const KernelLaunches& k) { return k.kernel.state == kernel.state; });
        if (at == kernels.end()) at = kernels.insert(kernels.end(), KernelLaunches{kernel, 0, {}, {}});
        ++at->launches;
        const auto recorded = kernel.recorded();
        const ir::Kernel flat = tools::explained(recorded->functions.empty() ? *recorded : ir::inlining(*recorded));
        tools::LaunchFacts facts;
        double items = 1;
        for (int d = 0; d < range.rank; ++d) {
            items *= double(range.to[d] - range.from[d]);
            if (range.rank <= 3) facts.extent[size_t(range.rank - 1 - d)] = range.to[d] - range.from[d];
        }
        if (range.rank == 0)
            for (const int64_t extent : recorded->range) items *= double(extent);
        size_t next = 0;
        for (const ir::Parameter& p : recorded->params) {
            const bool given = p.origin == ir::ParameterOrigin::argument && next < arguments.size();
            facts.arguments.push_back(given && !p.is_array ? std::optional(arguments[next].bits) : std::nullopt);
            next += given;
        }
        const tools::KernelCounts counts(flat, facts);
        at->bytes += (counts.bytes_read() += counts.bytes_written()) * items;
        at->operations += counts.float_operations() * items;
        return false;
    }
};

std::string amount(const tools::Bounds& b) {
    const auto number = [](double n) { return n < 1e15 ? text(int64_t(n)) : text(n); };
    if (b.exact()) return number(b.most);
    return std::isfinite(b.most) ? text(number(b.least), " to ", number(b.most)) : text("at least ", number(b.least));
}

}  // namespace

std::string explain(const std::function<void()>& program) {
    if (!program) throw Error("a program is to be explained that is an empty function");
    LaunchNotes notes;
    {
        const detail::ScopedTraceHook hook(&notes);
        program();
    }
    std::ranges::stable_sort(notes.kernels, [](const auto& a, const auto& b) { return a.bytes.least > b.bytes.least; });
    std::string out;
    for (const LaunchNotes::KernelLaunches& one : notes.kernels) {
        out += text(one.launches, one.launches == 1 ? " launch" : " launches", ", ", amount(one.bytes), " bytes, ",
                    amount(one.operations), " operations on floats, of ", explain(one.kernel), "\n");
    }
    return out.empty() ? "the program launches no kernel\n" : out;
}

}  // namespace pumice
