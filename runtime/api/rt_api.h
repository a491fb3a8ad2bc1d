/* The C interface of libpumice_rt, the runtime of kernels that were built ahead of time. Public: <pumice/pumice_rt.h>.
 *
 * The runtime has no compiler in it. pumice_add_library (docs/shipping.md) makes a library of kernels and a header with a
 * function for each of them; that header calls pumice_launch below. C99 and C++ may include this file; <pumice/pumice_rt.hpp> has
 * typed C++ on top.
 *
 * Errors: a function returns PUMICE_OK or the kind of an error; pumice_error() then has a full sentence. After an error nothing
 * is lost: arrays keep their elements, and the device works, except after PUMICE_ERROR_LOST.
 * Threads: all functions may be called from several threads at once. The order of their work on one stream is then unspecified.
 */
#ifndef PUMICE_RT_H
#define PUMICE_RT_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PUMICE_RT_API
#define PUMICE_RT_API __attribute__((visibility("default")))
#endif

/** The version of this interface; pumice_library carries that of the header it was generated for. */
#define PUMICE_RT_VERSION 1

/* ---- errors ------------------------------------------------------------------------------------------------------ */

typedef enum pumice_status {
    PUMICE_OK = 0,
    PUMICE_ERROR_ARGUMENT = 1,    /**< a wrong type, size, range or handle */
    PUMICE_ERROR_BUNDLE = 2,      /**< a bundle of an unknown version, or one that is truncated or edited */
    PUMICE_ERROR_DEVICE = 3,      /**< there is no such device: no loader, no driver, no code for the processor */
    PUMICE_ERROR_FEATURE = 4,     /**< the device lacks a feature that the kernel needs */
    PUMICE_ERROR_MEMORY = 5,      /**< the host or the device gives no more memory */
    PUMICE_ERROR_LOST = 6,        /**< the device is lost and has to be opened again, or the process was forked since */
    PUMICE_ERROR_REQUIREMENT = 7, /**< a `require` of a kernel did not hold */
    PUMICE_ERROR_SYSTEM = 8       /**< the driver or the operating system refused a call */
} pumice_status;

/** The sentence of this thread's last error; "" if there was none. Valid until the thread's next error. */
PUMICE_RT_API const char* pumice_error(void);

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

/** Functions of the application that a device uses instead of its own. A null member keeps the runtime's own. Called on any
 * thread. */
typedef struct pumice_hooks {
    void* user; /**< first argument of every hook */
    /** Host memory, aligned to a power of two; null if there is none. `release` gets the same number of bytes. */
    void* (*allocate)(void* user, size_t bytes, size_t alignment);
    void (*release)(void* user, void* memory, size_t bytes);
    /** Runs body(context, 0) ... body(context, parts - 1), on any threads at once, and returns when all have returned. */
    void (*parallel)(void* user, int parts, void (*body)(void* context, int part), void* context);
    /** Threads that `parallel` has, at least 1; of the runtime's own pool: its number of threads. 0: one for each processor. */
    int threads;
    /** A line of information for logs. Default: with the environment variable PUMICE_LOG=1 to stderr. */
    void (*log)(void* user, const char* line);
    /** A line that a kernel prints. Default: stdout. */
    void (*print)(void* user, const char* line);
    /** Every error, as it happens. Default: nothing, since the function returns it. */
    void (*error)(void* user, pumice_status status, const char* sentence);
} pumice_hooks;

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef struct pumice_device_t* pumice_device;
typedef struct pumice_memory_t* pumice_memory;
typedef struct pumice_stream_t* pumice_stream;
typedef struct pumice_event_t* pumice_event;

/** Opens a device: "cpu", "vulkan" (the best GPU), "vulkan:N" (a number), "vulkan:text" (a part of the name), or "" (the
 * environment variable PUMICE_DEVICE, else a Vulkan GPU, else the processor). `hooks` may be null; it is copied. */
PUMICE_RT_API pumice_status pumice_open(const char* spec, const pumice_hooks* hooks, pumice_device* device);
/** Waits for the device's work and closes it. Memory, streams and events of it must have been released. Null does nothing. */
PUMICE_RT_API void pumice_close(pumice_device device);
/** "cpu (x86-64-v3, 2 threads)", "vulkan:0 llvmpipe (...)". Valid as long as the device. */
PUMICE_RT_API const char* pumice_device_name(pumice_device device);
/** Waits for all work of the device; returns the first error of that work. */
PUMICE_RT_API pumice_status pumice_synchronize(pumice_device device);

/** An application's Vulkan device and a queue of it, which stay the application's and must outlive the pumice_device. The handles
 * are Vulkan's own types. Only the feature timelineSemaphore is required. */
typedef struct pumice_vulkan_device {
    void* instance;
    void* physical_device;
    void* device;
    void* queue;
    uint32_t queue_family; /**< supports compute */
    uint32_t api_version;  /**< of VkApplicationInfo; Vulkan 1.2 or later */
    /** The enabled features: a chain as in VkDeviceCreateInfo::pNext, of VkPhysicalDeviceFeatures2 and other structures. */
    const void* features;
    const char* const* extensions; /**< the enabled device extensions */
    uint32_t extension_count;
    void* user;
    void (*lock)(void* user), (*unlock)(void* user);             /**< around every use of the queue; may be null */
    void (*(*get_instance_proc_addr)(void*, const char*))(void); /**< vkGetInstanceProcAddr; null: the system's loader */
} pumice_vulkan_device;
PUMICE_RT_API pumice_status pumice_vulkan_wrap(const pumice_vulkan_device* application, const pumice_hooks* hooks,
                                               pumice_device* device);
/** Memory in a buffer of the application, which keeps it until the device is done with it. `buffer` is the VkBuffer, with the
 * usages STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST; offset and bytes are multiples of 4. */
PUMICE_RT_API pumice_status pumice_vulkan_lend(pumice_device device, uint64_t buffer, int64_t offset, int64_t bytes,
                                               pumice_memory* memory);
/** The VkBuffer that holds the memory, and its offset there. Submits the device's work so far. */
PUMICE_RT_API pumice_status pumice_vulkan_place(pumice_memory memory, uint64_t* buffer, int64_t* offset);
/** Submits all work of the device so far. Other queues wait for `value` of the timeline semaphore `semaphore` (a VkSemaphore). */
PUMICE_RT_API pumice_status pumice_vulkan_submit(pumice_device device, uint64_t* semaphore, uint64_t* value);
/** Later work of the device starts when the semaphore (timeline; a binary one ignores the value) is signalled. The signal must be
 * submitted already. */
PUMICE_RT_API pumice_status pumice_vulkan_wait_for(pumice_device device, uint64_t semaphore, uint64_t value);

/* ---- memory and arrays ------------------------------------------------------------------------------------------- */

/** The type of a scalar, or of an array's elements. */
typedef enum pumice_type {
    PUMICE_BOOL = 0,
    PUMICE_I8 = 1,
    PUMICE_I16 = 2,
    PUMICE_I32 = 3,
    PUMICE_I64 = 4,
    PUMICE_U8 = 5,
    PUMICE_U16 = 6,
    PUMICE_U32 = 7,
    PUMICE_U64 = 8,
    PUMICE_F16 = 9,
    PUMICE_F32 = 10,
    PUMICE_F64 = 11,
    PUMICE_BF16 = 12,
    PUMICE_STRUCT = 64 /**< a vector, matrix or struct; only its size is checked */
} pumice_type;

/** Dimensions of arrays and ranges are at most this many. */
#define PUMICE_MAX_RANK 6

/** A part of device memory as a row-major array. A plain value: copies share the memory. */
typedef struct pumice_array {
    pumice_memory memory; /**< null: an array without elements */
    int64_t offset;       /**< of the first element, in bytes; a multiple of 4, or of the element's size if that is less */
    int32_t type;         /**< pumice_type */
    int32_t element_bytes;
    int32_t rank;
    int64_t extents[PUMICE_MAX_RANK]; /**< in elements; dimension 0 is the slowest */
} pumice_array;

/** Allocates an array; all bytes are 0. `element_bytes` counts only for PUMICE_STRUCT. */
PUMICE_RT_API pumice_status pumice_array_create(pumice_device device, int32_t type, int32_t element_bytes, int32_t rank,
                                                const int64_t* extents, pumice_array* array);
/** Releases the memory of an array once the work that uses it is done. All arrays in that memory are then invalid. */
PUMICE_RT_API void pumice_array_release(pumice_array* array);
/** Overwrites all elements with those at `from`, or copies them to `to`; `bytes` must be the array's size. In order after the
 * work given to the default stream so far. The host's memory may be used again on return. */
PUMICE_RT_API pumice_status pumice_array_write(const pumice_array* array, const void* from, int64_t bytes);
PUMICE_RT_API pumice_status pumice_array_read(const pumice_array* array, void* to, int64_t bytes);
/** Sets every element to the value at `element`, of the array's element size. */
PUMICE_RT_API pumice_status pumice_array_fill(const pumice_array* array, const void* element, pumice_stream stream);
/** Copies all elements between arrays of one size, on one device. */
PUMICE_RT_API pumice_status pumice_array_copy(const pumice_array* from, const pumice_array* to, pumice_stream stream);

/* ---- streams and events ------------------------------------------------------------------------------------------ */

/** An ordered queue of work. Work of different streams may overlap; that of the default stream (null) is ordered with all of it,
 * and has priority 0. On Vulkan devices priorities change nothing. */
PUMICE_RT_API pumice_status pumice_stream_create(pumice_device device, int priority,
                                                 pumice_stream* stream); /**< -1 low, 0, 1 high */
PUMICE_RT_API void pumice_stream_release(pumice_stream stream);
/** The point at which all work given to the stream so far is done. */
PUMICE_RT_API pumice_status pumice_record(pumice_device device, pumice_stream stream, pumice_event* event);
/** Later work of the stream starts after the event. */
PUMICE_RT_API pumice_status pumice_wait_for(pumice_device device, pumice_stream stream, pumice_event event);
PUMICE_RT_API pumice_status pumice_event_wait(pumice_event event);
PUMICE_RT_API int pumice_event_done(pumice_event event);
PUMICE_RT_API void pumice_event_release(pumice_event event);

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/** The items of a launch: the indices from[d] <= i < to[d] of each dimension d; dimension 0 is the slowest. */
typedef struct pumice_range {
    int32_t rank; /**< 0: the range that the kernel fixes */
    int64_t from[PUMICE_MAX_RANK];
    int64_t to[PUMICE_MAX_RANK];
    int64_t group[PUMICE_MAX_RANK]; /**< items of a group along each dimension; group[0] = 0: the runtime chooses */
    pumice_stream stream;
} pumice_range;

static inline pumice_range pumice_range_1(int64_t n) {
    pumice_range r;
    memset(&r, 0, sizeof r);
    r.rank = 1, r.to[0] = n;
    return r;
}
static inline pumice_range pumice_range_2(int64_t rows, int64_t columns) {
    pumice_range r;
    memset(&r, 0, sizeof r);
    r.rank = 2, r.to[0] = rows, r.to[1] = columns;
    return r;
}
static inline pumice_range pumice_range_3(int64_t planes, int64_t rows, int64_t columns) {
    pumice_range r;
    memset(&r, 0, sizeof r);
    r.rank = 3, r.to[0] = planes, r.to[1] = rows, r.to[2] = columns;
    return r;
}

/** An argument of a launch: an array, or a scalar by its bits (in the low bytes). */
typedef struct pumice_argument {
    const pumice_array* array; /**< null: a scalar */
    int32_t type;              /**< pumice_type of a scalar */
    uint64_t bits;
} pumice_argument;

/** Kernels that were built into a program or shared library: what pumice_add_library generates. */
typedef struct pumice_library {
    uint32_t version; /**< PUMICE_RT_VERSION */
    const char* name;
    const void* bundle; /**< the bundle's bytes (docs/shipping.md) */
    uint64_t bundle_bytes;
    void (*const* code)(void); /**< native functions, by the numbers in the bundle */
    uint32_t code_count;
    void** vector_functions; /**< pointers to functions of SLEEF, which the runtime fills if the machine has that library */
    const char* const* vector_function_names;
    uint32_t vector_function_count;
    void** state; /**< the runtime's */
} pumice_library;

/** Starts kernel number `kernel` of the library. Checks all arguments before anything happens. */
PUMICE_RT_API pumice_status pumice_launch(pumice_device device, const pumice_library* library, uint32_t kernel,
                                          const pumice_range* range, const pumice_argument* arguments, uint32_t count);

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/** A program of a library on a device, for certain sizes, with the memory that it works in. Calls on one handle wait for each
 * other. */
typedef struct pumice_program_t* pumice_program;

/** What a program runs. */
typedef enum pumice_entry {
    PUMICE_FORWARD = 0,   /**< the program */
    PUMICE_GRADIENT = 1,  /**< the program and its derivative in reverse mode */
    PUMICE_AUGMENTED = 2, /**< the first half of the gradient: the program, and what the second half needs of it */
    PUMICE_REVERSE =
        3 /**< the second half; the arrays of the first must still be there, with the contents that the program left */
} pumice_entry;

/** Makes program number `program` of the library ready for a device and these sizes. Memory is allocated when an entry is
 * prepared. */
PUMICE_RT_API pumice_status pumice_program_create(pumice_device device, const pumice_library* library, uint32_t program,
                                                  const int64_t* sizes, uint32_t size_count, pumice_program* made);
/** Allocates the memory of an entry and prepares its kernels; the first run does it otherwise. */
PUMICE_RT_API pumice_status pumice_program_prepare(pumice_program program, pumice_entry entry);
/** Runs an entry. Arguments: the program's parameters in order; in a gradient each array with a derivative is followed by its
 * shadow; PUMICE_REVERSE takes the shadows alone. `results`: where the derivatives by scalars go, in order; a null pointer is not
 * written. Asynchronous on the stream, except with results, and where a kernel counts what it will store. */
PUMICE_RT_API pumice_status pumice_program_run(pumice_program program, pumice_entry entry, const pumice_argument* arguments,
                                               uint32_t count, void* const* results, uint32_t result_count, pumice_stream stream);
/** Bytes of device memory that the program has allocated. */
PUMICE_RT_API int64_t pumice_program_bytes(pumice_program program);
/** Releases the program once its work is done. Null does nothing. */
PUMICE_RT_API void pumice_program_release(pumice_program program);
/** The number of the program with this name. */
PUMICE_RT_API pumice_status pumice_find_program(const pumice_library* library, const char* name, uint32_t* program);

/* ---- bundles in files -------------------------------------------------------------------------------------------- */

/** Opens a bundle from memory or from a file: a pumice_library without native code, for Vulkan devices. The bytes are copied.
 * Everything in them is checked: an edited or truncated bundle is an error, and nothing else happens. */
PUMICE_RT_API pumice_status pumice_bundle_open(const void* bytes, uint64_t size, const pumice_library** library);
PUMICE_RT_API pumice_status pumice_bundle_open_file(const char* path, const pumice_library** library);
PUMICE_RT_API void pumice_bundle_close(const pumice_library* library);
/** The number of the kernel with this name. */
PUMICE_RT_API pumice_status pumice_find_kernel(const pumice_library* library, const char* name, uint32_t* kernel);
/** Compiles and prepares a kernel on the device before its first launch. */
PUMICE_RT_API pumice_status pumice_prepare(pumice_device device, const pumice_library* library, uint32_t kernel);

#ifdef __cplusplus
}
#endif
#endif
