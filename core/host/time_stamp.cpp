#include <chrono>

#include "core/host/backend.h"
#include "core/support/error.h"

namespace pumice {

using namespace internal;
namespace {

/// A time of the host's clock, read by a function that the stream calls.
class HostStamp : public TimeStamp {
public:
    using Clock = std::chrono::steady_clock;
    struct Read {
        Clock::time_point at;
    };
    HostStamp(std::shared_ptr<EventState> reached, std::shared_ptr<Read> read)
        : reached(std::move(reached)), read(std::move(read)) {}

    double since(TimeStamp& earlier) override {
        auto* const other = dynamic_cast<HostStamp*>(&earlier);
        if (!other) throw Error("the time between two events of different devices is asked for: their clocks differ");
        other->reached->wait();
        reached->wait();
        return std::chrono::duration<double>(read->at - other->read->at).count();
    }

private:
    const std::shared_ptr<EventState> reached;
    const std::shared_ptr<Read> read;
};

}  // namespace

std::shared_ptr<TimeStamp> Backend::stamp(int stream) {
    const auto read = std::make_shared<HostStamp::Read>();
    call(stream, [read] { read->at = HostStamp::Clock::now(); });
    return std::make_shared<HostStamp>(record(stream), read);
}

}  // namespace pumice
