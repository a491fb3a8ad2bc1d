// The permutations of a kernel on one device: which shader a launch needs.
//
//   arrays of a launch   sizes, offsets, number -> codegen::Options -> the permutation that was compiled for them, or a new one
//
// Most launches need the same one, which is compiled before the first launch. Others need 64-bit offsets, several arrays in one
// binding, or an array by its buffer device address instead of a descriptor: one that is larger than maxStorageBufferRange, or
// one whose offset is not aligned for a descriptor (options_for). Cost: a comparison of the options a launch, unless it is an
// ordinary one.
#include <algorithm>
#include <array>
#include <limits>

#include "core/ir/named.h"
#include "core/support/error.h"
#include "vulkan/vulkan_device.h"
#include "vulkan/vulkan_program.h"

namespace pumice::vulkan {
namespace {

size_t image_count(const codegen::Shader& shader) {
    return size_t(std::ranges::count_if(shader.bindings,
                                        [](const codegen::Binding& b) { return b.kind != codegen::Binding::Kind::buffer; }));
}

/// True if the kernel has 64-bit atomics on memory of this kind.
bool has_wide_atomics(const ir::Kernel& kernel, ir::MemoryKind kind) {
    return std::ranges::any_of(kernel.insts, [&](const ir::Inst& i) {
        return ir::is_atomic(i.op) && size_of(i.type) == 8 && kernel[i.memory].kind == kind;
    });
}

int64_t elements(const Launch::Array& array) {
    int64_t count = 1;
    for (const int64_t extent : array.extents) count *= extent;
    return count;
}

/// True if a dimension is longer than any binding: the array is reached by its address, or has no elements.
bool has_long_extent(const Launch::Array& array, int64_t element_bytes) {
    return std::ranges::any_of(array.extents, [&](int64_t extent) { return extent > codegen::most_bound_bytes / element_bytes; });
}

}  // namespace

ShaderPermutations::ShaderPermutations(std::shared_ptr<const ir::Kernel> k, Source from)
    : kernel(std::move(k)),
      reports(pumice::reports(*kernel)),
      source(std::move(from)),
      wide_in_arrays(has_wide_atomics(*kernel, ir::MemoryKind::array)),
      wide_in_local(has_wide_atomics(*kernel, ir::MemoryKind::local)) {
    for (size_t i = 0; i < kernel->params.size(); ++i) {
        if (!kernel->params[i].is_array) continue;
        if ((*kernel)[kernel->params[i].memory].image)
            image_bindings += 2;  // to fetch and to sample
        else
            arrays.push_back(int(i));
    }
}

int64_t ShaderPermutations::element_bytes(int parameter) const {
    return (*kernel)[kernel->params[size_t(parameter)].memory].element.size;
}

/// True if every array fits a binding and 32-bit offsets.
bool ShaderPermutations::ordinary(const Context& context, const Launch& launch) const {
    const VkPhysicalDeviceLimits& limits = context.snapshot.limits;
    for (const int parameter : arrays) {
        const Launch::Array& array = launch.arguments[size_t(parameter)].array;
        if (has_long_extent(array, element_bytes(parameter)) || array.bytes > int64_t(limits.maxStorageBufferRange) ||
            array.bytes > std::numeric_limits<int32_t>::max() ||
            array.offset % int64_t(limits.minStorageBufferOffsetAlignment) != 0)
            return false;
    }
    return true;
}

/// Number of bindings for arrays: the others are those of the ring, the locks and the argument block.
size_t ShaderPermutations::bindings(const Context& context) const {
    const DevicePlan& plan = context.plan;
    const bool locks = (wide_in_arrays && !plan.options.int64_atomics) || (wide_in_local && !plan.options.local_int64_atomics);
    const size_t taken = size_t(reports) + size_t(locks) + for_block;
    const auto rest = [](size_t most, size_t used) { return most - std::min(most, used); };
    return std::min(rest(plan.max_bindings, taken), rest(plan.max_descriptors, taken + image_bindings));
}

/// True if there are more arrays than bindings, so that those of one block must share.
bool ShaderPermutations::crowded(const Context& context) const {
    return !context.plan.device_addresses && arrays.size() > bindings(context);
}

/// Makes arrays of one block share a binding, as long as it is not too long.
void ShaderPermutations::share_bindings(const Context& context, const Launch& launch, codegen::Options& options) const {
    struct One {
        int parameter;
        const MemoryBlock* block;
        ArrayRange array_range;
    };
    std::vector<One> all;
    for (const int parameter : arrays) {
        const Launch::Array& array = launch.arguments[size_t(parameter)].array;
        if (const MemoryBlock* block = block_of(array))
            all.push_back(
                {parameter, block, array_range(array, (*kernel)[kernel->params[size_t(parameter)].memory].element.size)});
    }
    std::ranges::stable_sort(all, [](const One& a, const One& b) {
        return a.block != b.block ? a.block->id < b.block->id : a.array_range.begin < b.array_range.begin;
    });
    options.shifted.assign(kernel->params.size(), false);
    options.shares.assign(kernel->params.size(), -1);
    std::vector<std::vector<int>> groups;
    std::vector<ArrayRange> together;
    for (size_t i = 0; i < all.size(); ++i) {
        const bool same_block = i > 0 && all[i].block == all[i - 1].block;
        if (!same_block) together.clear();
        together.push_back(all[i].array_range);
        if (!same_block || !common_begin(together, context.snapshot.limits)) {
            groups.push_back({});
            together.assign(1, all[i].array_range);
        }
        groups.back().push_back(all[i].parameter);
        options.shifted[size_t(all[i].parameter)] = true;
    }
    // Arrays without elements share any binding.
    if (groups.empty()) groups.push_back({});
    for (const int parameter : arrays)
        if (!block_of(launch.arguments[size_t(parameter)].array)) {
            groups.front().push_back(parameter);
            options.shifted[size_t(parameter)] = true;
        }
    if (groups.size() > bindings(context))
        fail(named(*kernel), " has ", arrays.size(), " array arguments, which lie in ", groups.size(),
             " places of device memory, and ", context.name, " binds at most ", bindings(context),
             " and has no device addresses");
    for (const std::vector<int>& group : groups)
        for (const int parameter : group) options.shares[size_t(parameter)] = *std::ranges::min_element(group);
}

codegen::Options ShaderPermutations::options_for(const Context& context, const Launch* launch) const {
    const DevicePlan& plan = context.plan;
    const VkPhysicalDeviceLimits& limits = context.snapshot.limits;
    codegen::Options options = plan.options;
    for (size_t a = 0; launch && a < arrays.size(); ++a) {
        const Launch::Array& array = launch->arguments[size_t(arrays[a])].array;
        options.wide_offsets |= elements(array) > std::numeric_limits<int32_t>::max();
        options.long_extents |= has_long_extent(array, element_bytes(arrays[a]));
    }
    if (options.wide_offsets && !plan.int64)
        fail(named(*kernel), " is given an array of more than ", std::numeric_limits<int32_t>::max(), " elements, and ",
             context.name, " has no 64-bit integers to index it");
    if (crowded(context)) {
        share_bindings(context, *launch, options);
        return options;
    }
    options.by_address.assign(kernel->params.size(), false);
    bool any = false;
    size_t bound = 0;
    for (const int parameter : arrays) {
        const Launch::Array* array = launch ? &launch->arguments[size_t(parameter)].array : nullptr;
        const bool large = array && array->bytes > int64_t(limits.maxStorageBufferRange);
        const bool unaligned = array && array->offset % int64_t(limits.minStorageBufferOffsetAlignment) != 0;
        const bool is_left = bound < bindings(context);
        if (!plan.all_by_address && !large && !unaligned && is_left) {
            ++bound;
            continue;
        }
        const MemoryBlock* const block = array ? block_of(*array) : nullptr;
        const bool has_address = plan.device_addresses && (!block || block->address);
        if (unaligned && block && !has_address && is_left &&
            common_begin(std::array{array_range(*array, element_bytes(parameter))}, limits)) {
            ++bound;
            options.shifted.resize(kernel->params.size());
            options.shifted[size_t(parameter)] = true;
            continue;
        }
        if (!plan.device_addresses) {
            const std::string which = text(kernel->label(size_t(parameter)), " of ", named(*kernel));
            if (large)
                fail(which, " spans ", array->bytes, " bytes, and ", context.name, " binds at most ",
                     limits.maxStorageBufferRange, " and has no device addresses");
            fail(which, " begins at byte ", array->offset, " of its memory, and ", context.name, " binds at most ",
                 limits.maxStorageBufferRange, " bytes from a multiple of ", limits.minStorageBufferOffsetAlignment,
                 " on and has no device addresses");
        }
        options.by_address[size_t(parameter)] = any = true;
    }
    if (!any) options.by_address.clear();
    return options;
}

/// Returns null if the launch is needed to know which arrays share a binding.
ShaderPermutation* ShaderPermutations::permutation(Context& context, const Launch* launch) {
    const DevicePlan& plan = context.plan;
    if (!plan.locks && ((wide_in_arrays && !plan.options.int64_atomics) || (wide_in_local && !plan.options.local_int64_atomics)))
        fail(named(*kernel), " updates 64-bit values atomically, and ", context.name,
             " has neither atomics for them nor locks that do for those");
    for (;;) {
        if (!launch && crowded(context)) return nullptr;
        const codegen::Options options = options_for(context, launch);
        for (const CachedPermutation& one : made)
            if (one.options == options) return one.permutation.get();
        codegen::Shader shader = source(options);
        if (for_block == 0 && shader.block_bytes > 0 &&
            (binding_count(shader) - image_count(shader) > plan.max_bindings || binding_count(shader) > plan.max_descriptors)) {
            for_block = 1;
            continue;
        }
        made.push_back({options, std::make_unique<ShaderPermutation>(context, std::move(shader), *kernel)});
        return made.back().permutation.get();
    }
}

void ShaderPermutations::prepare(Context& context) {
    const std::lock_guard lock(mutex);
    usual = permutation(context, nullptr);
}

ShaderPermutations::ChosenPermutation ShaderPermutations::choose(Context& context, PipelineCache& cache, const Launch& launch) {
    const std::lock_guard lock(mutex);
    ShaderPermutation& chosen = usual && ordinary(context, launch) ? *usual : *permutation(context, &launch);
    return {&chosen, chosen.pipeline(context, cache, *kernel, launch)};
}

void ShaderPermutations::destroy(Context& context) {
    const std::lock_guard lock(mutex);
    for (const CachedPermutation& one : made) one.permutation->destroy(context);
    made.clear();
    usual = nullptr;
}

}  // namespace pumice::vulkan
