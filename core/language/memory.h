// Memory in a kernel: array parameters (In, Out, InOut), local and private arrays, atomics, barriers.
#pragma once
#include "core/language/functions.h"

namespace pumice {
namespace detail {

template <class T> constexpr bool holds_arrays() {
    bool any = is_array<T>::value;
    if constexpr (Composite<T>)
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { any = any || holds_arrays<F>(); });
    return any;
}
template <class T> concept HoldsArrays = Composite<T> && holds_arrays<T>();

/// One memory of the kernel being recorded.
class MemoryBase {
public:
    MemoryBase() = default;
    MemoryBase(ir::MemoryId id, uint32_t recording) : id(id), recording(recording) {}
    ir::MemoryId id;
    uint32_t recording = 0;

    Recorder& recorder(SourceLocation location) const {
        Recorder& r = Recorder::current("an array in a kernel", location);
        r.use(Handle{{}, recording}, location);
        return r;
    }
    template <class T> Val<T> load(std::initializer_list<IndexOperand> indices) const {
        ir::Value values[ir::max_rank];
        Recorder& r = recorder(indices.begin()->location);
        const auto used = collect(r, indices, values);
        std::array<Handle, size_t(leaf_count<T>())> handles;
        for (uint32_t leaf = 0; leaf < handles.size(); ++leaf)
            handles[leaf] = r.handle(r.at(indices.begin()->location).build.load(id, leaf, used));
        HandleSource source{handles.data()};
        return Val<T>(source);
    }
    template <class T> Ref<T> refer(std::initializer_list<IndexOperand> indices) const {
        ir::Value values[ir::max_rank];
        Recorder& r = recorder(indices.begin()->location);
        const auto used = collect(r, indices, values);
        return Ref<T>(ElementAddress(id, 0, used, indices.begin()->location, nullptr), r);
    }
    /// The extent along dimension d of an array parameter, dimension 0 the slowest.
    Val<int> extent(int d, int rank, PUMICE_AT) const {
        Recorder& r = recorder(PUMICE_HERE);
        check_dimension(r, d, rank, PUMICE_HERE);
        return Val<int>(r.handle(r.at(PUMICE_HERE).build.extent(id, rank - 1 - d)));
    }

private:
    static void check_dimension(const Recorder& r, int d, int rank, SourceLocation location);
    static std::span<const ir::Value> collect(Recorder& r, std::initializer_list<IndexOperand> indices, ir::Value* values) {
        size_t n = 0;
        for (const IndexOperand& i : indices) values[n++] = i.use(r);
        return {values, n};
    }
};

/// An image is declared as an array of its texels.
MemoryBase declare_array(const ParameterSource& source, const Element& element, int rank, ir::Access access,
                         const ImageInfo& image = {});
ir::MemoryId add_array(Recorder& r, MemoryBase& memory, ir::MemoryKind kind, const Element& element, std::vector<int64_t> extents,
                       ir::Value size, SourceLocation location);

}  // namespace detail

// Subscripts: one overload a rank, so that the conversion to IndexOperand at the call records the line.
#define PUMICE_CALLS(result, how, rank)                                                             \
    result operator()(detail::IndexOperand i) const                                                 \
        requires(rank == 1)                                                                         \
    {                                                                                               \
        return this->template how<T>({i});                                                          \
    }                                                                                               \
    result operator()(detail::IndexOperand i, detail::IndexOperand j) const                         \
        requires(rank == 2)                                                                         \
    {                                                                                               \
        return this->template how<T>({i, j});                                                       \
    }                                                                                               \
    result operator()(detail::IndexOperand i, detail::IndexOperand j, detail::IndexOperand k) const \
        requires(rank == 3)                                                                         \
    {                                                                                               \
        return this->template how<T>({i, j, k});                                                    \
    }
#define PUMICE_SUBSCRIPTS(result, how, rank)                                                                                 \
    PUMICE_CALLS(result, how, rank)                                                                                          \
    result operator[](detail::IndexOperand i) const { return this->template how<T>({i}); }                                   \
    template <class... I>                                                                                                    \
        requires(rank > 3 && sizeof...(I) == size_t(rank) && (std::is_convertible_v<const I&, detail::IndexOperand> && ...)) \
    result operator()(const I&... i) const {                                                                                 \
        return this->template how<T>({detail::IndexOperand(i, "", 0)...});                                                   \
    }

/// A kernel parameter: a read-only array, which no written argument may overlap. `a[i]` is linear (row-major), `a(i, j)` takes
/// one index a dimension.
template <class T, int N = 1> class In : public detail::MemoryBase {
public:
    explicit In(const detail::ParameterSource& source)
        : MemoryBase(detail::declare_array(source, detail::element_of<T>(), N, ir::Access::in)) {}
    PUMICE_SUBSCRIPTS(Val<T>, load, N)
    /// Extent along dimension d as a device value; dimension 0 is the slowest.
    Val<int> size(int d = 0, PUMICE_AT) const { return this->extent(d, N, pm_file, pm_line); }
};

/// A kernel parameter: an array that is read and written.
template <class T, int N = 1> class InOut : public detail::MemoryBase {
public:
    explicit InOut(const detail::ParameterSource& source, ir::Access access = ir::Access::inout)
        : MemoryBase(detail::declare_array(source, detail::element_of<T>(), N, access)) {}
    PUMICE_SUBSCRIPTS(Ref<T>, refer, N)
    /// Extent along dimension d as a device value; dimension 0 is the slowest.
    Val<int> size(int d = 0, PUMICE_AT) const { return this->extent(d, N, pm_file, pm_line); }
};

/// A kernel parameter: an array that is written; the kernel may read only elements that it has written.
template <class T, int N = 1> class Out : public InOut<T, N> {
public:
    explicit Out(const detail::ParameterSource& source) : InOut<T, N>(source, ir::Access::out) {}
};

namespace detail {
// The type in a kernel of a struct parameter's member: an array, a value, or a struct that holds arrays.
template <class F, template <class, int> class Memory> struct member {
    using type = Val<F>;
};
template <class T, int N, template <class, int> class Memory> struct member<Array<T, N>, Memory> {
    using type = Memory<T, N>;
};
template <HoldsArrays F, template <class, int> class Memory> struct member<F, Memory> {
    using type = Memory<F, 1>;
};
template <class F> using in_member = typename member<F, In>::type;
template <class F> using out_member = typename member<F, Out>::type;
template <class F> using inout_member = typename member<F, InOut>::type;
}  // namespace detail

// A struct that holds arrays, as one parameter: its arrays become In, Out or InOut, its other members values.
#define PUMICE_STRUCT_PARAMETER(Memory, alias)                                                                            \
    template <detail::HoldsArrays S> class Memory<S, 1> : public structure<S>::template members<detail::alias> {          \
    public:                                                                                                               \
        explicit Memory(const detail::ParameterSource& source) : structure<S>::template members<detail::alias>(source) {} \
    };
PUMICE_STRUCT_PARAMETER(In, in_member)
PUMICE_STRUCT_PARAMETER(Out, out_member)
PUMICE_STRUCT_PARAMETER(InOut, inout_member)
#undef PUMICE_STRUCT_PARAMETER

/// An array shared by the work-items of a group; initially unset. Extents are static (Local<float, 16, 17>), or one size made of
/// group sizes and constants (Local<float>(group_size())).
template <class T, int... N> class Local : public detail::MemoryBase {
public:
    explicit Local(PUMICE_AT)
        requires(sizeof...(N) > 0)
    {
        detail::Recorder& r = detail::Recorder::current("Local", PUMICE_HERE);
        id = detail::add_array(r, *this, ir::MemoryKind::local, detail::element_of<T>(), {N...}, {}, PUMICE_HERE);
    }
    explicit Local(detail::IndexOperand size)
        requires(sizeof...(N) == 0)
    {
        detail::Recorder& r = detail::Recorder::current("Local", size.location);
        id = detail::add_array(r, *this, ir::MemoryKind::local, detail::element_of<T>(), {}, size.use(r), size.location);
    }
    Local(const Local&) = delete;
    PUMICE_SUBSCRIPTS(Ref<T>, refer, sizeof...(N))
};

/// An array of one work-item; initially unset, kept across barriers.
template <class T, int... N> class Private : public detail::MemoryBase {
public:
    static_assert(sizeof...(N) > 0, "pumice: a Private array has static extents: Private<float, 4>");
    explicit Private(PUMICE_AT) {
        detail::Recorder& r = detail::Recorder::current("Private", PUMICE_HERE);
        id = detail::add_array(r, *this, ir::MemoryKind::private_, detail::element_of<T>(), {N...}, {}, PUMICE_HERE);
    }
    Private(const Private&) = delete;
    PUMICE_SUBSCRIPTS(Ref<T>, refer, sizeof...(N))
};

#undef PUMICE_SUBSCRIPTS

/// Barrier: all work-items of the group arrive before any continues; orders their local and global memory.
void synchronize(PUMICE_AT);

namespace detail {
Handle emit_atomic(ir::Atomic what, const ElementAddress& element, Handle before, Handle value, SourceLocation location);
Handle emit_compare_exchange(const ElementAddress& element, Handle before, Handle expected, Handle desired,
                             SourceLocation location);
}  // namespace detail

// Atomic read-modify-write of an element of global or local memory; each returns the old value. The order among work-items is
// undefined; min and max of floats ignore NaN.
#define PUMICE_ATOMIC(name, what, condition)                                                                        \
    template <internal::ScalarType T>                                                                               \
        requires(condition)                                                                                         \
    Val<T> name(Ref<T>&& element, std::type_identity_t<detail::Operand<T>> value) {                                 \
        return Val<T>(detail::emit_atomic(ir::Atomic::what, element, element.value, value.handle, value.location)); \
    }
PUMICE_ATOMIC(atomic_add, add, (!std::is_same_v<T, bool>))
PUMICE_ATOMIC(atomic_sub, sub, (!std::is_same_v<T, bool>))
PUMICE_ATOMIC(atomic_min, min, (!std::is_same_v<T, bool>))
PUMICE_ATOMIC(atomic_max, max, (!std::is_same_v<T, bool>))
PUMICE_ATOMIC(atomic_and, and_, !is_float(*internal::scalar_of<T>()))
PUMICE_ATOMIC(atomic_or, or_, !is_float(*internal::scalar_of<T>()))
PUMICE_ATOMIC(atomic_xor, xor_, !is_float(*internal::scalar_of<T>()))
PUMICE_ATOMIC(atomic_exchange, exchange, true)
#undef PUMICE_ATOMIC
/// Writes `desired` if the element's bits equal those of `expected`; returns the old value.
template <internal::ScalarType T> Val<T> atomic_compare_exchange(Ref<T>&& element,
                                                                 std::type_identity_t<detail::Operand<T>> expected,
                                                                 std::type_identity_t<detail::Operand<T>> desired) {
    return Val<T>(detail::emit_compare_exchange(element, element.value, expected.handle, desired.handle, desired.location));
}

}  // namespace pumice
