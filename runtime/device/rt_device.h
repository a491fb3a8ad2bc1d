// The interface between the C functions and a device: launches that are checked already, memory, streams and events.
//
// pumice_device and the other handles of the C interface point to these structs. A back end derives from them. The functions are
// virtual but not pure, and objects are made by make() (runtime/support/hook_memory.h): the runtime then needs no C++ library.
#pragma once
#include "runtime/bundle/bundle.h"
#include "runtime/device/rt_reports.h"
#include "runtime/support/lock.h"

/// Device memory. A back end derives from it, and frees it once its work with it is done.
struct pumice_memory_t {
    pumice_device device = nullptr;
    int64_t bytes = 0;
};

struct pumice_stream_t {
    pumice_device device = nullptr;
    int priority = 0;
};

struct pumice_event_t {
    pumice_device device = nullptr;
};

namespace pumice_rt {

constexpr uint32_t most_arguments = 128;

/// One launch, after runtime/device/rt_launch.cpp has checked it. Axis 0 is the fastest: the last dimension of a range or an
/// array.
struct Launch {
    Launch();  // out of line, so that the library has one table of the defaults
    const Bundle* bundle = nullptr;
    const pumice_library* library = nullptr;
    uint32_t kernel = 0;
    int rank = 1;
    int64_t start[3] = {0, 0, 0}, extent[3] = {1, 1, 1};  ///< items along each axis; all extents positive
    int64_t group[3] = {0, 0, 0};                         ///< group[0] = 0: the device chooses
    struct Argument {
        pumice_memory memory = nullptr;  ///< null: a scalar, or an array without elements
        int64_t offset = 0, bytes = 0;   ///< of the array in the memory
        int64_t extents[PUMICE_MAX_RANK] = {1, 1, 1, 1, 1, 1};
        uint64_t bits = 0;  ///< of a scalar, in the low bytes; the bytes above are 0
        /// Number of elements of an array.
        int64_t count() const {
            int64_t n = 1;
            for (const int64_t extent : extents) n *= extent;
            return n;
        }
    };
    /// The last argument is the counts of an indirect range (CommandRecord::counted): groups past them may be left out.
    bool counted = false;
    const Argument* arguments = nullptr;  ///< one for each parameter of the kernel
    uint32_t argument_count = 0;
    pumice_stream stream = nullptr;

    const KernelRecord& record() const { return bundle->kernels[kernel]; }
    const char* kernel_name() const { return bundle->text(record().name); }
    const ParameterRecord& parameter(uint32_t i) const { return bundle->parameters[record().parameters.first + i]; }
};

}  // namespace pumice_rt

/// A device. Functions that return pumice_status have written the sentence if they do not return PUMICE_OK. Sizes are in bytes
/// and valid.
struct pumice_device_t {
    using Launch = pumice_rt::Launch;

    explicit pumice_device_t(const pumice_hooks& with) : hooks(with), reports(hooks) {}

    /// Memory whose bytes are all 0.
    virtual pumice_status allocate(int64_t bytes, pumice_memory* memory);
    virtual void release(pumice_memory memory);
    // write and read take effect after all work that was put on any stream before. write returns when the caller may change
    // `from`, read when `to` holds the data.
    virtual pumice_status write(pumice_memory to, int64_t offset, const void* from, int64_t bytes);
    virtual pumice_status read(pumice_memory from, int64_t offset, void* to, int64_t bytes);
    // Asynchronous, in order on a stream (null: the default one). pattern_bytes is at most 64; bytes is a multiple of it.
    virtual pumice_status fill(pumice_memory to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                               pumice_stream stream);
    virtual pumice_status copy(pumice_memory from, int64_t from_offset, pumice_memory to, int64_t to_offset, int64_t bytes,
                               pumice_stream stream);
    virtual pumice_status prepare(const pumice_rt::Bundle& bundle, const pumice_library& library, uint32_t kernel);
    virtual pumice_status launch(const Launch& launch);

    virtual pumice_status create_stream(int priority, pumice_stream* stream);
    virtual void release_stream(pumice_stream stream);
    virtual pumice_status record(pumice_stream stream, pumice_event* event);
    virtual pumice_status wait_for(pumice_stream stream, pumice_event event);
    virtual pumice_status wait(pumice_event event);
    virtual bool done(pumice_event event);
    virtual void release_event(pumice_event event);
    virtual pumice_status synchronize();
    /// Waits, and destroys the device.
    virtual void close();

    void log(const char* format, ...) __attribute__((format(printf, 2, 3)));

    pumice_hooks hooks;
    pumice_rt::Reports reports;
    char name[256] = "";
    bool is_vulkan = false;

protected:
    ~pumice_device_t() = default;
};

namespace pumice_rt {

// The two back ends. Each opens a device or returns the reason as an error.
pumice_status open_cpu(const pumice_hooks& hooks, pumice_device* device);
/// `which`: "" for the best device, a number, or a part of the name.
pumice_status open_vulkan(const char* which, const pumice_hooks& hooks, pumice_device* device);

/// The value of an environment variable, or "" (also in a program with raised privileges).
const char* environment(const char* name);

}  // namespace pumice_rt
