#include "core/memory.h"

#include "core/error.h"

namespace pumice {
namespace detail {

void MemoryBase::check_dimension(const Recorder& r, int d, int rank, Place place) {
    if (d < 0 || d >= rank)
        fail("the extent of an array along dimension ", d, " is asked for in kernel \"", r.kernel.name, "\" (", where(place), "); it has ", rank,
             rank == 1 ? " dimension" : " dimensions");
}

ir::MemoryId add_array(Recorder& r, MemoryBase& memory, ir::MemoryKind kind, Element element, std::vector<int64_t> extents, ir::Value size, Place place) {
    for (const int64_t n : extents)
        if (n <= 0) fail("a local or private array of extent ", n, " is declared in kernel \"", r.kernel.name, "\" (", where(place), "): extents are positive");
    ir::Memory m;
    m.kind = kind;
    m.element = std::move(element);
    m.rank = extents.empty() ? 1 : int(extents.size());
    if (m.rank > 3) fail("a local or private array has ", m.rank, " dimensions in kernel \"", r.kernel.name, "\" (", where(place), "); the limit is 3");
    m.extents = std::move(extents);
    m.size = size;
    memory.recording = r.serial;
    return r.add_memory(std::move(m), place);
}

Handle emit_atomic(ir::Atomic what, ir::MemoryId memory, std::span<const ir::Value> indices, Handle element, Handle value, Place place) {
    Recorder& r = Recorder::current("an atomic", place);
    r.use(element, place);
    const ir::Value v = r.use(value, place);
    return r.handle(r.at(place).build.atomic(memory, 0, what, indices, v));
}

Handle emit_compare_exchange(ir::MemoryId memory, std::span<const ir::Value> indices, Handle element, Handle expected, Handle desired, Place place) {
    Recorder& r = Recorder::current("an atomic", place);
    r.use(element, place);
    const ir::Value e = r.use(expected, place), d = r.use(desired, place);
    return r.handle(r.at(place).build.compare_exchange(memory, 0, indices, e, d));
}

}  // namespace detail

void synchronize(const char* pm_file, int pm_line) {
    detail::Recorder::current("synchronize()", PUMICE_HERE).at(PUMICE_HERE).build.barrier();
}

}  // namespace pumice
