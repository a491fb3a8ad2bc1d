// The reference interpreter: the definition of the meaning of kernels, and the device that checks them.
#pragma once
#include <memory>

#include "core/host/backend.h"

namespace pumice {

/// Preparation of a kernel before the interpreter runs it.
enum class InterpMode {
    prepared,  ///< variables are promoted, and code without effect is removed
    recorded,  ///< executes the kernel as it is: for checking that a pass keeps a kernel's meaning
};

/// Opens the device "interp": small and slow; every other device is tested against it. A launch runs inside launch(), one group
/// after another, each group in lockstep over its work-items, in the order of their indices. Items past the range do not exist
/// (unless the kernel has `whole_groups`); this defines the out-of-range rule.
///
/// launch() throws Error at the first of these faults, with the kernel's name and source line, the work-item, and the memory it
/// touches. Everything written until then stays, and the device can be used further:
/// - a load, store or atomic outside of an array, a local or a private array; along each dimension where all indices are given;
/// - a race: two items touch the same bytes, one of them not by an atomic and one of them writing, and no barrier of their
///   group lies between. A store of the value that is already there does not race with other stores, only with reads and atomics;
/// - local or private memory read, or updated atomically, before the group or item has written it, or an array made by
///   Device::empty before anything has;
/// - a value taken from a lane of the subgroup that is not active, or does not exist;
/// - a barrier that not all items of the group reach. Items that have returned are missing there. Mode `prepared` removes code
/// without effect, which is then not checked: loads whose value nothing uses (every subscript records a load), and local or
/// private memory that nothing reads. New device memory that is not zeroed on request holds bytes 0xCD. Subgroups are items of
/// consecutive linear indices (axis 0 the fastest), of this size, 1 to 128.
std::shared_ptr<internal::Backend> open_interp(InterpMode mode = InterpMode::prepared, int subgroup_size = 8);

}  // namespace pumice
