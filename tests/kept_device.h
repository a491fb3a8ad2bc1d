// The device under test, open until the last test is done: drivers of cards take a tenth of a second to open and close one.
#pragma once
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <optional>

/// The device that PUMICE_DEVICE names.
class KeptDevice : public testing::Environment {
public:
    pumice::Device get() {
        if (!device) device = pumice::Device::open();
        return *device;
    }
    /// The next get() opens it anew, if nothing else uses it.
    void close() { device.reset(); }
    void TearDown() override { close(); }

private:
    std::optional<pumice::Device> device;
};

/// GoogleTest owns it.
inline KeptDevice* const kept_device = static_cast<KeptDevice*>(testing::AddGlobalTestEnvironment(new KeptDevice));
