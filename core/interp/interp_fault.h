// The faults that the reference interpreter finds: each is an Error.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "core/interp/interp_items.h"
#include "core/interp/interp_shadow.h"
#include "core/ir/ir.h"

namespace pumice::interp {
struct InterpGroup;
}  // namespace pumice::interp

namespace pumice::interp::fault {

[[noreturn]] void out_of_bounds(const InterpGroup& group, const ir::Inst& inst, Items items);
[[noreturn]] void race(const InterpGroup& group, const ir::Inst& inst, Touch how, int item, int64_t offset, ShadowAccess other,
                       Touch other_how);
[[noreturn]] void unset(const InterpGroup& group, const ir::Inst& inst, int item, int64_t offset);
[[noreturn]] void not_uniform(const InterpGroup& group, const ir::Inst& inst, int item, uint64_t bits, int other,
                              uint64_t other_bits);
[[noreturn]] void diverged(const InterpGroup& group, const ir::Inst& inst, Items items);
/// "work-item 8" or "work-item (1, 8)": the global index as the kernel sees it.
std::string item_text(const InterpGroup& group, const std::array<int64_t, 3>& of_group, int item);

}  // namespace pumice::interp::fault
