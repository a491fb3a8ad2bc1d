// The C functions of devices, arrays, streams and events: checks of their arguments, and calls of the device.
#include "runtime/device/rt_device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/device/bundles.h"
#include "runtime/support/rt_float_mode.h"

using namespace pumice_rt;

namespace pumice_rt {

const char* environment(const char* name) {
    const char* const value = secure_getenv(name);
    return value ? value : "";
}

namespace {

pumice_status missing(const char* function) {
    return fail(PUMICE_ERROR_ARGUMENT, "this device does not have the function %s", function);
}

/// Checks an array of a call that transfers all of its elements. `bytes` is then their size.
pumice_status check_array(const pumice_array* array, int64_t& bytes) {
    if (!array) return fail(PUMICE_ERROR_ARGUMENT, "a call is given no array");
    if (array->rank < 1 || array->rank > PUMICE_MAX_RANK || array->element_bytes < 1)
        return fail(PUMICE_ERROR_ARGUMENT, "an array of %d dimensions and elements of %d bytes was never created", array->rank,
                    array->element_bytes);
    bytes = array->element_bytes;
    for (int32_t d = 0; d < array->rank; ++d)
        if (array->extents[d] < 0 || __builtin_mul_overflow(bytes, array->extents[d], &bytes))
            return fail(PUMICE_ERROR_ARGUMENT, "an array has extent %lld along dimension %d", longest(array->extents[d]), d);
    if (bytes == 0) return PUMICE_OK;
    if (!array->memory) return fail(PUMICE_ERROR_ARGUMENT, "an array was never created, or was released");
    if (array->offset < 0 || array->offset > array->memory->bytes || bytes > array->memory->bytes - array->offset)
        return fail(PUMICE_ERROR_ARGUMENT, "an array has %lld bytes from byte %lld on, and its memory has %lld", longest(bytes),
                    longest(array->offset), longest(array->memory->bytes));
    return PUMICE_OK;
}

pumice_status check_host(const pumice_array* array, const void* host, int64_t given, int64_t& bytes) {
    RT_TRY(check_array(array, bytes));
    if (given != bytes)
        return fail(PUMICE_ERROR_ARGUMENT, "%lld bytes are copied, and the array has %lld: the sizes must agree", longest(given),
                    longest(bytes));
    return bytes > 0 && !host ? fail(PUMICE_ERROR_ARGUMENT, "%lld bytes are copied from or to no memory", longest(bytes))
                              : PUMICE_OK;
}

pumice_status check_stream(pumice_device device, pumice_stream stream) {
    if (!device) return fail(PUMICE_ERROR_ARGUMENT, "a call is given no device");
    return stream && stream->device != device
               ? fail(PUMICE_ERROR_ARGUMENT, "a stream of %s is used on %s", stream->device->name, device->name)
               : PUMICE_OK;
}

/// Opens the device for a spec without a kind: a Vulkan GPU, else the processor.
pumice_status open_best(const pumice_hooks& hooks, pumice_device* device) {
    if (open_vulkan("gpu", hooks, device) == PUMICE_OK) return PUMICE_OK;
    return open_cpu(hooks, device);
}

pumice_status open_spec(const char* spec, const pumice_hooks& hooks, pumice_device* device) {
    if (!spec || !*spec) spec = environment("PUMICE_DEVICE");
    if (!*spec) return open_best(hooks, device);
    if (strcmp(spec, "cpu") == 0) return open_cpu(hooks, device);
    if (strcmp(spec, "vulkan") == 0) return open_vulkan("", hooks, device);
    if (strncmp(spec, "vulkan:", 7) == 0) return open_vulkan(spec + 7, hooks, device);
    return fail(PUMICE_ERROR_DEVICE, "there is no device \"%s\"; devices are cpu, vulkan, vulkan:N and vulkan:NAME", spec);
}

pumice_status fill_array(const pumice_array* array, const void* element, pumice_stream stream) {
    int64_t bytes = 0;
    RT_TRY(check_array(array, bytes));
    if (bytes == 0) return PUMICE_OK;
    if (!element) return fail(PUMICE_ERROR_ARGUMENT, "an array is filled with no element");
    RT_TRY(check_stream(array->memory->device, stream));
    if (array->element_bytes > 64)
        return fail(PUMICE_ERROR_ARGUMENT, "elements of %d bytes cannot be filled; the limit is 64 bytes", array->element_bytes);
    return array->memory->device->fill(array->memory, array->offset, bytes, element, array->element_bytes, stream);
}

pumice_status copy_array(const pumice_array* from, const pumice_array* to, pumice_stream stream) {
    int64_t bytes = 0, other = 0;
    RT_TRY(check_array(from, bytes));
    RT_TRY(check_array(to, other));
    if (bytes != other)
        return fail(PUMICE_ERROR_ARGUMENT, "an array of %lld bytes is copied into one of %lld: the sizes must agree",
                    longest(bytes), longest(other));
    if (bytes == 0) return PUMICE_OK;
    if (from->memory->device != to->memory->device)
        return fail(PUMICE_ERROR_ARGUMENT, "an array on %s is copied into one on %s", from->memory->device->name,
                    to->memory->device->name);
    RT_TRY(check_stream(to->memory->device, stream));
    return to->memory->device->copy(from->memory, from->offset, to->memory, to->offset, bytes, stream);
}

pumice_status create_array(pumice_device device, int32_t type, int32_t element_bytes, int32_t rank, const int64_t* extents,
                           pumice_array* array) {
    static const int32_t sizes[type_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
    if (!device || !array) return fail(PUMICE_ERROR_ARGUMENT, "an array is created on no device, or into no array");
    if (type != PUMICE_STRUCT && uint32_t(type) >= type_count)
        return fail(PUMICE_ERROR_ARGUMENT, "an array is created of the unknown type %d", type);
    if (!extents) return fail(PUMICE_ERROR_ARGUMENT, "an array is created without extents");
    if (rank < 1 || rank > PUMICE_MAX_RANK)
        return fail(PUMICE_ERROR_ARGUMENT, "an array of %d dimensions is created; the limit is %d", rank, PUMICE_MAX_RANK);
    pumice_array made;
    memset(&made, 0, sizeof made);
    made.type = type, made.rank = rank;
    made.element_bytes = type == PUMICE_STRUCT ? element_bytes : sizes[type];
    int64_t bytes = made.element_bytes;
    if (bytes < 1) return fail(PUMICE_ERROR_ARGUMENT, "an array of elements of %d bytes is created", element_bytes);
    for (int32_t d = 0; d < rank; ++d) {
        if (extents[d] < 0 || __builtin_mul_overflow(bytes, extents[d], &bytes) || bytes > INT64_MAX / 2)
            return fail(PUMICE_ERROR_ARGUMENT, "an array is created with extent %lld along dimension %d", longest(extents[d]), d);
        made.extents[d] = extents[d];
    }
    if (bytes > 0) RT_TRY(device->allocate(bytes, &made.memory));
    *array = made;
    return PUMICE_OK;
}

}  // namespace
}  // namespace pumice_rt

// ---- the device's functions where a back end has none ----

pumice_status pumice_device_t::allocate(int64_t, pumice_memory*) { return missing("allocate"); }
void pumice_device_t::release(pumice_memory) {}
pumice_status pumice_device_t::write(pumice_memory, int64_t, const void*, int64_t) { return missing("write"); }
pumice_status pumice_device_t::read(pumice_memory, int64_t, void*, int64_t) { return missing("read"); }
pumice_status pumice_device_t::fill(pumice_memory, int64_t, int64_t, const void*, int64_t, pumice_stream) {
    return missing("fill");
}
pumice_status pumice_device_t::copy(pumice_memory, int64_t, pumice_memory, int64_t, int64_t, pumice_stream) {
    return missing("copy");
}
pumice_status pumice_device_t::prepare(const Bundle&, const pumice_library&, uint32_t) { return missing("prepare"); }
pumice_status pumice_device_t::launch(const Launch&) { return missing("launch"); }
pumice_status pumice_device_t::create_stream(int, pumice_stream*) { return missing("create_stream"); }
void pumice_device_t::release_stream(pumice_stream) {}
pumice_status pumice_device_t::record(pumice_stream, pumice_event*) { return missing("record"); }
pumice_status pumice_device_t::wait_for(pumice_stream, pumice_event) { return missing("wait_for"); }
pumice_status pumice_device_t::wait(pumice_event) { return missing("wait"); }
bool pumice_device_t::done(pumice_event) { return true; }
void pumice_device_t::release_event(pumice_event) {}
pumice_status pumice_device_t::synchronize() { return missing("synchronize"); }
void pumice_device_t::close() {}

void pumice_device_t::log(const char* format, ...) {
    const char* const wanted = environment("PUMICE_LOG");
    if (!hooks.log && (!*wanted || strcmp(wanted, "0") == 0)) return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (hooks.log)
        hooks.log(hooks.user, line);
    else
        fprintf(stderr, "pumice: %s\n", line);
}

// ---- the C functions ----

pumice_status pumice_open(const char* spec, const pumice_hooks* hooks, pumice_device* device) {
    if (!device) return fail(PUMICE_ERROR_ARGUMENT, "a device is opened into no variable");
    const FloatMode mode;  // of the driver, too, and of the threads that start here
    pumice_hooks own = {};
    if (hooks) own = *hooks;
    const pumice_status status =
        (own.allocate != nullptr) == (own.release != nullptr)
            ? open_spec(spec, own, device)
            : fail(PUMICE_ERROR_ARGUMENT, "of the hooks allocate and release one is given: memory needs both or none");
    if (status != PUMICE_OK) {
        *device = nullptr;
        if (own.error) own.error(own.user, status, pumice_error());
    }
    return status;
}
void pumice_close(pumice_device device) {
    if (device) device->close();
}
const char* pumice_device_name(pumice_device device) { return device ? device->name : ""; }
pumice_status pumice_synchronize(pumice_device device) {
    if (!device) return fail(PUMICE_ERROR_ARGUMENT, "a call is given no device");
    return report(device, device->synchronize());
}

pumice_status pumice_array_create(pumice_device device, int32_t type, int32_t element_bytes, int32_t rank, const int64_t* extents,
                                  pumice_array* array) {
    return report(device, create_array(device, type, element_bytes, rank, extents, array));
}
void pumice_array_release(pumice_array* array) {
    if (!array || !array->memory) return;
    array->memory->device->release(array->memory);
    array->memory = nullptr;
}
static pumice_device device_of(const pumice_array* array) { return array && array->memory ? array->memory->device : nullptr; }
pumice_status pumice_array_write(const pumice_array* array, const void* from, int64_t given) {
    int64_t bytes = 0;
    pumice_status status = check_host(array, from, given, bytes);
    if (status == PUMICE_OK && bytes > 0) status = array->memory->device->write(array->memory, array->offset, from, bytes);
    return report(device_of(array), status);
}
pumice_status pumice_array_read(const pumice_array* array, void* to, int64_t given) {
    int64_t bytes = 0;
    pumice_status status = check_host(array, to, given, bytes);
    if (status == PUMICE_OK && bytes > 0) status = array->memory->device->read(array->memory, array->offset, to, bytes);
    return report(device_of(array), status);
}
pumice_status pumice_array_fill(const pumice_array* array, const void* element, pumice_stream stream) {
    return report(device_of(array), fill_array(array, element, stream));
}
pumice_status pumice_array_copy(const pumice_array* from, const pumice_array* to, pumice_stream stream) {
    return report(device_of(to), copy_array(from, to, stream));
}

pumice_status pumice_stream_create(pumice_device device, int priority, pumice_stream* stream) {
    if (!device || !stream) return fail(PUMICE_ERROR_ARGUMENT, "a stream is created on no device, or into no variable");
    if (priority < -1 || priority > 1)
        return report(device, fail(PUMICE_ERROR_ARGUMENT, "a stream has priority %d; it is -1, 0 or 1", priority));
    return report(device, device->create_stream(priority, stream));
}
void pumice_stream_release(pumice_stream stream) {
    if (stream) stream->device->release_stream(stream);
}
pumice_status pumice_record(pumice_device device, pumice_stream stream, pumice_event* event) {
    if (!event) return fail(PUMICE_ERROR_ARGUMENT, "an event is recorded into no variable");
    RT_TRY(report(device, check_stream(device, stream)));
    return report(device, device->record(stream, event));
}
pumice_status pumice_wait_for(pumice_device device, pumice_stream stream, pumice_event event) {
    RT_TRY(report(device, check_stream(device, stream)));
    if (!event) return PUMICE_OK;
    if (event->device != device) return report(device, event->device->wait(event));  // of another device: the host waits
    return report(device, device->wait_for(stream, event));
}
pumice_status pumice_event_wait(pumice_event event) {
    return event ? report(event->device, event->device->wait(event)) : PUMICE_OK;
}
int pumice_event_done(pumice_event event) { return !event || event->device->done(event) ? 1 : 0; }
void pumice_event_release(pumice_event event) {
    if (event) event->device->release_event(event);
}
