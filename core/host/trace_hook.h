// What a program does with arrays, told to whoever records it: the tape of derivatives is one.
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

/// A function of the host that works on arrays, with its derivative's rules (any of them may be missing).
struct HostCall {
    /// Called with the arguments, or with others over other memory; of the rules, `shadows` are those of arrays, one an argument.
    using Act = std::function<void(std::span<const HostArgument> arguments)>;
    using Rule = std::function<void(std::span<const HostArgument> arguments, std::span<const HostArgument> shadows)>;
    std::string name;
    Act primal;
    Rule reverse, forward;
    bool inactive = false;      ///< what it writes has no derivative
    std::vector<bool> written;  ///< by argument
};

/// Told, on the thread that asks for it, of every operation on arrays: after it is known to be right, before it is given to the
/// device. An observer may use arrays itself; it is not told of that if it steps aside (Observing(nullptr)).
class Observer {
public:
    virtual ~Observer() = default;
    /// True where the observer has done the launch itself, in its own way.
    virtual bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) = 0;
    virtual void allocated(const std::shared_ptr<ArrayState>& array, bool zero) = 0;  ///< the one that comes after its operation
    virtual void writing(const ArrayState& to, const void* from, int stream) = 0;     ///< from the host
    virtual void reading(const ArrayState& from) = 0;                                 ///< to the host
    virtual void filling(const ArrayState& to, const void* value, int size) = 0;
    /// True where the observer has called it itself.
    virtual bool calling(const HostCall& call, std::span<const HostArgument> arguments) = 0;
    virtual void copying(const ArrayState& from, const ArrayState& to, int stream) = 0;
};

/// This thread's observer; null where there is none.
Observer* observer();

/// While it lives, `next` is this thread's observer. Ends in the reverse order of its making.
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
