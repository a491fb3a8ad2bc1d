// The formats of print and require: how values become text, the same for every device.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/type.h"

namespace pumice {

/// Text with a place for each value, `{}` or `{:spec}`; `{{` and `}}` stand for braces. A spec is
/// `[< > or ^][+][0][width][.precision][type]`: alignment in a field of that width, a sign before positive numbers, zeros in front.
/// Types are d x X b o for integers and bools, e f g (and E G) for floats, with the precision of printf. Without a type,
/// integers are decimal, floats the shortest decimal that reads back exactly (or with .precision like g), bools true and false.
class Format {
public:
    explicit Format(std::string_view text);

    /// The format itself is wrong, for whatever values.
    bool flawed() const { return !problem.empty(); }
    /// Places for values.
    size_t places() const { return specs.size(); }
    /// What is wrong with the format for values of these types, as a sentence without its full stop; "" where nothing is.
    std::string misfit(std::span<const Scalar> types) const;
    /// The line, of values as bits in the low bytes. The format must fit them.
    std::string line(std::span<const Scalar> types, std::span<const uint64_t> bits) const;

    /// The text with braces doubled, so that it stands for itself in a format.
    static std::string escaped(std::string_view text);
    /// The pieces: what stands between the places, with its braces still doubled, and the places' own text.
    const std::vector<std::string>& between() const { return texts; }
    const std::vector<std::string>& place_texts() const { return raw; }

private:
    struct Spec {
        char align = 0, type = 0;
        bool plus = false, zeros = false;
        int width = 0, precision = -1;
    };
    static bool read(std::string_view text, Spec& spec);
    static std::string value(const Spec& spec, Scalar type, uint64_t bits);

    std::string whole;
    std::string problem;             ///< of the format itself
    std::vector<std::string> texts;  ///< one more than places
    std::vector<std::string> raw;
    std::vector<Spec> specs;
};

/// Values that one print or require takes, vectors counted by their components.
inline constexpr size_t max_reported = 24;

}  // namespace pumice
