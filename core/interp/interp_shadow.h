// Shadow memory: the last accesses to each granule, from which data races and reads of unset memory are detected.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/ir/op.h"

namespace pumice::interp {

/// One access: the epoch, the item of the group that ran then, and the instruction.
///
/// `when` is an epoch: a logical clock that advances at the start of every group and at every barrier of every launch of a
/// device. The interpreter runs groups one after another, so an epoch tells the launch, the group, and the barriers that the
/// group has passed. Two accesses of different items are unordered if their epochs are equal, or belong to different groups of
/// one launch. Epochs are not used twice, so nothing has to be cleared between launches. Zero: no access.
struct ShadowAccess {
    uint32_t when = 0;
    uint32_t item : 10 = 0;
    uint32_t inst : 22 = 0;
};
inline constexpr int max_items = 1 << 10;
inline constexpr uint32_t max_insts = 1u << 22;

/// The remembered accesses of a granule of memory (the bytes of the smallest leaf in it). Two of each kind (plain writes, reads,
/// atomics) suffice to find every race: the last one, and another one, which is of an earlier group if there is such, else of a
/// second item in the epoch of the last one. Several items may write a granule if they write the same value.
struct Cell {
    ShadowAccess writes[2], reads[2], atomics[2];
};
static_assert(sizeof(Cell) == 48);

enum class Touch : uint8_t { read, write, atomic };
/// The access of an instruction to its element of memory.
constexpr Touch touch_of(ir::Op op) {
    return ir::is_atomic(op) ? Touch::atomic : ir::writes_memory(op) ? Touch::write : Touch::read;
}

/// The epochs that classify an earlier access: of an earlier launch, unordered, or ordered by a barrier.
struct Epochs {
    uint32_t launch = 0;  ///< the first of this launch
    uint32_t group = 0;   ///< the first of this group
    uint32_t now = 0;

    bool of_earlier_group(ShadowAccess a) const { return a.when >= launch && a.when < group; }
    bool of_this_group(ShadowAccess a) const { return a.when >= group; }
    /// True if `a` is by another item than `item`, and unordered with an access by `item` now.
    bool unordered(ShadowAccess a, uint32_t item) const { return of_earlier_group(a) || (a.when == now && a.item != item); }

    void remember(ShadowAccess (&history)[2], ShadowAccess a) const {
        ShadowAccess& last = history[0];
        if (last.when == now && last.item == a.item) return;
        if (of_earlier_group(last) || (last.when == now && !of_earlier_group(history[1]))) history[1] = last;
        last = a;
    }

    /// Records an access; returns the earlier access that it races with, or null. `other` is the kind of that access.
    /// `unchanged`: the access writes the value that is already there, which is no race with other writes, as the order does not
    /// matter.
    const ShadowAccess* touch(Cell& cell, Touch how, ShadowAccess a, bool unchanged, Touch& other) const {
        other = Touch::write;
        if (how != Touch::write || !unchanged)
            for (const ShadowAccess& before : cell.writes)
                if (unordered(before, a.item)) return &before;
        if (how != Touch::atomic) {
            other = Touch::atomic;
            for (const ShadowAccess& before : cell.atomics)
                if (unordered(before, a.item)) return &before;
        }
        if (how != Touch::read) {
            other = Touch::read;
            for (const ShadowAccess& before : cell.reads)
                if (unordered(before, a.item)) return &before;
        }
        switch (how) {
            case Touch::read: remember(cell.reads, a); break;
            case Touch::write: remember(cell.writes, a); break;
            case Touch::atomic: remember(cell.atomics, a); break;
        }
        return nullptr;
    }
};

/// The cells of one allocation, allocated when a launch first writes it. Pages that no launch touches cost nothing.
struct Shadow {
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<Cell[], Free> cells;
    int granule_shift = 0;    ///< a granule is 1 << granule_shift bytes
    uint32_t generation = 0;  ///< of the device's epochs; cells of another generation mean nothing
};

}  // namespace pumice::interp
