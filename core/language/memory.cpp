#include "core/language/memory.h"

#include "core/ir/memory_limits.h"
#include "core/support/error.h"

namespace pumice {

using namespace internal;
namespace detail {

void MemoryBase::check_dimension(const Recorder& r, int d, int rank, SourceLocation location) {
    if (d < 0 || d >= rank)
        fail("the extent of an array along dimension ", d, " is asked for in kernel \"", r.kernel.name, "\" (", where(location),
             "); it has ", rank, rank == 1 ? " dimension" : " dimensions");
}

namespace {

/// True if the size consists of group extents and constants, so that the launch can evaluate it.
bool known_at_launch(const ir::Kernel& k, ir::Value v) {
    if (k[v].inst.id == ir::none) return false;
    const ir::Inst& i = k[k[v].inst];
    if (i.op == ir::Op::constant || i.op == ir::Op::group_size) return true;
    if (!is_scalar_op(i.op) && i.op != ir::Op::cast) return false;
    for (const ir::Value o : k.operands(i))
        if (!known_at_launch(k, o)) return false;
    return true;
}

void check_size(const Recorder& r, const ir::Memory& m, SourceLocation location) {
    const char* kind = m.kind == ir::MemoryKind::local ? "local" : "private";
    const int64_t limit = m.kind == ir::MemoryKind::local ? most_local_bytes : most_private_bytes;
    int64_t bytes = m.element.size;
    for (const int64_t n : m.extents)
        if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > limit)
            fail("a ", kind, " array in kernel \"", r.kernel.name, "\" (", where(location), ") takes more than ", limit,
                 " bytes, which is the limit");
    uint64_t size = 0;
    if (!m.size) return;
    if (!known_at_launch(r.kernel, m.size))
        fail("the size of a local array in kernel \"", r.kernel.name, "\" (", where(location),
             ") is not known before the kernel runs: it is "
             "made of group sizes and constants only");
    if (r.kernel.constant(m.size, size) && int32_t(size) <= 0)
        fail("a local array of extent ", int32_t(size), " is declared in kernel \"", r.kernel.name, "\" (", where(location),
             "): extents are positive");
}

}  // namespace

namespace {
int add_parameter(const ParameterSource& source, bool is_array, Scalar type, ir::MemoryId memory) {
    ir::Parameter parameter{is_array, type, memory};
    // Members of structs are parameters of the kernel too, so that the position differs from the user's number.
    parameter.identity.number = source.number;
    parameter.identity.path = source.path;
    source.recorder.kernel.params.push_back(std::move(parameter));
    return int(source.recorder.kernel.params.size()) - 1;
}
}  // namespace

Handle declare_scalar(const ParameterSource& source, Scalar type) {
    const int index = add_parameter(source, false, type, {});
    return source.recorder.handle(source.recorder.at(source.location).build.argument(index, type));
}

MemoryBase declare_array(const ParameterSource& source, const Element& element, int rank, ir::Access access,
                         const ImageInfo& image) {
    Recorder& r = source.recorder;
    ir::Memory m;
    m.name = text("arg", r.kernel.params.size() + 1);
    m.element = element;
    m.rank = rank;
    m.access = access;
    m.image = image;
    m.argument = int(r.kernel.params.size());
    const ir::MemoryId id = r.add_memory(std::move(m), source.location);
    add_parameter(source, true, element.leaves[0].type, id);
    return MemoryBase(id, r.serial);
}

ir::MemoryId add_array(Recorder& r, MemoryBase& memory, ir::MemoryKind kind, const Element& element, std::vector<int64_t> extents,
                       ir::Value size, SourceLocation location) {
    for (const int64_t n : extents)
        if (n <= 0)
            fail("a ", kind == ir::MemoryKind::local ? "local" : "private", " array of extent ", n, " is declared in kernel \"",
                 r.kernel.name, "\" (", where(location), "): extents are positive");
    ir::Memory m;
    m.kind = kind;
    m.element = element;
    m.rank = extents.empty() ? 1 : int(extents.size());
    if (m.rank > ir::max_rank)
        fail("a ", kind == ir::MemoryKind::local ? "local" : "private", " array has ", m.rank, " dimensions in kernel \"",
             r.kernel.name, "\" (", where(location), "); the limit is ", ir::max_rank);
    m.extents = std::move(extents);
    m.size = size;
    check_size(r, m, location);
    memory.recording = r.serial;
    return r.add_memory(std::move(m), location);
}

namespace {
/// Throws if the element is a variable: that is private to the item, and atomics do not support it.
void check_shared(const Recorder& r, const ElementAddress& element, SourceLocation location) {
    if (element.choice && !element.choice->variables.empty())
        fail("an atomic of a Var in kernel \"", r.kernel.name, "\" (", where(location),
             "): atomics need an array or local memory");
    if (element.memory.id != ir::none && r.kernel[element.memory].image)
        fail("an atomic of an image in kernel \"", r.kernel.name, "\" (", where(location),
             "): atomics need an array or local memory");
}
}  // namespace

Handle emit_atomic(ir::Atomic what, const ElementAddress& element, Handle before, Handle value, SourceLocation location) {
    Recorder& r = Recorder::current("an atomic", location);
    r.use(before, location);
    const ir::Value v = r.use(value, location);
    check_shared(r, element, location);
    return r.handle(access_element(r.at(location), element, [&](uint32_t leaf) {
        return r.build.atomic(element.memory, leaf, what, element.index_span(), v);
    }));
}

Handle emit_compare_exchange(const ElementAddress& element, Handle before, Handle expected, Handle desired,
                             SourceLocation location) {
    Recorder& r = Recorder::current("an atomic", location);
    r.use(before, location);
    const ir::Value e = r.use(expected, location), d = r.use(desired, location);
    check_shared(r, element, location);
    return r.handle(access_element(r.at(location), element, [&](uint32_t leaf) {
        return r.build.compare_exchange(element.memory, leaf, element.index_span(), e, d);
    }));
}

}  // namespace detail

void synchronize(const char* pm_file, int pm_line) {
    detail::Recorder::current("synchronize()", PUMICE_HERE).at(PUMICE_HERE).build.barrier();
}

}  // namespace pumice
