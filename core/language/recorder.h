// Records a kernel's lambda as IR: the thread's current recording, into which the language's types emit.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/builder.h"

/// The source line of a call, as trailing default arguments (see detail::SourceLocation).
#define PUMICE_AT const char *pm_file = __builtin_FILE(), int pm_line = __builtin_LINE()
#define PUMICE_HERE \
    ::pumice::detail::SourceLocation { pm_file, pm_line }

namespace pumice::detail {

/// A line of the user's source.
struct SourceLocation {
    const char* file = "";
    int line = 0;
};

/// "saxpy.cpp:12": the file without its folders.
std::string where(SourceLocation location);

/// A value of a recording: the recording's serial number, and the value's.
struct Handle {
    ir::Value value;
    uint32_t recording = 0;  ///< serial number of the recording; 0: none
    uint32_t block = 0;      ///< the block in which it was recorded
};

/// The recorder of a device function. Parameters and results are scalars; those of structs follow one another.
struct FunctionBody {
    std::string name;
    SourceLocation location;
    std::vector<Scalar> params;
    /// Records the body over the parameters; returns the results.
    std::function<std::vector<Handle>(class Recorder&, std::span<const Handle>)> record;
    std::shared_ptr<const FunctionBody> reverse, forward;  ///< rules for its derivatives (see ir::Function); may be null
    bool inactive = false;
};

/// One kernel being recorded. The language's types reach it through current().
class Recorder {
public:
    /// With yes, a device function called on the host is recorded while a kernel is; the kernel's recording continues afterwards.
    enum class Nested { no, yes };
    Recorder(std::string name, SourceLocation location, Nested nested = Nested::no);
    ~Recorder();
    Recorder(const Recorder&) = delete;

    /// The recording of this thread. Throws Error if `what` is used outside a kernel.
    static Recorder& current(const char* what, SourceLocation location);
    static Recorder* current_or_null();

    /// Limit of nesting, each elif counted. The parser of kernel text reads 256 levels; passes may add a few.
    static constexpr int max_depth = 250;

    ir::Kernel kernel;
    ir::Builder build;
    uint32_t serial;

    /// Sets the source line of the instructions that follow.
    Recorder& at(SourceLocation location);
    Handle handle(ir::Value v) const { return {v, serial, build.current().id}; }
    /// The value of a handle; throws Error if it belongs to another (finished) recording, or to a closed block.
    ir::Value use(Handle h, SourceLocation location);

    /// A host number as a constant; throws Error if the type cannot hold it. Reals convert to floats only.
    ir::Value constant(Scalar type, std::integral auto whole, SourceLocation location) {
        bool negative = false;
        if constexpr (std::is_signed_v<decltype(whole)>) negative = whole < 0;
        return whole_constant(type, {negative, uint64_t(whole)}, location);
    }
    ir::Value constant(Scalar type, std::floating_point auto real, SourceLocation location) {
        return real_constant(type, double(real), location);
    }
    ir::Value constant(Scalar type, NarrowFloat auto real, SourceLocation location) {
        return real_constant(type, double(float(real)), location);
    }
    /// N-dimensional indices make an N-dimensional kernel; throws Error if the kernel already has another rank.
    void require_rank(int rank, const char* what, SourceLocation location);
    /// Start or extent of the range along a dimension: a parameter that the launch fills in.
    ir::Value range_value(ir::ParameterOrigin what, int dimension);
    ir::MemoryId add_memory(ir::Memory memory, SourceLocation location);
    /// An index operand as i32 or i64.
    ir::Value index_value(ir::Value v);

    /// Local memory shared by the library's own functions within the kernel; the key is the address of its element type.
    std::map<const void*, std::shared_ptr<void>> scratch;

    // Control flow; constructs are closed in reverse order.
    void begin_if(Handle condition, SourceLocation location);
    /// Reopens the else arm of the if that was just closed. For an elif, the if that follows in this arm closes both.
    void begin_else(bool elif, SourceLocation location);
    void begin_while(SourceLocation location);
    void while_condition(Handle condition, SourceLocation location);
    Handle begin_for(ir::Value from, ir::Value to, ir::Value step, bool unroll, SourceLocation location);
    void end();                                                         ///< closes the innermost construct
    void leave(ir::Op how, const char* what, SourceLocation location);  ///< $break, $continue, $return
    /// Calls a device function; its body is recorded at the first call in the kernel.
    std::vector<Handle> call(const std::shared_ptr<const FunctionBody>& function, std::span<const Handle> arguments,
                             SourceLocation location);
    /// Records a misuse found where throwing is impossible. Later errors are its consequence: the recording fails with this
    /// message whatever else is thrown.
    void misuse(const std::string& sentence) {
        if (first_misuse.empty()) first_misuse = sentence;
    }
    const std::string& misused() const { return first_misuse; }

    /// Ends the recording: closes everything, terminates the body, verifies the IR.
    std::shared_ptr<const ir::Kernel> finish();

private:
    /// A host integer of any type: its 64 bits, and their sign.
    struct Whole {
        bool negative;
        uint64_t bits;
    };
    ir::Value whole_constant(Scalar type, Whole whole, SourceLocation location);
    ir::Value real_constant(Scalar type, double real, SourceLocation location);

    enum class ConstructKind { if_, else_, while_, for_ };
    struct Open {
        ConstructKind kind;
        SourceLocation location;
        bool elif = false;                     // an else arm that holds only the if of an elif
        ir::BlockId block, test;               // the block being filled; a while's test block
        std::vector<ir::BlockId> else_blocks;  // of the chain that this arm ends, outermost first
        ir::InstId chain;                      // the outermost if of the chain
        ir::Value operands[3] = {};            // condition; or from, to, step
        bool unroll = false;
    };
    size_t depth() const;
    void check_depth(size_t depth, SourceLocation location);
    uint32_t record_function(const std::shared_ptr<const FunctionBody>& function, SourceLocation location);
    std::string unique_name(const std::string& name) const;
    void close_block();
    void reopen(ir::BlockId block);
    uint32_t file_index(const char* file);
    int loops_open() const;

    std::vector<Open> open;
    enum Closed : uint8_t { no, by_construct, by_function };
    std::vector<Closed> closed;  // by block
    struct LastIf {
        ir::InstId chain;
        std::vector<ir::BlockId> else_blocks;
    } last_if;
    /// A function being recorded, and the state of its caller to restore.
    struct CallFrame {
        const FunctionBody* function;
        uint32_t first_block;  ///< values of older blocks are not visible
        std::vector<Open> open;
        LastIf last_if;
        size_t deepest;
        ir::Loc loc;
    };
    std::vector<CallFrame> frames;
    struct RecordedFunction {
        std::shared_ptr<const FunctionBody> function;
        uint32_t index;
        size_t deepest;
    };
    std::unordered_map<const FunctionBody*, RecordedFunction> functions;
    size_t deepest = 0;  ///< nesting of constructs in the function being recorded, those of its calls included
    std::string first_misuse;
    Recorder* outer;
    const char* last_file = nullptr;
    uint32_t last_file_index = 0;
};

}  // namespace pumice::detail
