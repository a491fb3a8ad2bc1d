// The state of random_record.cpp while it records: variables and memories whose types are known by number.
#pragma once
#include <map>
#include <memory>
#include <random>

#include "tests/fuzz/random_program.h"

namespace fuzz {

using pumice::Val;
using pumice::Var;
using pumice::detail::Handle;
using pumice::detail::SourceLocation;

struct Value {
    Scalar type = Scalar::i32;
    Handle handle;
};
template <class T> Value value_of(const Val<T>& v) { return {*pumice::internal::scalar_of<T>(), v.handle}; }

/// A mutable local of any type.
class Slot {
public:
    virtual ~Slot() = default;
    struct Leaf {
        Scalar type;
        void* variable;  ///< a Var of it
    };
    std::vector<Leaf> leaves;
    virtual std::vector<Handle> all(SourceLocation place) const = 0;
    virtual void assign(const std::vector<Handle>& all) = 0;
};
template <class T> struct SlotOf : Slot {
    explicit SlotOf(const Val<T>& initial, SourceLocation place) : variable(initial, place.file, place.line) {
        collect(variable);
    }
    std::vector<Handle> all(SourceLocation place) const override {
        const pumice::detail::Operand<T> o(variable, place.file, place.line);
        if constexpr (pumice::internal::ScalarType<T>)
            return {o.handle};
        else
            return {o.handles.begin(), o.handles.end()};
    }
    void assign(const std::vector<Handle>& all) override {
        if constexpr (pumice::internal::ScalarType<T>) {
            variable = Val<T>(all[0]);
        } else {
            pumice::detail::HandleSource source{all.data()};
            variable = Val<T>(source);
        }
    }
    Var<T> variable;

private:
    template <class F> void collect(Var<F>& v) {
        if constexpr (pumice::internal::ScalarType<F>)
            leaves.push_back({*pumice::internal::scalar_of<F>(), &v});
        else
            v.each([&]<class G>(Var<G>& member) { collect(member); });
    }
};

/// A memory of the kernel.
struct Held : pumice::detail::MemoryBase {
    int type = 0;
    bool read_only = false;
};

/// The functions of this recording, by number.
using FunctionCache = std::map<int, std::shared_ptr<void>>;

/// One body that is being recorded: a kernel's, or that of a function, which sees neither memories nor arguments.
class Recording {
public:
    Recording(const Program& program, bool twin, uint64_t shaken)
        : program(program), shaken(shaken), twin(twin), errors(shaken) {}
    void kernel(pumice::detail::Recorder& r);

private:
    /// The body of a function within the kernel that calls it.
    struct Inside {};
    Recording(const Recording& caller, Inside);

    // Values.
    Value value(const Expr& e);
    Value constant(Scalar type, uint64_t bits);
    Value item(Item which, int dimension);
    Value load(const Held& memory, int part, const std::vector<Value>& indices);
    Value operation(const Expr& e);
    Value cast_to(Scalar type, Value v);
    Value call(const Expr& e);
    Value tamed(Value v);
    Value moved(Value v, double ulps, double absolute);
    std::vector<Handle> all_of(int variable) { return variables[size_t(variable)]->all(here()); }
    Val<bool> condition(const Expr& e) { return Val<bool>(value(e).handle); }
    Val<int> whole_number(const Expr& e) { return Val<int>(cast_to(Scalar::i32, value(e)).handle); }
    template <class T> Val<T> typed(const Expr& e) { return Val<T>(value(e).handle); }
    template <class T> Val<T> typed(const std::vector<Handle>& handles) {
        if constexpr (pumice::internal::ScalarType<T>) {
            return Val<T>(handles[0]);
        } else {
            pumice::detail::HandleSource source{handles.data()};
            return Val<T>(source);
        }
    }

    // Statements.
    void block(const Block& b);
    void statement(const Statement& s);
    void set(const Statement& s);
    void assign(std::pair<int, int> target, Value v);
    void whole(const Statement& s);
    void fetch(const Statement& s);
    void store(const Statement& s);
    void store_part(const Held& memory, int part, const std::vector<Value>& indices, Value v);
    void store_all(const Held& memory, const std::vector<Value>& indices, const std::vector<Handle>& handles);
    void branch(const Statement& s);
    void loop(const Statement& s);
    void while_loop(const Statement& s);
    void climb(const Statement& s);
    void leave(const Statement& s);
    void exchange(const Statement& s);
    void count(const Statement& s);
    void atomic(const Held& memory, pumice::ir::Atomic what, Value index, Value v);
    void group(const Statement& s);
    void subgroup(const Statement& s);
    std::vector<Value> values(const std::vector<Expr>& all, size_t from, size_t to);
    void declare_memories(pumice::detail::Recorder& r);
    void declare_variable(int type, const std::vector<Handle>* initial);

    SourceLocation here() const { return {"program", int(line)}; }
    const Shape& shape() const { return twin ? program.twin : program.shape; }

    const Program& program;
    const uint64_t shaken;
    const bool twin;
    uint32_t line = 1;
    std::vector<std::unique_ptr<Slot>> variables;
    std::vector<Held> memories;
    std::vector<Value> arguments, loops;
    std::shared_ptr<FunctionCache> functions = std::make_shared<FunctionCache>();
    std::mt19937_64 errors;
};

}  // namespace fuzz
