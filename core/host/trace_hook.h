// Hook on array operations, for a recorder of programs such as the tape of derivatives.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pumice {

class KernelBase;
class Range;

namespace detail {

struct ArrayState;
struct HostArgument;
struct ImageState;

/// A host function on arrays, with the rules of its derivative (each may be missing).
struct HostCall {
    /// `arguments` are those of the call, or others in their place; a rule also gets the shadows of the arrays, one an argument.
    using Act = std::function<void(std::span<const HostArgument> arguments)>;
    using Rule = std::function<void(std::span<const HostArgument> arguments, std::span<const HostArgument> shadows)>;
    std::string name;
    Act primal;
    Rule reverse, forward;
    bool inactive = false;      ///< its results have no derivative
    std::vector<bool> written;  ///< by argument
};

/// Is notified of every operation on arrays, on the calling thread, after the checks and before the device gets it. A hook
/// may use arrays itself; under ScopedTraceHook(nullptr) it is not notified of that.
class TraceHook {
public:
    virtual ~TraceHook() = default;
    /// Returns true if the hook has done the launch itself.
    virtual bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) = 0;
    // The defaults of all others leave everything to the caller.
    virtual void allocated(const std::shared_ptr<ArrayState>& array, bool zero);  ///< after the allocation, unlike the others
    virtual void writing(const ArrayState& to, const void* from, int stream);     ///< from the host
    virtual void reading(const ArrayState& from);                                 ///< to the host
    virtual void filling(const ArrayState& to, const void* value, int size);
    /// Returns true if the hook has made the call itself.
    virtual bool calling(const HostCall& call, std::span<const HostArgument> arguments);
    virtual void copying(const ArrayState& from, const ArrayState& to, int stream);
    virtual void image_allocated(const ImageState& image);  ///< after the allocation; all texels are 0
    /// Pixels in the image's format, of one layer of a level.
    virtual void image_writing(const ImageState& to, int level, int64_t layer, const void* pixels);
    virtual void image_reading(const ImageState& from);
    virtual void image_copying(const ImageState& from, const ImageState& to);  ///< of one shape, all levels and layers

    // For hooks that keep the program for later runs with other values (ship/program).
    /// True if values of traced numbers must not reach the host's own code.
    virtual bool keeps_program() const { return false; }
    /// An array of i32 counts becomes their exclusive prefix sums, which add up to at most `most`. Returns true if the hook has
    /// done that, and `total` is set.
    virtual bool scanning(const ArrayState& counts, int64_t most, int64_t& total);
    /// The element of the array is added to the adjoint of a traced number. Returns true if the hook has noted that, and the host
    /// must not read the array.
    virtual bool summing(const ArrayState& sum, const void* followed_by, int number);
    /// The strategy that the next launch of a derivative takes if it applies, though another one may be faster for its sizes;
    /// null: the launch chooses.
    virtual const std::string* strategy();
    virtual void chose(const std::string& strategy);  ///< before the launch of a derivative returns
};

/// This thread's hook, or null.
TraceHook* trace_hook();

/// Makes `next` this thread's hook while it lives. Objects are destroyed in reverse order.
class ScopedTraceHook {
public:
    explicit ScopedTraceHook(TraceHook* next);
    ~ScopedTraceHook();
    ScopedTraceHook(const ScopedTraceHook&) = delete;

private:
    TraceHook* before;
};

}  // namespace detail
}  // namespace pumice
