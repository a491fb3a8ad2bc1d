// A second file with the headers: two of them link into one program. There is no header of Vulkan's, and none is needed.
#include <pumice/pumice.h>
#include <pumice/vulkan.h>

int other_file() {
    pumice::Device device = pumice::Device::open();
    try {
        pumice::vulkan::wrap({});
    } catch (const pumice::Error&) {  // of nothing
    }
    return int(device.full<float>(2, 1.0f).download().size());
}
