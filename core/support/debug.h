// The debug switches: environment variables such as PUMICE_DUMP, all read when the first one is needed.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pumice::debug {

struct Switch {
    std::string_view name;      ///< of the environment variable
    std::string_view values;    ///< allowed values
    std::string_view fallback;  ///< the value if it is not set
    std::string_view meaning;
};
/// All switches, in the order of README's table.
std::span<const Switch> switches();
/// The value of a switch, or "" if it is not set. The name is one of switches().
const std::string& value(std::string_view name);

/// PUMICE_DEVICE: the device that Device::open takes; "" for the best one.
inline const std::string& device() { return value("PUMICE_DEVICE"); }
/// PUMICE_VALIDATE: turns on Vulkan's validation layers, and verifies the IR after every pass; errors are fatal.
bool validate();
/// PUMICE_TIME: prints the time of compilations and, for each kernel, of its launches on the device.
bool time();
/// PUMICE_LOG: prints decisions of the library: devices, cache misses, batches.
bool log();
/// PUMICE_CACHE_DIR: the folder of compiled kernels; "" if there is none (set to "off"). By default a folder in XDG_CACHE_HOME or
/// HOME, if that is the user's own.
std::string cache_folder();

/// True if PUMICE_DUMP lists this word: "ir", the name of a pass, "glsl", "spirv"; or "all".
bool dumps(std::string_view what);
/// Prints once to stderr the words of PUMICE_DUMP that are neither among these stages nor "all". Stages may repeat.
void check_dump(std::span<const std::string_view> stages);
/// Writes KERNEL.WHAT.EXTENSION into PUMICE_DUMP_DIR, or prints the text to stderr under a heading.
void dump_text(std::string_view what, std::string_view kernel, std::string_view extension, std::string_view text);
/// Prints one line to stderr if PUMICE_LOG is on.
void log_line(std::string_view line);
/// The same, at most once in a process for each line.
void log_once(const std::string& line);

/// An environment variable, a switch or any other. Null if it is not set, or if the program has more rights than the user who
/// started it (setuid, setgid, capabilities): the user must not choose what such a program loads and writes.
const char* variable(const char* name);

/// Reads the environment again, and forgets which lines were printed; for tests.
void reload();

/// Gives a switch another value than the environment's while it lives, and does what reload() does at both ends; for tests and
/// benchmarks. setenv() would move the environment, which threads of drivers may be reading.
class Override {
public:
    Override(std::string_view name, std::string value);
    ~Override();
    Override(const Override&) = delete;
    Override& operator=(const Override&) = delete;

private:
    const std::string_view name;
    std::optional<std::string> before;
};

}  // namespace pumice::debug
