// Options of launches and kernels: ranges, streams, groups.
#include "core/kernel/range.h"

#include <algorithm>

#include "core/support/error.h"

namespace pumice {

using namespace internal;

void Range::set_group(std::initializer_list<int64_t> extents) {
    if (extents.size() > ir::max_rank)
        fail("a group of ", extents.size(), " dimensions is asked for; the limit is ", ir::max_rank);
    group_rank = int(extents.size());
    group_extents = Launch::Array::ones();
    std::ranges::copy(extents, group_extents.begin());
}

Range Range::on(const Stream& s) const {
    if (!s.state) throw Error("a launch is put on a stream that was never made: make it with Device::stream");
    if (!s.state->device) throw Error("a launch is put on a stream after its release()");
    Range r = *this;
    r.stream = s;
    return r;
}

Range Range::timed() const {
    Range r = *this;
    r.is_timed = true;
    return r;
}

KernelOptions KernelOptions::with(const KernelOptions& more) const {
    KernelOptions all = *this;
    all.whole_groups |= more.whole_groups;
    if (more.math != Math::contract) all.math = more.math;
    if (!more.group.empty()) all.group = more.group;
    if (!more.range.empty()) all.range = more.range;
    return all;
}

}  // namespace pumice
