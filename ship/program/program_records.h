// A program's records of a bundle.
#pragma once
#include "ship/bundle/bundle_writer.h"
#include "ship/program/program_entries.h"

namespace pumice::ship {

/// `kernels[e][i]`: the number in the bundle of kernel i of entry e.
void add_program(const ProgramItem& program, const ProgramEntries& entries, const std::vector<std::vector<uint32_t>>& kernels,
                 BundleWriter& to);

}  // namespace pumice::ship
