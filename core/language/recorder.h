// Records what a kernel's lambda does as IR: the thread's current recording, which the language's types emit into.
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

/// The source line of a call, as trailing default arguments (see detail::Place).
#define PUMICE_AT const char *pm_file = __builtin_FILE(), int pm_line = __builtin_LINE()
#define PUMICE_HERE ::pumice::detail::Place{pm_file, pm_line}

namespace pumice::detail {

/// Where in the user's source something was written.
struct Place {
    const char* file = "";
    int line = 0;
};

/// "saxpy.cpp:12": the file without its folders.
std::string where(Place place);

/// A value of a recording: which one, and its number there.
struct Handle {
    ir::Value value;
    uint32_t recording = 0;  ///< serial number of the recording; 0: none
    uint32_t block = 0;      ///< where it was recorded
};

/// A device function: what records it. Its parameters and results are scalars, those of structs one after another.
struct FunctionBody {
    std::string name;
    Place place;
    std::vector<Scalar> params;
    /// Records the body, given the parameters; gives the results.
    std::function<std::vector<Handle>(class Recorder&, std::span<const Handle>)> record;
    std::shared_ptr<const FunctionBody> reverse, forward;  ///< rules for its derivatives (see ir::Function); may be null
    bool inactive = false;
};

/// One kernel being recorded. The language's types reach it through current().
class Recorder {
public:
    /// A function that is called on the host is recorded even while a kernel is; the kernel's recording goes on after it.
    enum class Nested { no, yes };
    Recorder(std::string name, Place place, Nested nested = Nested::no);
    ~Recorder();
    Recorder(const Recorder&) = delete;

    /// The recording of this thread. Throws Error when `what` is used outside a kernel.
    static Recorder& current(const char* what, Place place);
    static Recorder* current_or_null();

    /// How deep constructs may be nested, each elif counted. Kernel text is read to 256 blocks; passes may add a few.
    static constexpr int max_depth = 250;

    ir::Kernel kernel;
    ir::Builder build;
    uint32_t serial;

    /// Sets the source line of what is emitted next.
    Recorder& at(Place place);
    Handle handle(ir::Value v) const { return {v, serial, build.current().id}; }
    /// The value of a handle; throws Error when it belongs to another (finished) recording, or to a block that is closed.
    ir::Value use(Handle h, Place place);

    /// A host number as a constant; throws Error when the type cannot hold it. Reals go to floats only.
    ir::Value constant(Scalar type, std::integral auto whole, Place place) {
        bool negative = false;
        if constexpr (std::is_signed_v<decltype(whole)>) negative = whole < 0;
        return whole_constant(type, {negative, uint64_t(whole)}, place);
    }
    ir::Value constant(Scalar type, std::floating_point auto real, Place place) { return real_constant(type, double(real), place); }
    ir::Value constant(Scalar type, half real, Place place) { return real_constant(type, double(float(real)), place); }
    /// N-dimensional indices make an N-dimensional kernel; throws Error when the kernel already is of another rank.
    void require_rank(int rank, const char* what, Place place);
    /// Where the range starts, or how far it extends, along a dimension: a parameter that the launch fills in.
    ir::Value range_value(ir::Given what, int dimension);
    ir::MemoryId add_memory(ir::Memory memory, Place place);
    /// An index operand as i32 or i64.
    ir::Value index_value(ir::Value v);

    /// Local memory that the library's own functions share within the kernel, by the address of its element.
    std::map<const void*, std::shared_ptr<void>> scratch;

    // Control flow; each open is closed in order.
    void begin_if(Handle condition, Place place);
    /// Reopens the else arm of the if that was just closed. For an elif an if follows in that arm, and its end closes both.
    void begin_else(bool elif, Place place);
    void begin_while(Place place);
    void while_condition(Handle condition, Place place);
    Handle begin_for(ir::Value from, ir::Value to, ir::Value step, bool unroll, Place place);
    void end();                                  ///< closes the innermost construct
    void leave(ir::Op how, const char* what, Place place);  ///< $break, $continue, $return
    /// Calls a device function; its body is recorded at the first call in the kernel.
    std::vector<Handle> call(const std::shared_ptr<const FunctionBody>& function, std::span<const Handle> arguments, Place place);
    /// Remembers a misuse found where throwing is impossible. What goes wrong after it is a consequence: the recording fails with
    /// this sentence whatever else is thrown.
    void misuse(const std::string& sentence) { if (first_misuse.empty()) first_misuse = sentence; }
    const std::string& misused() const { return first_misuse; }

    /// Ends the recording: everything closed, the body terminated, the IR verified.
    std::shared_ptr<const ir::Kernel> finish();

private:
    /// A host integer of any type: its 64 bits, and whether they are those of a negative number.
    struct Whole {
        bool negative;
        uint64_t bits;
    };
    ir::Value whole_constant(Scalar type, Whole whole, Place place);
    ir::Value real_constant(Scalar type, double real, Place place);

    enum class Kind { if_, else_, while_, for_ };
    struct Open {
        Kind kind;
        Place place;
        bool elif = false;                     // an else arm that holds just the if of an elif
        ir::BlockId block, test;               // what is being filled; a while's test block
        std::vector<ir::BlockId> else_blocks;  // of the chain that this arm ends, outermost first
        ir::InstId chain;                      // the outermost if of the chain
        ir::Value operands[3] = {};            // condition; or from, to, step
        bool unroll = false;
    };
    size_t depth() const;
    void check_depth(size_t depth, Place place);
    uint32_t record_function(const std::shared_ptr<const FunctionBody>& function, Place place);
    std::string unique_name(const std::string& name) const;
    void close_block();
    void reopen(ir::BlockId block);
    uint32_t file_index(const char* file);
    int loops_open() const;

    std::vector<Open> open;
    enum Closed : uint8_t { no, by_construct, by_function };
    std::vector<Closed> closed;  // by block
    struct LastIf { ir::InstId chain; std::vector<ir::BlockId> else_blocks; } last_if;
    /// A function being recorded, and what of its caller goes on after it.
    struct Frame {
        const FunctionBody* function;
        uint32_t first_block;  ///< what is recorded in older blocks is not visible
        std::vector<Open> open;
        LastIf last_if;
        size_t deepest;
        ir::Loc loc;
    };
    std::vector<Frame> frames;
    struct Recorded { std::shared_ptr<const FunctionBody> function; uint32_t index; size_t deepest; };
    std::unordered_map<const FunctionBody*, Recorded> functions;
    size_t deepest = 0;  ///< nesting of constructs in the function being recorded, those of its calls included
    std::string first_misuse;
    Recorder* outer;
    const char* last_file = nullptr;
    uint32_t last_file_index = 0;
};

}  // namespace pumice::detail
