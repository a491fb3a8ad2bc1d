// Emits non-temporal stores.
#pragma once
#include <string>

#include "cpu/address/addresses.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class StreamingStores : EmitterPart {
public:
    explicit StreamingStores(const EmitterPart& all) : EmitterPart(all) {}

    /// True if no item reads the array in the launch, so that cached lines would not be used again.
    bool only_written(ir::MemoryId m) const;
    /// True if a store that its caller found contiguous or interleaved is a streaming store.
    bool streams(const ir::Inst& i) const;
    /// The address as an i64.
    std::string integer_address(const std::string& pointer);
    /// The attachment of a store that makes it non-temporal.
    std::string nontemporal();
    void streaming_store(const ir::Inst& i, const std::string& value, const Address& a);

private:
    std::string aligned_for_streaming(const ir::Inst& i, const Address& a);
    void partial_streaming_store(const ir::Inst& i, const std::string& value, const Address& a);
    void stream_lanes(const ir::Inst& i, const std::string& slot, const Address& a, const std::string& lane, int lanes);
};

}  // namespace pumice::cpu
