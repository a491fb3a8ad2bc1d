// Helpers for tests of scalar types: the types of the device.
#pragma once
#include "tests/device/suite.h"

/// The message of a test that needs a type which the device lacks.
#define NEEDS(feature, what)                                 \
    if (!suite::device().supports(pumice::Feature::feature)) \
    GTEST_SKIP() << "SKIPPED: " << suite::device().name() << " has no " what

namespace suite {

inline bool has_type(const pumice::Device& device, pumice::internal::Scalar type) {
    using pumice::Feature, pumice::internal::Scalar;
    switch (type) {
        case Scalar::i8:
        case Scalar::u8: return device.supports(Feature::int8);
        case Scalar::i16:
        case Scalar::u16: return device.supports(Feature::int16);
        case Scalar::i64:
        case Scalar::u64: return device.supports(Feature::int64);
        case Scalar::f16: return device.supports(Feature::float16);
        case Scalar::f64: return device.supports(Feature::float64);
        default: return true;
    }
}
template <class T> bool has_type() { return has_type(device(), *pumice::internal::scalar_of<T>()); }

}  // namespace suite
