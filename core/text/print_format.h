// The formats of print and require: conversion of values to text, the same for every device.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/type.h"

namespace pumice {

/// Text with a placeholder for each value, `{}` or `{:spec}`; `{{` and `}}` are literal braces. A spec is `[< > or
/// ^][+][0][width][.precision][type]`: alignment in a field of that width, a sign for positive numbers, leading zeros. Types are
/// d x X b o for integers and bools, e f g (and E G) for floats, with the precision of printf. Without a type, integers are
/// decimal, floats the shortest decimal that reads back exactly (or with .precision like g), bools true and false.
class PrintFormat {
public:
    explicit PrintFormat(std::string_view text);

    /// True if the format is invalid for all values.
    bool flawed() const { return !problem.empty(); }
    /// Number of placeholders.
    size_t places() const { return specs.size(); }
    /// The reason why values of these types do not fit the format, as a sentence without full stop; "" if they fit.
    std::string misfit(std::span<const internal::Scalar> types) const;
    /// The line, from values as bits in the low bytes. The values must fit the format.
    std::string line(std::span<const internal::Scalar> types, std::span<const uint64_t> bits) const;

    /// The text with braces doubled, so that a format prints it literally.
    static std::string escaped(std::string_view text);
    /// The text between the placeholders, with braces still doubled, and the text of the placeholders.
    const std::vector<std::string>& between() const { return texts; }
    const std::vector<std::string>& place_texts() const { return raw; }

private:
    struct Spec {
        char align = 0, type = 0;
        bool plus = false, zeros = false;
        int width = 0, precision = -1;
    };
    static bool read(std::string_view text, Spec& spec);
    static std::string value(const Spec& spec, internal::Scalar type, uint64_t bits);

    std::string whole;
    std::string problem;             ///< of the format itself
    std::vector<std::string> texts;  ///< one more than placeholders
    std::vector<std::string> raw;
    std::vector<Spec> specs;
};

/// Limit of the values of one print or require; vectors count by their components.
inline constexpr size_t max_reported = 24;

}  // namespace pumice
