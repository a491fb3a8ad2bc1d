// Packet steps: divisions and bit operations on indices whose result is the same, or keeps its step, within a packet of items.
//
// Why: the stages of a Fourier transform or of a sorting network divide the item's index by powers of two. A packet of 8 items
// that begins at a multiple of 8 lies within one quotient by 16, but as values of single items quotient and remainder part.
//
//     %1 = local_index 0                   # begins at a multiple of 8: multiples of 8, step 1
//     %2 = div %1, 16                      # uniform: no multiple of 16 is inside the packet
//     %3 = rem %1, 16                      # keeps the step 1
//     %4 = xor %1, 32                      # keeps the step 1
//     %5 = rem %1, 4                       # neither, but its lanes are known: 0 1 2 3 0 1 2 3
//
// Method: a value is a multiple of `align`, a power of two, plus a constant for each item of the packet, from 0 on. With P the
// smallest power of two above these constants, P <= align, they take the lowest log2(P) bits only. So a division by a multiple of
// P, or a mask without these bits, is uniform; a remainder by a multiple of P, or a mask or xor that leaves these bits as they
// are, keeps the step. Divisors of `align` and other masks give other constants.
// Cost: a short walk up the operands for each such instruction. Limits: integers of 32 bits, constant divisors and masks; at most
// `most_nested` instructions between index and result. Signed divisions need an index itself, which is not negative.
// Textbook name: alignment analysis with strided values (Larsen and Amarasinghe, PLDI 2000; Karrenberg and Hack, CGO 2011);
// constant offsets between lanes (gather coalescing in ispc, Pharr and Mark 2012).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// How the items of a launch are dealt to packets: runs of `items` along axis 0, a power of two, begin at multiples of `items`.
/// 1: nothing is known.
struct PacketAlignment {
    int64_t items = 1;
    bool global = false;  ///< the global indices begin at multiples, too, not only the local ones
};

class PacketSteps {
public:
    PacketSteps(const Kernel& kernel, PacketAlignment packets) : k(kernel), packets(packets) {}

    /// The effect of a division or bit operation on the values of a packet.
    enum class Effect : uint8_t { unknown, uniform, keeps_step };
    Effect effect_of(const Inst& i) const;
    /// By how much each item's value exceeds the first one's, modulo 2^32, if these are constants. `uniform` tells which values
    /// are the same in a packet.
    std::optional<std::vector<int64_t>> lanes_of(Value v, const std::function<bool(Value)>& uniform) const;
    int64_t items() const { return packets.items; }

private:
    using Lanes = std::vector<int64_t>;
    struct Form {
        int64_t align = 1;
        Lanes above;           ///< of each item: the value less a multiple of align
        bool natural = false;  ///< not negative in any item
    };
    std::optional<Form> of(Value v, int depth) const;
    std::optional<Form> of(const Inst& i, int depth) const;
    std::optional<Form> split(const Inst& i, int depth) const;
    std::optional<Lanes> lanes(Value v, const std::function<bool(Value)>& uniform, int depth) const;
    std::optional<uint32_t> constant(Value v) const;
    Form same(int64_t align, bool natural) const { return {align, Lanes(size_t(packets.items), 0), natural}; }

    const Kernel& k;
    const PacketAlignment packets;
};

}  // namespace pumice::ir
