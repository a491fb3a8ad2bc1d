// Hook on array operations, for a recorder of programs such as the tape of derivatives.
#pragma once
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

/// Is notified of every operation on arrays, on the calling thread, after the checks and before the device gets it. An observer
/// may use arrays itself; under Observing(nullptr) it is not notified of that.
class Observer {
public:
    virtual ~Observer() = default;
    /// Returns true if the observer has done the launch itself.
    virtual bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) = 0;
    virtual void allocated(const std::shared_ptr<ArrayState>& array, bool zero) = 0;  ///< after the allocation, unlike the others
    virtual void writing(const ArrayState& to, const void* from, int stream) = 0;     ///< from the host
    virtual void reading(const ArrayState& from) = 0;                                 ///< to the host
    virtual void filling(const ArrayState& to, const void* value, int size) = 0;
    /// Returns true if the observer has made the call itself.
    virtual bool calling(const HostCall& call, std::span<const HostArgument> arguments) = 0;
    virtual void copying(const ArrayState& from, const ArrayState& to, int stream) = 0;
};

/// This thread's observer, or null.
Observer* observer();

/// Makes `next` this thread's observer while it lives. Objects are destroyed in reverse order.
class Observing {
public:
    explicit Observing(Observer* next);
    ~Observing();
    Observing(const Observing&) = delete;

private:
    Observer* before;
};

}  // namespace detail
}  // namespace pumice
