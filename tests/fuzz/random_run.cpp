#include "tests/fuzz/random_run.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <random>

#include "core/ir/evaluate.h"
#include "tests/fuzz/random_record.h"
#include "tests/kept_device.h"

namespace fuzz {

using namespace pumice;
using namespace pumice::internal;
using detail::ArrayState;
using detail::HostArgument;

Bench::Bench(const Program& program, const Device& device) : program(program), device(device) {
    for (size_t m = 0; m < program.memories.size(); ++m)
        if (program.memories[m].kind == Memory::parameter) add_array(int(m));
    for (const Array& a : arrays) {
        HostArgument argument;
        argument.is_array = true;
        argument.element = &element(program.memories[size_t(a.memory)].type);
        argument.array = a.part.get();
        argument.rank = int(a.extents.size());
        std::copy(a.extents.begin(), a.extents.end(), argument.extents.begin());
        given.push_back(argument);
    }
    for (const Argument& a : program.arguments) {
        HostArgument argument;
        argument.type = a.type;
        argument.bits = a.bits;
        given.push_back(argument);
    }
}

std::shared_ptr<ArrayState> Bench::make(int type, int64_t count) {
    return detail::allocate(device.state, &count, 1, element(type), true);
}

/// Numbers of moderate size for floats, of any size for integers.
std::vector<char> Bench::contents(const Memory& m, int64_t count) {
    std::mt19937_64 random(program.seed * 7919 + ++filled);
    const Element& e = element(m.type);
    std::vector<char> bytes(size_t(count) * e.size);
    for (int64_t i = 0; i < count; ++i)
        for (const Leaf& leaf : e.leaves) {
            const uint64_t r = random();
            uint64_t bits = r % 4 == 0 ? random() : uint64_t(int64_t(r >> 8) % 110 - 9);
            double real = (r & 16 ? 1 : -1) * double(4 + (r >> 8) % (program.smooth ? 40 : 490)) / 8;
            if (leaf.type == Scalar::boolean) bits = r >> 8 & 1;
            if (m.use == Memory::climbed) bits = 1 + (r >> 8) % 5, real = double(bits);
            char* at = &bytes[size_t(i) * e.size + leaf.offset];
            if (is_float(leaf.type)) bits = real_bits(leaf.type, real);
            std::memcpy(at, &bits, size_t(size_of(leaf.type)));
        }
    return bytes;
}

/// views: 1 and 3: a part of a longer array; 2: every other element of an array, cloned; 4: written in two boxes.
void Bench::add_array(int memory) {
    const Memory& m = program.memories[size_t(memory)];
    const int64_t count = m.count();
    Array a;
    a.memory = memory;
    a.extents = m.extents;
    const int view = m.view;
    const int64_t all = view == 1 || view == 3 ? count + 13 : view == 2 ? count * 2 + 3 : count;
    a.backing = make(m.type, all);
    const std::vector<char> bytes = contents(m, all);
    const int64_t one = 1, two = 2;
    if (view == 4 && count > 1) {
        const int64_t first = (count + 1) / 2, second = count / 2;
        std::vector<char> part;
        for (int64_t from = 0; from < 2; ++from) {
            part.clear();
            for (int64_t i = from; i < count; i += 2)
                part.insert(part.end(), &bytes[size_t(i) * size_t(a.backing->element_size)],
                            &bytes[size_t(i) * size_t(a.backing->element_size)] + a.backing->element_size);
            detail::write_region(*a.backing, {from, {from ? &second : &first, 1}, {&two, 1}}, part.data());
        }
    } else {
        detail::write(*a.backing, bytes.data(), all, all);
    }
    a.part = a.backing;
    if (view == 1 || view == 3) a.part = detail::slice(*a.backing, view == 1 ? 5 : 8, count);
    if (view == 2) {
        a.part = make(m.type, count);
        detail::copy_region(*a.backing, {3, {&count, 1}, {&two, 1}}, *a.part, {0, {&count, 1}, {&one, 1}});
    }
    arrays.push_back(a);
}

Range Bench::range_of(const Shape& shape) {
    Range r;
    r.rank = shape.rank();
    std::copy(shape.from.begin(), shape.from.end(), r.from.begin());
    std::copy(shape.to.begin(), shape.to.end(), r.to.begin());
    if (!shape.group.empty()) {
        r.group_rank = r.rank;
        std::copy(shape.group.begin(), shape.group.end(), r.group_extents.begin());
    }
    return r;
}

Range Bench::indirect_range_of(const Shape& shape) const {
    std::vector<int> extents;
    Range r = range_of(shape);
    for (int d = 0; d < r.rank; ++d) {
        extents.push_back(int(shape.to[size_t(d)]));
        r.to[size_t(d)] += shape.beyond;
    }
    r.counts = {true, true, false, device.upload(extents).state};
    return r;
}

std::vector<Outcome> Bench::run(const KernelBase& kernel, const KernelBase& twin, bool indirectly) {
    std::vector<Outcome> all;
    std::vector<std::shared_ptr<std::vector<char>>> read;
    std::vector<std::shared_ptr<ArrayState>> copies;
    Stream stream;
    for (const Step& s : program.steps) {
        if (s.on_stream && !stream.state) stream = device.stream();
        if (s.kind == Step::call) {
            const auto of = std::find_if(arrays.begin(), arrays.end(), [&](const Array& a) { return a.memory == s.memory; });
            if (!s.reads || of == arrays.end()) {
                stream.call([] {});
                continue;
            }
            // A copy of the array between the launches, which the host reads on the thread of the device.
            const auto copy = make(program.memories[size_t(s.memory)].type, of->part->bytes / of->part->element_size);
            detail::copy(*of->part, *copy, stream.state->number);
            read.push_back(std::make_shared<std::vector<char>>(size_t(copy->bytes)));
            copies.push_back(copy);
            stream.call([copy, into = read.back()] { detail::read(*copy, into->data()); });
            all.push_back({text("a copy of memory ", s.memory), program.memories[size_t(s.memory)].type, {}});
            continue;
        }
        const Shape& shape = s.kind == Step::twin ? program.twin : program.shape;
        Range range = indirectly && shape.beyond >= 0 ? indirect_range_of(shape) : range_of(shape);
        if (s.on_stream) range = range.on(stream);
        (s.kind == Step::twin ? twin : kernel).launch(range, given);
    }
    device.synchronize();
    for (size_t n = 0; n < read.size(); ++n) all[n].bytes = *read[n];
    for (const Array& a : arrays) {
        const Memory& m = program.memories[size_t(a.memory)];
        if (m.access == ir::Access::in) continue;
        Outcome o{text("memory ", a.memory), m.type, std::vector<char>(size_t(a.backing->bytes))};
        detail::read(*a.backing, o.bytes.data());
        all.push_back(std::move(o));
    }
    return all;
}

namespace {

double real_at(Scalar type, const char* at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, size_t(size_of(type)));
    return real_of(type, bits);
}

/// True if the device's float is acceptable: in strict programs it is equal to the interpreter's; in others the difference is
/// within a few times the spread of the shaken runs, or that spread is large.
bool agrees(Scalar type, double want, double got, const std::vector<double>& shaken) {
    if (want == got || (std::isnan(want) && std::isnan(got))) return true;
    if (shaken.empty()) return false;
    double spread = 0;
    for (const double s : shaken) {
        if (!(std::abs(s - want) < 1e30)) return true;  // one of them is infinite or NaN
        spread = std::max(spread, std::abs(s - want));
    }
    const double unit = type == Scalar::f16 ? 0x1p-10 : type == Scalar::bf16 ? 0x1p-7 : type == Scalar::f32 ? 0x1p-23 : 0x1p-52;
    if (spread > 0.001 * std::abs(want) + 0.001) return true;
    return std::abs(got - want) <= 30 * spread + 16 * unit * (1 + std::abs(want));
}

std::optional<Failure> compare(const std::vector<Outcome>& want, const std::vector<Outcome>& got,
                               const std::vector<std::vector<Outcome>>& shaken) {
    for (size_t a = 0; a < want.size(); ++a) {
        const Element& e = element(want[a].type);
        for (size_t i = 0; i * e.size < want[a].bytes.size(); ++i)
            for (const Leaf& leaf : e.leaves) {
                const char *w = &want[a].bytes[i * e.size + leaf.offset], *g = &got[a].bytes[i * e.size + leaf.offset];
                if (std::memcmp(w, g, size_t(size_of(leaf.type))) == 0) continue;
                const auto told = [&](const auto& x, const auto& y) {
                    return Failure{"difference", text(want[a].name, ", element ", i, leaf.path.empty() ? "" : ".", leaf.path,
                                                      " (", name_of(leaf.type), "): ", y, ", and the interpreter ", x)};
                };
                if (is_float(leaf.type)) {
                    std::vector<double> others;
                    for (const auto& s : shaken) others.push_back(real_at(leaf.type, &s[a].bytes[i * e.size + leaf.offset]));
                    const double x = real_at(leaf.type, w), y = real_at(leaf.type, g);
                    if (!agrees(leaf.type, x, y, others)) return told(x, y);
                    continue;
                }
                int64_t x = 0, y = 0;
                std::memcpy(&x, w, size_t(size_of(leaf.type)));
                std::memcpy(&y, g, size_t(size_of(leaf.type)));
                return told(x, y);
            }
    }
    return std::nullopt;
}

/// The sentence without its numbers.
std::string kind_of(const char* where, const std::string& message) {
    std::string kind = where;
    for (const char c : message.substr(0, message.find('\n')))
        if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-') kind += c;
    return kind.substr(0, 100);
}

struct Devices {
    Device interp = Device::open("interp"), tested = kept_device->get();
};

/// The interpreter and the device under test. Programs share them, so that kernels of the library are compiled once. After 64
/// programs they are opened anew, because the caches for their kernels would take all memory. After the last test they are
/// closed: with the validation layer 1.4.309 of Debian 13, this program crashes if a device is open at its end.
class SharedDevices : public testing::Environment {
public:
    Devices get() {
        if (programs++ % 64 == 0) {
            shared.reset();
            kept_device->close();
            shared.emplace();
        }
        return *shared;
    }
    void TearDown() override { shared.reset(); }

private:
    std::optional<Devices> shared;
    int programs = 0;
};
auto* const shared_devices =
    static_cast<SharedDevices*>(testing::AddGlobalTestEnvironment(new SharedDevices));  // GoogleTest owns it

}  // namespace

std::optional<Failure> check(const Program& given) {
    const auto program = std::make_shared<const Program>(given);
    const RandomKernel kernel(program), twin(program, true);
    const auto [interp, device] = shared_devices->get();
    std::vector<Outcome> want, got;
    std::vector<std::vector<Outcome>> shaken;
    try {
        want = Bench(*program, interp).run(kernel, twin);
        for (uint64_t n = 1; program->smooth && n <= 4; ++n)
            shaken.push_back(Bench(*program, interp).run(RandomKernel(program, false, n), RandomKernel(program, true, n)));
    } catch (const Error& error) {
        return Failure{kind_of("interp: ", error.what()), text("the interpreter refuses it: ", error.what())};
    }
    try {
        if (device.name() == "interp") {
            // The text of the kernel parsed is another kernel.
            const AnyKernel again = parse_ir(kernel.ir()), twin_again = parse_ir(twin.ir());
            if (again.ir() != kernel.ir()) return Failure{"text", "the text reads back as another kernel"};
            got = Bench(*program, device).run(again, twin_again, true);
        } else {
            got = Bench(*program, device).run(kernel, twin, true);
        }
    } catch (const Error& error) {
        return Failure{kind_of("device: ", error.what()), text("the device refuses it: ", error.what())};
    }
    return compare(want, got, shaken);
}

namespace {

/// Runs `act` in another process, on memory that both share. Gives the exit status of that process.
template <class Shared, class F> int apart(int seconds, Shared& result, F act) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("there is no memory to share with a process of its own");
    Shared& shared = *new (memory) Shared{};
    const pid_t child = fork();
    if (child == 0) {
        alarm(unsigned(seconds));
        act(shared);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    result = shared;
    munmap(memory, sizeof(Shared));
    return status;
}

}  // namespace

std::optional<Failure> check_apart(const Program& program, int seconds) {
    struct Shared {
        bool failed, done;
        char kind[128], message[4000];
    };
    Shared result;
    const int status = apart(seconds, result, [&](Shared& shared) {
        if (const auto failure = check(program)) {
            shared.failed = true;
            std::strncpy(shared.kind, failure->kind.c_str(), sizeof shared.kind - 1);
            std::strncpy(shared.message, failure->message.c_str(), sizeof shared.message - 1);
        }
        shared.done = true;
    });
    if (result.failed) return Failure{result.kind, result.message};
    if (result.done) return std::nullopt;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGALRM) return Failure{"endless", text("it takes more than ", seconds, " s")};
    return Failure{text("signal ", signal), text("it ends by signal ", signal)};
}

Options options_apart() {
    struct Shared {
        size_t count;
        Scalar scalars[scalar_count];
        int64_t max_group;
        uint32_t without;
    };
    Shared result;
    apart(60, result, [](Shared& shared) {
        const Options o = options_for(kept_device->get());
        shared.count = o.scalars.size();
        std::copy(o.scalars.begin(), o.scalars.end(), shared.scalars);
        shared.max_group = o.max_group;
        shared.without = o.without;
    });
    Options options;
    options.scalars.assign(result.scalars, result.scalars + result.count);
    options.max_group = result.max_group;
    options.without = result.without;
    return options;
}

std::string told(const Program& program) {
    const auto shared = std::make_shared<const Program>(program);
    std::string all;
    const auto tell = [&](const Shape& s) {
        all += text(" from");
        for (const int64_t x : s.from) all += text(" ", x);
        all += " to";
        for (const int64_t x : s.to) all += text(" ", x);
        if (!s.group.empty()) all += s.static_group ? ", static groups of" : ", groups of";
        for (const int64_t x : s.group) all += text(" ", x);
        if (s.static_range) all += ", a static range";
        if (s.beyond >= 0) all += text(", indirect with limits beyond by ", s.beyond);
        all += "\n";
    };
    for (const Step& s : program.steps) {
        if (s.kind == Step::call)
            all += s.reads ? text("stream.call that reads memory ", s.memory, "\n") : "stream.call\n";
        else
            all += s.kind == Step::twin ? "twin over" : "launch over", tell(s.kind == Step::twin ? program.twin : program.shape);
    }
    for (const Argument& a : program.arguments) all += text("argument ", name_of(a.type), " ", a.bits, "\n");
    for (size_t m = 0; m < program.memories.size(); ++m)
        if (program.memories[m].kind == Memory::parameter) {
            all += text("memory ", m, ":");
            for (const int64_t x : program.memories[m].extents) all += text(" ", x);
            if (program.memories[m].view) all += text(", view ", program.memories[m].view);
            all += "\n";
        }
    try {
        all += RandomKernel(shared).ir();
    } catch (const Error& error) { all += error.what(); }
    return all;
}

}  // namespace fuzz
