// Entries of programs: the forward run of a program, or its gradient, for the CPU or for Vulkan. Each is captured with several
// sizes, and the captures are merged into one entry with formulas. One entry serves both devices if theirs are equal.
//
//   sizes n, m; a scan whose total t the host reads, such as the length of a tape
//   captures k = 0, 1, ...    n(k), m(k), t(k), all different and independent of each other  ->  merge (merge_captures.h)
//
// Sizes of captures reach from the least that the program allows to 16 times the example and some steps, so that a loop over
// log2(n) steps, or a strategy that depends on the size, is noticed. A capture computes nothing, so that large sizes cost no more
// than small ones. A program without sizes and totals is captured once.
#include "ship/program/program_entries.h"

#include <algorithm>
#include <cstring>

#include "core/ir/cache_key.h"
#include "core/support/error.h"
#include "ship/program/capture_device.h"

namespace pumice::ship {
namespace {

using namespace pumice_rt;

constexpr size_t capture_count = 13;  // the last one has the least sizes

/// The row of the tables below for variable v in capture k; 5 and 7 have no common divisor with 12.
size_t row_of(size_t k, size_t v) {
    static constexpr size_t factors[] = {1, 5, 7, 11};
    return k * factors[v % 4] % 12;
}
int64_t size_in(const Size& size, size_t k, size_t v) {
    static constexpr int64_t times[] = {1, 1, 1, 2, 1, 3, 2, 5, 4, 7, 3, 16}, plus[] = {0, 1, 3, 2, 7, 5, 11, 1, 13, 8, 17, 4};
    if (k + 1 == capture_count) return size.least;
    const int64_t wanted = size.example * times[row_of(k, v)];
    return size.least + (wanted - size.least) / size.step * size.step + plus[row_of(k, v)] * size.step;
}
int64_t total_in(size_t k, size_t v) { return 1000 + 97 * int64_t(v + 2) * int64_t(row_of(k, v)) + 13 * int64_t(k * k); }

std::string who_is(const ProgramItem& p) { return text("program \"", p.name, "\" (", detail::where(p.location), ")"); }

std::vector<Size> sizes_of(const ProgramItem& program) {
    std::vector<Size> sizes;
    for (const ProgramParameter& p : program.parameters)
        for (const Size& s : p.extents) {
            if (s.name.empty()) continue;
            const auto there = std::ranges::find(sizes, s.name, &Size::name);
            if (there == sizes.end()) {
                Size one = s;
                if (one.step < 1) fail(who_is(program), ": size ", s.name, " has steps of ", s.step, ": they are positive");
                if (one.least == 0) one.least = std::max<int64_t>(1, one.example - one.example * 3 / 4 / one.step * one.step);
                if (one.example < one.least || (one.example - one.least) % one.step != 0)
                    fail(who_is(program), ": size ", s.name, " has the example ", one.example, ", which is not ", one.least,
                         " plus a multiple of ", one.step);
                sizes.push_back(one);
            } else if (there->example != s.example) {
                fail(who_is(program), ": size ", s.name, " has the examples ", there->example, " and ", s.example);
            } else if (s.least != 0 && s.least != there->least) {
                there->least = std::max(there->least, s.least);
            }
        }
    return sizes;
}

void check_names(const ProgramItem& program) {
    std::vector<std::string> names;
    for (const ProgramParameter& p : program.parameters) {
        if (!p.is_size) names.push_back(p.name);
        bool valid = !p.name.empty() && !(p.name[0] >= '0' && p.name[0] <= '9');
        for (const char c : p.name) valid = valid && (c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'));
        if (!valid) fail(who_is(program), " has the parameter \"", p.name, "\", which is no identifier of C");
    }
    for (const Size& s : sizes_of(program)) names.push_back(s.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) fail(who_is(program), " has two parameters with the name ", *twice);
}

EntryRecords entry_of(const ProgramItem& program, Entry entry, uint32_t device, const std::vector<Size>& sizes) {
    std::vector<CapturedProgram> captures;
    std::vector<CaptureVariable> variables;
    for (const Size& s : sizes) variables.push_back({s.name, {}});
    CaptureSettings settings;
    settings.for_cpu = device == EntryRecord::on_cpu, settings.has_sizes = !sizes.empty();
    size_t scans = 0;
    std::vector<std::string> strategies;
    for (size_t k = 0; k < capture_count; ++k) {
        settings.sizes = sizes;
        for (size_t v = 0; v < sizes.size(); ++v) settings.sizes[v].example = size_in(sizes[v], k, v);
        settings.totals.clear();
        for (size_t t = 0; t < std::max<size_t>(scans, 64); ++t) settings.totals.push_back(total_in(k, sizes.size() + t));
        captures.push_back(capture(program, entry, settings));
        if (k == 0) {
            scans = captures[0].totals.size();
            strategies = captures[0].strategies, settings.strategies = &strategies;
            for (size_t t = 0; t < scans; ++t) variables.push_back({"", {}});
        }
        for (size_t v = 0; v < sizes.size(); ++v) variables[v].values.push_back(settings.sizes[v].example);
        if (captures[k].totals.size() == scans)
            for (size_t t = 0; t < scans; ++t) variables[sizes.size() + t].values.push_back(captures[k].totals[t]);
        if (variables.empty()) break;
    }
    for (CaptureVariable& v : variables) v.values.resize(captures.size());
    EntryRecords made = merge(who_is(program), std::move(captures), variables, sizes.size());
    made.record.kind = uint32_t(entry == Entry::forward ? EntryKind::forward : EntryKind::gradient);
    made.record.devices = device;
    return made;
}

template <class T> bool equal(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
std::string hashes_of(const EntryRecords& e) {
    CacheKey key;
    for (const KernelUse& use : e.kernels) {
        key.add(*use.kernel);
        for (const auto& group : use.groups) key.add(group[0], group[1], group[2]);
    }
    return key.hash();
}
bool equal(const EntryRecords& a, const EntryRecords& b) {
    return a.record.kind == b.record.kind && equal(a.expressions, b.expressions) && equal(a.buffers, b.buffers) &&
           equal(a.commands, b.commands) && equal(a.command_arguments, b.command_arguments) && equal(a.results, b.results) &&
           a.constants == b.constants && hashes_of(a) == hashes_of(b);
}

void check_access(const ProgramItem& program, const EntryRecords& entry) {
    size_t argument = 0;
    for (const ProgramParameter& p : program.parameters) {
        if (p.is_size) continue;
        if (p.is_array && p.access == ir::Access::in && entry.written[argument])
            fail(who_is(program), " writes to its array ", p.name, ", which is shipped as in or constant: write inout");
        argument += 1 + (entry.record.kind == uint32_t(EntryKind::gradient) && p.is_array && p.active);
    }
}

}  // namespace

Size size(std::string name, int64_t example) {
    Size s;
    s.name = std::move(name), s.example = example, s.times = 1;
    if (example < 1) fail("the size ", s.name, " has the example ", example, ": sizes are positive");
    return s;
}
Size Size::at_least(int64_t number) const {
    if (number < 1) fail("the size ", name, " is at least ", number, ": sizes are positive");
    Size s = *this;
    s.least = number;
    return s;
}
Size Size::in_steps_of(int64_t number) const {
    Size s = *this;
    s.step = number;
    return s;
}

ProgramItem ProgramItem::gradient(int checkpoints) const {
    ProgramItem with = *this;
    with.has_gradient = true;
    with.mode = checkpoints ? Reverse.checkpoints(checkpoints) : Reverse;
    return with;
}

ProgramEntries entries_of(const ProgramItem& program, uint32_t devices) {
    detail::check_name("program", program.name);
    check_names(program);
    ProgramEntries made;
    made.sizes = sizes_of(program);
    const auto add = [&](Entry entry, const char* what) {
        for (const uint32_t device : {EntryRecord::on_cpu, EntryRecord::on_vulkan}) {
            if (!(devices & device)) continue;
            try {
                EntryRecords one = entry_of(program, entry, device, made.sizes);
                check_access(program, one);
                if (!made.entries.empty() && equal(made.entries.back(), one))
                    made.entries.back().record.devices |= device;
                else
                    made.entries.push_back(std::move(one));
            } catch (const Error& e) { throw e.within(text("while shipping ", what, " of ", who_is(program))); }
        }
    };
    add(Entry::forward, "the forward run");
    if (program.has_gradient) add(Entry::gradient, "the gradient");
    return made;
}

}  // namespace pumice::ship
