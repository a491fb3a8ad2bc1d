#include "ship/bundle/bundle_writer.h"

#include <cstring>

namespace pumice::ship {

uint32_t BundleWriter::text(std::string_view text) {
    if (text.empty()) return 0;
    const auto found = texts.find(text);
    if (found != texts.end()) return found->second;
    const uint32_t at = uint32_t(text_bytes.size());
    text_bytes += text.substr(0, text.find('\0'));
    text_bytes += '\0';
    texts.emplace(text, at);
    return at;
}

RecordRange BundleWriter::module_words(const std::vector<uint32_t>& module) {
    const auto found = modules_known.find(module);
    if (found != modules_known.end()) return found->second;
    return modules_known[module] = append(words, module);
}

uint64_t BundleWriter::constants(const std::string& bytes) {
    const auto [found, is_new] = constants_known.try_emplace(bytes, 0);
    if (is_new) {
        data.resize((data.size() + 15) / 16 * 16);
        found->second = data.size();
        data += bytes;
    }
    return found->second;
}

std::string BundleWriter::bytes() const {
    std::vector<SectionRecord> table;
    std::string body;
    const auto add = [&](SectionKind kind, const auto& section) {
        if (section.empty()) return;
        using Record = std::decay_t<decltype(section[0])>;
        body.resize((body.size() + 7) / 8 * 8);
        table.push_back({uint32_t(kind), uint32_t(sizeof(Record)), body.size(), section.size()});
        body.append(reinterpret_cast<const char*>(section.data()), section.size() * sizeof(Record));
    };
    add(SectionKind::text, text_bytes);
    add(SectionKind::words, words);
    add(SectionKind::kernels, kernels);
    add(SectionKind::parameters, parameters);
    add(SectionKind::leaves, leaves);
    add(SectionKind::modules, modules);
    add(SectionKind::bindings, bindings);
    add(SectionKind::fields, fields);
    add(SectionKind::sized_locals, sized_locals);
    add(SectionKind::size_steps, size_steps);
    add(SectionKind::natives, natives);
    add(SectionKind::sums, sums);
    add(SectionKind::stores, stores);
    add(SectionKind::formats, formats);
    add(SectionKind::locals, locals);
    add(SectionKind::programs, programs);
    add(SectionKind::program_sizes, program_sizes);
    add(SectionKind::program_parameters, program_parameters);
    add(SectionKind::entries, entries);
    add(SectionKind::entry_arguments, entry_arguments);
    add(SectionKind::results, results);
    add(SectionKind::expressions, expressions);
    add(SectionKind::buffers, buffers);
    add(SectionKind::commands, commands);
    add(SectionKind::command_arguments, command_arguments);
    add(SectionKind::data, data);
    const size_t before = sizeof(BundleHeader) + table.size() * sizeof(SectionRecord);
    for (SectionRecord& section : table) section.offset += before;
    std::string rest(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(SectionRecord));
    rest += body;
    BundleHeader header{};
    std::memcpy(header.magic, bundle_magic, sizeof header.magic);
    header.version = bundle_version, header.section_count = uint32_t(table.size());
    header.bytes = sizeof header + rest.size(), header.checksum = checksum(rest.data(), rest.size());
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + rest;
}

}  // namespace pumice::ship
