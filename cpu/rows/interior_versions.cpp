// Two versions of a packet, interior and boundary: in the interior no index is wrapped or clamped.
//
// Why: see cpu/address/boundary_index.cpp, which finds the indices. This file prints the test and the versions:
//
//     br i1 %interior, label %interior, label %boundary
//     interior:   the body, where wrapped indices are affine (PureValues::interior_values)
//     boundary:   the body as it is
//
// The test is one to four comparisons for each index and packet. An index that a loop's counter moves is tested for the first and
// the last iteration, before the loop. A wide packet (cpu/width/choose_wide_packets.cpp) has the interior version alone.
// Cost: the body is written twice. Limits: those of boundary_index.cpp.
// Textbook name: index-set splitting for boundary conditions (Griebl et al. 2000; Halide's loop partitioning).
#include <tuple>

#include "core/analysis/loop_info.h"
#include "core/support/error.h"
#include "cpu/address/boundary_index.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/rows/interior_versions.h"

namespace pumice::cpu {

using namespace ir;

/// An i1: the index is in the interior in all lanes of this packet and in all iterations.
std::string InteriorVersions::is_interior(const BoundaryIndex& b) {
    if (!b.counter) return is_interior_now(b);
    const auto before = std::make_tuple(packet.values, packet.has_value);
    const Inst& loop = *emit.boundaries.counted_loop_of(b.counter);
    const auto o = k.operands(loop);
    emit.pure.rematerialise(o[0]), emit.pure.rematerialise(o[1]);
    const bool up = unit_step(k, loop) > 0;
    const std::string from = packet.scalar(o[0]), last = out.let(text(up ? "sub" : "add", " i32 ", packet.scalar(o[1]), ", 1"));
    const std::string apart = out.let(text("sub i32 ", up ? last : from, ", ", up ? from : last));
    std::string all = out.let(text("icmp ult i32 ", apart, ", ", BoundaryIndices::most_iterations));
    const auto at_begin = std::make_tuple(packet.values, packet.has_value);
    for (const std::string& now : {from, last}) {
        std::tie(packet.values, packet.has_value) = at_begin;
        packet.values[b.counter.id] = {ValueKind::uniform, now, "", 0}, packet.has_value[b.counter.id] = true;
        const std::string inside = is_interior_now(b);
        all = out.let(text("and i1 ", all, ", ", inside));
    }
    std::tie(packet.values, packet.has_value) = before;
    return all;
}

/// The same for the iteration whose counter has a value.
std::string InteriorVersions::is_interior_now(const BoundaryIndex& b) {
    emit.pure.rematerialise(b.x), emit.pure.rematerialise(b.limit);
    const std::string first = packet.scalar(b.x), limit = packet.scalar(b.limit);
    if (b.op == Op::eq || b.op == Op::ne)
        return out.let(text("icmp uge i32 ", out.let(text("sub i32 ", limit, ", ", first)), ", ", width));
    const std::string last = out.let(text("add i32 ", first, ", ", width - 1)),
                      no_wrap = out.let(text("icmp sle i32 ", first, ", ", last));
    const auto both = [&](const std::string& one, const std::string& other) {
        return out.let(text("and i1 ", one, ", ", other));
    };
    if (b.op == Op::min || b.op == Op::max)
        return both(no_wrap, b.op == Op::min ? out.let(text("icmp sle i32 ", last, ", ", limit))
                                             : out.let(text("icmp sge i32 ", first, ", ", limit)));
    if (b.op == Op::rem) {
        // All lanes have the first lane's quotient if its remainder is at most the divisor minus the width.
        const std::string divides = out.let(text("icmp sgt i32 ", limit, ", 0")),
                          by = out.let(text("select i1 ", divides, ", i32 ", limit, ", i32 1"));
        emit.pure.remainders[b.value.id] = out.let(text("srem i32 ", first, ", ", by));
        const std::string same =
            out.let(text("icmp sle i32 ", emit.pure.remainders[b.value.id], ", ", out.let(text("sub i32 ", by, ", ", width))));
        return both(both(divides, out.let(text("icmp sge i32 ", first, ", 0"))), both(same, no_wrap));
    }
    const char* const how = b.op == Op::lt ? "slt" : b.op == Op::le ? "sle" : b.op == Op::gt ? "sgt" : "sge";
    const auto compared = [&](const std::string& x) {
        return out.let(text("icmp ", how, " i32 ", b.x_first ? x : limit, ", ", b.x_first ? limit : x));
    };
    const std::string ends = out.let(text(b.holds ? "and" : "or", " i1 ", compared(first), ", ", compared(last)));
    return both(no_wrap, b.holds ? ends : out.let(text("xor i1 ", ends, ", true")));
}

/// An i1: all boundary indices are in the interior in all lanes of this packet.
std::string InteriorVersions::are_interior() {
    std::string all;
    for (const BoundaryIndex& b : plan.boundaries) {
        const std::string one = is_interior(b);
        all = all.empty() ? one : out.let(text("and i1 ", all, ", ", one));
    }
    return all;
}

/// Writes the version of a packet in which all boundary indices are in the interior.
void InteriorVersions::interior_version(const Body& body) {
    for (const BoundaryIndex& b : plan.boundaries) emit.pure.interior_values[b.value.id] = b.interior;
    body();
    emit.pure.interior_values.clear(), emit.pure.remainders.clear();
}

/// Writes a packet in two versions if the kernel has boundary indices: interior and boundary.
void InteriorVersions::interior_and_boundary_versions(const Body& body) {
    if (plan.boundaries.empty()) return body();
    const std::string interior = out.label("interior"), boundary = out.label("boundary");
    const auto before = std::make_tuple(packet.values, packet.has_value, packet.running, packet.lost);
    out.branch(are_interior(), interior, boundary);
    out.start(interior);
    interior_version(body);
    if (out.open) out.jump(packet.return_label);
    std::tie(packet.values, packet.has_value, packet.running, packet.lost) = before;
    out.start(boundary);
    body();
}

}  // namespace pumice::cpu
