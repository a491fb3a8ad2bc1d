// Shadow arrays of a launch: memory like that of an array, arguments over it, and sums of shadows.
//
// Why: an array that is passed twice, or whose launch is split, has several shadows, which are added up after the launch.
//
//     autodiff(Reverse, f, r, Duplicated(y, dy), Duplicated(x, dx), Duplicated(x, dx))
//         second = allocate_like(dx, bytes, zeroed)     the launch adds to dx and to second
//         accumulate(dx, second)                        dx += second, one item an element
//
// Sums are computed by a kernel of the library's own, one for each element type, made at its first use. Cost: one launch for a
// sum, which reads both arrays and writes one. Limits: floats alone are added; integers keep their values. Textbook name: shadow
// memory.
#include "autodiff/api/shadow_arrays.h"

#include <map>
#include <mutex>

#include "autodiff/api/check_annotations.h"
#include "core/ir/builder.h"

namespace pumice::derive {

std::shared_ptr<detail::ArrayState> allocate_like(const detail::ArrayState& like, int64_t bytes, bool zero) {
    const int64_t n = bytes / int64_t(like.element->size);
    return detail::allocate(like.device, &n, 1, *like.element, zero);
}

void fill_zero(const detail::ArrayState& array) {
    const uint32_t zero = 0;
    if (array.memory) detail::fill(array, &zero, array.bytes % 4 == 0 ? 4 : 1);
}

HostArgument argument_of(const detail::ArrayState& array) {
    HostArgument a;
    a.is_array = true;
    a.element = array.element;
    a.array = &array;
    a.extents = {array.bytes / int64_t(array.element->size), 1, 1};
    return a;
}

HostArgument rebound(const HostArgument& argument, const detail::ArrayState& array) {
    HostArgument a = argument;
    a.array = &array;
    return a;
}

HostArgument OtherMemory::over(const HostArgument& argument, std::shared_ptr<detail::ArrayState> array) {
    const HostArgument a = rebound(argument, *array);
    kept.push_back(std::move(array));
    return a;
}

HostArgument OtherMemory::over(const HostArgument& argument, std::shared_ptr<detail::ImageState> image) {
    auto binding = std::make_shared<detail::ImageBinding>(detail::ImageBinding{std::move(image), argument.image->info});
    HostArgument a = argument;
    a.image = binding.get();
    a.array = binding->image->words.get();
    kept.push_back(std::move(binding));
    return a;
}

HostArgument OtherMemory::copy_of(const HostArgument& argument, bool contents) {
    if (argument.image) {
        const detail::ImageState& image = *argument.image->image;
        const auto copy = detail::new_image(image.device, image.shape, image.is_native());
        if (contents) detail::copy_image(image, *copy);
        return over(argument, copy);
    }
    const auto copy = allocate_like(*argument.array, argument.array->bytes, false);
    if (contents) detail::copy(*argument.array, *copy);
    return over(argument, copy);
}

HostArgument OtherMemory::shadow(const HostArgument& argument, std::shared_ptr<detail::ArrayState> array) {
    HostArgument a = over(argument, std::move(array));
    a.image = nullptr;
    return a;
}

bool has_memory(const HostArgument& argument) {
    if (argument.image) return argument.image->image->allocation() != nullptr;
    return argument.array && argument.array->memory;
}

namespace {
/// arg1[i] += arg2[i], for each floating leaf.
AnyKernel accumulating(const Element& element) {
    static std::mutex mutex;
    static std::map<const Element*, AnyKernel> kernels;  // each type has one Element object
    std::lock_guard lock(mutex);
    const auto there = kernels.find(&element);
    if (there != kernels.end()) return there->second;

    auto kernel = std::make_shared<ir::Kernel>();
    kernel->name = "accumulate";
    kernel->rank = 1;
    for (int i = 0; i < 2; ++i) {
        ir::Memory m;
        m.name = text("arg", i + 1);
        m.element = element;
        m.access = i == 0 ? ir::Access::inout : ir::Access::in;
        m.argument = i;
        kernel->memories.push_back(m);
        kernel->params.push_back({true, Scalar::f32, ir::MemoryId{uint32_t(i)}});
    }
    ir::Builder build(*kernel);
    build.enter(build.new_block());
    const ir::Value i = build.index(ir::Op::global_index, 0);
    for (uint32_t leaf = 0; leaf < element.leaves.size(); ++leaf) {
        if (!is_float(element.leaves[leaf].type)) continue;
        const ir::Value a = build.load(ir::MemoryId{0}, leaf, {&i, 1}), b = build.load(ir::MemoryId{1}, leaf, {&i, 1});
        build.store(ir::MemoryId{0}, leaf, {&i, 1}, build.op(ir::Op::add, {a, b}));
    }
    build.terminate(ir::Op::return_);
    return kernels.emplace(&element, AnyKernel(kernel)).first->second;
}
}  // namespace

void accumulate(const std::shared_ptr<detail::ArrayState>& to, const std::shared_ptr<detail::ArrayState>& from) {
    if (to->bytes == 0 || !has_floats(*to->element)) return;
    const HostArgument arguments[2] = {argument_of(*to), argument_of(*from)};
    // One launch covers 2^31 - 1 items; longer arrays take several.
    for (int64_t first = 0; first < arguments[0].extents[0]; first += INT32_MAX) {
        const int64_t past[1] = {std::min<int64_t>(arguments[0].extents[0] - first, INT32_MAX)};
        detail::ArrayState a = *to, b = *from;
        for (detail::ArrayState* part : {&a, &b})
            part->offset += first * to->element->size, part->bytes = past[0] * to->element->size;
        const auto to_part = std::make_shared<detail::ArrayState>(a), from_part = std::make_shared<detail::ArrayState>(b);
        const HostArgument parts[2] = {argument_of(*to_part), argument_of(*from_part)};
        accumulating(*to->element).launch(ndrange(past[0]), parts);
    }
}

}  // namespace pumice::derive
