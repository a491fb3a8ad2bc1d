#include "cpu/native/masked_merges.h"

#include "cpu/native/llvm_library.h"

#ifdef PUMICE_HAVE_LLVM
#include <llvm-c/Core.h>

#include <string_view>
#include <vector>

namespace pumice::cpu {
namespace {

// The functions used of LLVM's C API, which all versions have.
// clang-format off
#define PUMICE_LLVM_FUNCTIONS(X)                                                                                                 \
    X(LLVMGetModuleContext) X(LLVMGetFirstFunction) X(LLVMGetNextFunction) X(LLVMGetFirstBasicBlock) X(LLVMGetNextBasicBlock)    \
    X(LLVMGetFirstInstruction) X(LLVMGetNextInstruction) X(LLVMGetInstructionOpcode) X(LLVMGetOperand) X(LLVMIsAInstruction)     \
    X(LLVMTypeOf) X(LLVMGetTypeKind) X(LLVMGetElementType) X(LLVMGetVectorSize) X(LLVMGetIntTypeWidth) X(LLVMVectorType)         \
    X(LLVMFloatTypeInContext) X(LLVMDoubleTypeInContext) X(LLVMInt1TypeInContext) X(LLVMCreateBuilderInContext)                  \
    X(LLVMDisposeBuilder) X(LLVMPositionBuilderBefore) X(LLVMBuildBitCast) X(LLVMBuildSelect) X(LLVMReplaceAllUsesWith)          \
    X(LLVMInstructionEraseFromParent) X(LLVMGetNumMaskElements) X(LLVMGetMaskValue) X(LLVMConstInt) X(LLVMConstVector)           \
    X(LLVMIsConstant) X(LLVMLookupIntrinsicID) X(LLVMGetIntrinsicDeclaration) X(LLVMIntrinsicGetType) X(LLVMBuildCall2)
// clang-format on

struct LlvmFunctions {
#define X(name) decltype(&::name) name = reinterpret_cast<decltype(&::name)>(llvm_function(#name));
    PUMICE_LLVM_FUNCTIONS(X)
#undef X
};

const LlvmFunctions& functions() {
    static const LlvmFunctions all;
    return all;
}

class MaskedMerges {
public:
    explicit MaskedMerges(LLVMModuleRef module)
        : l(functions()),
          module(module),
          context(l.LLVMGetModuleContext(module)),
          builder(l.LLVMCreateBuilderInContext(context)) {}
    ~MaskedMerges() { l.LLVMDisposeBuilder(builder); }
    MaskedMerges(const MaskedMerges&) = delete;

    void part() const {
        for (LLVMValueRef function = l.LLVMGetFirstFunction(module); function; function = l.LLVMGetNextFunction(function))
            for (LLVMBasicBlockRef block = l.LLVMGetFirstBasicBlock(function); block; block = l.LLVMGetNextBasicBlock(block))
                for (LLVMValueRef next = l.LLVMGetFirstInstruction(block); next;) {
                    const LLVMValueRef one = next;
                    next = l.LLVMGetNextInstruction(one);
                    part(one);
                }
    }

private:
    void part(LLVMValueRef instruction) const {
        const LLVMOpcode opcode = l.LLVMGetInstructionOpcode(instruction);
        if (opcode != LLVMSelect && opcode != LLVMShuffleVector) return;
        const unsigned first = opcode == LLVMSelect ? 1 : 0;
        const LLVMValueRef a = l.LLVMGetOperand(instruction, first), b = l.LLVMGetOperand(instruction, first + 1);
        const LLVMTypeRef floats = is_logic(a) || is_logic(b) ? floats_for(instruction) : nullptr;
        if (!floats) return;
        const LLVMValueRef condition = opcode == LLVMSelect ? l.LLVMGetOperand(instruction, 0) : lanes_of_first(instruction, a);
        if (condition) select_as(floats, instruction, condition, a, b);
    }

    /// The float vector type of the same size, if the instruction's are integer vectors. Else null.
    LLVMTypeRef floats_for(LLVMValueRef instruction) const {
        const LLVMTypeRef type = l.LLVMTypeOf(instruction);
        if (l.LLVMGetTypeKind(type) != LLVMVectorTypeKind || l.LLVMGetTypeKind(l.LLVMGetElementType(type)) != LLVMIntegerTypeKind)
            return nullptr;
        const unsigned bits = l.LLVMGetIntTypeWidth(l.LLVMGetElementType(type));
        if (bits != 32 && bits != 64) return nullptr;
        return l.LLVMVectorType(bits == 32 ? l.LLVMFloatTypeInContext(context) : l.LLVMDoubleTypeInContext(context),
                                l.LLVMGetVectorSize(type));
    }

    /// True for logic, and for instructions that the code generator may turn into logic.
    bool is_logic(LLVMValueRef value) const {
        if (!l.LLVMIsAInstruction(value)) return false;
        const LLVMOpcode opcode = l.LLVMGetInstructionOpcode(value);
        return opcode == LLVMOr || opcode == LLVMXor || opcode == LLVMSelect || opcode == LLVMBitCast ||
               opcode == LLVMShuffleVector;
    }

    /// For a shuffle whose every lane is that of one of its operands: the lanes of the first one, as constants. Else null.
    LLVMValueRef lanes_of_first(LLVMValueRef shuffle, LLVMValueRef operand) const {
        const unsigned lanes = l.LLVMGetNumMaskElements(shuffle);
        if (l.LLVMGetVectorSize(l.LLVMTypeOf(operand)) != lanes) return nullptr;
        std::vector<LLVMValueRef> constants;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const int from = l.LLVMGetMaskValue(shuffle, lane);  // negative: any value
            if (from >= 0 && unsigned(from) % lanes != lane) return nullptr;
            constants.push_back(l.LLVMConstInt(l.LLVMInt1TypeInContext(context), from >= 0 && unsigned(from) < lanes, false));
        }
        return l.LLVMConstVector(constants.data(), lanes);
    }

    void select_as(LLVMTypeRef floats, LLVMValueRef instruction, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) const {
        l.LLVMPositionBuilderBefore(builder, instruction);
        const auto as = [&](LLVMTypeRef type, LLVMValueRef value) { return l.LLVMBuildBitCast(builder, value, type, ""); };
        // A selection of known lanes becomes a shuffle, which the code generator takes back to integers.
        const bool known = l.LLVMIsConstant(condition);
        const auto operand = [&](LLVMValueRef value) {
            return known && is_logic(value) ? fenced(floats, as(floats, value)) : as(floats, value);
        };
        const LLVMValueRef chosen = l.LLVMBuildSelect(builder, condition, operand(a), operand(b), "");
        l.LLVMReplaceAllUsesWith(instruction, as(l.LLVMTypeOf(instruction), chosen));
        l.LLVMInstructionEraseFromParent(instruction);
    }

    /// The value behind a fence, which the code generator does not look through.
    LLVMValueRef fenced(LLVMTypeRef type, LLVMValueRef value) const {
        constexpr std::string_view name = "llvm.arithmetic.fence";
        const unsigned fence = l.LLVMLookupIntrinsicID(name.data(), name.size());
        return l.LLVMBuildCall2(builder, l.LLVMIntrinsicGetType(context, fence, &type, 1),
                                l.LLVMGetIntrinsicDeclaration(module, fence, &type, 1), &value, 1, "");
    }

    const LlvmFunctions& l;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef builder;
};

}  // namespace

void part_selections_from_logic(void* module) { MaskedMerges(static_cast<LLVMModuleRef>(module)).part(); }

}  // namespace pumice::cpu

#else  // without LLVM's headers

namespace pumice::cpu {
void part_selections_from_logic(void*) {}
}  // namespace pumice::cpu

#endif
