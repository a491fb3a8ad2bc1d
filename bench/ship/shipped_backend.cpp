#include "bench/ship/shipped_backend.h"

#include "core/support/error.h"

namespace bench::ship {
namespace {

using namespace pumice;
using namespace pumice::internal;

void check(pumice_status status) {
    if (status != PUMICE_OK) throw Error(pumice_error());
}

struct Memory final : Allocation {
    ~Memory() override { pumice_array_release(&array); }
    pumice_array array{};
};

struct ShippedKernel final : Executable {
    uint32_t number = 0;
    std::vector<ir::Parameter> parameters;
    std::vector<int32_t> element_bytes, ranks, types;
};

struct Done final : EventState {
    explicit Done(pumice_device on) : device(on) { check(pumice_record(device, nullptr, &event)); }
    ~Done() override { pumice_event_release(event); }
    void wait() override { check(pumice_event_wait(event)); }
    bool done() override { return pumice_event_done(event) != 0; }
    pumice_device device;
    pumice_event event = nullptr;
};

class ShippedBackend final : public Backend {
public:
    ShippedBackend(const pumice_library& of, const std::string& spec) : library(of) {
        check(pumice_open(spec.c_str(), nullptr, &device));
    }
    ~ShippedBackend() override { pumice_close(device); }
    std::string name() const override { return std::string("shipped on ") + pumice_device_name(device); }
    Limits limits() const override {
        Limits l;
        l.max_group_size = 1024, l.max_group_extent = {1024, 1024, 1024}, l.local_memory = 1 << 18;
        l.max_array_bytes = l.memory = int64_t(1) << 40;
        return l;
    }
    bool supports(Feature) const override { return true; }

    std::shared_ptr<Allocation> allocate(int64_t bytes, bool) override {
        auto memory = std::make_shared<Memory>();
        check(pumice_array_create(device, PUMICE_U8, 1, 1, &bytes, &memory->array));
        memory->bytes = bytes;
        return memory;
    }
    void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) override {
        const pumice_array part = bytes_of(to, offset, bytes);
        check(pumice_array_write(&part, from, bytes));
    }
    void read(Allocation& from, int64_t offset, void* to, int64_t bytes) override {
        const pumice_array part = bytes_of(from, offset, bytes);
        check(pumice_array_read(&part, to, bytes));
    }
    void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t size, int) override {
        pumice_array part = bytes_of(to, offset, bytes);
        part.type = PUMICE_STRUCT, part.element_bytes = int32_t(size), part.extents[0] = bytes / size;
        check(pumice_array_fill(&part, pattern, nullptr));
    }
    void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int) override {
        const pumice_array a = bytes_of(from, from_offset, bytes), b = bytes_of(to, to_offset, bytes);
        check(pumice_array_copy(&a, &b, nullptr));
    }

    std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) override {
        auto made = std::make_shared<ShippedKernel>();
        check(pumice_find_kernel(&library, kernel->name.c_str(), &made->number));
        made->parameters = kernel->params;
        for (const ir::Parameter& p : kernel->params) {
            const ir::Memory* m = p.is_array ? &(*kernel)[p.memory] : nullptr;
            made->element_bytes.push_back(m ? int32_t(m->element.size) : 0), made->ranks.push_back(m ? m->rank : 0);
            made->types.push_back(!m                       ? int32_t(p.type)
                                  : m->element.is_scalar() ? int32_t(m->element.leaves[0].type)
                                                           : PUMICE_STRUCT);
        }
        return made;
    }
    std::array<int64_t, 3> choose_group(const ir::Kernel&, const Launch&) const override { return {0, 0, 0}; }
    void launch(const std::shared_ptr<Executable>& executable, const Launch& launch) override {
        const ShippedKernel& kernel = static_cast<const ShippedKernel&>(*executable);
        std::array<pumice_array, 16> arrays{};
        std::array<pumice_argument, 16> arguments{};
        for (size_t i = 0; i < launch.arguments.size(); ++i) {
            const Launch::Argument& a = launch.arguments[i];
            arguments[i] = {kernel.parameters[i].is_array ? &arrays[i] : nullptr, kernel.types[i], a.bits};
            if (!kernel.parameters[i].is_array) continue;
            pumice_array& to = arrays[i];
            if (a.array.memory) to.memory = static_cast<Memory*>(a.array.memory)->array.memory;
            to.offset = a.array.offset, to.type = kernel.types[i], to.element_bytes = kernel.element_bytes[i];
            to.rank = kernel.ranks[i];
            for (int d = 0; d < to.rank; ++d) to.extents[d] = a.array.extents[size_t(to.rank - 1 - d)];
        }
        pumice_range range{};
        range.rank = launch.rank;
        for (int d = 0; d < launch.rank; ++d) {
            const size_t axis = size_t(launch.rank - 1 - d);
            range.from[d] = launch.start[axis], range.to[d] = launch.start[axis] + launch.extent[axis];
            range.group[d] = launch.group[axis];
        }
        check(pumice_launch(device, &library, kernel.number, &range, arguments.data(), uint32_t(launch.arguments.size())));
    }

    int create_stream(Priority) override { return 0; }
    void release_stream(int) override {}
    std::shared_ptr<EventState> record(int) override { return std::make_shared<Done>(device); }
    void wait_for(int, const std::shared_ptr<EventState>& event) override { event->wait(); }
    void call(int, std::function<void()> act) override {
        synchronize();
        act();
    }
    void synchronize() override { check(pumice_synchronize(device)); }

private:
    static pumice_array bytes_of(Allocation& memory, int64_t offset, int64_t bytes) {
        pumice_array part = static_cast<Memory&>(memory).array;
        part.offset = offset, part.extents[0] = bytes;
        return part;
    }

    const pumice_library& library;
    pumice_device device = nullptr;
};

}  // namespace

Device open(const pumice_library& library, const std::string& spec) {
    return Device(std::make_shared<ShippedBackend>(library, spec));
}

}  // namespace bench::ship
