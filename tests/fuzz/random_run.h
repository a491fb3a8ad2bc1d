// Runs random programs on a device, and compares the final arrays with those of the interpreter.
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

/// The arrays and arguments of a program on a device, with contents that the seed chooses.
class Bench {
public:
    Bench(const Program& program, const pumice::Device& device);
    /// One argument for each parameter of the program's kernel.
    const std::vector<pumice::detail::HostArgument>& arguments() const { return given; }
    static pumice::Range range_of(const Shape& shape);
    /// Runs the steps of the program with these kernels. Gives the contents of all arrays. `indirectly`: shapes that may be
    /// indirect ranges are.
    std::vector<Outcome> run(const pumice::KernelBase& kernel, const pumice::KernelBase& twin, bool indirectly = false);

private:
    struct Array {
        int memory = 0;
        std::shared_ptr<pumice::detail::ArrayState> backing, part;
        std::vector<int64_t> extents;
    };
    pumice::Range indirect_range_of(const Shape& shape) const;
    void add_array(int memory);
    std::shared_ptr<pumice::detail::ArrayState> make(int type, int64_t count);
    std::vector<char> contents(const Memory& m, int64_t count);

    const Program& program;
    pumice::Device device;
    std::vector<Array> arrays;
    std::vector<pumice::detail::HostArgument> given;
    uint64_t filled = 0;
};

/// A failure of a program: `kind` is the same for failures of one cause, as far as the message shows it.
struct Failure {
    std::string kind, message;
};
/// Compares the device under test with the interpreter.
std::optional<Failure> check(const Program& program);
/// The same in another process, so that a crash or an endless loop is a failure, too.
std::optional<Failure> check_apart(const Program& program, int seconds);
/// The options of that device; this process does not open it.
Options options_apart();
/// The text of the kernels, and their launches.
std::string told(const Program& program);

}  // namespace fuzz
