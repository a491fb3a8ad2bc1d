// Device control flow: $if $elif $else $for $while $break $continue $return, and the same as functions.
//
// Each $-word opens a C++ `for` whose body runs once, during recording. A host `break`, `return` or `goto` out of such a body is
// a misuse: the scope's destructor detects it, and the recording fails with a message. (A host `continue` cannot be detected: it
// ends the recording of the body as its closing brace does.)
#pragma once
#include <exception>

#include "core/language/memory.h"

namespace pumice {
namespace detail {

/// A construct that is being recorded. It is live() until leave(); if destroyed while live, the host jumped out of the body.
class ConstructScope {
public:
    explicit ConstructScope(SourceLocation location) : location(location), exceptions(std::uncaught_exceptions()) {}
    ConstructScope(const ConstructScope&) = delete;
    ~ConstructScope();
    bool live() const { return is_live; }
    void leave();

protected:
    SourceLocation location;
    bool is_live = true;

private:
    int exceptions;
};

class IfScope : public ConstructScope {
public:
    explicit IfScope(Operand<bool> condition) : ConstructScope(condition.location) {
        Recorder::current("$if", location).begin_if(condition.handle, location);
    }
};
class ElseScope : public ConstructScope {
public:
    explicit ElseScope(PUMICE_AT) : ConstructScope(PUMICE_HERE) {
        Recorder::current("$else", location).begin_else(false, location);
    }
};
/// The condition is recorded inside the else arm: live() && open(condition).
class ElifScope : public ConstructScope {
public:
    explicit ElifScope(PUMICE_AT) : ConstructScope(PUMICE_HERE) {
        Recorder::current("$elif", location).begin_else(true, location);
    }
    bool open(Operand<bool> condition) const {
        Recorder::current("$elif", location).begin_if(condition.handle, location);
        return true;
    }
};
/// The condition is recorded in the loop's test block.
class WhileScope : public ConstructScope {
public:
    explicit WhileScope(PUMICE_AT) : ConstructScope(PUMICE_HERE) { Recorder::current("$while", location).begin_while(location); }
    bool open(Operand<bool> condition) const {
        Recorder::current("$while", location).while_condition(condition.handle, location);
        return true;
    }
};

/// The result of range(). Iterating over it once records the loop.
template <class T> class LoopRange {
public:
    LoopRange(Handle from, Handle to, Handle step, SourceLocation location)
        : from(from), to(to), step(step), location(location) {}
    struct Iterator {
        LoopRange* loop;
        Val<T> index;
        bool operator!=(const Iterator&) const { return loop->scope_live; }
        Val<T> operator*() const { return index; }
        void operator++() { loop->close(); }
    };
    Iterator begin() {
        Recorder& r = Recorder::current("$for", location);
        const ir::Value a = r.use(from, location), b = r.use(to, location), s = r.use(step, location);
        scope_live = true;
        return {this, Val<T>(r.begin_for(a, b, s, unrolls, location))};
    }
    Iterator end() { return {this, Val<T>(Handle{})}; }
    /// Asks the device to unroll the loop, which pays if its bounds are constant.
    LoopRange unroll() const {
        LoopRange r(from, to, step, location);
        r.unrolls = true;
        return r;
    }
    ~LoopRange() {
        if (scope_live) abandoned();
    }

private:
    void close() {
        scope_live = false;
        Recorder::current("$for", location).end();
    }
    void abandoned() {
        if (std::uncaught_exceptions() == exceptions) left_by_host(location);
    }
    static void left_by_host(SourceLocation location);
    Handle from, to, step;
    SourceLocation location;
    bool scope_live = false, unrolls = false;
    int exceptions = std::uncaught_exceptions();
};

void left_by_host(SourceLocation location);
template <class T> void LoopRange<T>::left_by_host(SourceLocation location) { detail::left_by_host(location); }

/// The type of a loop's index: that of its device operands, else int.
template <class A, class... Rest> struct loop_type {
    using type = std::conditional_t<DeviceValue<A>, device_type_t<A>, typename loop_type<Rest...>::type>;
};
template <class A> struct loop_type<A> {
    using type = std::conditional_t<DeviceValue<A>, device_type_t<A>, int>;
};
template <class T, class A> concept LoopBound = OperandOf<A, T> && is_int(*scalar_of<T>());

void leave_loop(ir::Op how, const char* what, SourceLocation location);

}  // namespace detail

/// [from, to) in steps: for $for(i, range(from, to, step)). Counts down for a negative step; step 0 runs no iteration. The bounds
/// are evaluated once, before the loop. The index has the integer type of the device operands, else int.
template <class A, class B, class C, class T = typename detail::loop_type<A, B, C>::type>
    requires detail::LoopBound<T, A> && detail::LoopBound<T, B> && detail::LoopBound<T, C>
detail::LoopRange<T> range(const A& from, const B& to, const C& step, PUMICE_AT) {
    const auto h = [&](const auto& x) { return detail::Operand<T>(x, pm_file, pm_line).handle; };
    return {h(from), h(to), h(step), PUMICE_HERE};
}
template <class A, class B, class T = typename detail::loop_type<A, B>::type>
    requires detail::LoopBound<T, A> && detail::LoopBound<T, B>
detail::LoopRange<T> range(const A& from, const B& to, PUMICE_AT) {
    return range(Val<T>(detail::Operand<T>(from, pm_file, pm_line).handle), to, 1, pm_file, pm_line);
}
template <class B, class T = typename detail::loop_type<B>::type>
    requires detail::LoopBound<T, B>
detail::LoopRange<T> range(const B& to, PUMICE_AT) {
    return range(Val<T>(0, pm_file, pm_line), to, 1, pm_file, pm_line);
}

/// Leaves the innermost device loop.
inline void break_(PUMICE_AT) { detail::leave_loop(ir::Op::break_, "$break", PUMICE_HERE); }
/// Continues with the next iteration of the innermost device loop.
inline void continue_(PUMICE_AT) { detail::leave_loop(ir::Op::continue_, "$continue", PUMICE_HERE); }
/// Ends the work-item.
inline void return_(PUMICE_AT) { detail::leave_loop(ir::Op::return_, "$return", PUMICE_HERE); }

// The constructs without macros. The bodies are lambdas, called once during recording.

/// Runs `then` for the items whose condition holds.
template <class Then> void if_(detail::Operand<bool> condition, Then&& then) {
    for (detail::IfScope scope(condition); scope.live(); scope.leave()) then();
}
/// The same, with `otherwise` for the other items.
template <class Then, class Else> void if_(detail::Operand<bool> condition, Then&& then, Else&& otherwise) {
    for (detail::IfScope scope(condition); scope.live(); scope.leave()) then();
    for (detail::ElseScope scope(condition.location.file, condition.location.line); scope.live(); scope.leave()) otherwise();
}
/// Runs `body` while the condition holds. condition() gives a Val<bool> and is recorded in the loop.
template <class Condition, class Body> void while_(Condition&& condition, Body&& body, PUMICE_AT) {
    for (detail::WhileScope scope(pm_file, pm_line); scope.live() && scope.open(condition()); scope.leave()) body();
}
/// Runs body(i) for each i of a range().
template <class T, class Body> void for_(detail::LoopRange<T> range, Body&& body) {
    for (auto i : range) body(i);
}

}  // namespace pumice

// The $ in names is an extension of every compiler. clang's -Wpedantic warns of it; pumice.h disables that for the user's files.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#endif
// Nested scopes have distinct names, which are numbered, to avoid -Wshadow warnings: also where they stand in one line.
#define PM_JOIN_(a, b) a##b
#define PM_JOIN(a, b) PM_JOIN_(a, b)
#define PM_SCOPE PM_JOIN(pm_scope_, __COUNTER__)
#define PM_IF(scope, ...) for (::pumice::detail::IfScope scope(__VA_ARGS__); scope.live(); scope.leave())
#define PM_ELIF(scope, ...) for (::pumice::detail::ElifScope scope; scope.live() && scope.open(__VA_ARGS__); scope.leave())
#define PM_ELSE(scope) for (::pumice::detail::ElseScope scope; scope.live(); scope.leave())
#define PM_WHILE(scope, ...) for (::pumice::detail::WhileScope scope; scope.live() && scope.open(__VA_ARGS__); scope.leave())
#define $if(...) PM_IF(PM_SCOPE, __VA_ARGS__)
#define $elif(...) PM_ELIF(PM_SCOPE, __VA_ARGS__)
#define $else PM_ELSE(PM_SCOPE)
#define $while(...) PM_WHILE(PM_SCOPE, __VA_ARGS__)
#define $for(name, ...) for ([[maybe_unused]] auto name : __VA_ARGS__)
#define $break ::pumice::break_()
#define $continue ::pumice::continue_()
#define $return ::pumice::return_()
