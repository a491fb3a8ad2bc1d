// Chunked summation: a launch with very many additions to one float is split into launches with shadows of their own.
//
// Adding n equal floats one after another loses up to n / 2 roundings of the sum. A part of the launch makes at most 65,536
// additions (of subgroups, or of items: `BackendTraits::sums_by_subgroups`) into its own zeroed shadows; the shadows are added up
// at the end.
//
//     launch 0 .. n, dx          =>    launch 0 .. n/2, dx;   launch n/2 .. n, part;   dx += part
//
// Cost: a launch and a shadow for each part. Limits: only shadows of `in` arrays with atomic accumulation, of kernels for
// which knows_indices_only() holds; not where the shadows are larger than the work, and not on streams.
// Textbook name: blocked (pairwise) summation; Higham, "The Accuracy of Floating Point Summation", SISC 1993.
#include <algorithm>

#include "autodiff/api/launch_derivative.h"
#include "autodiff/api/shadow_arrays.h"

namespace pumice::derive {
namespace {

/// Additions of terms of equal size, one after another: the relative error of the sum is then at most a few 1e-6.
constexpr int64_t most_additions = 1 << 16;

/// The number of parts of a launch. The items of a subgroup are added up first, except on the interpreter. The shadows of the
/// parts must be small compared with the work.
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
