// The Vulkan code generator: IR to GLSL to SPIR-V, without a device.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/host/backend.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

/// The capabilities of a device's subgroups. The first seven are VkSubgroupFeatureFlagBits.
struct Subgroups {
    static constexpr uint32_t basic = 1, vote = 2, arithmetic = 4, ballot = 8, shuffle = 16, relative = 32, int64 = 1u << 31,
                              all = ~0u;
};

/// SPIR-V execution modes that a shader may declare: those of 32-bit floats, and one of doubles.
struct FloatModes {
    static constexpr uint32_t specials = 1;    ///< signed zeros, infinities and NaN are kept (SignedZeroInfNanPreserve)
    static constexpr uint32_t subnormals = 2;  ///< and subnormal numbers (DenormPreserve)
    static constexpr uint32_t to_even = 4;     ///< results are rounded to the nearest, to even in the middle (RoundingModeRTE)
    static constexpr uint32_t double_specials = 16;  ///< signed zeros, infinities and NaN of doubles are kept
};

/// Capabilities and defects of the device and its driver that the code depends on, and how arrays are reached: see options.def.
struct Options {
#define OPTION(type, name, value, doc) type name = value;
#include "codegen/glsl/options.def"
#undef OPTION
    bool operator==(const Options&) const = default;
};
/// The most bytes of an array in a binding, on any device (VkPhysicalDeviceLimits::maxStorageBufferRange).
constexpr int64_t most_bound_bytes = 0xffffffff;
/// All options, for cache keys (core/ir/cache_key.h).
inline auto key_parts(const Options& o) {
    return std::tuple_cat(
#define OPTION(type, name, value, doc) std::tie(o.name),
#include "codegen/glsl/options.def"
#undef OPTION
        std::tie());
}

/// A 4- or 8-byte field of the push-constant block, or of the argument block, filled at each launch.
struct Field {
    enum class Kind : uint8_t {
        start,        ///< first global index along `axis` of this dispatch (i32)
        end,          ///< one past the last global index of the range along `axis` (i32)
        size,         ///< extent of the range along `axis` (i32)
        group_base,   ///< index of this dispatch's first group along `axis` (i32)
        group_count,  ///< groups of the whole range along `axis` (i32)
        argument,     ///< scalar parameter `index`, widened to at least 32 bits
        extent,       ///< extent along `axis` of array parameter `index` (i32, or i64 with wide_offsets)
        address,      ///< device address of array parameter `index` (u64)
        first,        ///< element of the binding with which array parameter `index` begins (u32)
        launch,       ///< the launch's number, for print and require (u32)
    };
    Kind kind;
    int index = 0;
    int axis = 0;
    uint32_t offset = 0;  ///< bytes into the block
    Scalar type = Scalar::i32;
};

/// A storage buffer or an image of the shader.
struct Binding {
    enum class Kind : uint8_t {
        buffer,
        texels,         ///< a sampled image; a cube is an array of images
        sampler,        ///< a combined image and sampler
        storage_image,  ///< of one level
    };
    static constexpr int argument_block = -1;
    static constexpr int locks = -2;         ///< `lock_count` words, zero before the first launch and after each launch
    static constexpr int lock_count = 4096;  ///< a power of two
    int argument = 0;  ///< parameter index; or one of the above; or the number of parameters: the ring of print and require
                       ///< (core/host/ring.h)
    int binding = 0;   ///< in set 0; with Options::shares several arrays have the same binding
    ir::Access access = ir::Access::inout;
    Kind kind = Kind::buffer;
};

/// One step of the computation of a local array's size: a constant, a group's extent, or an op on the values of earlier steps.
struct SizeStep {
    ir::Op op = ir::Op::constant;
    Scalar type = Scalar::i32, operand_type = Scalar::i32;
    uint32_t count = 0, operands[3] = {};  ///< earlier steps
    uint64_t immediate = 0;                ///< the constant's bits, or the axis
};
/// A local array whose length the launch fixes, by a specialisation constant.
struct SizedLocal {
    uint32_t constant = 0;                    ///< its id: 5 and up
    uint32_t first_step = 0, step_count = 0;  ///< in Shader::size_steps; the last one gives the elements
    uint32_t element_bytes = 0;
    uint32_t in_words = 0;  ///< 1: the shader's array is of 32-bit words that hold the elements
};

/// One kernel as SPIR-V, with what a host must know to launch it. Specialisation constants 0, 1, 2 are the group's extents along
/// axes 0, 1, 2 (default 1 each). Constants 3 and 4 are bools that may be left false: 3 speeds up a launch whose groups are all
/// whole; 4 speeds up a launch whose range begins at 0, and whose groups are numbered from the range's first one. The entry point
/// is "main".
struct Shader {
    /// The value of a local array's constant in groups of these extents, at least 1. The launch refuses sizes below 1.
    int64_t length_of(const SizedLocal& local, const std::array<int64_t, 3>& group) const;
    std::span<const SizeStep> steps_of(const SizedLocal& local) const;
    /// Bytes of all local memory of a group.
    int64_t local_bytes_for(const std::array<int64_t, 3>& group) const;

    std::string name;
    std::string glsl;
    std::vector<uint32_t> spirv;
    std::vector<Binding> bindings;
    std::vector<Field> push;
    uint32_t push_bytes = 0;
    /// The argument block, a storage buffer, if the push constants have no room for all fields: the fields that do not depend on
    /// the dispatch.
    std::vector<Field> block;
    uint32_t block_bytes = 0;
    int64_t local_bytes = 0;    ///< static local memory; dynamic sizes come on top
    int64_t private_bytes = 0;  ///< private arrays of an item, those of called functions and tapes of a derivative included
    std::vector<SizedLocal> sized_locals;
    std::vector<SizeStep> size_steps;
    bool asks_full_groups = false;          ///< specialisation constant 3 exists
    bool asks_at_origin = false;            ///< specialisation constant 4 exists
    std::vector<Feature> features;          ///< beyond what every Vulkan device has
    std::vector<std::string> capabilities;  ///< SPIR-V capabilities declared
    std::string hash;                       ///< of the lowered IR and the options, 32 hex digits
};

/// The pass pipeline from recorded IR to what the GLSL emitter takes (read it top to bottom in
/// codegen/lowering/lower_for_glsl.cpp).
ir::Kernel lower(const ir::Kernel& recorded, const Options& options = {});
/// The names of the passes in the order in which lower() runs them; a pass that runs twice is listed twice.
std::vector<std::string_view> pass_names();
/// GLSL text of a kernel lowered for the same options, with an argument block where push constants do not suffice; fills
/// everything of the Shader but spirv and capabilities.
Shader emit_glsl(const ir::Kernel& lowered, const Options& options);
/// The steps that compute a local array's size, the size last; and their value in groups of these extents.
std::vector<SizeStep> size_steps(const ir::Kernel& kernel, ir::Value size);
int64_t elements_of(std::span<const SizeStep> steps, const std::array<int64_t, 3>& group);
/// lower, emit_glsl and shaderc, in that order. Throws Error with the kernel's name and line.
Shader compile(const ir::Kernel& recorded, const Options& options = {});
/// GLSL (Vulkan 1.2 compute) to SPIR-V at -O0; `optimize` adds spirv-opt -O, for offline dumps. A GLSL error is a library_bug.
std::vector<uint32_t> assemble(const std::string& glsl, const std::string& name, bool optimize = false);
/// SPIR-V as text, and its validation by spirv-val ("" if valid).
std::string disassemble(const std::vector<uint32_t>& spirv);
std::string validate(const std::vector<uint32_t>& spirv);
/// Starts shaderc's slow first compile on a thread of its own; compile() waits for it where needed.
void warm_up();
/// Writes NAME.ir, NAME.comp, NAME.spv, NAME.spvasm, NAME.json into a folder, which is made if it is missing.
void dump(const ir::Kernel& recorded, const std::filesystem::path& folder);
/// The manifest that dump writes: arguments, entry, group size, bindings with access, push-constant layout, features, hash.
std::string manifest(const ir::Kernel& recorded, const Shader& shader);

}  // namespace pumice::codegen
