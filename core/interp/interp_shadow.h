// Who touched what: the state beside memory from which races and reads of unset memory are found.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace pumice::interp {

/// One access: by which item of the group that ran at `when`, by which instruction.
///
/// `when` is an epoch: a number that goes up at the start of every group and at every barrier of every launch of a device. Groups
/// run one after another, so an epoch names a launch, a group, and the barriers that the group has passed: accesses of one
/// epoch are unordered, and nothing has to be cleared between launches. Zero: no access.
struct Access {
    uint32_t when = 0;
    uint32_t item : 10 = 0;
    uint32_t inst : 22 = 0;
};
inline constexpr int max_items = 1 << 10;
inline constexpr uint32_t max_insts = 1u << 22;

/// What is remembered of a granule of memory (the bytes of the smallest leaf that lies in it). It is enough to find every race:
/// of plain writes, of reads and of atomics the last, and another: one of an earlier group where there is any, else one by a second
/// item in the epoch of the last. Several items may write where they write the same.
struct Cell {
    Access writes[2], reads[2], atomics[2];
};
static_assert(sizeof(Cell) == 48);

enum class Touch : uint8_t { read, write, atomic };

/// The epochs that tell old accesses from ordered and unordered ones.
struct Epochs {
    uint32_t launch = 0;  ///< the first of this launch
    uint32_t group = 0;   ///< the first of this group
    uint32_t now = 0;

    bool of_earlier_group(Access a) const { return a.when >= launch && a.when < group; }
    bool of_this_group(Access a) const { return a.when >= group; }
    /// True when `a` and an access by `item` now are by different items and unordered.
    bool unordered(Access a, uint32_t item) const { return of_earlier_group(a) || (a.when == now && a.item != item); }

    void remember(Access (&history)[2], Access a) const {
        Access& last = history[0];
        if (last.when == now && last.item == a.item) return;
        if (of_earlier_group(last) || (last.when == now && !of_earlier_group(history[1]))) history[1] = last;
        last = a;
    }

    /// Records an access; gives the earlier one that it races with, or null, and which kind that was. `unchanged`: it is a write of
    /// what stands there, which is no race with other writes: whichever comes last, the value is the same.
    const Access* touch(Cell& cell, Touch how, Access a, bool unchanged, Touch& other) const {
        other = Touch::write;
        if (how != Touch::write || !unchanged)
            for (const Access& before : cell.writes)
                if (unordered(before, a.item)) return &before;
        if (how != Touch::atomic) {
            other = Touch::atomic;
            for (const Access& before : cell.atomics)
                if (unordered(before, a.item)) return &before;
        }
        if (how != Touch::read) {
            other = Touch::read;
            for (const Access& before : cell.reads)
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

/// The cells of one allocation, made when a launch first writes it. The pages that no launch touches cost nothing.
struct Shadow {
    struct Free { void operator()(void* p) const { std::free(p); } };
    std::unique_ptr<Cell[], Free> cells;
    int granule_shift = 0;    ///< a granule is 1 << granule_shift bytes
    uint32_t generation = 0;  ///< of the device's epochs; cells of another generation mean nothing
};

}  // namespace pumice::interp
