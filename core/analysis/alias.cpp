#include "core/analysis/alias.h"

#include <algorithm>

namespace pumice::ir {
namespace {

/// True if the indices differ for sure: they have the same base and different constants, modulo 2^bits of their type.
bool differ(const Kernel& k, Value a, Value b) {
    if (k.type_of(a) != k.type_of(b)) return false;
    const int unused = 64 - 8 * size_of(k.type_of(a));
    const BasePlusConstant x = base_plus_constant(k, a), y = base_plus_constant(k, b);
    return x.base == y.base && ((x.constant - y.constant) << unused) != 0;
}

}  // namespace

BasePlusConstant base_plus_constant(const Kernel& k, Value v) {
    uint64_t bits = 0;
    if (k.constant(v, bits)) return {{}, bits};
    const InstId source = k[v].inst;
    if (source.id == none || (k[source].op != Op::add && k[source].op != Op::sub)) return {v, 0};
    const Value a = k.operands(k[source])[0], b = k.operands(k[source])[1];
    if (k.constant(b, bits)) return {a, k[source].op == Op::add ? bits : -bits};
    if (k[source].op == Op::add && k.constant(a, bits)) return {b, bits};
    return {v, 0};
}

bool must_alias(const MemoryLocation& a, const MemoryLocation& b) {
    return a.memory == b.memory && a.leaf == b.leaf && std::ranges::equal(a.indices, b.indices);
}

bool may_alias(const Kernel& k, const MemoryLocation& a, const MemoryLocation& b) {
    if (a.memory != b.memory) return false;
    const auto& leaves = k[a.memory].element.leaves;
    const Leaf &x = leaves[a.leaf], &y = leaves[b.leaf];
    if (x.offset + uint32_t(size_of(x.type)) <= y.offset || y.offset + uint32_t(size_of(y.type)) <= x.offset) return false;
    if (a.indices.size() != b.indices.size()) return true;
    // Indices are inside the extents, so equal elements have equal indices.
    for (size_t d = 0; d < a.indices.size(); ++d)
        if (differ(k, a.indices[d], b.indices[d])) return false;
    return true;
}

}  // namespace pumice::ir
