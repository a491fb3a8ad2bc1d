// The features of Vulkan that a SPIR-V module needs, by the names that an application enables: members of
// VkPhysicalDevice...Features, and "subgroup:arithmetic" for an operation that the device's subgroups must have.
//
//   OpCapability Float64                                        shaderFloat64
//   OpCapability Int64Atomics
//   %7 = OpAtomicIAdd %long %a ...   a in StorageBuffer         shaderBufferInt64Atomics
//   %9 = OpAtomicIAdd %long %b ...   b in Workgroup             shaderSharedInt64Atomics
//
// Why: a capability of SPIR-V is not the name of a feature, and one capability of atomics stands for a feature of buffers, a
// feature of local memory, or both. The mapping is Vulkan's table of capabilities, in the appendix "Vulkan Environment for
// SPIR-V". Cost: one pass over the words, and a validation. Limits: the capabilities that this library's shaders can have;
// another one is an Error.
#include "codegen/artifact/vulkan_features.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "codegen/artifact/assemble.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

/// The needs of a capability: one feature, nothing (""), or features that depend on the instructions.
struct Row {
    std::string_view capability, feature;
};
constexpr std::string_view by_instruction = "?";
constexpr Row rows[] = {
    {"Shader", ""},
    {"Float16", "shaderFloat16"},
    {"Float64", "shaderFloat64"},
    {"Int8", "shaderInt8"},
    {"Int16", "shaderInt16"},
    {"Int64", "shaderInt64"},
    {"StorageBuffer8BitAccess", "storageBuffer8BitAccess"},
    {"UniformAndStorageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess"},
    {"StoragePushConstant8", "storagePushConstant8"},
    {"StorageBuffer16BitAccess", "storageBuffer16BitAccess"},
    {"UniformAndStorageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess"},
    {"StoragePushConstant16", "storagePushConstant16"},
    {"PhysicalStorageBufferAddresses", "bufferDeviceAddress"},
    {"VulkanMemoryModel", "vulkanMemoryModel"},
    {"SignedZeroInfNanPreserve", "shaderSignedZeroInfNanPreserveFloat32"},
    {"DenormPreserve", "shaderDenormPreserveFloat32"},
    {"RoundingModeRTE", "shaderRoundingModeRTEFloat32"},
    {"GroupNonUniform", "subgroup:basic"},
    {"GroupNonUniformVote", "subgroup:vote"},
    {"GroupNonUniformArithmetic", "subgroup:arithmetic"},
    {"GroupNonUniformBallot", "subgroup:ballot"},
    {"GroupNonUniformShuffle", "subgroup:shuffle"},
    {"GroupNonUniformShuffleRelative", "subgroup:shuffle_relative"},
    {"Image1D", ""},
    {"Sampled1D", ""},
    {"ImageQuery", ""},
    {"StorageImageExtendedFormats", "shaderStorageImageExtendedFormats"},
    {"StorageImageReadWithoutFormat", "shaderStorageImageReadWithoutFormat"},
    {"StorageImageWriteWithoutFormat", "shaderStorageImageWriteWithoutFormat"},
    {"Int64Atomics", by_instruction},
    {"AtomicFloat32AddEXT", by_instruction},
    {"AtomicFloat64AddEXT", by_instruction},
};

/// The parts of a module that features depend on: types, the storage classes of pointers, atomics and subgroup operations.
class Scan {
public:
    explicit Scan(const std::vector<uint32_t>& spirv) {
        constexpr size_t header = 5;
        for (size_t at = header; at < spirv.size();) {
            const uint32_t length = spirv[at] >> 16;
            if (length == 0 || at + length > spirv.size()) fail("these words are not SPIR-V");
            instruction(spirv[at] & 0xffff, {spirv.data() + at, length});
            at += length;
        }
    }
    std::vector<std::string> found;

    void add(const std::string& feature) {
        if (std::ranges::find(found, feature) == found.end()) found.push_back(feature);
    }

private:
    // Opcodes of the SPIR-V specification.
    enum : uint32_t {
        type_int = 21,
        type_float = 22,
        type_vector = 23,
        type_pointer = 32,
        variable = 59,
        load = 61,
        access_chain = 65,
        in_bounds_access_chain = 66,
        ptr_access_chain = 67,
        copy_object = 83,
        convert_u_to_ptr = 120,
        bitcast = 124,
        select = 169,
        phi = 245,
        function_parameter = 55,
        atomic_load = 227,
        atomic_store = 228,
        atomic_exchange = 229,
        atomic_xor = 242,
        group_non_uniform = 333,
        group_non_uniform_last = 366,
        atomic_float_add = 6035,
    };

    void instruction(uint32_t op, std::span<const uint32_t> words) {
        switch (op) {
            case type_int: types[words[1]] = {words[2], false}; return;
            case type_float: types[words[1]] = {words[2], true}; return;
            case type_vector: types[words[1]] = types[words[2]]; return;
            case type_pointer: storage[words[1]] = words[2]; return;
            case variable:
            case load:
            case access_chain:
            case in_bounds_access_chain:
            case ptr_access_chain:
            case copy_object:
            case convert_u_to_ptr:
            case bitcast:
            case select:
            case phi:
            case function_parameter: type_of[words[2]] = words[1]; return;
            case atomic_float_add: return atomic(words[1], words[3], true);
            case atomic_store: return;  // of no 64-bit integer or float: no shader of this library has one
            default: break;
        }
        if (op >= atomic_load && op <= atomic_xor) atomic(words[1], words[3], false);
        if (op >= group_non_uniform && op <= group_non_uniform_last) {
            const SpirvType type = types[words[1]];
            if (type.bits && (type.is_float ? type.bits == 16 : type.bits != 32)) add("shaderSubgroupExtendedTypes");
        }
    }

    void atomic(uint32_t result_type, uint32_t pointer, bool adds_float) {
        constexpr uint32_t workgroup = 4;
        const SpirvType type = types[result_type];
        const std::string memory = storage[type_of[pointer]] == workgroup ? "shaderShared" : "shaderBuffer";
        if (type.is_float)
            add(text(memory, "Float", type.bits, adds_float ? "AtomicAdd" : "Atomics"));
        else if (type.bits == 64)
            add(memory + "Int64Atomics");
    }

    struct SpirvType {
        uint32_t bits = 0;
        bool is_float = false;
    };
    std::unordered_map<uint32_t, SpirvType> types;
    std::unordered_map<uint32_t, uint32_t> storage, type_of;
};

}  // namespace

std::vector<std::string> vulkan_features(const std::vector<uint32_t>& spirv) {
    Scan scan(spirv);
    std::vector<std::string> by_instructions;
    by_instructions.swap(scan.found);
    for (const std::string& capability : capabilities_of(spirv)) {
        const auto row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.capability == capability; });
        if (row == std::end(rows)) fail("no feature of Vulkan is known for the SPIR-V capability ", capability);
        if (row->feature != by_instruction && !row->feature.empty()) scan.add(std::string(row->feature));
    }
    for (const std::string& feature : by_instructions) scan.add(feature);
    if (needs_scalar_layout(spirv)) scan.add("scalarBlockLayout");
    return scan.found;
}

}  // namespace pumice::codegen
