#include "core/tools/coverage.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/ir/structure.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/files.h"

namespace pumice::tools {

using namespace ir;

namespace {

thread_local const ScopedExecutions::Sink* current = nullptr;

Coverage& coverage() {
    static auto* const one = new Coverage;  // never destroyed: static objects may launch in their destructors
    return *one;
}

void write_files() {
    const std::string& path = debug::value("PUMICE_COVERAGE");
    std::string problem;
    if (const Folder folder = Folder::open(path, 0777, problem)) {
        const std::string number = text(int64_t(getpid()), ".info");
        problem = folder.write("kernels." + number, coverage().kernels(), 0666);
        if (problem.empty()) problem = folder.write("adjoints." + number, coverage().adjoints(), 0666);
    }
    if (!problem.empty())
        std::fputs(text("pumice: the coverage that PUMICE_COVERAGE asks for cannot be written into ", std::filesystem::path(path),
                        ": ", problem, "\n")
                       .c_str(),
                   stderr);
}

/// True if the folder is set; the first call arranges for the files to be written.
bool asked() {
    static const bool set = [] {
        if (debug::value("PUMICE_COVERAGE").empty()) return false;
        std::atexit(write_files);
        return true;
    }();
    return set;
}

}  // namespace

std::vector<bool> carries_adjoints(const Kernel& k) {
    std::vector<bool> carries(k.insts.size()), values(k.values.size()), memories(k.memories.size());
    bool any = false;
    for (const Parameter& p : k.params) {
        if (p.identity.shadow_of < 0) continue;
        if (p.is_array) memories[p.memory.id] = any = true;
    }
    if (!any || k.name.ends_with(".forward")) return carries;
    const std::vector<bool> shadows = memories;
    const Structure where(k);
    for (bool changed = true; changed;) {
        changed = false;
        const auto mark = [&](std::vector<bool>::reference one) {
            if (!one) one = changed = true;
        };
        for (const InstId id : where.order()) {
            const Inst& i = k[id];
            const auto operands = k.operands(i);
            // Of an access, only the value counts: an index depends on no adjoint.
            const auto given = operands.subspan(accesses_memory(i.op) ? indices_of(k, i).size() : 0);
            bool from = std::ranges::any_of(given, [&](Value v) { return values[v.id]; });
            if (i.memory.id != none && reads_memory(i.op)) from = from || memories[i.memory.id];
            if (is_control(i.op)) {
                for (uint32_t c = 0; c < i.result_count; ++c)
                    where.each_source(id, c, [&](Value v, InstId) {
                        if (!values[v.id]) return;
                        mark(values[k.result(i, int(c)).id]);
                        const BlockId block = i.blocks[0];
                        const size_t param = leading_params(i.op) + c;
                        if (is_loop(i.op) && param < k[block].params.size()) mark(values[k[block].params[param].id]);
                    });
                if (i.op == Op::while_)  // the body has the parameters of the test block, or values that it hands on
                    for (size_t n = 0; n < k[i.blocks[1]].params.size() && n < k[i.blocks[0]].params.size(); ++n)
                        if (values[k[i.blocks[0]].params[n].id]) mark(values[k[i.blocks[1]].params[n].id]);
                continue;
            }
            const bool to_shadow = i.memory.id != none && writes_memory(i.op) && shadows[i.memory.id];
            if (!from && !to_shadow) continue;
            mark(carries[id.id]);
            for (int r = 0; r < int(i.result_count); ++r) mark(values[k.result(i, r).id]);
            if (i.op == Op::set) mark(values[operands[0].id]);
            if (from && i.memory.id != none && writes_memory(i.op)) mark(memories[i.memory.id]);
        }
    }
    return carries;
}

void Coverage::add(const Kernel& kernel, const Executions& executions) {
    const std::vector<bool> adjoint = carries_adjoints(kernel);
    const Structure where(kernel);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> lines[2];
    for (const InstId id : where.order()) {
        const Inst& i = kernel[id];
        if (i.loc.line == 0 || i.op == Op::return_ || i.op == Op::yield || i.op == Op::test) continue;
        const bool carries = adjoint[id.id];
        uint64_t& count = lines[carries][{i.loc.file, i.loc.line}];
        count = std::max(count, executions[id.id]);
    }
    const std::lock_guard lock(mutex);
    for (const bool carries : {false, true})
        for (const auto& [at, count] : lines[carries]) {
            const std::string& file = kernel.files[at.first];
            all[file].lines[at.second] += count;
            if (carries) carried[file].lines[at.second] += count;
        }
    if (kernel.loc.line == 0) return;
    ++all[kernel.files[kernel.loc.file]].functions[{kernel.loc.line, kernel.name}];
    if (!lines[true].empty()) ++carried[kernel.files[kernel.loc.file]].functions[{kernel.loc.line, kernel.name}];
}

std::string Coverage::text_of(const Files& files) const {
    const std::lock_guard lock(mutex);
    std::string out;
    for (const auto& [path, file] : files) {
        out += text("TN:pumice\nSF:", path, "\n");
        for (const auto& [at, launches] : file.functions) out += text("FN:", at.first, ",", at.second, "\n");
        for (const auto& [at, launches] : file.functions) out += text("FNDA:", launches, ",", at.second, "\n");
        out += text("FNF:", file.functions.size(), "\nFNH:", file.functions.size(), "\n");
        size_t hit = 0;
        for (const auto& [line, count] : file.lines) {
            out += text("DA:", line, ",", count, "\n");
            hit += count > 0;
        }
        out += text("LF:", file.lines.size(), "\nLH:", hit, "\nend_of_record\n");
    }
    return out;
}

ScopedExecutions::ScopedExecutions(Sink to) : before(current), sink(std::move(to)) { current = &sink; }
ScopedExecutions::~ScopedExecutions() { current = before; }

bool counts_executions() { return current || asked(); }

void note_executions(const Kernel& kernel, const Executions& executions) {
    if (current) (*current)(kernel, executions);
    if (asked()) coverage().add(kernel, executions);
}

}  // namespace pumice::tools
