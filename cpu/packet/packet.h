// The packet that is being emitted.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/linear_index.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"
#include "core/ir/ir.h"
#include "cpu/packet/llvm_text.h"
#include "cpu/plan/variant.h"

namespace pumice::cpu {

/// A loop that contains a barrier: it runs once for the group (emit_region_constructs.cpp).
struct BarrierRegionLoop {
    const ir::Inst* inst = nullptr;
    std::string latch, exit, body;
    std::string from, to, step;  ///< of a for
};

/// The purpose of a packet's code.
enum class PacketUse : uint8_t {
    plain,
    for_debuggers,  ///< with debug metadata
    jammed_rows,    ///< an item does the work of several rows (cpu/plan/unroll_and_jam.h)
};

/// The packet that is being emitted: its values, its mask, its items.
class Packet {
public:
    Packet(const ir::Kernel& kernel, const Target& target, const Variant& variant, LlvmText& out);

    std::optional<int64_t> lane_step(ir::Value v) const;
    ValueKind kind_of(ir::Value v) const;
    bool varying(ir::Value v) const { return width > 1 && uniformity.of(v) == ir::Scope::item; }
    bool diverges(ir::InstId i) const { return width > 1 && uniformity.parting(i) == ir::Scope::item; }
    const ValueRep& rep_of(ir::Value v);
    std::string scalar(ir::Value v);  ///< of a value that is not a vector: its scalar, or lane 0's
    std::string vector(ir::Value v);
    std::string vector_of(const ValueRep& h, Scalar type);
    std::string text_of(ir::Value v, ValueKind kind) { return kind == ValueKind::vector ? vector(v) : scalar(v); }
    void define(ir::Value v, const std::string& text);
    void define_lanes(ir::Value v, const std::string& vector);
    std::string mask_text(const Mask& m) const;
    Mask first_items(int64_t count) const;
    Mask narrowed(const Mask& m, const std::string& condition);  ///< m and the condition
    Mask united(const Mask& a, const Mask& b);
    std::string any(const Mask& m);
    std::string first_lane(const Mask& m);  ///< an i32: the first active lane
    Alloca mask_alloca(const char* stem);
    void write_mask(const Alloca& s, const Mask& m);
    Mask read_mask(const Alloca& s);
    Alloca alloca_for(ir::Value v, const char* stem);
    void write(const Alloca& s, ir::Value v, const Mask& only) { write_rep(s, rep_of(v), only); }
    void write_rep(const Alloca& s, const ValueRep& now, const Mask& only);
    void read(ir::Value v, const Alloca& s);
    void clear(const Alloca& s);
    bool is_index(ir::Value v, ir::Op op) const;
    bool adds_together(const ir::Inst& i) const;
    bool is_costly(const ir::Inst& i) const;
    std::optional<size_t> size_if_computed(ir::BlockId b) const;
    bool is_cheap_arm(ir::BlockId b) const;
    int register_bytes() const { return 4 * target.width; }  ///< of a vector register
    int vector_registers() const { return target.isa == Isa::avx512 || target.isa == Isa::neon ? 32 : 16; }
    int64_t packets_a_row() const;
    std::string packet_number();
    std::string attributes() const;

    PacketUse use = PacketUse::plain;
    int64_t item_rows = 1;  ///< rows of a group with barriers whose work an item does, from local_at[1] on
    const ir::Kernel& k;
    const Target& target;
    const Variant& variant;
    int& width;  ///< items of the packet that is being emitted: LlvmText::width
    ir::Uniformity uniformity;
    ir::LinearIndex affine;
    const ir::Uses uses;
    bool lost = false;  ///< items may have become inactive since the block began
    Mask running;
    bool at_row_end = false;  ///< of a long row: most packets of the row are full ones, which have code of their own
    std::vector<ValueRep> values;
    std::vector<bool> has_value;
    std::string return_label;             ///< of the packet, or of the group outside of packets
    std::array<std::string, 3> group_at;  ///< i32s: the group's index
    std::array<std::string, 3> origin;    ///< i32s: its first global index
    std::array<std::string, 3> local_at;  ///< i32s: the packet's first item
    bool has_barriers = false;
    std::vector<BarrierRegionLoop> region_loops;  ///< the loops around barriers that are being emitted
    bool in_packet = false;
    bool restoring = false;                       ///< values that are defined are not saved for other regions
    std::function<void(ir::Value)> when_defined;  ///< called for each value that is defined, if set

private:
    LlvmText& out;
};

}  // namespace pumice::cpu
