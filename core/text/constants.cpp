// Constants as text and back; printed text parses to the same bits.
#include "core/text/constants.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "core/ir/evaluate.h"

namespace pumice::ir {
namespace {

template <class F> std::string shortest(F value) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    std::string out(buffer, end);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return out;
}

std::string hex(uint64_t bits) {
    char buffer[20];
    return "0x" + std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr);
}

std::string float_text(Scalar type, uint64_t bits) {
    const double value = real_of(type, bits);
    if (std::isnan(value)) return "nan(" + hex(bits) + ")";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    // The shortest decimal for the float also identifies the narrow float, which is one of the floats.
    return type == Scalar::f64 ? shortest(value) : shortest(float(value));
}

template <class T> bool reads_as(std::string_view literal, T& value) {
    const char* end = literal.data() + literal.size();
    const auto [stop, problem] = std::from_chars(literal.data(), end, value);
    return problem == std::errc() && stop == end;
}

bool float_bits(Scalar type, std::string_view literal, uint64_t& bits) {
    if (literal.starts_with("nan(0x") && literal.ends_with(")")) {
        const char* end = literal.data() + literal.size() - 1;
        const auto [stop, problem] = std::from_chars(literal.data() + 6, end, bits, 16);
        return problem == std::errc() && stop == end && (size_of(type) == 8 || bits >> (8 * size_of(type)) == 0);
    }
    if (type == Scalar::f64) {
        double value = 0;
        if (!reads_as(literal, value)) return false;
        bits = std::bit_cast<uint64_t>(value);
        return true;
    }
    float value = 0;
    if (!reads_as(literal, value)) return false;
    bits = real_bits(type, double(value));
    return true;
}

}  // namespace

std::string constant_text(Scalar type, uint64_t bits) {
    if (type == Scalar::boolean) return bits ? "true" : "false";
    if (is_float(type)) return float_text(type, bits);
    if (is_unsigned_int(type)) return std::to_string(bits);
    const int unused = 64 - 8 * size_of(type);
    return std::to_string(int64_t(bits << unused) >> unused);
}

bool constant_bits(Scalar type, std::string_view literal, uint64_t& bits) {
    if (type == Scalar::boolean) {
        bits = literal == "true";
        return literal == "true" || literal == "false";
    }
    if (is_float(type)) return float_bits(type, literal, bits);
    const int width = 8 * size_of(type);
    const uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
    if (is_unsigned_int(type)) return reads_as(literal, bits) && bits <= mask;
    int64_t value = 0;
    if (!reads_as(literal, value) || value > int64_t(mask >> 1) || value < -int64_t(mask >> 1) - 1) return false;
    bits = uint64_t(value) & mask;
    return true;
}

}  // namespace pumice::ir
