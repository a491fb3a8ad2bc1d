// explain: the text for kernels whose numbers were counted by hand, and static counts against the executions of the interpreter.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <random>

#include "core/tools/coverage.h"
#include "core/tools/kernel_counts.h"

using namespace pumice;
using tools::KernelCounts;
using tools::LaunchFacts;

namespace {

constexpr int first_line = __LINE__ + 1;
const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto matrix_row = kernel("matrix_row", [](Out<float> y, In<float, 2> a, In<float> x) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(k, range(8)) { sum = fma(a(i, k), x[k], sum); }
    y[i] = sum;
});
const auto histogram = kernel("histogram", [](InOut<int> bins, In<int> data) {
    auto i = global_index();
    $if(data[i] > 0) { atomic_add(bins[data[i] % 16], 1); }
});
const auto recurrence = kernel("recurrence", [](InOut<float> x) {
    auto i = global_index();
    Var v = x[i];
    $for(k, range(10)) { v = v * sin(v); }
    x[i] = v;
});
const auto scatter = kernel("scatter", [](Out<float> y, In<float> x, In<int> from) {
    auto i = global_index();
    y[i] = x[from[i]] * 2.0f;
});

/// The text with lines counted from the first kernel.
std::string relative(std::string text) {
    for (int line = first_line + 40; line >= first_line; --line) {
        const std::string name = "explain_test.cpp:" + std::to_string(line);
        for (size_t at = text.find(name); at != text.npos; at = text.find(name, at))
            text.replace(at, name.size(), "line " + std::to_string(line - first_line + 1));
    }
    // Columns are as wide as the longest place, which the replacement has changed.
    std::string out;
    for (size_t i = 0; i < text.size(); ++i)
        if (text[i] != ' ' || out.empty() || out.back() != ' ') out += text[i];
    return out;
}

void expect_lines(const std::string& text, std::initializer_list<const char*> lines) {
    for (const char* line : lines) EXPECT_NE(text.find(line), text.npos) << "not there: " << line << "\n" << text;
}

TEST(Explain, CountsBytesAndOperationsByHand) {
    const std::string text = relative(explain(saxpy));
    expect_lines(text, {"kernel \"saxpy\" (line 1): an item reads 8 bytes, writes 4 bytes, does 2 operations on floats and 0 on "
                        "integers; 0.167 a byte\n",
                        " line 3 1 8 4 2 0\n", "no tape", "the shadow of arg2 gets plain additions"});
    EXPECT_EQ(text.find("goes by"), text.npos) << text;
}

TEST(Explain, NamesAccessesThatAreNotContiguous) {
    const std::string text = relative(explain(matrix_row));
    // 8 iterations: 2 loads of 4 bytes, one fma.
    expect_lines(text, {"an item reads 64 bytes, writes 4 bytes, does 16 operations on floats", " line 8 8 64 0 16 0\n",
                        "line 8: the load of arg2 goes by whole rows from item to item\n"});
}

TEST(Explain, NamesDivergenceAndAtomics) {
    const std::string text = relative(explain(histogram));
    expect_lines(
        text, {"an item reads 4..", "line 13: items of a subgroup take both arms of the if\n", "line 13: an atomic on arg1\n"});
}

TEST(Explain, SaysWhyValuesAreTaped) {
    const std::string text = relative(explain(recurrence));
    expect_lines(text, {"the tape of f32 has 40 bytes an item:\n",
                        "line 18: a value of f32 is kept in each iteration: a loop carries it, and each iteration changes it\n"});
}

TEST(Explain, SaysWhyAdditionsAreNotGathered) {
    const std::string text = relative(explain(scatter));
    expect_lines(text, {"line 23: the load of arg2 has an index that follows no pattern from item to item\n",
                        "line 23: the shadow of arg2 gets atomic additions, and no gather: an index is not the item's own plus a "
                        "constant\n"});
}

/// The reasons are those of the strategy itself.
TEST(Explain, SaysWhichConditionOfTheGatherDoesNotHold) {
    const auto row = kernel("row", [](Out<float, 2> y, In<float> x) {
        auto [i, j] = global_index<2>();
        y(i, j) = x[j] * x[j + 1];
    });
    EXPECT_NE(explain(row).find("no gather: the array has another number of dimensions than the range"), std::string::npos)
        << explain(row);
    const auto diagonal = kernel("diagonal", [](Out<float, 2> y, In<float, 2> x) {
        auto [i, j] = global_index<2>();
        y(i, j) = x(i, i) * x(i + 1, i);
    });
    EXPECT_NE(explain(diagonal).find("no gather: two indices follow one axis of the range"), std::string::npos)
        << explain(diagonal);
    const auto turned = kernel("turned", [](Out<float, 2> y, In<float, 2> x) {
        auto [i, j] = global_index<2>();
        y(i, j) = x(i, j) * x(j, i);
    });
    EXPECT_NE(explain(turned).find("no gather: loads of the array name the axes of the range in different orders"),
              std::string::npos)
        << explain(turned);
    const auto twice = kernel("twice", [](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = x[i] * x[i + 1];
        y[i + 1] = x[i];
    });
    EXPECT_NE(explain(twice).find("no gather: an item may store to one element more than once"), std::string::npos)
        << explain(twice);
}

TEST(Explain, OfAProgramAddsUpItsLaunches) {
    const Device device = Device::open("interp");
    Array<float> x = device.zeros<float>(100), y = device.zeros<float>(100);
    const std::string text = explain([&] {
        for (int k = 0; k < 3; ++k) saxpy(ndrange(100), y, x, 1.0f);
        recurrence(ndrange(10), x);
    });
    expect_lines(text, {"3 launches, 3600 bytes, 600 operations on floats, of kernel \"saxpy\"",
                        "1 launch, 80 bytes, 200 operations on floats, of kernel \"recurrence\""});
    EXPECT_LT(text.find("saxpy"), text.find("recurrence"));
}

/// Executed operations and bytes of a launch on the interpreter lie between the static bounds, and are equal where these are.
void compare(const KernelBase& kernel, const Range& range, int64_t items, std::span<const detail::HostArgument> arguments,
             int* exact = nullptr) {
    int launches = 0;
    const tools::ScopedExecutions sink([&](const ir::Kernel& k, const tools::Executions& executed) {
        ++launches;
        LaunchFacts facts;
        facts.extent = {items, 1, 1};
        for (size_t p = 0; p < k.params.size() && p < arguments.size(); ++p) {
            facts.arguments.push_back(k.params[p].is_array ? std::nullopt : std::optional(arguments[p].bits));
            facts.extents.push_back(arguments[p].extents);
        }
        const KernelCounts counts(k, facts);
        double floats = 0, integers = 0, bytes = 0;
        for (uint32_t i = 0; i < k.insts.size(); ++i) {
            const double n = double(executed[i]);
            floats += n * tools::float_operations(k, k.insts[i]), integers += n * tools::integer_operations(k, k.insts[i]);
            bytes += n * double(tools::bytes_read(k, k.insts[i]) + tools::bytes_written(k, k.insts[i]));
        }
        const auto check = [&](const char* what, const tools::Bounds& b, double n) {
            EXPECT_LE(b.least * double(items), n) << what << " of " << k.name << "\n" << ir::print(k);
            EXPECT_GE(b.most * double(items), n) << what << " of " << k.name << "\n" << ir::print(k);
        };
        check("float operations", counts.float_operations(), floats);
        check("integer operations", counts.integer_operations(), integers);
        tools::Bounds both = counts.bytes_read();
        both += counts.bytes_written();
        check("bytes", both, bytes);
        if (exact) *exact += counts.float_operations().exact() && both.exact();
    });
    kernel.launch(range, arguments);
    EXPECT_EQ(launches, 1);
}

/// A random kernel of nested loops, ifs, breaks and arithmetic.
auto random_kernel(uint32_t seed, bool data_dependent) {
    return kernel("random", [=](InOut<float> y, In<float> x, Val<int> n) {
        std::mt19937 random(seed);
        const auto below = [&](uint32_t m) { return random() % m; };
        auto i = global_index();
        Var v = x[i];
        Var<int> w = i;
        const std::function<void(int)> statements = [&](int depth) {
            for (uint32_t s = 0, count = 1 + below(3); s < count; ++s) {
                const uint32_t kind = below(depth > 0 ? (data_dependent ? 7 : 5) : 3);
                if (kind == 0) v = v * 0.5f + 1.0f;
                if (kind == 1) v = fma(v, 0.25f, x[i]);
                if (kind == 2) w = w * 3 + 1, y[i] = v;
                if (kind == 3) {
                    $for(k, range(int(below(4)), 6)) {
                        v = v + 0.125f;
                        statements(depth - 1);
                    }
                }
                if (kind == 4) {
                    $for(k, range(n)) { statements(depth - 1); }
                }
                if (kind == 5) {
                    $if(v > float(below(8))) { statements(depth - 1); }
                    $else { w = w + 2; };
                }
                if (kind == 6) {
                    $for(k, range(5)) {
                        $if(v > 2.0f) { $break; };
                        statements(depth - 1);
                    }
                }
            }
        };
        statements(3);
        y[i] = v + cast<float>(w);
    });
}

TEST(KernelCounts, SayOnWhichArgumentsTheyDepend) {
    const auto sums = kernel("sums", [](InOut<float> y, Val<int> n, Val<float> scale, Val<int> from) {
        auto i = global_index();
        $for(k, range(n)) { y[i] += scale; };
        $if(i > from) { y[i] = 0; };
    });
    const KernelCounts counts(*sums.recorded());
    EXPECT_FALSE(counts.depends_on(0));
    EXPECT_TRUE(counts.depends_on(1));
    EXPECT_FALSE(counts.depends_on(2));
}

TEST(KernelCounts, AreTheExecutionsOfTheInterpreter) {
    const Device device = Device::open("interp");
    constexpr int64_t items = 37;
    int exact = 0;
    for (uint32_t seed = 1; seed <= 120; ++seed) {
        const bool data_dependent = seed % 2 == 0;
        std::vector<float> host(static_cast<size_t>(items));
        for (size_t i = 0; i < host.size(); ++i) host[i] = float(i % 9);
        Array<float> x = device.upload(host), y = device.zeros<float>(items);
        const auto random = random_kernel(seed, data_dependent);
        const auto arguments = detail::host_arguments(y, x, int(seed % 4));
        int was_exact = 0;
        compare(random, ndrange(items), items, arguments, &was_exact);
        EXPECT_TRUE(was_exact || data_dependent) << "seed " << seed;
        exact += was_exact;
        if (HasFailure()) return;
    }
    EXPECT_GE(exact, 60);
}

}  // namespace
