// Makes random programs: expressions in random_expressions.cpp, statements in random_statements.cpp, and their objects (shapes,
// memories, variables, functions) in random_program.cpp.
#pragma once
#include <random>

#include "tests/fuzz/random_program.h"

namespace fuzz {

class Maker {
public:
    Maker(uint64_t seed, const Options& options) : options(options), random(seed * 0x9e3779b97f4a7c15u + 11) {
        program.seed = seed;
    }
    Program make();

private:
    uint64_t roll(uint64_t n) { return random() % n; }
    bool chance(uint64_t one_in) { return roll(one_in) == 0; }
    bool has(Part part) const { return options.has(part); }

    // Expressions of the simplest kinds.
    static Expr number(Scalar type, int64_t value);
    static Expr real(Scalar type, double value);
    static Expr make_op(pumice::ir::Op op, std::vector<Expr> of);
    static Expr cast_to(Scalar type, Expr e);
    static Expr item(Item which, int dimension = 0);
    Expr constant(Scalar type);

    // Expressions.
    Expr leaf(Scalar type);
    Expr value(Scalar type, int depth);
    Expr strict_float(Scalar type, int depth);
    Expr smooth_float(Scalar type, int depth);
    Expr integer(Scalar type, int depth);
    Expr merged(Scalar type, int depth);
    Expr boolean(int depth);
    Expr uniform_number();
    Expr linear();                        ///< the item's place in the range, counted from 0
    Expr wrapped(Expr index, int64_t n);  ///< an i32 index brought into [0, n), which most of the time it is
    Expr bounded(int64_t n);              ///< some index in [0, n), of any integer type
    Expr narrow_index();                  ///< in [0, 256), through 8 and 16 bits
    Expr as_any_integer(Expr index, int64_t n);
    std::optional<Expr> load_of(Scalar type);
    Expr with_neighbours(Expr load, int64_t n);
    std::optional<Expr> variable_of(Scalar type);
    std::vector<Expr> own_indices(const Memory& m);
    std::vector<std::pair<int, int>> variables_of(Scalar type) const;
    Scalar any_scalar() { return scalars[roll(scalars.size())]; }
    Scalar any_integer();

    // Objects of programs.
    void choose_scalars();
    void choose_shape();
    void choose_twin();
    void choose_memories();
    void add_input(int type);
    void add_own(int type);
    void choose_own_index(Memory& m);
    void choose_local();
    Expr local_size(int64_t& value);
    void choose_variables();
    void choose_functions();
    void choose_steps();
    std::vector<int> composites();
    int any_memory(Memory::Kind kind, Memory::Use use);
    Expr items_in_group();

    // Statements.
    Block block(int depth, int most);
    void start(Block& b);
    void finish(Block& b);
    void statement(Block& b, int depth);
    void uniform_statement(Block& b, int depth);
    Statement set();
    Statement together();
    std::optional<Statement> whole();
    std::optional<Statement> fetch();
    std::optional<Statement> store();
    Statement branch(int depth);
    Statement loop(int depth, bool with_barriers);
    void loop_bounds(Statement& s, bool simple, uint64_t& trips);
    void extreme_bounds(Statement& s, uint64_t& trips);
    std::optional<Statement> climb(int depth);
    Statement while_loop(int depth);
    Statement leave();
    std::optional<Statement> exchange();
    std::optional<Statement> atomic();
    Statement group();
    std::optional<Statement> subgroup();
    std::optional<Statement> private_store();

    const Options& options;
    std::mt19937_64 random;
    Program program;
    std::vector<Scalar> scalars;             ///< of this program
    const std::vector<int>* pool = nullptr;  ///< variables of the body being made
    bool starting = false, in_function = false, uniform = true, grouped = false, whole_groups = false, leavable = false;
    int functions = 0;  ///< that may be called
    int loops = 0, left = 0;
    uint64_t trips = 1;
};

}  // namespace fuzz
