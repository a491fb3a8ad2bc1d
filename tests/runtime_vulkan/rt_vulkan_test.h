// Helpers of the runtime's Vulkan tests: bundles in memory, made of kernels by the library's code generator.
#pragma once
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "codegen/lowering/loop_limit.h"
#include "core/ir/ir.h"
#include "core/passes/inlining.h"
#include "runtime/bundle/bundle.h"
#include "runtime/vulkan/rt_vulkan_device.h"

namespace rt_test {

using namespace pumice_rt;
namespace codegen = pumice::codegen;
namespace ir = pumice::ir;

inline uint32_t number_of(pumice::internal::Scalar type) {
    constexpr const char* names[] = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bf16"};
    for (uint32_t i = 0; i < std::size(names); ++i)
        if (pumice::internal::name_of(type) == names[i]) return i;
    return type_struct;
}

/// The options of the code generator for a device with these properties.
inline codegen::Options options_for(uint64_t p) {
    const auto has = [&](uint64_t bit) { return (p & bit) != 0; };
    codegen::Options o;
    o.float_atomics = has(property::float_atomics), o.local_float_atomics = has(property::local_float_atomics);
    o.int64_atomics = has(property::int64_atomics), o.local_int64_atomics = has(property::local_int64_atomics);
    o.memory_barriers = has(property::barriers), o.idle_lanes = has(property::idle_lanes);
    o.ordered_as_unsigned = !has(property::signed_order), o.unsigned_rounds_twice = !has(property::unsigned_to_float);
    o.unrolled_imprecise = !has(property::precise_unrolled);
    o.parted_merges = o.folded_zeros = o.stale_counters = !has(property::bit_merges);
    o.exact_conversions = !has(property::conversions), o.rounded_division = has(property::rounded_division);
    o.float_modes = uint32_t(p >> 48 & 23);
    o.byte_storage = has(property::byte_storage), o.short_storage = has(property::short_storage), o.pairs = !has(property::int64);
    o.subgroups = uint32_t(p >> 16 & 63) | (has(property::subgroup_int64) ? codegen::Subgroups::int64 : 0);
    o.linear_subgroups = has(property::linear_subgroups), o.packed_subgroups = has(property::packed_subgroups);
    o.cross_loop_cse = has(property::cheap_private), o.subgroup_sums = has(property::subgroup_arithmetic);
    return o;
}

/// The bundle of some kernels, with its records in vectors.
class TestBundle {
public:
    explicit TestBundle(uint64_t properties) : properties(properties), bundle(no_hooks) {
        library.version = PUMICE_RT_VERSION, library.name = "test", library.state = &state;
    }

    /// Adds a kernel with one module for the properties, and one with shifted arrays. `change` may alter options of the first.
    uint32_t add(const pumice::KernelBase& kernel, const std::function<void(codegen::Options&)>& change = {}) {
        const auto recorded = kernel.recorded();
        ir::Kernel k = ir::inlining(*recorded);
        if (!(properties & property::all_iterations)) k = codegen::require_loops(k, 65535, "this device");
        codegen::Options options = options_for(properties);
        if (change) change(options);
        KernelRecord record{};
        record.name = text(k.name), record.source = text(k.where(k.loc));
        record.rank = uint32_t(k.rank), record.folded = uint32_t(k.folded), record.across = -1;
        for (size_t axis = 0; axis < 3; ++axis)
            record.group[axis] = uint32_t(k.group[axis]), record.range[axis] = uint32_t(k.range[axis]);
        record.parameters.first = uint32_t(parameters.size()), record.parameters.count = uint32_t(k.params.size());
        for (const ir::Parameter& p : k.params) add_parameter(k, p);
        record.locals.first = uint32_t(locals.size());
        for (const ir::Memory& m : k.memories)
            if (m.kind == ir::MemoryKind::local) add_local(k, m);
        record.locals.count = uint32_t(locals.size()) - record.locals.first;
        add_formats(k, record);
        record.modules.first = uint32_t(modules.size());
        add_module(k, options, properties, 0);
        codegen::Options shifted = options;
        shifted.shifted.assign(k.params.size(), true);
        add_module(k, shifted, properties, ModuleRecord::shifted);
        record.modules.count = uint32_t(modules.size()) - record.modules.first;
        kernels.push_back(record);
        return uint32_t(kernels.size()) - 1;
    }

    /// For launches: the records must not change any more.
    const pumice_library* get() {
        texts.push_back('\0');
        bundle.text_bytes = texts.data(), bundle.words = words.data(), bundle.kernels = kernels.data();
        bundle.parameters = parameters.data(), bundle.leaves = leaves.data(), bundle.modules = modules.data();
        bundle.bindings = bindings.data(), bundle.fields = fields.data(), bundle.sized_locals = sized_locals.data();
        bundle.size_steps = size_steps.data(), bundle.formats = formats.data(), bundle.locals = locals.data();
        bundle.kernel_count = uint32_t(kernels.size());
        state = &bundle;
        return &library;
    }

    std::vector<ModuleRecord> modules;
    std::vector<KernelRecord> kernels;

private:
    uint32_t text(const std::string& t) {
        if (texts.empty()) texts.push_back('\0');
        const uint32_t at = uint32_t(texts.size());
        texts.insert(texts.end(), t.c_str(), t.c_str() + t.size() + 1);
        return at;
    }

    void add_parameter(const ir::Kernel& k, const ir::Parameter& p) {
        ParameterRecord r{};
        r.is_array = p.is_array, r.type = number_of(p.type);
        if (p.is_array) {
            const ir::Memory& m = k[p.memory];
            r.type = m.element.is_scalar() ? number_of(m.element.leaves[0].type) : type_struct;
            r.access = uint32_t(m.access), r.rank = uint32_t(m.rank), r.element_bytes = m.element.size;
        }
        parameters.push_back(r);
    }

    RecordRange steps_of(std::span<const codegen::SizeStep> steps) {
        const RecordRange span{uint32_t(size_steps.size()), uint32_t(steps.size())};
        for (const codegen::SizeStep& s : steps) {
            SizeStepRecord r{};
            const std::pair<ir::Op, SizeOp> ops[] = {
                {ir::Op::constant, SizeOp::constant}, {ir::Op::group_size, SizeOp::group_size},
                {ir::Op::add, SizeOp::add},           {ir::Op::sub, SizeOp::sub},
                {ir::Op::mul, SizeOp::mul},           {ir::Op::div, SizeOp::div},
                {ir::Op::min, SizeOp::min},           {ir::Op::max, SizeOp::max}};
            for (const auto& [op, number] : ops)
                if (op == s.op) r.op = uint32_t(number);
            r.operands[0] = s.operands[0], r.operands[1] = s.operands[1];
            if (s.op == ir::Op::group_size)
                r.axis = uint32_t(s.immediate);
            else
                r.constant = int32_t(s.immediate);
            size_steps.push_back(r);
        }
        return span;
    }

    void add_local(const ir::Kernel& k, const ir::Memory& m) {
        LocalRecord r{};
        r.element_bytes = m.element.size;
        if (m.extents.empty()) {
            r.steps = steps_of(codegen::size_steps(k, m.size));
        } else {
            int64_t count = 1;
            for (const int64_t e : m.extents) count *= e;
            codegen::SizeStep constant;
            constant.immediate = uint64_t(count);
            r.steps = steps_of({&constant, 1});
        }
        locals.push_back(r);
    }

    void add_formats(const ir::Kernel& k, KernelRecord& record) {
        record.formats.first = uint32_t(formats.size());
        for (const ir::Inst& i : k.insts) {
            if (i.op != ir::Op::print && i.op != ir::Op::require) continue;
            FormatRecord r{};
            r.text = text(k.strings[i.immediate]), r.is_requirement = i.op == ir::Op::require;
            r.source = text(k.where(i.loc)), r.index = uint32_t(i.immediate);
            r.types.first = uint32_t(leaves.size());
            for (const ir::Value v : k.operands(i).subspan(r.is_requirement)) leaves.push_back({0, number_of(k.type_of(v)), 0});
            r.types.count = uint32_t(leaves.size()) - r.types.first;
            formats.push_back(r);
        }
        record.formats.count = uint32_t(formats.size()) - record.formats.first;
        if (record.formats.count > 0) record.flags |= KernelRecord::reports;
    }

    RecordRange add_fields(const std::vector<codegen::Field>& from) {
        const RecordRange span{uint32_t(fields.size()), uint32_t(from.size())};
        for (const codegen::Field& f : from)
            fields.push_back({uint32_t(f.kind), uint32_t(f.index), uint32_t(f.axis), f.offset, number_of(f.type)});
        return span;
    }

    void add_module(const ir::Kernel& k, const codegen::Options& options, uint64_t wants, uint32_t flags) {
        const codegen::Shader shader = codegen::compile(k, options);
        ModuleRecord r{};
        r.wants = wants, r.flags = flags;
        if (shader.asks_full_groups) r.flags |= ModuleRecord::asks_full_groups;
        if (shader.asks_at_origin) r.flags |= ModuleRecord::asks_at_origin;
        for (const std::string& c : shader.capabilities)
            if (c.starts_with("GroupNonUniform")) r.flags |= ModuleRecord::subgroups;
        r.words = {uint32_t(words.size()), uint32_t(shader.spirv.size())};
        words.insert(words.end(), shader.spirv.begin(), shader.spirv.end());
        r.bindings = {uint32_t(bindings.size()), uint32_t(shader.bindings.size())};
        for (const codegen::Binding& b : shader.bindings) {
            const int32_t argument = b.argument == int(k.params.size()) ? BindingRecord::ring : b.argument;
            bindings.push_back({argument, uint32_t(b.binding), uint32_t(b.access)});
        }
        r.push = add_fields(shader.push), r.block = add_fields(shader.block);
        r.push_bytes = shader.push_bytes, r.block_bytes = shader.block_bytes, r.local_bytes = uint32_t(shader.local_bytes);
        r.sized_locals = {uint32_t(sized_locals.size()), uint32_t(shader.sized_locals.size())};
        for (const codegen::SizedLocal& local : shader.sized_locals)
            sized_locals.push_back({local.constant, local.element_bytes, local.in_words, steps_of(shader.steps_of(local))});
        modules.push_back(r);
    }

    const uint64_t properties;
    const pumice_hooks no_hooks{};
    std::vector<char> texts;
    std::vector<uint32_t> words;
    std::vector<ParameterRecord> parameters;
    std::vector<LeafRecord> leaves;
    std::vector<BindingRecord> bindings;
    std::vector<FieldRecord> fields;
    std::vector<SizedLocalRecord> sized_locals;
    std::vector<SizeStepRecord> size_steps;
    std::vector<FormatRecord> formats;
    std::vector<LocalRecord> locals;
    Bundle bundle;
    pumice_library library{};
    void* state = nullptr;
};

/// An open device; the test fails if an error was not expected.
class TestDevice {
public:
    explicit TestDevice(const pumice_hooks* hooks = nullptr) {
        EXPECT_EQ(pumice_open("vulkan", hooks, &device), PUMICE_OK) << pumice_error();
    }
    ~TestDevice() {
        if (!device) return;
        EXPECT_EQ(pumice_synchronize(device), PUMICE_OK) << pumice_error();
        pumice_close(device);
    }
    TestDevice(const TestDevice&) = delete;
    vulkan::VulkanDevice& vulkan() const { return *static_cast<vulkan::VulkanDevice*>(device); }
    uint64_t properties() const { return vulkan().context.plan.properties; }

    pumice_device device = nullptr;
};

/// The extents of an array, slowest first.
struct Extents {
    std::vector<int64_t> of;
};

/// An array on the device, released with the object.
template <class T> class TestArray {
public:
    TestArray(const TestDevice& on, const Extents& extents, int32_t type) {
        EXPECT_EQ(pumice_array_create(on.device, type, sizeof(T), int32_t(extents.of.size()), extents.of.data(), &array),
                  PUMICE_OK)
            << pumice_error();
        count = 1;
        for (const int64_t e : extents.of) count *= size_t(e);
    }
    TestArray(const TestDevice& on, const std::vector<T>& values, int32_t type)
        : TestArray(on, Extents{{int64_t(values.size())}}, type) {
        write(values);
    }
    ~TestArray() { pumice_array_release(&array); }
    TestArray(const TestArray&) = delete;
    void write(const std::vector<T>& values) {
        EXPECT_EQ(pumice_array_write(&array, values.data(), int64_t(values.size() * sizeof(T))), PUMICE_OK) << pumice_error();
    }
    std::vector<T> read() const {
        std::vector<T> values(count);
        EXPECT_EQ(pumice_array_read(&array, values.data(), int64_t(count * sizeof(T))), PUMICE_OK) << pumice_error();
        return values;
    }
    /// `n` elements from element `first` on.
    pumice_array part(int64_t first, int64_t n) const {
        pumice_array p = array;
        p.offset += first * int64_t(sizeof(T)), p.extents[0] = n;
        return p;
    }
    pumice_array array{};
    size_t count = 0;
};

inline pumice_argument argument(const pumice_array& a) { return {&a, 0, 0}; }
template <class T> pumice_argument scalar(int32_t type, T value) {
    pumice_argument a{nullptr, type, 0};
    memcpy(&a.bits, &value, sizeof value);
    return a;
}

inline pumice_status launch(const TestDevice& on, const pumice_library* library, uint32_t kernel, const pumice_range& range,
                            const std::vector<pumice_argument>& arguments) {
    return pumice_launch(on.device, library, kernel, &range, arguments.data(), uint32_t(arguments.size()));
}

/// first, first + 1, ...
template <class T = float> std::vector<T> ramp(size_t n, T first = 0) {
    std::vector<T> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
}

/// The range in groups of these extents.
template <class... N> pumice_range grouped(pumice_range range, N... group) {
    const int64_t given[] = {group...};
    for (size_t d = 0; d < sizeof...(group); ++d) range.group[d] = given[d];
    return range;
}

#define RT_OK(call) ASSERT_EQ(call, PUMICE_OK) << pumice_error()

}  // namespace rt_test
