// The pipeline cache's file: a magic, a checksum, and the driver's data, whose header names device and driver.
//
// The checksum keeps a damaged file from the driver, which need not survive one. A file is written to a temporary name and
// renamed, so that a reader sees an old or a new one.
#include "runtime/vulkan_context/rt_pipeline_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/support/rt_float_mode.h"

namespace pumice_rt::vulkan {
namespace {

struct CacheHeader {
    char magic[8];
    uint64_t checksum;
};
constexpr char file_magic[8] = {'P', 'U', 'M', 'I', 'P', 'I', 'P', '1'};
constexpr off_t largest_file = off_t(256) << 20;

/// True if the folder is this user's, or shared, as /tmp is; or missing, if it may be. A program that runs with another user's
/// environment, as under sudo, thus leaves nothing in that user's home.
bool is_own(const char* folder, bool may_be_missing) {
    struct stat about;
    if (stat(folder, &about) != 0) return may_be_missing && errno == ENOENT;
    return about.st_uid == geteuid() || (about.st_mode & S_ISVTX);
}

/// Writes the folder of the cache; false if there is none.
bool find_folder(char* to, size_t size) {
    const char* const set = environment("PUMICE_CACHE_DIR");
    const char *const cache = environment("XDG_CACHE_HOME"), *const home = environment("HOME");
    int length = 0;
    if (*set)
        length = strcmp(set, "off") == 0 ? 0 : snprintf(to, size, "%s", set);
    else if (*cache == '/')  // the XDG specification ignores relative paths
        length = is_own(cache, true) ? snprintf(to, size, "%s/pumice", cache) : 0;
    else if (*home == '/')
        length = is_own(home, false) ? snprintf(to, size, "%s/.cache/pumice", home) : 0;
    return length > 0 && size_t(length) < size;
}

void make_folders(char* folder) {
    for (char* at = folder + 1; *at; ++at) {
        if (*at != '/') continue;
        *at = 0;
        mkdir(folder, 0777);
        *at = '/';
    }
    mkdir(folder, 0777);
}

/// Moves all bytes by `some`, which is read() or write() from a byte on.
template <class Some> bool move_all(size_t bytes, const Some& some) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = some(done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += size_t(count);
    }
    return true;
}
bool read_all(int file, char* to, size_t bytes) {
    return move_all(bytes, [&](size_t done) { return read(file, to + done, bytes - done); });
}
bool write_all(int file, const void* from, size_t bytes) {
    return move_all(bytes, [&](size_t done) { return write(file, static_cast<const char*>(from) + done, bytes - done); });
}

/// Reads the file's data; false if it is missing or damaged.
bool read_file(const char* path, List<char>& data) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    CacheHeader header;
    struct stat about;
    const bool fits = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > off_t(sizeof header) &&
                      about.st_size <= largest_file && data.resize(size_t(about.st_size) - sizeof header);
    const bool whole = fits && read_all(file, reinterpret_cast<char*>(&header), sizeof header) &&
                       read_all(file, data.data(), data.size()) && memcmp(header.magic, file_magic, sizeof file_magic) == 0 &&
                       header.checksum == checksum(data.data(), data.size());
    close(file);
    return whole;
}

/// True if this device and driver have written the data.
bool is_of(const VkPhysicalDeviceProperties& device, const List<char>& data) {
    VkPipelineCacheHeaderVersionOne header;
    if (data.size() <= sizeof header) return false;
    memcpy(&header, data.data(), sizeof header);
    return header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == device.vendorID &&
           header.deviceID == device.deviceID && memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

bool PipelineCache::find_path() {
    if (!find_folder(folder, sizeof folder)) return false;
    const VkPhysicalDeviceProperties& device = context.facts.basic;
    char uuid[2 * VK_UUID_SIZE + 1];
    for (size_t i = 0; i < VK_UUID_SIZE; ++i) snprintf(uuid + 2 * i, 3, "%02x", device.pipelineCacheUUID[i]);
    snprintf(path, sizeof path, "%s/rt-%04x-%04x-%s.pipelines", folder, device.vendorID, device.deviceID, uuid);
    return true;
}

pumice_status PipelineCache::start() {
    List<char> stored(context.hooks);
    if (!find_path() || !read_file(path, stored) || !is_of(context.facts.basic, stored)) stored.clear();
    auto info = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    info.initialDataSize = stored.size();
    info.pInitialData = stored.data();
    saved_bytes = stored.size();
    return context.check(context.vk.CreatePipelineCache(context.device, &info, nullptr, &handle), "vkCreatePipelineCache");
}

PipelineCache::~PipelineCache() {
    if (handle) context.vk.DestroyPipelineCache(context.device, handle, nullptr);
}

pumice_status PipelineCache::make(const VkComputePipelineCreateInfo& info, VkPipeline& pipeline) {
    made = true;
    const FloatMode mode;  // lavapipe compiles on this thread
    return context.check(context.vk.CreateComputePipelines(context.device, handle, 1, &info, nullptr, &pipeline),
                         "vkCreateComputePipelines");
}

void PipelineCache::save() {
    size_t bytes = 0;
    if (!made || !path[0] || context.is_lost()) return;
    if (context.vk.GetPipelineCacheData(context.device, handle, &bytes, nullptr) != VK_SUCCESS) return;
    // Some drivers store only the header; then no file is written.
    if (bytes <= sizeof(VkPipelineCacheHeaderVersionOne) || bytes == saved_bytes) return;
    List<char> data(context.hooks);
    if (!data.resize(bytes) || context.vk.GetPipelineCacheData(context.device, handle, &bytes, data.data()) != VK_SUCCESS) return;
    CacheHeader header;
    memcpy(header.magic, file_magic, sizeof file_magic);
    header.checksum = checksum(data.data(), bytes);
    make_folders(folder);
    char temporary[700];
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, long(getpid()));
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) return;
    const bool written = write_all(file, &header, sizeof header) && write_all(file, data.data(), bytes);
    if (close(file) != 0 || !written || rename(temporary, path) != 0)
        unlink(temporary);
    else
        saved_bytes = bytes;
}

}  // namespace pumice_rt::vulkan
