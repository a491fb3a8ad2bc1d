// One launch on the reference interpreter: one group after another, each in lockstep over its work-items.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/host/backend.h"
#include "core/interp/interp_items.h"
#include "core/interp/interp_program.h"
#include "core/interp/interp_shadow.h"
#include "core/support/error.h"

namespace pumice::interp {

/// The buffers of a launch. The device keeps them, so that a launch allocates only if it needs more than earlier launches.
struct Scratch {
    std::vector<std::byte> values;  ///< every value's array over the items of the group
    std::vector<uint16_t> lists;    ///< of work-items; a stack
    std::vector<uint8_t> fates;
    std::vector<int64_t> offsets;
    std::vector<std::byte> carried;  ///< values on their way to a loop's parameters
    std::vector<std::byte> local, private_;
    std::vector<Cell> local_cells;
    std::vector<uint32_t> private_written;  ///< the epoch of the last write of each granule
    std::vector<uint32_t> group_starts;     ///< the first epoch of each group so far
    uint32_t epoch = 0;                     ///< the last epoch used; see ShadowAccess
    uint32_t generation = 1;                ///< how often the epochs have been reset, plus 1
    std::vector<uint32_t> ring;             ///< of print and require (core/host/ring.h); empty until a kernel reports
    uint32_t launch_number = 0;             ///< in its records
};

/// The bytes of one Memory of the kernel in this launch.
struct View {
    std::byte* data = nullptr;
    Cell* cells = nullptr;                ///< shadow cells from the byte at `data` on; null if no race is possible
    uint32_t* private_written = nullptr;  ///< private memory: the epochs in place of cells
    bool* unset = nullptr;                ///< per byte from `data` on: not written yet; null if all bytes are written
    int granule_shift = 0;
    int64_t item_bytes = 0;        ///< private memory: the distance from one item's copy to the next
    std::vector<int64_t> extents;  ///< in written order
    int64_t elements = 0;
};

class InterpRun {
public:
    /// `views` has one entry for each memory of the kernel; those of arrays are filled in.
    InterpRun(const InterpProgram& program, const Launch& launch, std::vector<View> views, Scratch& scratch);
    /// Executes every group. Throws Error at the first fault; what was written until then stays.
    void all_groups();
    /// Counts the executions of each instruction over the items, if it is set: one number an instruction.
    uint64_t* executions = nullptr;

private:
    /// The continuation of an item that has left its block: after the innermost loop, at the loop's next iteration, or nowhere.
    enum Fate : uint8_t { runs, broke, continues, returned };
    struct Enclosing {
        const ir::Inst* inst = nullptr;
        ir::BlockId block;   ///< the block whose parameters are the carried values
        uint32_t first = 0;  ///< index of the first carried parameter: 1 after a for's index
    };

    // interp_control.cpp
    void execute(ir::BlockId block, Items& items);
    void execute(const ir::Inst& inst, uint32_t id, Items& items);
    void if_(const ir::Inst& inst, Items& items);
    void for_(const ir::Inst& inst, Items& items);
    void while_(const ir::Inst& inst, Items& items);
    void end_loop(Items& items, const Enclosing& outer, uint16_t* mark);
    void leave(const ir::Inst& terminator, Fate fate, Items& items);
    void uniform(const ir::Inst& inst, Items items);
    void barrier(const ir::Inst& inst, Items items);
    void copy(ir::Value to, ir::Value from, Items items);
    void carry(std::span<const ir::Value> from, ir::BlockId to, uint32_t first, Items items);
    void to_results(const ir::Inst& inst, std::span<const ir::Value> from, Items items);
    Items take(Items items);
    void rejoin(Items& items);
    const ir::Inst& terminator(ir::BlockId block) const { return k[k[block].insts.back()]; }

    // interp_group.cpp
    void one_group();
    void next_epoch();
    bool in_range(int item) const;
    void prepare_items();
    void prepare_memory();
    void prepare_constants();
    void indices(const ir::Inst& inst, Items items);
    void broadcast(ir::Value to, uint64_t bits, Items items);
    void report(const ir::Inst& inst, Items items);

    // interp_memory.cpp
    void find_offsets(const ir::Inst& inst, Items items);
    void check(const ir::Inst& inst, uint32_t id, Touch how, Items items);
    void check_private(const ir::Inst& inst, Touch how, Items items);
    void check_unset(const ir::Inst& inst, Touch how, Items items);
    void load(const ir::Inst& inst, Items items);
    void store(const ir::Inst& inst, Items items);
    void atomic(const ir::Inst& inst, Items items);
    void compare_exchange(const ir::Inst& inst, Items items);

    // interp_subgroup.cpp
    uint64_t bits_of(ir::Value v, int item);
    void set_bits(ir::Value v, int item, uint64_t bits);
    void subgroup(const ir::Inst& inst, Items items);
    void one_subgroup(const ir::Inst& inst, Items active);
    int source_of(const ir::Inst& inst, Items active, int n);

    // interp_fault.cpp
    [[noreturn]] void out_of_bounds(const ir::Inst& inst, Items items);
    [[noreturn]] void race(const ir::Inst& inst, Touch how, int item, int64_t offset, ShadowAccess other, Touch other_how);
    [[noreturn]] void unset(const ir::Inst& inst, int item, int64_t offset);
    [[noreturn]] void not_uniform(const ir::Inst& inst, int item, uint64_t bits, int other, uint64_t other_bits);
    [[noreturn]] void diverged(const ir::Inst& inst, Items items);
    std::string element_text(const ir::Inst& inst, int64_t offset, int item) const;
    std::string memory_text(ir::MemoryId memory) const;
    std::string item_text(const std::array<int64_t, 3>& group, int item) const;
    std::array<int64_t, 3> group_at(uint32_t epoch) const;

    /// The array of a value over the items of the group.
    template <class T> T* at(ir::Value v) {
        return reinterpret_cast<T*>(values + size_t(program.value_offset[v.id]) * group_items);
    }
    void* raw(ir::Value v) { return at<std::byte>(v); }

    const InterpProgram& program;
    const ir::Kernel& k;
    const Launch& launch;
    Scratch& scratch;
    std::vector<View> views;  ///< a memory
    int group_items = 0;      ///< items of a whole group
    std::array<int64_t, 3> group_count{};
    std::array<int64_t, 3> group{};             ///< the running group's index
    std::array<std::vector<int32_t>, 3> local;  ///< each item's index in the group, an axis
    Items present;                              ///< the items of the running group that exist
    Epochs epochs;
    Enclosing loop;  ///< the innermost
    std::byte* values = nullptr;
    uint8_t* fates = nullptr;
    int64_t* offsets = nullptr;     ///< an item: bytes from the view's data to the leaf that the instruction touches
    uint16_t* free_list = nullptr;  ///< the top of the stack of lists
};

}  // namespace pumice::interp
