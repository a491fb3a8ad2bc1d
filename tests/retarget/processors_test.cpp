// Functions and kernels for AArch64 and RISC-V: a C program that includes the header of the object, compiled by the GCC of the
// target and run by qemu, gives the same bits as the reference interpreter. Kernels with fractions are strict.
#include <gtest/gtest.h>
#include <pumice/pumice.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace processors_test {

struct Body {
    pumice::float3 position, velocity;
    uint8_t kind;
    double mass;
};

}  // namespace processors_test

using processors_test::Body;
PUMICE_STRUCT(processors_test::Body, position, velocity, kind, mass);

using namespace pumice;
namespace fs = std::filesystem;

namespace {

struct Processor {
    const char *name, *triple, *features, *qemu_options;
};
std::ostream& operator<<(std::ostream& out, const Processor& p) { return out << p.name; }
const Processor processors[] = {{"aarch64", "aarch64-linux-gnu", "", ""},
                                {"riscv64", "riscv64-linux-gnu", "", "-cpu rv64"},
                                {"riscv64_v", "riscv64-linux-gnu", "+v", "-cpu rv64,v=true,vlen=128,vext_spec=v1.0"},
                                {"riscv64_v256", "riscv64-linux-gnu", "+v", "-cpu rv64,v=true,vlen=256,vext_spec=v1.0"},
                                {"arm", "armv7-linux-gnueabihf", "+neon,+vfp3", ""},
                                {"s390x", "s390x-linux-gnu", "", ""},
                                {"powerpc64le", "powerpc64le-linux-gnu", "", ""}};

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}
template <class T> std::string bytes_of(const std::vector<T>& v) {
    return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
}
template <class T, class F> std::vector<T> made(int n, F&& of) {
    std::vector<T> v;
    for (int i = 0; i < n; ++i) v.push_back(T(of(i)));
    return v;
}

class Processors : public testing::TestWithParam<Processor> {
protected:
    Processors() : folder(fs::path(testing::TempDir()) / text("pumice_processors_", getpid())) { fs::create_directories(folder); }
    ~Processors() override { fs::remove_all(folder); }

    template <class F> ObjectCode compiled(const F& of, ObjectOptions options = {}) const {
        options.features = GetParam().features;
        return compile_object(of, GetParam().triple, "", options);
    }
    /// Runs a C program with these objects. `body` is its main(), in which TAKE(x, n) reads a variable, whose scalars have n
    /// bytes, from the input, and GIVE(x, n) writes one to what is returned.
    std::string run(const std::vector<ObjectCode>& objects, const std::string& body, const std::string& input) const {
        std::string includes, files;
        for (const ObjectCode& o : objects) {
            std::ofstream(folder / (o.symbol + ".h")) << o.header;
            std::ofstream(folder / (o.symbol + ".o"), std::ios::binary) << o.bytes;
            includes += "#include \"" + o.symbol + ".h\"\n";
            files += " " + o.symbol + ".o";
        }
        std::ofstream(folder / "main.c") << includes << R"(#include <stdio.h>
#define TAKE(x, n) if (fread(&(x), 1, sizeof(x), stdin) != sizeof(x)) return 1; else host_order(&(x), sizeof(x), n);
#define GIVE(x, n) host_order(&(x), sizeof(x), n); if (fwrite(&(x), 1, sizeof(x), stdout) != sizeof(x)) return 2;
static void host_order(void* data, size_t bytes, size_t scalar) {
    const uint16_t one = 1;
    if (*(const uint8_t*)&one == 1) return;
    for (uint8_t* at = data; at < (uint8_t*)data + bytes; at += scalar)
        for (size_t i = 0; i < scalar / 2; ++i) {
            const uint8_t other = at[i];
            at[i] = at[scalar - 1 - i], at[scalar - 1 - i] = other;
        }
}
int main(void) {
)" << body << "\nreturn 0;\n}\n";
        std::ofstream(folder / "in", std::ios::binary) << input;
        const std::string at = "cd '" + folder.string() + "' && ";
        if (!shell(at + variable("PUMICE_TEST_GCC") + " -O1 -static -Wall -Wextra -Werror main.c" + files + " -lm -o program"))
            return "";
        if (!shell(at + variable("PUMICE_TEST_QEMU") + " " + GetParam().qemu_options + " ./program < in > out")) return "";
        return read(folder / "out");
    }
    static void expect_equal(const std::string& got, const std::string& wanted) {
        ASSERT_EQ(got.size(), wanted.size());
        size_t first = 0;
        while (first < got.size() && got[first] == wanted[first]) ++first;
        EXPECT_EQ(first, got.size()) << "the first byte that differs";
    }
    const Device interp = Device::open("interp");

private:
    static std::string variable(const char* name) {
        const char* const value = std::getenv(name);
        return value ? value : std::string(name) + "_is_not_set";
    }
    bool shell(const std::string& command) const {
        const int status = std::system(("( " + command + " ) 2> '" + (folder / "log").string() + "'").c_str());
        EXPECT_EQ(status, 0) << command << "\n" << read(folder / "log");
        return status == 0;
    }
    const fs::path folder;
};

TEST_P(Processors, Functions) {
    const auto smooth = function("smooth", [](Val<float> x, Val<float> y) { return sqrt(abs(x)) + floor(y) / 8.0f; });
    const auto hash = function("hash", [](Val<uint32_t> x, Val<uint8_t> n) {
        Var<uint32_t> h = x;
        $for(i, range(cast<uint32_t>(n))) { h = (h ^ (h >> 16u)) * 0x45d9f3bu + i; }
        return h;
    });
    const auto mix = function("mix", [](Val<int64_t> a, Val<double> b, Val<int8_t> c, Val<bool> d, Val<float> e, Val<uint16_t> f,
                                        Val<int> g, Val<uint64_t> h, Val<int> i, Val<uint32_t> j) {
        return select(d, a, -a) + cast<int64_t>(b) * 3 + cast<int64_t>(c) * 5 + cast<int64_t>(e) * 7 + cast<int64_t>(f) * 11 +
               cast<int64_t>(g) * 13 + cast<int64_t>(h) * 17 + cast<int64_t>(i) * 19 + cast<int64_t>(j) * 23;
    });
    // The caller relies on the extension of these results to a register.
    const auto word = function("word", [](Val<int64_t> x) { return cast<int>(x); });
    const auto unsigned_word = function("unsigned_word", [](Val<uint64_t> x) { return cast<uint32_t>(x); });
    const auto low = function("low", [](Val<int> x) { return cast<int8_t>(x); });
    const auto positive = function("positive", [](Val<float> x) { return x > 0.0f; });
    const auto split = function("split", [](Val<double> x) { return std::make_tuple(floor(x), cast<int>(x), x < 0.0); });
    EXPECT_EQ(compiled(smooth).prototype, "float smooth(float arg1, float arg2)");
    EXPECT_EQ(compiled(split).prototype, "void split(double arg1, double* r0, int32_t* r1, bool* r2)");
    const std::string got = run({compiled(smooth), compiled(hash), compiled(mix), compiled(word), compiled(unsigned_word),
                                 compiled(low), compiled(positive), compiled(split)},
                                R"(
    for (int i = 0; i < 200; ++i) {
        float s = smooth((float)i - 50, (float)i / 3);
        int64_t h = hash(0x80000000u + 77u * (unsigned)i, (uint8_t)(i % 7));
        int64_t m = mix(i * 1000000007ll, i * 1.5, (int8_t)(-i), i % 2 == 0, i / 2.0f, (uint16_t)(60000 + i), -i, 1ull << i % 50,
                        i * i, 4000000000u + (unsigned)i);
        int64_t w = word(i * 1000000007ll), u = unsigned_word(i * 1000000007ull);
        int64_t l = low(i * 37);
        int p = positive((float)(i % 5) - 2);
        double f;
        int32_t n;
        bool b;
        split(i / 4.0 - 20, &f, &n, &b);
        GIVE(s, 4) GIVE(h, 8) GIVE(m, 8) GIVE(w, 8) GIVE(u, 8) GIVE(l, 8) GIVE(p, 4) GIVE(f, 8) GIVE(n, 4) GIVE(b, 1)
    })",
                                "");
    std::string wanted;
    const auto put = [&]<class T>(T value) { wanted += bytes_of(std::vector<T>{value}); };
    for (int i = 0; i < 200; ++i) {
        put(smooth(float(i) - 50, float(i) / 3));
        put(int64_t(hash(0x80000000u + 77u * unsigned(i), uint8_t(i % 7))));
        put(mix(i * int64_t(1000000007), i * 1.5, int8_t(-i), i % 2 == 0, float(i) / 2.0f, uint16_t(60000 + i), -i,
                uint64_t(1) << (i % 50), i * i, 4000000000u + unsigned(i)));
        put(int64_t(word(i * int64_t(1000000007))));
        put(int64_t(unsigned_word(uint64_t(i) * 1000000007)));
        put(int64_t(low(i * 37)));
        put(int(positive(float(i % 5) - 2)));
        const auto [f, n, b] = split(i / 4.0 - 20);
        put(f), put(n), put(char(b));
    }
    expect_equal(got, wanted);
}

const auto saxpy = kernel("saxpy", Math::strict, [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});

TEST_P(Processors, Saxpy) {
    for (const int n : {1003, 3, 0}) {
        const auto x = made<float>(1003, [](int i) { return 3 - float(i) / 11; }),
                   y = made<float>(1003, [](int i) { return float(i) / 7; });
        const std::string got = run(
            {compiled(saxpy)},
            text("static float y[1003], x[1003]; TAKE(y, 4) TAKE(x, 4)\n", "saxpy(y, 1003, x, 1003, 0.3f, ", n, "); GIVE(y, 4)"),
            bytes_of(y) + bytes_of(x));
        Array<float> dy = interp.upload(y), dx = interp.upload(x);
        saxpy(ndrange(n), dy, dx, 0.3f);
        expect_equal(got, bytes_of(dy.download()));
    }
}

const auto stencil = kernel("stencil", Math::strict, [](Out<float, 2> out, In<float, 2> in) {
    auto [y, x] = global_index<2>();
    const auto north = in(max(y - 1, 0), x), south = in(min(y + 1, in.size(0) - 1), x);
    const auto west = in(y, max(x - 1, 0)), east = in(y, min(x + 1, in.size(1) - 1));
    out(y, x) = (north + south + west + east) * 0.25f - in(y, x);
});

TEST_P(Processors, StencilOverTwoDimensions) {
    const auto in = made<float>(37 * 53, [](int i) { return std::sin(float(i)); });
    const std::string got = run({compiled(stencil)}, R"(static float out[37][53], in[37][53]; TAKE(in, 4)
        stencil(&out[0][0], 37, 53, &in[0][0], 37, 53, 37, 53); GIVE(out, 4))",
                                bytes_of(in));
    const Array<float, 2> out = interp.zeros<float>({37, 53}), from = interp.upload(in, {37, 53});
    stencil(ndrange(37, 53), out, from);
    expect_equal(got, bytes_of(out.download()));
}

const auto product = kernel("product", Math::strict, [](Out<double, 2> c, In<double, 2> a, In<double, 2> b) {
    auto [i, j] = global_index<2>();
    Var<double> sum = 0.0;
    $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
    c(i, j) = sum;
});

TEST_P(Processors, ProductOfMatrices) {
    const auto a = made<double>(30 * 20, [](int i) { return std::cos(i); }),
               b = made<double>(20 * 41, [](int i) { return 1.0 / (i + 1); });
    ObjectOptions options;
    options.group = {4, 16};
    const std::string got =
        run({compiled(product, options)}, R"(static double a[30][20], b[20][41], c[30][41]; TAKE(a, 8) TAKE(b, 8)
        product(c[0], 30, 41, a[0], 30, 20, b[0], 20, 41, 30, 41); GIVE(c, 8))",
            bytes_of(a) + bytes_of(b));
    const Array<double, 2> c = interp.zeros<double>({30, 41}), da = interp.upload(a, {30, 20}), db = interp.upload(b, {20, 41});
    product(ndrange(30, 41), c, da, db);
    expect_equal(got, bytes_of(c.download()));
}

const auto block_sum = kernel("block.sum", Math::strict, whole_groups, static_group<64>, [](Out<float> sums, In<float> x) {
    Local<float, 64> tile;
    auto l = local_index();
    tile[l] = 0.0f;
    $if(in_range()) { tile[l] = x[global_index()]; }
    synchronize();
    for (int width = 32; width > 0; width /= 2) {
        $if(l < width) { tile[l] += tile[l + width]; }
        synchronize();
    }
    $if(l == 0) { sums[group_index()] = tile[0]; }
});

TEST_P(Processors, ReductionInLocalMemory) {
    const auto x = made<float>(1000, [](int i) { return 1 / float(i + 1); });
    const ObjectCode code = compiled(block_sum);
    EXPECT_GE(code.scratch_bytes, 256);
    EXPECT_EQ(code.prototype,
              "void block_sum(float* arg1, int64_t arg1_n0, const float* arg2, int64_t arg2_n0, void* scratch, int64_t n0)");
    const std::string got = run({code}, R"(static float x[1000], sums[16];
        static _Alignas(64) char scratch[block_sum_scratch_bytes]; TAKE(x, 4)
        block_sum(sums, 16, x, 1000, scratch, 1000); GIVE(sums, 4))",
                                bytes_of(x));
    const Array<float> sums = interp.zeros<float>(16), from = interp.upload(x);
    block_sum(ndrange(1000), sums, from);
    expect_equal(got, bytes_of(sums.download()));
}

const auto collatz = kernel("collatz", [](Out<int> steps, In<int> start, InOut<uint32_t> histogram) {
    auto i = global_index();
    Var n = start[i];
    Var count = 0;
    $while(n != 1) {
        $if(n % 2 == 0) { n = n / 2; }
        $else { n = 3 * n + 1; }
        count += 1;
        $if(count >= 100) { $break; }
    }
    steps[i] = count;
    atomic_add(histogram[count % 16], 1u);
});

TEST_P(Processors, DivergentLoopAndAtomics) {
    const auto start = made<int>(501, [](int i) { return 3 * i + 1; });
    const std::string got =
        run({compiled(collatz)}, R"(static int32_t steps[501], start[501]; static uint32_t histogram[16]; TAKE(start, 4)
        collatz(steps, 501, start, 501, histogram, 16, 501); GIVE(steps, 4) GIVE(histogram, 4))",
            bytes_of(start));
    const Array<int> steps = interp.zeros<int>(501), from = interp.upload(start);
    const Array<uint32_t> histogram = interp.zeros<uint32_t>(16);
    collatz(ndrange(501), steps, from, histogram);
    expect_equal(got, bytes_of(steps.download()) + bytes_of(histogram.download()));
}

const auto ranks = kernel("ranks", static_group<32>, [](Out<int> below, Out<int> all, In<int> x) {
    auto i = global_index();
    auto v = x[i];
    below[i] = group::exclusive_add(v);
    const auto sum = group::reduce_add(v);
    const auto largest = group::reduce_max(v);
    $if(local_index() == 0) { all[group_index()] = sum * 1000 + largest; }
});

TEST_P(Processors, GroupReductionsAndScans) {
    const auto x = made<int>(96, [](int i) { return (i * 37) % 101; });
    const std::string got = run({compiled(ranks)}, R"(static int32_t below[96], all[3], x[96];
        static _Alignas(64) char scratch[ranks_scratch_bytes]; TAKE(x, 4)
        ranks(below, 96, all, 3, x, 96, scratch, 96); GIVE(below, 4) GIVE(all, 4))",
                                bytes_of(x));
    const Array<int> below = interp.zeros<int>(96), all = interp.zeros<int>(3), from = interp.upload(x);
    ranks(ndrange(96), below, all, from);
    expect_equal(got, bytes_of(below.download()) + bytes_of(all.download()));
}

// A derivative is a kernel, too. The sums are of whole numbers, so that their order does not matter.
TEST_P(Processors, Derivative) {
    const auto derivative = adjoint<Duplicated, Duplicated, Active>(saxpy);
    ObjectOptions options;
    options.symbol = "saxpy_adjoint";
    const auto x = made<float>(100, [](int i) { return i % 7; }), dy = made<float>(100, [](int i) { return i % 5; });
    const std::vector<float> zeros(100);
    const std::string got = run({compiled(derivative, options)}, R"(static float y[100], dy[100], x[100], dx[100], da[1];
        TAKE(x, 4) TAKE(dy, 4)
        saxpy_adjoint(y, 100, dy, 100, x, 100, dx, 100, 0.5f, da, 1, 100); GIVE(dx, 4) GIVE(da, 4))",
                                bytes_of(x) + bytes_of(dy));
    Array<float> vy = interp.upload(zeros), vdy = interp.upload(dy), vx = interp.upload(x), vdx = interp.upload(zeros),
                 da = interp.zeros<float>(1);
    derivative(ndrange(100), vy, vdy, vx, vdx, 0.5f, da);
    EXPECT_NE(da.download()[0], 0.0f);
    expect_equal(got, bytes_of(vdx.download()) + bytes_of(da.download()));
}

const auto move_bodies = kernel("move_bodies", Math::strict, [](InOut<Body> bodies, Val<float> dt, Val<bool> heavier) {
    auto i = global_index();
    auto body = bodies[i];
    bodies[i].position = body.position + body.velocity * dt;
    $if(body.kind == uint8_t(1)) { bodies[i].velocity = -body.velocity; }
    $if(heavier) { bodies[i].mass = body.mass * 2.0; }
});

TEST_P(Processors, ArrayOfStructs) {
    if (std::string(GetParam().name) == "s390x") GTEST_SKIP() << "SKIPPED: the driver swaps bytes of scalars, not of structs";
    const auto bodies = made<Body>(77, [](int i) {
        Body b;
        std::memset(static_cast<void*>(&b), 0, sizeof b);
        b.position = {float(i), float(i) / 3, 1}, b.velocity = {1, float(-i), 0.1f};
        b.kind = uint8_t(i % 3), b.mass = i / 7.0;
        return b;
    });
    const std::string got = run({compiled(move_bodies)}, R"(static struct move_bodies_arg1 bodies[77]; TAKE(bodies, 1)
        bodies[0].mass += 0; bodies[0].position_x += 0;
        move_bodies(bodies, 77, 0.3f, 1, 77); GIVE(bodies, 1))",
                                bytes_of(bodies));
    const Array<Body> all = interp.upload(bodies);
    move_bodies(ndrange(77), all, 0.3f, true);
    expect_equal(got, bytes_of(all.download()));
}

const auto places = kernel("places", [](Out<int, 4> out) {
    auto [a, b, c, d] = global_index<4>();
    out(a, b, c, d) = ((a * 10 + b) * 10 + c) * 10 + d + global_size<4>()[1] * 10000;
});

TEST_P(Processors, RangeOfFourDimensions) {
    const std::string got = run({compiled(places)}, R"(static int32_t out[2][3][5][7];
        places(&out[0][0][0][0], 2, 3, 5, 7, 2, 3, 5, 7); GIVE(out, 4))",
                                "");
    const Array<int, 4> out = interp.zeros<int>({2, 3, 5, 7});
    places(ndrange(2, 3, 5, 7), out);
    expect_equal(got, bytes_of(out.download()));
}

const auto exact = kernel("exact", Math::strict, [](Out<float> a, Out<int> b, In<float> x) {
    auto i = global_index();
    a[i] = nextafter(x[i], 3.0f) + ldexp(x[i], i % 7 - 3) + logb(x[i]) + rint(x[i]) + round(x[i]) + fmod(x[i], 0.7f);
    b[i] = ilogb(x[i]);
});

TEST_P(Processors, ExactFunctionsOfTheCLibrary) {
    auto x = made<float>(203, [](int i) { return (float(i) - 100) * 0.37f; });
    x[0] = 0, x[1] = INFINITY, x[2] = NAN, x[3] = 1e-40f;
    const std::string got = run({compiled(exact)}, R"(static float x[203], a[203]; static int32_t b[203]; TAKE(x, 4)
        exact(a, 203, b, 203, x, 203, 203);
        for (int i = 0; i < 203; ++i) if (a[i] != a[i]) a[i] = 0;
        GIVE(a, 4) GIVE(b, 4))",
                                bytes_of(x));
    const Array<float> a = interp.zeros<float>(203), from = interp.upload(x);
    const Array<int> b = interp.zeros<int>(203);
    exact(ndrange(203), a, b, from);
    std::vector<float> wanted = a.download();
    for (float& w : wanted)
        if (std::isnan(w)) w = 0;
    expect_equal(got, bytes_of(wanted) + bytes_of(b.download()));
}

const auto waves = kernel("waves", [](InOut<float> x, InOut<double> y) {
    auto i = global_index();
    x[i] = sin(x[i]) * exp(x[i]) + pow(abs(x[i]), 1.5f) + lgamma(abs(x[i]) + 1.0f);
    y[i] = cbrt(y[i]) + atan2(y[i], 2.0) + exp10(y[i] / 8.0);
});

TEST_P(Processors, FunctionsOfTheCLibrary) {
    const auto x = made<float>(101, [](int i) { return (float(i) - 50) * 0.13f; });
    const auto y = made<double>(101, [](int i) { return (i - 50) * 0.13; });
    const ObjectCode code = compiled(waves);
    for (const char* const name : {"sinf", "cbrt", "exp10"})
        EXPECT_NE(std::find(code.needs.begin(), code.needs.end(), name), code.needs.end()) << name;
    const std::string got = run({code}, R"(static float x[101]; static double y[101]; TAKE(x, 4) TAKE(y, 8)
        waves(x, 101, y, 101, 101); GIVE(x, 4) GIVE(y, 8))",
                                bytes_of(x) + bytes_of(y));
    ASSERT_EQ(got.size(), 101 * (sizeof(float) + sizeof(double)));
    const Array<float> dx = interp.upload(x);
    const Array<double> dy = interp.upload(y);
    waves(ndrange(101), dx, dy);
    const std::vector<float> fx = dx.download();
    const std::vector<double> fy = dy.download();
    for (size_t i = 0; i < 101; ++i) {
        float a;
        double b;
        std::memcpy(&a, got.data() + i * sizeof a, sizeof a);
        std::memcpy(&b, got.data() + 101 * sizeof a + i * sizeof b, sizeof b);
        EXPECT_NEAR(a, fx[i], 2e-6 * (1 + std::abs(fx[i]))) << i;
        EXPECT_NEAR(b, fy[i], 1e-14 * (1 + std::abs(fy[i]))) << i;
    }
}

std::string processor_name(const testing::TestParamInfo<Processor>& p) { return p.param.name; }
INSTANTIATE_TEST_SUITE_P(Processors, Processors, testing::ValuesIn(processors), processor_name);

}  // namespace
