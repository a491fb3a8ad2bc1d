// Canonical form: the kernels that the reverse sweep accepts.
#pragma once
#include "core/ir/builder.h"

namespace pumice::derive {

/// The kernel without variables, and with control flow of one entry and one exit: break, continue and early returns become
/// predicates. The test block of a while holds pure instructions and loads alone; it hands parameters, constants and values from
/// outside of the loop on to the body.
ir::Kernel canonical(const ir::Kernel& kernel);

/// mem2reg, store-to-load forwarding and dead-code elimination. Loads without a use are removed before the forwarding: the
/// subscript of an array of structs loads all members, and a member that other items write must not be forwarded from such a
/// load.
ir::Kernel forwarded(const ir::Kernel& kernel);

/// Emits the trip count of a for: i64 for 64-bit indices, else i32. (A count that does not fit is not handled: such a loop
/// would run for years, or fail for want of a tape.)
ir::Value trip_count(ir::Builder& b, const ir::Kernel& k, ir::Value from, ir::Value to, ir::Value step);

}  // namespace pumice::derive
