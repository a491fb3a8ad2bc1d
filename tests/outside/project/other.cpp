// A second file with the header: two of them link into one program.
#include <pumice/pumice.h>

int other_file() {
    pumice::Device device = pumice::Device::open();
    return int(device.full<float>(2, 1.0f).download().size());
}
