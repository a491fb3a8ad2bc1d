// The cards that card_layer.cpp makes of a software driver, and their faults. PUMICE_TEST_CARD names the card,
// PUMICE_TEST_FAULT the fault. "discrete" has its own memory, most of which the host cannot map, and its first memory type is
// not for buffers, as on Intel's Xe2; like Intel's cards, it has 64-bit atomics in buffers alone. A second queue family has
// no time stamps. "reached" has its own memory that the host writes in place, and incoherent memory for reading; it allocates
// more at once than it promises, and has 64-bit integers without atomics. "poor" is a discrete card with the smallest limits
// that Pumice supports; its first queue family cannot compute, and none has time stamps. Its buffers hold bytes, and it does
// not compute with them.
#pragma once
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace layer {

/// The properties of a card that differ from those of the driver below.
struct Card {
    const char* name;
    uint32_t storage_buffers = 0;   ///< bound by a stage; 0: as many as the driver
    uint32_t offset_alignment = 0;  ///< of storage buffers, in bytes; 0: the driver's
    uint32_t group_size = 0;        ///< work-items in a group; 0: the driver's
    uint32_t shared_bytes = 0;      ///< of a group's memory; 0: the driver's
    uint32_t allocation_bytes = 0;  ///< maxMemoryAllocationSize; it allocates more. 0: the driver's
    bool device_addresses = true;
    bool push_descriptors = true;
    bool buffer_int64_atomics = true;
    bool shared_int64_atomics = true;
    bool float_atomics = true;
    bool byte_arithmetic = true;      ///< 8-bit integers; buffers hold them in any case
    bool short_arithmetic = true;     ///< 16-bit integers and floats; buffers hold them in any case
    bool in_reach = false;            ///< the host maps all of the card's memory
    bool copies_first = false;        ///< its first queue family copies alone; the driver's family comes after it
    bool time_stamps = true;          ///< the driver's queue family has them
    bool computes_last = false;       ///< its last queue family computes, and has no time stamps
    bool portability_subset = false;  ///< the extension is there; without push descriptors alone
};
constexpr Card cards[] = {
    {.name = "discrete", .shared_int64_atomics = false, .computes_last = true},
    {.name = "reached",
     .allocation_bytes = 64u << 20,
     .buffer_int64_atomics = false,
     .shared_int64_atomics = false,
     .in_reach = true},
    {.name = "poor",
     .storage_buffers = 4,
     .offset_alignment = 256,
     .group_size = 128,
     .shared_bytes = 16384,
     .device_addresses = false,
     .push_descriptors = false,
     .shared_int64_atomics = false,
     .float_atomics = false,
     .byte_arithmetic = false,
     .short_arithmetic = false,
     .copies_first = true,
     .time_stamps = false,
     .portability_subset = true},
};

inline const Card& card() {
    static const Card& chosen = [&]() -> const Card& {
        const char* wanted = std::getenv("PUMICE_TEST_CARD");
        for (const Card& c : cards)
            if (wanted && std::strcmp(wanted, c.name) == 0) return c;
        std::fprintf(stderr, "card_layer: PUMICE_TEST_CARD is \"%s\", and the cards are discrete, reached and poor\n",
                     wanted ? wanted : "");
        std::abort();
    }();
    return chosen;
}

/// How a card presents itself to those who list cards, where a process has several.
struct Look {
    VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    VkDeviceSize bytes = 0;  ///< of its own memory; 0: as much as the driver has
    bool usable = true;      ///< else it has no timeline semaphores
};
/// By PUMICE_TEST_LOOKS, with the name of the driver's device: "llvmpipe discrete 8, SwiftShader integrated 64" in GiB; the kinds
/// are discrete, integrated and unusable. Read at each call.
inline Look look_of(const char* driver) {
    const char* const looks = std::getenv("PUMICE_TEST_LOOKS");
    const std::string first = std::string(driver).substr(0, std::strcspn(driver, " "));  // "llvmpipe (LLVM 15.0.6, 256 bits)"
    const char* const found = looks ? std::strstr(looks, first.c_str()) : nullptr;
    char kind[16] = "";
    unsigned gibibytes = 0;
    if (!found || std::sscanf(found + first.size(), "%15s %u", kind, &gibibytes) != 2) return {};
    Look look{.bytes = VkDeviceSize(gibibytes) << 30, .usable = std::strcmp(kind, "unusable") != 0};
    if (std::strcmp(kind, "integrated") == 0) look.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    return look;
}

/// The fault of the card. Numbers count calls from the start of the process.
struct Fault {
    VkDeviceSize local_bytes = 0,
                 host_bytes = 0;  ///< "full": the card's own memory and the host's end after so many; 0: they do not
    int lost_at = 0;              ///< "lost" and "hangs": the submission that loses the device; 0: none
    bool found_by_wait = false;   ///< "hangs": the submission succeeds, and whoever waits for it learns of the loss
    bool lies = false;            ///< "lies": no pipeline can be made of a shader with doubles, which the card says it has
};
inline const Fault& fault() {
    static const Fault one = [] {
        const char* const name = std::getenv("PUMICE_TEST_FAULT");
        if (!name) return Fault{};
        if (std::strcmp(name, "full") == 0)
            return Fault{.local_bytes = VkDeviceSize(96) << 20, .host_bytes = VkDeviceSize(512) << 20};
        if (std::strcmp(name, "lost") == 0) return Fault{.lost_at = 10};
        if (std::strcmp(name, "hangs") == 0) return Fault{.lost_at = 10, .found_by_wait = true};
        if (std::strcmp(name, "lies") == 0) return Fault{.lies = true};
        std::fprintf(stderr, "card_layer: PUMICE_TEST_FAULT is \"%s\", and the faults are full, lost, hangs and lies\n", name);
        std::abort();
    }();
    return one;
}

}  // namespace layer
