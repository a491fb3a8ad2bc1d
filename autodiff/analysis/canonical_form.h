// The form of kernels that the reverse sweep takes.
#pragma once
#include "core/ir/builder.h"

namespace pumice::derive {

/// The kernel without variables, and with control flow that has one entry and one exit: break, continue and early returns are
/// predicates. A while's test block computes only from its parameters and memory, and hands on parameters or outer values.
ir::Kernel canonical(const ir::Kernel& kernel);

/// The kernel with variables promoted, and loads and stores forwarded to later loads. Loads without a use are removed before: a subscript
/// of an array of structs loads all members, and members that other items write must not be forwarded from there.
ir::Kernel forwarded(const ir::Kernel& kernel);

/// How many iterations a for makes: i64 for 64-bit indices, else i32. (A count past its type's limit is not met: it would take
/// years, or end at the tape.)
ir::Value trip_count(ir::Builder& b, const ir::Kernel& k, ir::Value from, ir::Value to, ir::Value step);

}  // namespace pumice::derive
