// A kernel prepared for the reference interpreter.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/host/backend.h"
#include "core/interp/interp_scalar.h"

namespace pumice::interp {

/// The kernel, and tables that do not depend on a launch. Instructions are executed from the kernel itself; a table has the loop
/// over items that computes each instruction, so that the look-up is paid once for a group, not for each item.
struct InterpProgram : Executable {
    explicit InterpProgram(ir::Kernel ready, int subgroup_size);

    const ir::Kernel kernel;
    const int subgroup_size;
    std::vector<ItemLoop> loops;         ///< per instruction: for scalar ops, select, cast, bitcast, var, get, set; else null
    std::vector<uint32_t> value_offset;  ///< per value: start of its array over the items, divided by the items of the group
    uint32_t value_bytes = 0;            ///< of all values, for one item
    std::vector<ir::InstId> constants;   ///< instructions whose result is the same for all groups of a launch
    std::vector<bool> written;           ///< per memory: true if an instruction stores to it or updates it
    int depth = 0;                       ///< nesting of control constructs
    bool reports = false;                ///< prints or requires something

private:
    void scan(ir::BlockId block, int nesting);
    void assign_offsets();
};

/// Elements of a local array in a group of these extents, even if the number is not positive.
int64_t asked_elements(const ir::Kernel& kernel, const ir::Memory& memory, const std::array<int64_t, 3>& group);
/// Elements of a local array in a group of these extents. Throws Error if that is not positive.
int64_t local_elements(const ir::Kernel& kernel, const ir::Memory& memory, const std::array<int64_t, 3>& group);
/// Throws Error if a group's bytes of local memory exceed the limit.
void check_local_memory(const ir::Kernel& kernel, const std::array<int64_t, 3>& group, int64_t bytes, int64_t limit,
                        const std::string& device);
/// log2 of the size of the smallest leaf.
int granule_shift(const Element& element);

}  // namespace pumice::interp
