// The state of the running group of the reference interpreter: its items, their values, its memory.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/host/backend.h"
#include "core/interp/interp_items.h"
#include "core/interp/interp_program.h"
#include "core/interp/interp_shadow.h"

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

/// The continuation of an item that has left its block: after the innermost loop, at the loop's next iteration, or nowhere.
enum Fate : uint8_t { runs, broke, continues, returned };

/// One group at a time.
struct InterpGroup {
    /// `views` has one entry for each memory of the kernel; those of arrays are filled in.
    InterpGroup(const InterpProgram& program, const Launch& launch, std::vector<View> views, Scratch& scratch);
    InterpGroup(const InterpGroup&) = delete;

    /// Begins the group at `group_index`. Its items are those in the range, or all items if the kernel has `whole_groups`.
    void begin();
    /// Begins an epoch, at the start of a group and at a barrier. At the start of a launch, at least half of all epochs are left.
    void next_epoch();
    /// global_index, group_index, in_range.
    void indices(const ir::Inst& inst, Items items);

    /// The array of a value over the items of the group.
    template <class T> T* at(ir::Value v) const {
        return reinterpret_cast<T*>(values + size_t(program.value_offset[v.id]) * group_items);
    }
    void* raw(ir::Value v) const { return at<std::byte>(v); }
    uint64_t bits_of(ir::Value v, int item) const;
    void set_bits(ir::Value v, int item, uint64_t bits);

    const InterpProgram& program;
    const ir::Kernel& k;
    const Launch& launch;
    Scratch& scratch;
    std::vector<View> views;  ///< a memory
    int group_items = 0;      ///< items of a whole group
    std::array<int64_t, 3> group_count{};
    std::array<int64_t, 3> group_index{};
    std::array<std::vector<int32_t>, 3> local;  ///< each item's index in the group, an axis
    Items present;                              ///< the items that exist
    Epochs epochs;
    std::byte* values = nullptr;
    uint8_t* fates = nullptr;
    int64_t* offsets = nullptr;  ///< an item: bytes from the view's data to the leaf that the instruction touches

private:
    bool in_range(int item) const;
    void prepare_items();
    void prepare_memory();
    void prepare_constants();
    void broadcast(ir::Value to, uint64_t bits, Items items);
};

}  // namespace pumice::interp
