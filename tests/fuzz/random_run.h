// Runs random programs on a device and compares what they leave in their arrays with what the interpreter leaves.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "tests/fuzz/random_program.h"

namespace fuzz {

/// The contents of an array after a program.
struct Outcome {
    std::string name;
    int type = 0;
    std::vector<char> bytes;
};

/// The arrays and arguments of a program on a device, with what the seed fills them with.
class Bench {
public:
    Bench(const Program& program, const pumice::Device& device);
    /// One argument for each parameter of the program's kernel.
    const std::vector<pumice::detail::HostArgument>& arguments() const { return given; }
    static pumice::Range range_of(const Shape& shape);
    /// The program's steps with these kernels, then all of every array.
    std::vector<Outcome> run(const pumice::KernelBase& kernel, const pumice::KernelBase& twin);

private:
    struct Array {
        int memory = 0;
        std::shared_ptr<pumice::detail::ArrayState> backing, part;
        std::vector<int64_t> extents;
    };
    void add_array(int memory);
    std::shared_ptr<pumice::detail::ArrayState> make(int type, int64_t count);
    std::vector<char> contents(const Memory& m, int64_t count);

    const Program& program;
    pumice::Device device;
    std::vector<Array> arrays;
    std::vector<pumice::detail::HostArgument> given;
    uint64_t filled = 0;
};

/// How a program fails: `kind` is the same for failures of one cause, as far as can be told.
struct Failure {
    std::string kind, message;
};
/// Compares the device that the tests run on with the interpreter.
std::optional<Failure> check(const Program& program);
/// The same in a process of its own, so that a crash or a loop without end is a failure, too.
std::optional<Failure> check_apart(const Program& program, int seconds);
/// options_for of that device, which this process does not open.
Options options_apart();
/// The kernels' text, and how they are launched.
std::string told(const Program& program);

}  // namespace fuzz
