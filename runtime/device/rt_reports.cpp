// Decoding of a ring's records: into lines, ordered by launch, group, item and time, and into the error of a failed requirement.
#include "runtime/device/rt_reports.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/device/print_text.h"
#include "runtime/device/rt_device.h"
#include "runtime/device/rt_ring.h"

namespace pumice_rt {
namespace {

constexpr size_t most_values = 64;

void types_of(const Bundle& bundle, const FormatRecord& format, uint32_t (&types)[most_values]) {
    for (uint32_t i = 0; i < format.types.count && i < most_values; ++i) types[i] = bundle.leaves[format.types.first + i].type;
}

void put_line(const pumice_hooks& hooks, const char* line) {
    if (hooks.print)
        hooks.print(hooks.user, line);
    else
        printf("%s\n", line);
}

}  // namespace

uint32_t Reports::add(const Launch& launch, const int64_t (&group)[3]) {
    const Lock lock(mutex);
    last_number += last_number == UINT32_MAX ? 2 : 1;
    RegisteredLaunch known = {last_number, launch.bundle, launch.kernel, launch.rank, {}, {}};
    memcpy(known.start, launch.start, sizeof known.start);
    memcpy(known.group, group, sizeof known.group);
    return launches.push(known) ? last_number : 0;
}

/// Reads the record that begins here; `size` is then its words.
bool Reports::read(const uint32_t* words, size_t count, Record& record, size_t& size) const {
    if (count < ring::head || words[0] == 0) return false;
    record.at = words;
    for (record.launch = 0; record.launch < delivered.size() && delivered[record.launch].number != words[0];) ++record.launch;
    if (record.launch == delivered.size()) return false;
    const RegisteredLaunch& known = delivered[record.launch];
    const KernelRecord& kernel = known.bundle->kernels[known.kernel];
    const uint32_t end = kernel.formats.first + kernel.formats.count;
    for (record.format = kernel.formats.first; record.format < end && known.bundle->formats[record.format].index != words[1];)
        ++record.format;
    if (record.format >= end) return false;
    const FormatRecord& format = known.bundle->formats[record.format];
    size = ring::head;
    for (uint32_t i = 0; i < format.types.count; ++i) size += ring::words_of(known.bundle->leaves[format.types.first + i].type);
    if (size > count) return false;
    record.order[0] = words[0];
    for (int axis = 0; axis < 3; ++axis) {
        const int64_t at = int32_t(words[2 + axis]) - known.start[axis];
        record.order[3 - axis] = uint64_t(at / known.group[axis]), record.order[6 - axis] = uint64_t(at % known.group[axis]);
    }
    return true;
}

int Reports::compare(const void* a, const void* b) {
    const Record &x = *static_cast<const Record*>(a), &y = *static_cast<const Record*>(b);
    for (int i = 0; i < 7; ++i)
        if (x.order[i] != y.order[i]) return x.order[i] < y.order[i] ? -1 : 1;
    return x.at < y.at ? -1 : x.at > y.at;  // the records of one item in the order in which they were written
}

/// Writes the sentence of the first failure.
void Reports::note_failure(const Record& record) {
    if (*failure) return;
    const RegisteredLaunch& known = delivered[record.launch];
    const FormatRecord& format = known.bundle->formats[record.format];
    uint32_t types[most_values];
    types_of(*known.bundle, format, types);
    char line[512], item[96];
    print_text(line, sizeof line, known.bundle->text(format.text), types, format.types.count, record.at + ring::head);
    int at = snprintf(item, sizeof item, "%s", known.rank > 1 ? "(" : "");
    for (int axis = known.rank - 1; axis >= 0; --axis)
        at += snprintf(item + at, sizeof item - size_t(at), "%d%s", int32_t(record.at[2 + axis]),
                       axis > 0         ? ", "
                       : known.rank > 1 ? ")"
                                        : "");
    snprintf(failure, sizeof failure, "Kernel \"%s\" fails a requirement: %s (work-item %s, %s)",
             known.bundle->text(known.bundle->kernels[known.kernel].name), line, item, known.bundle->text(format.source));
}

void Reports::print(Record* all, size_t count, const Record* first, const uint32_t* from) {
    if (count > 0) qsort(all, count, sizeof *all, compare);
    for (size_t i = 0; i < count; ++i) {
        const Bundle& bundle = *delivered[all[i].launch].bundle;
        const FormatRecord& format = bundle.formats[all[i].format];
        if (format.is_requirement) {
            if (!first || compare(&all[i], first) < 0) first = &all[i];
            continue;
        }
        uint32_t types[most_values];
        types_of(bundle, format, types);
        char line[4096];
        print_text(line, sizeof line, bundle.text(format.text), types, format.types.count, all[i].at + ring::head);
        put_line(hooks, line);
    }
    const uint32_t lost = from[ring::lost];
    if (lost > 0) {
        char line[160];
        snprintf(line, sizeof line,
                 "pumice: %u %s lost: what kernels print and require between two waits has room for %llu bytes", lost,
                 lost == 1 ? "report is" : "reports are", 4ull * from[ring::capacity]);
        put_line(hooks, line);
    }
    const Lock lock(mutex);
    failures += from[ring::failed];
    if (first) note_failure(*first);
}

pumice_status Reports::deliver_lines(const uint32_t* from) {
    {
        const Lock lock(mutex);
        delivered.swap(launches);
    }
    const pumice_status status = deliver_records(from);
    if (status != PUMICE_OK) {  // again at the next delivery
        const Lock lock(mutex);
        for (const RegisteredLaunch& launch : launches) delivered.push(launch);
        delivered.swap(launches);
    }
    delivered.clear();
    return status;
}

pumice_status Reports::deliver_records(const uint32_t* from) {
    Record first;
    size_t size = 0;
    const bool failed =
        from[ring::failed] > 0 && read(from + ring::first_failure, ring::records - ring::first_failure, first, size);
    const size_t words = from[ring::used] < from[ring::capacity] ? from[ring::used] : from[ring::capacity];
    List<Record> all(hooks);
    for (size_t at = 0; at < words; at += size) {
        Record record;
        if (!read(from + ring::records + at, words - at, record, size)) break;
        if (!all.push(record))
            return fail(PUMICE_ERROR_MEMORY,
                        "the lines that kernels printed wait for a later call: the system gives no more memory");
    }
    print(all.data(), all.size(), failed ? &first : nullptr, from);
    return PUMICE_OK;
}

pumice_status Reports::take_failure() {
    const Lock lock(mutex);
    if (failures == 0) return PUMICE_OK;
    fail(PUMICE_ERROR_REQUIREMENT, "%s", *failure ? failure : "A kernel fails a requirement");
    if (failures > 1)
        within(PUMICE_ERROR_REQUIREMENT, "; %llu more requirement%s", (unsigned long long)(failures - 1),
               failures == 2 ? " fails" : "s fail");
    *failure = 0, failures = 0;
    return PUMICE_ERROR_REQUIREMENT;
}

size_t Reports::added() {
    const Lock lock(mutex);
    return launches.size();
}

}  // namespace pumice_rt
