// Time stamps of the device's own clock.
#pragma once
#include <memory>
#include <vector>

#include "core/host/backend.h"
#include "vulkan/context.h"

namespace pumice::vulkan {

class VulkanDevice;

/// A query of a pool, written once.
struct Query {
    VkQueryPool pool = VK_NULL_HANDLE;
    uint32_t index = 0;
};

/// Recycled queries of a device. Guarded by the queue's mutex.
class Queries {
public:
    explicit Queries(Context& context) : context(context) {}
    ~Queries();
    Queries(const Queries&) = delete;
    Queries& operator=(const Queries&) = delete;
    /// Records the writing of a query. Throws Error if the driver refuses to make one.
    Query write(VkCommandBuffer commands);
    void give_back(const Query& query) { unused.push_back(query); }

private:
    Context& context;
    std::vector<VkQueryPool> pools;
    std::vector<Query> unused;
};

/// Does not keep the device alive; a read after its end throws Error.
class Stamp : public TimeStamp {
public:
    Stamp(std::weak_ptr<VulkanDevice> device, Query query, uint64_t value)
        : device(std::move(device)), query(query), value(value) {}
    ~Stamp() override;
    double since(TimeStamp& earlier) override;

private:
    const std::weak_ptr<VulkanDevice> device;
    const Query query;
    const uint64_t value;  ///< timeline value at which the query is written
};

}  // namespace pumice::vulkan
