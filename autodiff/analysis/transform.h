// Derivatives of kernels, IR to IR. The namespace is not called autodiff: pumice::autodiff is the function that users call, and
// one scope cannot hold both.
//
// A derivative kernel takes the primal's parameters in order. Each is followed by what the signature asks for, `width` times:
//   a duplicated array      its shadow: an array of the same element and rank
//   a duplicated scalar     its tangent: a scalar (forward)
//   an active scalar        an array of one element of its type, to which its adjoint is added (reverse)
// Tapes come last. The results are ordinary kernels: they verify, print, run on every device, and can be differentiated again.
#pragma once
#include <array>
#include <functional>
#include <optional>

#include "core/ir/ir.h"

namespace pumice::derive {

/// What a caller says of one parameter of the kernel.
enum class Activity { constant, active, duplicated, duplicated_no_need };

/// One activity a parameter of the IR, in order, and the number of directions of a batch.
struct Signature {
    std::vector<Activity> params;
    int width = 1;
    bool as_reverse = false;  ///< forward mode: functions go by their rules for reverse mode, so that both modes say the same
    bool any_range = false;   ///< reverse mode: right for launches of any size, and Adjoint::fits is not asked
    int64_t private_elements = 1024;  ///< of an item's own memory that tapes may take: Limits::private_memory in words of 32 bits
    bool operator==(const Signature&) const = default;
};

/// What the host knows of a launch before it happens: the bits of scalar arguments, and the extents of arrays along the IR's axes.
struct HostValues {
    std::function<uint64_t(size_t parameter)> scalar;
    std::function<int64_t(size_t parameter, int axis)> extent;
};

/// True where in a launch of so many items along each axis of the IR no two add to one element by plain additions: indices wrap, and of
/// x[64 * i] of 32 bits items 0 and 2^26 meet. Empty: in every launch.
using Fits = std::function<bool(const HostValues&, const std::array<int64_t, 3>& items)>;

/// An array that derivative kernels take after all other parameters, in the order of the list. An "item" is a work-item of the
/// range, or of all groups where the primal has whole_groups.
struct Tape {
    enum class Size {
        fixed,    ///< `count` elements
        item,     ///< `count` elements an item
        offsets,  ///< one i32 an item: the exclusive prefix sum of the counts that `count_kernel` writes for this tape
        counted,  ///< as many elements as the sum of those counts; follows its offsets
    };
    Scalar type = Scalar::f32;
    Size size = Size::item;
    int64_t count = 0;
    std::function<int64_t(const HostValues&)> more = {};  ///< where it is set: elements an item besides `count`, which the arguments decide
    bool zeroed = false;  ///< must hold zeros before the first kernel runs
};

/// Kernels that one after another do what one kernel means; each takes the same arguments.
struct Step {
    ir::Kernel kernel;
    int64_t items = 0;  ///< it runs over so many items along axis 0; 0: over the primal's range
    /// The same over a range of n rows (of one dimension: items), an eighth of the primal's: the item of row i does rows i, i + n, ...,
    /// i + 7 n below one more argument, an i32.
    std::optional<ir::Kernel> row_by_row = {};
    static constexpr int rows = 8;
};

/// Does what an adjoint does that gathers all it adds up, over a range that begins `before` items earlier along each axis and ends
/// `behind` later: each item of that adds to its own element.
struct Wide {
    ir::Kernel kernel;                  ///< without a branch for items at the rim: for devices whose items go through branches together
    std::optional<ir::Kernel> by_rows;  ///< with one: for those that split rows where conditions on indices change
    std::array<int64_t, 3> before{}, behind{};
};

/// Does what an adjoint does whose items loop over all items: where item i adds to x[j] for every j, item i takes what all items j add to
/// x[i]. Nothing is added to places of others.
struct AllPairs {
    ir::Kernel kernel;
    ir::Kernel zero;  ///< to be launched behind it: zeroes the shadows of what is stored, which items read of each other
    std::function<bool(const HostValues&, int64_t from, int64_t to)> fits;  ///< whether the loops go through the range from `from` to `to`
};

/// Does what an adjoint does in one of whose loops all items add to the same places: the sums of what an iteration gives go to `count` cells
/// of a tape, behind the adjoint's. Where there is `exchanged`, it has the loop: over chunks of items (axis 1) and the iterations (axis 0). Then
/// items hand values on to it, in a tape behind the cells.
struct LoopCells {
    ir::Kernel kernel;
    std::optional<ir::Kernel> exchanged;
    ir::Kernel total;  ///< behind these: over the iterations, each makes of its cells what the shadows get
    Scalar type = Scalar::f32;              ///< of the tapes
    int64_t count = 0, handed_on = 0;       ///< cells an iteration; values an item
    std::function<int64_t(const HostValues&)> iterations;
};

/// Finds the counts of counted tapes before anything else runs: over the primal's range, with the primal's arguments and after
/// them one i32 array (an element an item) for each tape of size `offsets`.
struct Count {
    ir::Kernel kernel;
    bool writes = false;  ///< it writes arrays of the primal: it needs copies of those that are not `in`
};

/// How what a load's adjoint adds to the shadow is added, the cheapest way that is proven safe.
enum class Accumulation {
    plain,   ///< load, add, store: no other item touches the element meanwhile
    group,   ///< all items hit one element: each adds to one of several cells, which another kernel adds up
    gather,  ///< a stencil, turned: the item of the element adds what its neighbours give, but for few that belong to no item
    atomic,  ///< an atomic add an item
};

/// For audits: how the adjoint of the load of this line is added up.
struct Accumulated {
    ir::Loc loc;
    std::string memory;  ///< in the primal's text: "arg2", "local1"
    Accumulation how = Accumulation::atomic;
    bool operator==(const Accumulated&) const = default;
};

/// Reverse mode: "NAME.adjoint" runs the primal, then the reverse sweep.
struct Adjoint {
    ir::Kernel kernel;
    std::optional<Wide> wide;  ///< in place of the kernel, where the device is better off
    std::optional<AllPairs> all_pairs;  ///< likewise, where it fits
    std::optional<LoopCells> loop_cells, exchanged;  ///< likewise: the loop in its place; exchanged
    std::vector<Step> after;  ///< to be launched after the kernel
    std::vector<Tape> tapes;
    std::optional<Count> count;  ///< where a tape is counted
    std::vector<Accumulated> accumulated;
    Fits fits;                   ///< for other launches Signature::any_range makes one
};

/// Reverse mode in halves: "NAME.augmented" runs the primal and writes the tapes, "NAME.reverse" reads them; between them the
/// arguments may change. Both take the same parameters.
struct Split {
    ir::Kernel augmented, reverse;
    std::optional<Wide> wide;  ///< in place of `reverse`, where the device is better off
    std::vector<Step> after;  ///< to be launched after `reverse`
    std::vector<Tape> tapes;
    std::optional<Count> count;
    std::vector<Accumulated> accumulated;
    Fits fits;  ///< of `reverse`
};

/// Forward mode: "NAME.forward" runs the primal and moves tangents along. Throws Error naming the line of what has no derivative.
ir::Kernel forward(const ir::Kernel& primal, const Signature& signature);
/// Reverse mode, in one kernel or in halves. Throws Error naming the line of what has no derivative.
Adjoint adjoint(const ir::Kernel& primal, const Signature& signature);
Split split(const ir::Kernel& primal, const Signature& signature);

}  // namespace pumice::derive
