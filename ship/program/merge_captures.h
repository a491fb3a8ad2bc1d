// Several captures of a program, with different sizes, as one list of commands whose numbers are expressions.
#pragma once
#include <string>

#include "ship/program/captured_program.h"

namespace pumice::ship {

/// A kernel of a program, and the group sizes that its launches fix.
struct KernelUse {
    std::shared_ptr<const ir::Kernel> kernel;
    std::vector<std::array<int64_t, 3>> groups;
    bool operator==(const KernelUse&) const = default;
};

/// An entry of a shipped program. Spans in the records count from 0 in these lists; CommandRecord::kernel is a number in
/// `kernels`, and CommandRecord::data of a write one in `constants`.
struct EntryRecords {
    pumice_rt::EntryRecord record{};
    std::vector<pumice_rt::ExpressionRecord> expressions;
    std::vector<pumice_rt::BufferRecord> buffers;
    std::vector<pumice_rt::CommandRecord> commands;
    std::vector<pumice_rt::CommandArgumentRecord> command_arguments;
    std::vector<pumice_rt::ResultRecord> results;
    std::vector<bool> written;  ///< by argument
    std::vector<KernelUse> kernels;
    std::vector<std::string> constants;
};

/// One variable of the captures: a size, or the total of a scan.
struct CaptureVariable {
    std::string name;
    std::vector<int64_t> values;  ///< by capture
};

/// `who`: the program, for messages. The sizes stand before the totals. Throws Error if the captures differ in more than numbers,
/// or a number follows no form (size_fit.h).
EntryRecords merge(const std::string& who, std::vector<CapturedProgram> captures, const std::vector<CaptureVariable>& variables,
                   size_t sizes);

}  // namespace pumice::ship
