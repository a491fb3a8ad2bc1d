// Functions and kernels for BPF, run by bpf_machine.cpp on many inputs: each result equals the reference interpreter's.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cstring>
#include <random>

#include "cpu/native/llvm_library.h"
#include "tests/retarget/bpf_machine.h"

namespace bpf_test {

struct Packet {
    uint32_t length, mark;
    uint64_t address;
    uint8_t kind;
    uint8_t flags;
    uint16_t port;
};

}  // namespace bpf_test

using bpf_test::Packet;
PUMICE_STRUCT(bpf_test::Packet, length, mark, address, kind, flags, port);

using namespace pumice;
using tests::BpfFunction;

namespace {

/// Values of all sizes, the special ones often.
template <class T> T random_value(std::mt19937_64& random) {
    constexpr T special[] = {T(0), T(1), T(-1), T(2), T(7), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(31)};
    if (random() % 4 == 0) return special[random() % std::size(special)];
    return T(random() >> random() % 64);
}

/// A register that holds a parameter: the bits above it are arbitrary.
template <class T> uint64_t in_register(T value, std::mt19937_64& random) {
    uint64_t bits = random();
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class R> uint64_t extended(R value) { return std::is_signed_v<R> ? uint64_t(int64_t(value)) : uint64_t(value); }

/// The BPF code of a function gives the results of the function on the host, for many arguments and each version of BPF.
template <class... P, class F> void check(const F& function, int times = 1000) {
    for (const char* const version : {"", "v2", "v3", "v4"}) {
        if (std::string(version) == "v4" && cpu::llvm_major() < 18) continue;  // LLVM does not know it yet
        const ObjectCode code = compile_object(function, "bpf", version);
        EXPECT_EQ(code.needs, std::vector<std::string>());
        const BpfFunction bpf(code.bytes, code.symbol);
        std::mt19937_64 random(4711);
        for (int i = 0; i < times; ++i) {
            const std::tuple<P...> given{random_value<P>(random)...};
            const auto wanted = std::apply(function, given);
            const std::vector<uint64_t> registers =
                std::apply([&](const P&... p) { return std::vector<uint64_t>{in_register(p, random)...}; }, given);
            ASSERT_EQ(bpf.run(registers), extended(wanted)) << function.name() << ", " << version << ", run " << i;
        }
    }
}

TEST(Bpf, FunctionsOfIntegers) {
    check<uint32_t, uint32_t>(function("hash",
                                       [](Val<uint32_t> x, Val<uint32_t> n) {
                                           Var<uint32_t> h = x;
                                           $for(i, range(n & 15u)) { h = (h ^ (h >> 16u)) * 0x45d9f3bu + i; }
                                           return h;
                                       }),
                              300);
    check<uint64_t, uint64_t>(function(
        "mix", [](Val<uint64_t> a, Val<uint64_t> b) { return ((a ^ (b >> 31u)) * 0x9e3779b97f4a7c15ull) + (b << (a & 63u)); }));
    check<int32_t, int32_t, int32_t>(
        function("middle", [](Val<int> a, Val<int> b, Val<int> c) { return max(min(a, b), min(max(a, b), c)); }));
    check<int8_t, uint16_t>(
        function("narrow", [](Val<int8_t> a, Val<uint16_t> b) { return cast<int16_t>(a) * cast<int16_t>(b); }));
    check<uint32_t>(function("bits", [](Val<uint32_t> x) { return popcount(x) + 64 * ctz(x) + 4096 * clz(x); }));
    check<uint64_t>(function("long_bits", [](Val<uint64_t> x) { return popcount(x) + 128u * ctz(x) + 65536u * clz(x); }));
    check<uint8_t>(function("short_bits", [](Val<uint8_t> x) { return popcount(x) ^ (ctz(x) << 2) ^ (clz(x) << 4); }));
    check<int64_t, bool>(function("choose", [](Val<int64_t> a, Val<bool> b) { return select(b, -a, a >> 3); }));
}

TEST(Bpf, DivisionOfSignedIntegers) {
    check<int32_t, int32_t>(function("quotient", [](Val<int> a, Val<int> b) { return a / b; }));
    check<int32_t, int32_t>(function("rest", [](Val<int> a, Val<int> b) { return a % b; }));
    check<int64_t, int64_t>(function("quotient64", [](Val<int64_t> a, Val<int64_t> b) { return a / b; }));
    check<int64_t, int64_t>(function("rest64", [](Val<int64_t> a, Val<int64_t> b) { return a % b; }));
    check<uint64_t, uint64_t>(function("unsigned64", [](Val<uint64_t> a, Val<uint64_t> b) { return a / b + a % b; }));
    check<int32_t>(function("by_constants", [](Val<int> a) { return a / 7 + a % 10 - a / -3; }));
    check<int16_t, int16_t>(function("narrow_quotient", [](Val<int16_t> a, Val<int16_t> b) { return a / b - a % b; }));
}

TEST(Bpf, ControlFlow) {
    check<uint32_t>(function("collatz",
                             [](Val<uint32_t> start) {
                                 Var<uint32_t> n = (start & 1023u) + 1u, steps = 0u;
                                 $while(n != 1u) {
                                     $if(n % 2u == 0u) { n = n / 2u; }
                                     $else { n = 3u * n + 1u; }
                                     steps += 1u;
                                     $if(steps >= 100u) { $break; }
                                 }
                                 return steps;
                             }),
                    200);
    check<uint32_t, uint32_t>(function("gcd",
                                       [](Val<uint32_t> a, Val<uint32_t> b) {
                                           Var<uint32_t> x = a, y = b;
                                           $while(y != 0u) {
                                               const Val<uint32_t> rest = x % y;
                                               x = y;
                                               y = rest;
                                           }
                                           return x;
                                       }),
                              300);
    // A private array is on BPF's stack.
    check<uint32_t, uint32_t>(function("digits", [](Val<uint32_t> a, Val<uint32_t> at) {
        Private<uint32_t, 8> digit;
        Var<uint32_t> rest = a;
        $for(i, range(8)) {
            digit[i] = rest % 10u;
            rest = rest / 10u;
        }
        return digit[at & 7u];
    }));
}

/// A kernel for BPF: its context is changed, and its Out array is what it returns.
const auto filter = kernel("filter", [](InOut<Packet> context, Out<uint32_t> verdict, Val<uint32_t> limit) {
    auto packet = context[0];
    $if(packet.length > limit) {
        context[0].mark = packet.mark + 1u;
        context[0].flags = packet.flags | uint8_t(4);
    }
    $elif((packet.address & 0xffffff00ull) == 0x0a000000ull) { context[0].port = cast<uint16_t>(packet.kind) * uint16_t(256); }
    verdict[0] = select(packet.kind == uint8_t(6) && packet.port != uint16_t(22), 2u, 1u);
});

TEST(Bpf, KernelWithAContext) {
    const Device device = Device::open("interp");
    ObjectOptions options;
    options.section = "xdp";
    const ObjectCode code = compile_object(filter, "bpf", "", options);
    EXPECT_EQ(code.prototype, "uint32_t filter(struct filter_arg1* arg1, uint32_t arg3)");
    const BpfFunction bpf(code.bytes, "filter");
    EXPECT_EQ(bpf.section(), "xdp");
    std::mt19937_64 random(7);
    int changed = 0, passed = 0;
    for (int i = 0; i < 500; ++i) {
        const uint64_t address = i % 3 == 0 ? 0x0a000000 + random() % 512 : random();
        const Packet packet{uint32_t(random() % 2000), uint32_t(random()), address,
                            uint8_t(5 + random() % 3), uint8_t(random()),  uint16_t(random() % 2 ? 22 : random())};
        Array<Packet> context = device.upload<Packet>({packet});
        Array<uint32_t> verdict = device.zeros<uint32_t>(1);
        filter(ndrange(1), context, verdict, 1500u);
        std::vector<uint8_t> memory(sizeof packet);
        std::memcpy(memory.data(), &packet, sizeof packet);
        const uint64_t result = bpf.run({BpfFunction::memory_address, in_register(1500u, random)}, &memory);
        EXPECT_EQ(result, verdict.download()[0]);
        const std::vector<Packet> wanted = context.download();
        ASSERT_EQ(std::memcmp(memory.data(), wanted.data(), sizeof packet), 0) << i;
        changed += std::memcmp(memory.data(), &packet, sizeof packet) != 0;
        passed += result == 2;
    }
    EXPECT_TRUE(changed > 100 && changed < 400) << changed;
    EXPECT_TRUE(passed > 50 && passed < 450) << passed;
}

std::string refusal(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& e) { return std::string(e.what()).substr(0, std::string(e.what()).find('\n')); }
    return "no error";
}
template <class F> std::string refused(const F& of) {
    return refusal([&] { compile_object(of, "bpf"); });
}

TEST(Bpf, RefusesWhatItCannotDo) {
    const auto at = [](int line) { return text(" at bpf_test.cpp:", line, " ("); };
    const int here = __LINE__;
    const auto half = function("half", [](Val<int> a) { return cast<int>(cast<float>(a) * 0.5f); });
    EXPECT_NE(refused(half).find(text("function \"half\" (bpf_test.cpp:", here + 1, ") computes with f32", at(here + 1))),
              std::string::npos)
        << refused(half);
    const auto given = function("given", [](Val<float> a) { return cast<int>(a); });
    EXPECT_NE(refused(given).find("takes argument 1 of type f32; BPF has no floating-point numbers"), std::string::npos)
        << refused(given);
    const auto indexed = kernel("indexed", [](InOut<int> context) { context[context.size()] = 1; });
    EXPECT_NE(refused(indexed).find("asks for the size of argument 1"), std::string::npos) << refused(indexed);
    const auto two = kernel("two", [](InOut<int> a, In<int> b) { a[0] = b[0]; });
    EXPECT_NE(refused(two).find("takes 2 arrays"), std::string::npos) << refused(two);
    const auto second = kernel("second", [](Out<int> result, Val<int> i) { result[i] = 1; });
    EXPECT_NE(refused(second).find("computes an index of argument 1"), std::string::npos) << refused(second);
    const auto atomic = kernel("atomic", [](InOut<int> a) { atomic_add(a[0], 1); });
    EXPECT_NE(refused(atomic).find("uses an atomic operation"), std::string::npos) << refused(atomic);
    const auto pair = function("pair", [](Val<int> a) { return std::make_tuple(a + 1, a - 1); });
    EXPECT_NE(refused(pair).find("has 2 results"), std::string::npos) << refused(pair);
    const auto six = function(
        "six", [](Val<int> a, Val<int> b, Val<int> c, Val<int> d, Val<int> e, Val<int> f) { return a + b + c + d + e + f; });
    EXPECT_NE(refused(six).find("takes 6 parameters; BPF has 5 registers"), std::string::npos) << refused(six);
    const auto wide = function("wide", [](Val<uint64_t> a, Val<uint64_t> b) { return mul_high(a, b); });
    EXPECT_NE(refused(wide).find("__multi3"), std::string::npos) << refused(wide);
}

TEST(Bpf, TheMachineRefusesWrongCode) {
    const auto reads = kernel("reads", [](InOut<int> context) { context[0] = context[3]; });
    const ObjectCode code = compile_object(reads, "bpf");
    const BpfFunction bpf(code.bytes, "reads");
    std::vector<uint8_t> memory(16), short_one(15);
    memory[12] = 5;
    EXPECT_EQ(bpf.run({BpfFunction::memory_address}, &memory), 0u);
    EXPECT_EQ(memory[0], 5);
    EXPECT_NE(refusal([&] { bpf.run({BpfFunction::memory_address}, &short_one); }).find("accesses 4 bytes"), std::string::npos);
    EXPECT_NE(refusal([&] { BpfFunction(code.bytes, "writes"); }).find("no function writes"), std::string::npos);
    EXPECT_NE(refusal([&] { BpfFunction("no object", "reads"); }).find("no relocatable"), std::string::npos);
}

}  // namespace
