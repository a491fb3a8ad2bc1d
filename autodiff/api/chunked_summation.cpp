// Chunked summation: a launch with very many additions to one float is split into launches with shadows of their own.
//
// Adding n equal floats one after another loses up to n / 2 roundings of the sum. The launch is cut along axis 0, in whole
// groups, into parts of about 65,536 items (or subgroups, `BackendTraits::sums_by_subgroups`). The first part adds to the shadows
// themselves, each other part to zeroed shadows of its own, which are then added to the shadows one after another.
//
//     launch 0 .. n, dx          =>    launch 0 .. n/2, dx;   part = 0;   launch n/2 .. n, part;   dx += part
//
// Cost: a launch and a shadow for each part but the first. Limits: an item counts as one addition, also where it adds in a loop;
// only shadows of `in` arrays with atomic accumulation, and the sums of launch_loop_partial_sums.cpp, of kernels for which
// knows_indices_only() holds; not where the shadows have more elements than a part has items, not for kernels with a range of
// their own, and not on streams.
// Textbook name: blocked summation; Higham, "The Accuracy of Floating Point Summation", SISC 1993.
#include <algorithm>

#include "autodiff/api/launch_derivative.h"
#include "autodiff/api/shadow_arrays.h"

namespace pumice::derive {
namespace {

/// Additions of terms of equal size, one after another: the relative error of the sum is then at most a few 1e-6.
constexpr int64_t most_additions = 1 << 16;

/// The number of parts into which a launch is cut, so that about `most_additions` terms are added to one float in each; a
/// subgroup counts as one term where the backend adds up its items first (all but the interpreter). 1, that is no cut, if no
/// array is summed, if a part would have fewer items than the shadows have elements, if the kernel has its own range, or on a
/// stream.
int64_t chunks_of(const ir::Kernel& primal, const std::vector<size_t>& summed, const Range& range,
                  const std::vector<HostArgument>& arguments, const detail::DeviceState& device) {
    if (summed.empty() || range.rank != primal.rank || primal.range[0] || range.stream.state) return 1;
    int64_t items = 1, elements = 0;
    for (size_t d = 0; d < size_t(range.rank); ++d) items *= range.to[d] - range.from[d];
    for (const size_t p : summed) elements += arguments[p].array->bytes / int64_t(arguments[p].array->element->size);
    const int64_t together = device.backend->traits().sums_by_subgroups ? std::max(1, device.backend->limits().subgroup_size) : 1;
    const int64_t each = most_additions * together, chunks = (items + each - 1) / each;
    return elements <= items / std::max<int64_t>(chunks, 1) ? std::clamp<int64_t>(chunks, 1, range.to[0] - range.from[0]) : 1;
}

}  // namespace

void launch_in_chunks(const AnyKernel& kernel, const ir::Kernel& primal, const std::vector<size_t>& summed, const Range& range,
                      const std::vector<HostArgument>& arguments, const detail::DeviceState& device) {
    const int64_t chunks = chunks_of(primal, summed, range, arguments, device);
    if (chunks == 1) {
        kernel.launch(range, arguments);
        return;
    }
    const int64_t group = range.group_rank ? range.group_extents[0] : 1,
                  rows = (range.to[0] - range.from[0] + chunks - 1) / chunks;
    const int64_t step = (rows + group - 1) / group * group;  // whole groups, except in the last part
    std::vector<std::pair<std::shared_ptr<detail::ArrayState>, std::shared_ptr<detail::ArrayState>>>
        parts;  // parts and the shadows they belong to
    Range piece = range;
    for (piece.from[0] = range.from[0]; piece.from[0] < range.to[0]; piece.from[0] += step) {
        piece.to[0] = std::min(piece.from[0] + step, range.to[0]);
        std::vector<HostArgument> list = arguments;
        for (const size_t p : summed) {
            if (piece.from[0] == range.from[0]) break;
            const detail::ArrayState& shadow = *arguments[p].array;
            parts.emplace_back(allocate_like(shadow, shadow.bytes, true),
                               const_cast<detail::ArrayState&>(shadow).shared_from_this());
            list[p] = rebound(arguments[p], *parts.back().first);
        }
        kernel.launch(piece, list);
    }
    for (const auto& [part, shadow] : parts) accumulate(shadow, part);
}

}  // namespace pumice::derive
