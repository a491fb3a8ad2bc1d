#include "core/host/reports.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "core/host/backend.h"
#include "core/host/ring.h"
#include "core/support/error.h"
#include "core/text/print_format.h"

namespace pumice {

using namespace internal;

/// One record of a ring, decoded.
struct Reports::Record {
    const RegisteredLaunch* launch = nullptr;  ///< null: no record
    const ir::Inst* by = nullptr;
    std::array<int64_t, 3> index{};
    std::vector<Scalar> types;
    std::vector<uint64_t> values;
    size_t words = 0;

    /// Sort key: groups in the order of the interpreter, then items by linear index.
    auto order() const {
        const LaunchGeometry& p = launch->geometry;
        std::array<int64_t, 6> key;
        for (size_t axis = 0; axis < 3; ++axis) {
            const int64_t at = index[axis] - p.start[axis];
            key[2 - axis] = at / p.group[axis];
            key[5 - axis] = at % p.group[axis];
        }
        return std::tuple(launch->number, key);
    }
    std::string line() const { return PrintFormat(launch->kernel->strings[by->immediate]).line(types, values); }
    /// "7", or "(1, 7)".
    std::string item() const {
        const int rank = launch->geometry.rank;
        std::string out;
        for (int axis = rank - 1; axis >= 0; --axis) out += text(out.empty() ? "" : ", ", index[size_t(axis)]);
        return rank == 1 ? out : "(" + out + ")";
    }
};

const ir::Inst* report_of(const ir::Kernel& k, uint64_t format) {
    const auto found = std::ranges::find_if(k.insts, [&](const ir::Inst& i) { return is_report(i.op) && i.immediate == format; });
    return found == k.insts.end() ? nullptr : &*found;
}

bool reports(const ir::Kernel& k) {
    return std::ranges::any_of(k.insts, [](const ir::Inst& i) { return is_report(i.op); });
}

int64_t words_printed(const ir::Kernel& k) {
    int64_t words = 0;
    for (const ir::Inst& i : k.insts) {
        if (i.op != ir::Op::print) continue;
        words += int64_t(ring::head);
        for (const ir::Value v : k.operands(i)) words += int64_t(ring::words_of(k.type_of(v)));
    }
    return words;
}

void Reports::on_print(Sink to) {
    const std::lock_guard lock(mutex);
    sink = std::move(to);
}

uint32_t Reports::add(std::shared_ptr<const ir::Kernel> kernel, const LaunchGeometry& geometry) {
    const std::lock_guard lock(mutex);
    last_number += last_number == UINT32_MAX ? 2 : 1;
    launches.push_back({last_number, std::move(kernel), geometry});
    return last_number;
}

/// Returns the record that begins here, if any.
Reports::Record Reports::read(std::span<const uint32_t> words) const {
    Record r;
    if (words.size() < ring::head || words[0] == 0) return r;
    // Numbers rise and wrap around.
    const auto earlier = [](uint32_t a, uint32_t b) { return int32_t(a - b) < 0; };
    const auto launch = std::ranges::lower_bound(launches, words[0], earlier, &RegisteredLaunch::number);
    if (launch == launches.end() || launch->number != words[0] || !(r.by = report_of(*launch->kernel, words[1])))
        library_bug(text("a report of launch ", words[0], " with format ", words[1], ", which are unknown"));
    const ir::Kernel& k = *launch->kernel;
    for (size_t axis = 0; axis < 3; ++axis) r.index[axis] = int32_t(words[2 + axis]);
    r.words = ring::head;
    for (const ir::Value v : k.operands(*r.by).subspan(r.by->op == ir::Op::require)) {
        const Scalar type = k.type_of(v);
        if (r.words + ring::words_of(type) > words.size()) return {};
        r.types.push_back(type);
        r.values.push_back(ring::get(words.data() + r.words, type));
        r.words += ring::words_of(type);
    }
    r.launch = &*launch;
    return r;
}

/// Returns the records in the order in which they were written.
std::vector<Reports::Record> Reports::records_of(std::span<const uint32_t> area) const {
    std::vector<Record> found;
    for (size_t at = 0; at < area.size();) {
        Record r = read(area.subspan(at));
        if (!r.launch) break;
        at += r.words;
        found.push_back(std::move(r));
    }
    return found;
}

void Reports::take(std::span<const uint32_t> all) {
    const std::lock_guard lock(mutex);
    Record first;  // the first failed requirement; the record at word 4 exists even if the ring was full
    if (all[ring::failed]) first = read(all.subspan(ring::first_failure, ring::records - ring::first_failure));
    add_lines(records_of(all.subspan(ring::records, std::min(all[ring::used], all[ring::capacity]))), std::move(first));
    tell_lost(all[ring::lost], all[ring::capacity]);
    failures += all[ring::failed];
    launches.clear();
}

bool Reports::take(std::span<const uint32_t> head, std::span<const uint32_t> area, std::span<const uint32_t> ended, bool all,
                   RingProgress& taken, bool may_run_again) {
    const std::lock_guard lock(mutex);
    std::vector<uint32_t> sorted(ended.begin(), ended.end());
    std::ranges::sort(sorted);
    const auto has_ended = [&](uint32_t number) { return std::ranges::binary_search(sorted, number); };
    Record first;
    if (taken.failed == 0 && has_ended(head[ring::first_failure])) first = read(head.subspan(ring::first_failure));
    std::vector<Record> records;
    uint64_t failed = first.launch ? 1 : 0, seen = 0;
    size_t at = 0;
    while (at < area.size() && has_ended(area[at])) {
        Record r = read(area.subspan(at));
        if (!r.launch) break;
        at += r.words, taken.words += r.words;
        seen += r.by->op == ir::Op::require;
        records.push_back(std::move(r));
    }
    add_lines(std::move(records), std::move(first));
    // Launches that still run may already have counted failures.
    failed = all ? head[ring::failed] - taken.failed : std::max(failed, seen);
    taken.failed += failed, failures += failed;
    if (all) tell_lost(head[ring::lost], head[ring::capacity]);
    // Records of launches that have ended may follow the record of one that still runs.
    const bool whole = all || at >= area.size();
    if (whole && !may_run_again) std::erase_if(launches, [&](const RegisteredLaunch& l) { return has_ended(l.number); });
    return whole;
}

void Reports::drop(uint32_t number) {
    const std::lock_guard lock(mutex);
    std::erase_if(launches, [&](const RegisteredLaunch& l) { return l.number == number; });
}

void Reports::tell_lost(uint32_t count, uint32_t capacity) {
    if (count)
        lines.push_back(text("pumice: ", count, count == 1 ? " report is" : " reports are",
                             " lost: what kernels print and require between two waits has room for ", 4 * capacity, " bytes"));
}

/// Takes records in the order in which they were written; `first` is a known failure, if any.
void Reports::add_lines(std::vector<Record> records, Record first) {
    // A stable sort keeps the order of one item's records.
    std::ranges::stable_sort(records, [](const Record& a, const Record& b) { return a.order() < b.order(); });
    for (Record& r : records) {
        if (r.by->op == ir::Op::print)
            lines.push_back(r.line());
        else if (!first.launch || r.order() < first.order())
            first = std::move(r);
    }
    if (first.launch && failure.empty()) {
        const ir::Kernel& k = *first.launch->kernel;
        failure = text("Kernel \"", k.name, "\" fails a requirement: ", first.line(), " (work-item ", first.item(), ", ",
                       k.where(first.by->loc), ")");
    }
}

void Reports::deliver_lines() {
    std::unique_lock one_at_a_time(delivering, std::defer_lock);
    // Another thread's sink may wait for this call; that thread then delivers these lines, too.
    if (!detail::inside_call())
        one_at_a_time.lock();
    else if (!one_at_a_time.try_lock())
        return;
    for (;;) {
        std::vector<std::string> now;
        Sink to;
        {
            const std::lock_guard lock(mutex);
            now.swap(lines);
            to = sink;
        }
        if (now.empty()) return;
        for (const std::string& line : now) {
            if (to)
                to(line);
            else
                std::printf("%s\n", line.c_str());
        }
        if (!to) std::fflush(stdout);
    }
}

void Reports::deliver() {
    deliver_lines();
    const std::lock_guard lock(mutex);
    if (failure.empty()) return;
    const std::string sentence = std::move(failure);
    const uint64_t count = failures;
    failure.clear();
    failures = 0;
    if (count > 1) fail(sentence, "; ", count - 1, count == 2 ? " more requirement fails." : " more requirements fail.");
    fail(sentence, ".");
}

}  // namespace pumice
