// Bundles of linked libraries and of files, by the C interface.
//
// A linked library's bundle is opened at the first launch; the library has a word for the pointer to it. A bundle from a file is
// a pumice_library of its own, without native code. Host memory of bundles is the C library's, since they belong to no device.
#include "runtime/device/bundles.h"

#include <stdio.h>

#include "runtime/device/rt_device.h"

namespace pumice_rt {
namespace {

const pumice_hooks no_hooks = {};
Mutex opening;

/// A file of this length is read whatever its header says, so that the error is about its contents.
constexpr long most_unlike = 1 << 20;

/// A bundle that was opened from bytes.
struct Loose {
    pumice_library library = {};
    void* state = nullptr;
    char name[64] = "";
};

pumice_status open_library(const pumice_library* library, const Bundle*& bundle) {
    const Lock lock(opening);
    if ((bundle = static_cast<const Bundle*>(__atomic_load_n(library->state, __ATOMIC_ACQUIRE)))) return PUMICE_OK;
    Bundle* const made = make<Bundle>(no_hooks, no_hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "a bundle cannot be opened: the system gives no more memory");
    pumice_status status = made->open(library->bundle, library->bundle_bytes, library->name);
    for (uint32_t i = 0; status == PUMICE_OK && i < made->counts[uint32_t(SectionKind::natives)] && library->code_count; ++i)
        if (made->natives[i].entry >= library->code_count)
            status = fail(PUMICE_ERROR_BUNDLE, "the bundle %s names native function %u, and the library has %u", library->name,
                          made->natives[i].entry, library->code_count);
    if (status != PUMICE_OK) {
        destroy(no_hooks, made);
        return status;
    }
    __atomic_store_n(library->state, static_cast<void*>(made), __ATOMIC_RELEASE);
    bundle = made;
    return PUMICE_OK;
}

pumice_status read_file(const char* path, uint8_t*& bytes, uint64_t& size) {
    FILE* const file = fopen(path, "rb");
    if (!file) return fail(PUMICE_ERROR_BUNDLE, "the bundle %s cannot be opened", path);
    const bool measured = fseek(file, 0, SEEK_END) == 0;
    const long end = measured ? ftell(file) : -1;
    // The header is read first: a folder or a device may have any length.
    BundleHeader header = {};
    const bool begins = end >= 0 && fseek(file, 0, SEEK_SET) == 0 && (end == 0 || fread(&header, 1, sizeof header, file) > 0);
    const bool plausible = begins && (end < long(sizeof header) || header.bytes == uint64_t(end) || end < most_unlike);
    bytes = plausible ? static_cast<uint8_t*>(allocate(no_hooks, size_t(end))) : nullptr;
    size = bytes ? uint64_t(end) : 0;
    const bool whole = bytes && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, size, file) == size;
    fclose(file);
    if (whole) return PUMICE_OK;
    release(no_hooks, bytes, size);
    if (plausible && !bytes)
        return fail(PUMICE_ERROR_MEMORY, "the bundle %s of %ld bytes cannot be read: the system gives no more memory", path, end);
    return begins && !plausible
               ? fail(PUMICE_ERROR_BUNDLE, "%s has %ld bytes, and no header of a bundle of that size: it is truncated or edited",
                      path, end)
               : fail(PUMICE_ERROR_BUNDLE, "the bundle %s cannot be read", path);
}

pumice_status open_bytes(const void* bytes, uint64_t size, const char* name, const pumice_library** library) {
    Loose* const loose = make<Loose>(no_hooks);
    Bundle* const bundle = make<Bundle>(no_hooks, no_hooks);
    pumice_status status = PUMICE_OK;
    if (!loose || !bundle) status = fail(PUMICE_ERROR_MEMORY, "a bundle cannot be opened: the system gives no more memory");
    if (status == PUMICE_OK) status = bundle->open(bytes, size, name);
    if (status != PUMICE_OK) {
        destroy(no_hooks, bundle), destroy(no_hooks, loose);
        return status;
    }
    snprintf(loose->name, sizeof loose->name, "%s", name);
    loose->state = bundle;
    loose->library.version = PUMICE_RT_VERSION, loose->library.name = loose->name, loose->library.state = &loose->state;
    *library = &loose->library;
    return PUMICE_OK;
}

}  // namespace

pumice_status bundle_of(const pumice_library* library, const Bundle*& bundle) {
    if (!library) return fail(PUMICE_ERROR_ARGUMENT, "a call is given no library");
    if (library->version != PUMICE_RT_VERSION)
        return fail(PUMICE_ERROR_BUNDLE, "the library %s was made for version %u of the runtime, which has version %d",
                    library->name, library->version, PUMICE_RT_VERSION);
    bundle = static_cast<const Bundle*>(__atomic_load_n(library->state, __ATOMIC_ACQUIRE));
    return bundle ? PUMICE_OK : open_library(library, bundle);
}

pumice_status report(pumice_device device, pumice_status status) {
    if (status != PUMICE_OK && device && device->hooks.error) device->hooks.error(device->hooks.user, status, pumice_error());
    return status;
}

}  // namespace pumice_rt

pumice_status pumice_bundle_open(const void* bytes, uint64_t size, const pumice_library** library) {
    if (!bytes || !library) return pumice_rt::fail(PUMICE_ERROR_ARGUMENT, "a bundle is opened from no bytes, or into no library");
    return pumice_rt::open_bytes(bytes, size, "in memory", library);
}

pumice_status pumice_bundle_open_file(const char* path, const pumice_library** library) {
    if (!path || !library) return pumice_rt::fail(PUMICE_ERROR_ARGUMENT, "a bundle is opened from no path, or into no library");
    uint8_t* bytes = nullptr;
    uint64_t size = 0;
    RT_TRY(pumice_rt::read_file(path, bytes, size));
    const pumice_status status = pumice_rt::open_bytes(bytes, size, path, library);
    pumice_rt::release(pumice_rt::no_hooks, bytes, size);
    return status;
}

void pumice_bundle_close(const pumice_library* library) {
    if (!library || library->bundle) return;  // a linked library stays
    // Only open_bytes() makes a library without bytes: it is the first member of a Loose.
    pumice_rt::Loose* const loose = reinterpret_cast<pumice_rt::Loose*>(const_cast<pumice_library*>(library));
    pumice_rt::destroy(pumice_rt::no_hooks, static_cast<pumice_rt::Bundle*>(loose->state));
    pumice_rt::destroy(pumice_rt::no_hooks, loose);
}

pumice_status pumice_find_kernel(const pumice_library* library, const char* name, uint32_t* kernel) {
    const pumice_rt::Bundle* bundle = nullptr;
    RT_TRY(pumice_rt::bundle_of(library, bundle));
    if (!kernel) return pumice_rt::fail(PUMICE_ERROR_ARGUMENT, "a kernel's number is written into no variable");
    *kernel = bundle->find(name ? name : "");
    if (*kernel < bundle->kernel_count) return PUMICE_OK;
    return pumice_rt::fail(PUMICE_ERROR_ARGUMENT, "the library %s has no kernel \"%s\"", library->name, name ? name : "");
}
