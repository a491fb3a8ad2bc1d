// SPIR-V rewrite that makes conversions round: every conversion from, to or between floats is decorated with NoContraction.
//
//   %5 = OpConvertSToF %float %4        OpDecorate %5 NoContraction
//                                       %5 = OpConvertSToF %float %4
//
// Why: Mesa folds double(float(x)) and int(float(i)) to x and i, without the rounding of the inner conversion; it does not fold
// decorated conversions. One pass over the words collects the decorations, which are inserted before the first decoration or
// type.
// Cost: linear, three words a conversion. Limits: the SPIR-V specification allows the decoration on arithmetic only, so this is
// done only for drivers that need it (Options::exact_conversions). Textbook name: none; `precise` of GLSL at the level of SPIR-V.
#include "codegen/artifact/exact_conversions.h"

#include <cstddef>

namespace pumice::codegen {
namespace {

enum SpirvOp : uint32_t {
    decorate = 71,
    first_decoration = 71,
    group_member_decorate = 75,
    decorate_id = 332,
    decorate_string = 5632,
    member_decorate_string = 5633,
    first_type = 19,
    last_type = 39,
    convert_float_to_unsigned = 109,
    convert_unsigned_to_float = 112,
    convert_float = 115,
};
constexpr uint32_t header_words = 5, no_contraction = 42;

bool converts_floats(uint32_t op) {
    return (op >= convert_float_to_unsigned && op <= convert_unsigned_to_float) || op == convert_float;
}
bool is_decoration(uint32_t op) {
    return (op >= first_decoration && op <= group_member_decorate) || op == decorate_id || op == decorate_string ||
           op == member_decorate_string;
}

}  // namespace

std::vector<uint32_t> with_exact_conversions(const std::vector<uint32_t>& spirv) {
    std::vector<uint32_t> decorations;
    size_t place = 0;  // of the first decoration, or of the first type, which decorations must precede
    for (size_t at = header_words; at < spirv.size(); at += spirv[at] >> 16) {
        const uint32_t op = spirv[at] & 0xffff;
        if (!place && (is_decoration(op) || (op >= first_type && op <= last_type))) place = at;
        // OpConvert... type result operand
        if (converts_floats(op)) decorations.insert(decorations.end(), {3u << 16 | decorate, spirv[at + 2], no_contraction});
    }
    std::vector<uint32_t> out = spirv;
    out.insert(out.begin() + std::ptrdiff_t(place), decorations.begin(), decorations.end());
    return out;
}

}  // namespace pumice::codegen
