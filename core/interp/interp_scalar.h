// Loops over work-items for the operations on values: one function for each operation and type.
#pragma once
#include "core/interp/interp_items.h"
#include "core/ir/ir.h"

namespace pumice::interp {

/// r[item] = op(a[item], b[item], c[item]) for each item. The pointers are to arrays over the items of the group; r is none of
/// the others. Operands that the operation does not have are ignored.
using ItemLoop = void (*)(Items items, void* r, const void* a, const void* b, const void* c);

/// The loop of a scalar op on operands of this type, from its row; null if the row does not allow the type.
ItemLoop scalar_loop(ir::Op op, Scalar operand);
ItemLoop cast_loop(Scalar from, Scalar to);
/// select: a is the condition.
ItemLoop select_loop(Scalar type);
/// r = a.
ItemLoop copy_loop(Scalar type);

}  // namespace pumice::interp
