// print and require: messages from kernels to the host.
#pragma once
#include <optional>

#include "core/language/functions.h"

namespace pumice {
namespace detail {

/// A value for a {} of a format. Host values become part of the format.
struct Shown {
    std::vector<Handle> scalars;      ///< of a device value
    bool composite = false;           ///< the device value is a vector or struct
    std::optional<Scalar> host;       ///< type of a host number
    uint64_t bits = 0;                ///< bits of a host number
    std::optional<std::string> text;  ///< a host string
};

template <class A> Shown shown(const A& value, SourceLocation location) {
    Shown s;
    if constexpr (DeviceValue<A>) {
        using T = device_type_t<A>;
        const Operand<T> operand(value, location.file, location.line);
        if constexpr (ScalarType<T>)
            s.scalars.push_back(operand.handle);
        else
            s.scalars.assign(operand.handles.begin(), operand.handles.end()), s.composite = true;
    } else if constexpr (ScalarType<A>) {
        s.host = scalar_of<A>();
        __builtin_memcpy(&s.bits, &value, sizeof value);
    } else {
        static_assert(std::is_convertible_v<const A&, std::string>,
                      "pumice: print and require show device values, numbers and strings");
        s.text = std::string(value);
    }
    return s;
}

void emit_report(ir::Op op, const char* what, std::string_view format, const Handle* condition, std::span<const Shown> values,
                 SourceLocation location);

/// A format and its source line: a default argument can record the line here, but not after a pack of values.
struct FormatAt {
    std::string_view text;
    SourceLocation location;
    template <class S>
        requires std::is_convertible_v<const S&, std::string_view>
    FormatAt(const S& text, PUMICE_AT) : text(text), location(PUMICE_HERE) {}
};

}  // namespace detail

/// Prints a line on the host, with a value for each {} of the format: print("i={} v={:.3f}", i, v). core/text/print_format.h
/// defines the format. Values are device values of every type (vectors and structs as (a, b, c)), host numbers and strings. Lines
/// appear when the host waits for the device, ordered by groups and items. Throws Error if the values do not match the format.
template <class... A> void print(detail::FormatAt format, const A&... values) {
    const std::vector<detail::Shown> all{detail::shown(values, format.location)...};
    detail::emit_report(ir::Op::print, "print", format.text, nullptr, all, format.location);
}

/// If the condition is false, the host's next wait throws an Error with the kernel, the line, the item, and the message, which
/// may have values as in print. The item continues.
template <class... A> void require(detail::Operand<bool> condition, detail::FormatAt message, const A&... values) {
    const std::vector<detail::Shown> all{detail::shown(values, message.location)...};
    detail::emit_report(ir::Op::require, "require", message.text, &condition.handle, all, message.location);
}

}  // namespace pumice
