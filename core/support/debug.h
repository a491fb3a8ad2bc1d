// The debug switches: environment variables, read once, when the first of them is asked for.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace pumice::debug {

struct Switch {
    std::string_view name;      ///< of the environment variable
    std::string_view values;    ///< what it may be
    std::string_view fallback;  ///< what holds where it is not set
    std::string_view meaning;
};
/// All of them, in the order of README's table.
std::span<const Switch> switches();
/// What the environment says, or "" where it is not set. The name is one of switches().
const std::string& value(std::string_view name);

/// PUMICE_DEVICE: the device that Device::open takes; "" for the best there is.
inline const std::string& device() { return value("PUMICE_DEVICE"); }
/// PUMICE_VALIDATE: Vulkan's validation layers are on and the IR is verified after every pass; errors are fatal.
bool validate();
/// PUMICE_TIME: print how long compiling took, and the launches of each kernel on the device.
bool time();
/// PUMICE_LOG: print what the library decides: devices, cache misses, batches.
bool log();
/// PUMICE_CACHE_DIR: the folder of compiled kernels; "" where there is none (set to "off"). Where it is not set, a folder in
/// XDG_CACHE_HOME or HOME, if that one is the user's own.
std::string cache_folder();

/// Whether PUMICE_DUMP lists this: "ir", the name of a pass, "glsl", "spirv"; or "all".
bool dumps(std::string_view what);
/// Says once, on stderr, which words of PUMICE_DUMP are neither among these stages nor "all". Stages may repeat.
void check_dump(std::span<const std::string_view> stages);
/// Writes KERNEL.WHAT.EXTENSION into PUMICE_DUMP_DIR, or prints the text to stderr under a heading.
void dump_text(std::string_view what, std::string_view kernel, std::string_view extension, std::string_view text);
/// Prints one line to stderr if PUMICE_LOG is on.
void log_line(std::string_view line);
/// The same, at most once in a process for each line.
void log_once(const std::string& line);

/// An environment variable, of these or any other; null where it is not set, and in a program that runs with other rights than who
/// started it (setuid, setgid, capabilities): what it loads and writes is not theirs to choose.
const char* variable(const char* name);

/// Reads the environment again, and forgets what was said once; for tests.
void reload();

}  // namespace pumice::debug
