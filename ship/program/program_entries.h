// The entries of a shipped program: captured for each class of devices, and with several sizes.
#pragma once
#include "ship/program/merge_captures.h"
#include "ship/program/ship_program.h"

namespace pumice::ship {

/// A program ready to be written into a bundle.
struct ProgramEntries {
    std::vector<Size> sizes;
    std::vector<EntryRecords> entries;
};

/// Captures the program. `devices`: bits of EntryRecord. Throws Error for what cannot be shipped.
ProgramEntries entries_of(const ProgramItem& program, uint32_t devices);

}  // namespace pumice::ship
