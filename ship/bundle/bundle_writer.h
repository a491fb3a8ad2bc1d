// Writing of bundles: records of runtime/bundle/bundle_format.h, collected section by section.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/program_format.h"

namespace pumice::ship {

using namespace pumice_rt;  // the records

/// A bundle while it is made. Records are added to the members; bytes() lays them out.
class BundleWriter {
public:
    BundleWriter() : text_bytes(1, '\0') {}

    /// The place of a text; equal texts have one.
    uint32_t text(std::string_view text);
    /// The place of a module's words; equal modules have one.
    RecordRange module_words(const std::vector<uint32_t>& words);
    /// The place of constants in the section `data`; equal ones have one.
    uint64_t constants(const std::string& bytes);
    /// Appends records to a section, and returns where they are.
    template <class T> static RecordRange append(std::vector<T>& section, const std::vector<T>& records) {
        const RecordRange span{uint32_t(section.size()), uint32_t(records.size())};
        section.insert(section.end(), records.begin(), records.end());
        return span;
    }
    /// The section `text`.
    const std::string& all_text() const { return text_bytes; }
    /// The file, with its header.
    std::string bytes() const;

    std::vector<KernelRecord> kernels;
    std::vector<ParameterRecord> parameters;
    std::vector<LeafRecord> leaves;
    std::vector<ModuleRecord> modules;
    std::vector<BindingRecord> bindings;
    std::vector<FieldRecord> fields;
    std::vector<SizedLocalRecord> sized_locals;
    std::vector<SizeStepRecord> size_steps;
    std::vector<NativeRecord> natives;
    std::vector<SumRecord> sums;
    std::vector<StoreRecord> stores;
    std::vector<FormatRecord> formats;
    std::vector<LocalRecord> locals;
    std::vector<ProgramRecord> programs;
    std::vector<ProgramSizeRecord> program_sizes;
    std::vector<ProgramParameterRecord> program_parameters;
    std::vector<EntryRecord> entries;
    std::vector<EntryArgumentRecord> entry_arguments;
    std::vector<ResultRecord> results;
    std::vector<ExpressionRecord> expressions;
    std::vector<BufferRecord> buffers;
    std::vector<CommandRecord> commands;
    std::vector<CommandArgumentRecord> command_arguments;

private:
    std::string text_bytes, data;
    std::map<std::string, uint64_t> constants_known;
    std::vector<uint32_t> words;
    std::map<std::string, uint32_t, std::less<>> texts;
    std::map<std::vector<uint32_t>, RecordRange> modules_known;
};

}  // namespace pumice::ship
