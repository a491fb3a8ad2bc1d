#include "ship/program/program_records.h"

#include <algorithm>

namespace pumice::ship {
namespace {

ProgramExtent extent_of(const Size& size, const std::vector<Size>& sizes) {
    ProgramExtent e{no_index, 0, 0, size.plus};
    if (size.name.empty()) return e;
    e.size = uint32_t(std::ranges::find(sizes, size.name, &Size::name) - sizes.begin());
    e.times = size.times;
    return e;
}

std::vector<ProgramParameterRecord> parameters_of(const ProgramItem& program, const std::vector<Size>& sizes, BundleWriter& to) {
    std::vector<ProgramParameterRecord> all;
    for (const ProgramParameter& p : program.parameters) {
        if (p.is_size) continue;
        ProgramParameterRecord r{};
        r.name = to.text(p.name), r.is_array = p.is_array, r.active = p.active, r.type = uint32_t(p.type);
        if (p.is_array) {
            r.type = p.element->is_scalar() ? uint32_t(p.element->leaves[0].type) : type_struct;
            r.element_bytes = p.element->size, r.rank = uint32_t(p.extents.size()), r.access = uint32_t(p.access);
            for (size_t d = 0; d < p.extents.size(); ++d) r.extents[d] = extent_of(p.extents[d], sizes);
        }
        all.push_back(r);
    }
    return all;
}

std::vector<EntryArgumentRecord> arguments_of(const ProgramItem& program, const EntryRecords& entry) {
    std::vector<EntryArgumentRecord> all;
    uint32_t number = 0;
    for (const ProgramParameter& p : program.parameters) {
        if (p.is_size) continue;
        for (uint32_t shadow = 0; shadow < 1u + (p.is_array && p.active && entry.record.kind == uint32_t(EntryKind::gradient));
             ++shadow)
            all.push_back({number, shadow, entry.written[all.size()]});
        ++number;
    }
    return all;
}

/// The numbers of the program's parameters without the sizes.
uint32_t number_without_sizes(const ProgramItem& program, uint32_t parameter) {
    uint32_t number = 0;
    for (uint32_t p = 0; p < parameter; ++p) number += !program.parameters[p].is_size;
    return number;
}

EntryRecord entry_record(const ProgramItem& program, const EntryRecords& entry, const std::vector<uint32_t>& kernels,
                         BundleWriter& to) {
    EntryRecord r = entry.record;
    r.expressions = BundleWriter::append(to.expressions, entry.expressions);
    r.buffers = BundleWriter::append(to.buffers, entry.buffers);
    r.arguments = BundleWriter::append(to.entry_arguments, arguments_of(program, entry));
    std::vector<ResultRecord> results = entry.results;
    for (ResultRecord& one : results) one.parameter = number_without_sizes(program, one.parameter);
    r.results = BundleWriter::append(to.results, results);
    std::vector<CommandRecord> commands = entry.commands;
    const uint32_t before = uint32_t(to.command_arguments.size());
    for (CommandRecord& c : commands) {
        if (c.kind == uint32_t(CommandKind::write)) c.data = to.constants(entry.constants[c.data]);
        if (c.kind != uint32_t(CommandKind::launch)) continue;
        c.kernel = kernels[c.kernel];
        c.arguments.first += before;
    }
    BundleWriter::append(to.command_arguments, entry.command_arguments);
    r.commands = BundleWriter::append(to.commands, commands);
    return r;
}

}  // namespace

void add_program(const ProgramItem& program, const ProgramEntries& entries, const std::vector<std::vector<uint32_t>>& kernels,
                 BundleWriter& to) {
    ProgramRecord r{};
    r.name = to.text(program.name), r.source = to.text(detail::where(program.location));
    std::vector<ProgramSizeRecord> sizes;
    for (const Size& s : entries.sizes) sizes.push_back({to.text(s.name), 0, s.least, s.step, s.example});
    r.sizes = BundleWriter::append(to.program_sizes, sizes);
    r.parameters = BundleWriter::append(to.program_parameters, parameters_of(program, entries.sizes, to));
    std::vector<EntryRecord> all;
    for (size_t e = 0; e < entries.entries.size(); ++e) all.push_back(entry_record(program, entries.entries[e], kernels[e], to));
    r.entries = BundleWriter::append(to.entries, all);
    to.programs.push_back(r);
}

}  // namespace pumice::ship
