// Launch of loop partial sums: the choice of the kernels, their cells, and the ranges (autodiff/strategy/loop_partial_sums.cpp,
// which has an example).
//
// A cell is one float in memory: the sum over all items of what they add in one iteration, without the factors that all items
// share. Each of the c iterations has k cells. The kernel `total`, one item an iteration, multiplies the cells by these factors
// and adds the products to the shadows.
//
//     items 0 .. n, loop of c iterations, k cells an iteration:
//     private sums (cpu)   adjoint over n, its loop adds to c * k cells;                     total over c
//     other devices        adjoint over n stores what the loop needs of each item;
//                          the loop alone over c x chunks of n reads that, adds to cells;    total over c
//
// Why two forms: where threads have private copies of what they add to (BackendTraits::private_sums), additions to cells need no
// atomics as long as there are few cells. Elsewhere an item of the interchanged loop takes one iteration and a chunk of the
// items, and sums up in a register.
// Cost: cells, and the values that the first kernel stores, are allocated for each launch; one or two launches more than the
// plain adjoint.
// Limits: at least 256 items and one iteration; the range has the kernel's rank; c * k fits into 31 bits. On devices with private
// sums at most 512 cells. Interchanged: the range starts at 0, the stored values are at most 2^30, and the items at most 65,536
// if the kernel also adds to other elements, since a larger launch would need chunked summation.
// Textbook name: loop interchange, strip-mining (chunks of items), partial reduction.
#include <algorithm>

#include "autodiff/api/adjoint_strategy.h"
#include "autodiff/api/launch_derivative.h"
#include "autodiff/api/shadow_arrays.h"
#include "core/support/debug.h"

namespace pumice::derive {
namespace {

/// The largest launch whose items also add to other elements: a larger one would need chunked summation.
constexpr int64_t most_in_one = 1 << 16;
/// Limits on the cpu. With more cells, private copies of rows are faster. A short group keeps the values that pass from one loop
/// to the next in the first-level cache (0.155 ms against 0.172 ms for a mixture of 16 components).
constexpr int64_t most_cells = 512, short_group = 64;
constexpr int64_t least_items = 256;  ///< with fewer, cells and their kernel cost more than they save

/// The items of the primal that one item of the interchanged loop covers: enough that the final additions are cheap, and on
/// devices with wide subgroups not so many that lanes are idle.
int64_t chunk_of(const Backend& backend) { return std::clamp<int64_t>(2048 / backend.limits().subgroup_size, 32, 256); }

}  // namespace

std::string launch_loop_partial_sums(const DerivedLaunch& l) {
    const Derived& derived = l.derived;
    const Range& range = l.range;
    const auto& device = l.device;
    const bool interchanged = !device->backend->traits().private_sums;
    const auto* const way = (interchanged ? derived.interchanged : derived.loop_partial_sums).get();
    if (!way) return AdjointStrategy::not_made;
    if (range.rank != derived.primal->rank) return "the range does not have the kernel's rank";
    int64_t items = 1;
    for (int d = 0; d < range.rank; ++d) items *= range.to[size_t(d)] - range.from[size_t(d)];
    const int64_t iterations = way->iterations(l.known);
    if (!l.decided && items < least_items) return text("there are fewer than ", least_items, " work-items");
    if (iterations < 1 || iterations > INT32_MAX / way->count) return text("the loop has ", iterations, " iterations");
    if (interchanged && range.from[0] != 0) return "the range does not start at 0";
    if (interchanged && (items > INT32_MAX / 2 / way->passed_values || (way->adds_beside && items > most_in_one)))
        return text("there are ", items, " work-items");
    if (!l.decided && !interchanged && iterations * way->count > most_cells)
        return text("there are ", iterations * way->count, " cells, and ", most_cells, " at most pay");

    std::vector<HostArgument> arguments = l.arguments;
    int64_t bytes = 0;
    TapeArrays tapes;
    const auto tape = [&](int64_t n, bool zeroed) {
        bytes += n * size_of(way->type);
        tapes.push_back(detail::allocate(device, &n, 1, element_of(way->type), zeroed));
        arguments.push_back(argument_of(*tapes.back()));
    };
    tape(iterations * way->count, true);
    if (interchanged) tape(items * way->passed_values, false);
    if (debug::log())
        debug::log_line(text("the reverse sweep of kernel \"", derived.primal->name, "\" has ", bytes,
                             " bytes for the sums of a loop of ", iterations, " iterations over ", items, " work-items"));
    Range beside = range;
    beside.from = {}, beside.to.fill(1), beside.group_rank = 0;
    if (interchanged) {
        way->kernel.launch(range, arguments);
        beside.rank = 2;
        beside.to[0] = (items + chunk_of(*device->backend) - 1) / chunk_of(*device->backend), beside.to[1] = iterations;
        way->interchanged->launch(beside, arguments);
    } else {
        std::vector<size_t> summed = derived.summed;
        summed.push_back(arguments.size() - 1);
        Range own = range;
        if (!own.group_rank && own.rank == 1) own.group_rank = 1, own.group_extents[0] = short_group;
        launch_in_chunks(way->kernel, *derived.primal, summed, own, arguments, *device);
    }
    beside.rank = 1;
    beside.to[0] = iterations, beside.to[1] = 1;
    way->total.launch(beside, arguments);
    return "";
}

}  // namespace pumice::derive
