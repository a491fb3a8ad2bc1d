// The text that operator<< writes for an array.
#include <cstring>

#include "core/host/device.h"
#include "core/host/strided_region.h"
#include "core/ir/ir.h"

namespace pumice::detail {
namespace {

// A dimension of more than `most` elements is written as its first and last `shown` elements.
constexpr int64_t most = 8, shown = 3;

std::string text_of(const Element& element, const std::byte* at) {
    std::string out;
    for (const Leaf& leaf : element.leaves) {
        uint64_t bits = 0;
        std::memcpy(&bits, at + leaf.offset, size_t(size_of(leaf.type)));
        if (!element.is_scalar()) out += text(out.empty() ? "" : ", ", leaf.path, ": ");
        out += ir::constant_text(leaf.type, bits);
    }
    return element.is_scalar() ? out : "{" + out + "}";
}

std::string type_of(const Element& element) {
    if (element.is_scalar()) return std::string(name_of(element.leaves[0].type));
    std::string out;
    for (const Leaf& leaf : element.leaves) out += text(out.empty() ? "" : ", ", leaf.path, ": ", name_of(leaf.type));
    return "{" + out + "}";
}

/// The elements from `first` on, with braces around each dimension of the extents.
std::string values_of(const ArrayState& array, std::span<const int64_t> extents, int64_t first) {
    const int64_t n = extents[0];
    int64_t stride = 1;
    for (const int64_t e : extents.subspan(1)) stride *= e;
    const auto one = [&](int64_t i, const std::byte* row, int64_t row_first) {
        return extents.size() == 1 ? text_of(*array.element, row + (i - row_first) * array.element_size)
                                   : values_of(array, extents.subspan(1), first + i * stride);
    };
    const auto some = [&](int64_t from, int64_t to) {
        std::vector<std::byte> row;
        if (extents.size() == 1) {
            row.resize(size_t((to - from) * array.element_size));
            read(*slice(array, first + from, to - from), row.data());
        }
        std::string out;
        for (int64_t i = from; i < to; ++i) out += (i > from ? ", " : "") + one(i, row.data(), from);
        return out;
    };
    return "{" + (n <= most ? some(0, n) : some(0, shown) + ", ..., " + some(n - shown, n)) + "}";
}

}  // namespace

std::string text_of(const ArrayState& array, std::span<const int64_t> extents) {
    std::string shape;
    bool empty = false;
    for (const int64_t e : extents) shape += text(shape.empty() ? "" : " x ", e), empty = empty || e == 0;
    const std::string head = text(type_of(*array.element), " array of ", shape, " on ", array.device->name);
    if (array.released) return head + ", released";
    return head + ": " + (empty ? "{}" : values_of(array, extents, 0));
}

}  // namespace pumice::detail
