// Derivatives of subgroup and group operations.
#include "autodiff/analysis/transform.h"
#include "core/ir/ir.h"
#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::device;
using suite::expect_derivatives;
using suite::numbers;

namespace {

/// The ranges of a check: 45 items, of which the last group is cut, and 48. Each range has kernels of its own.
enum class Groups { cut, whole, both };

/// y = atan(operation(sin x)) * sin x, in groups of 16.
template <class Operation> void check(const char* name, const Operation& operation, Groups groups = Groups::both) {
    SCOPED_TRACE(name);
    const auto lanes = kernel(name, [&](Out<float> y, In<float> x) {
        auto i = global_index();
        auto s = sin(x[i]);
        y[i] = atan(operation(s)) * s;
    });
    // These kernels take long to compile. Where one range will do, so will one mode; the interpreter runs all modes.
    const bool all = groups == Groups::both || suite::is_checking_device();
    const suite::Modes modes = all ? suite::Modes::all : suite::Modes::whole;
    for (const int n : {48, 45}) {
        if (groups == (n == 45 ? Groups::whole : Groups::cut)) continue;
        // The order is mixed. Minima and maxima are well apart, so that a difference does not move them to another item.
        std::vector<float> host(size_t(n), 0.0f);
        for (int i = 0; i < n; ++i) host[size_t(i)] = 0.25f + 0.025f * float((i * 29) % 48);
        expect_derivatives(modes, lanes, ndrange(n).group(16), device().zeros<float>(n), device().upload(host));
    }
}

// The operations that subgroups and groups have in common, each as check(name, function). One of a kind also in whole groups
// alone.
#define CHECK(where, operation, groups) check(#operation, [](const Val<float>& s) { return where::operation(s); }, Groups::groups)
#define CHECK_ALL(where)               \
    CHECK(where, reduce_add, both);    \
    CHECK(where, reduce_mul, cut);     \
    CHECK(where, reduce_min, cut);     \
    CHECK(where, reduce_max, both);    \
    CHECK(where, inclusive_add, cut);  \
    CHECK(where, inclusive_mul, both); \
    CHECK(where, inclusive_min, cut);  \
    CHECK(where, inclusive_max, cut);  \
    CHECK(where, exclusive_add, both); \
    CHECK(where, exclusive_mul, cut);  \
    CHECK(where, exclusive_min, cut);  \
    CHECK(where, exclusive_max, cut)

TEST(AutodiffSubgroups, ReductionsAndScans) {
    CHECK_ALL(subgroup);
    CHECK(subgroup, broadcast_first, both);
}

TEST(AutodiffSubgroups, ShufflesByAUniformDistance) {
    const Groups groups = device().limits().subgroup_size == 1 ? Groups::both : Groups::whole;
    check("broadcast", [](const Val<float>& s) { return subgroup::broadcast(s, 0); });
    check("shuffle", [](const Val<float>& s) { return subgroup::shuffle(s, 0); });
    check("shuffle_up", [](const Val<float>& s) { return subgroup::shuffle_up(s, 1) + 2.0f * subgroup::shuffle_up(s, 2); });
    check(
        "shuffle_down", [](const Val<float>& s) { return subgroup::shuffle_down(s, 1) + 2.0f * subgroup::shuffle_down(s, 2); },
        groups);
    check(
        "shuffle_xor", [](const Val<float>& s) { return subgroup::shuffle_xor(s, 1) + 2.0f * subgroup::shuffle_xor(s, 3); },
        groups);
}

TEST(AutodiffSubgroups, ShufflesByADistancePerLane) {
    const auto lane = [] { return subgroup::lane(); };
    check("mirrored", [&](const Val<float>& s) { return subgroup::shuffle(s, subgroup::size() - 1 - lane()); }, Groups::whole);
    check("halved", [&](const Val<float>& s) { return subgroup::shuffle(s, lane() / 2); });
    check("up", [&](const Val<float>& s) { return subgroup::shuffle_up(s, lane() / 2); });
    check(
        "down", [&](const Val<float>& s) { return subgroup::shuffle_down(s, (subgroup::size() - 1 - lane()) / 2); },
        Groups::whole);
    check("xor", [&](const Val<float>& s) { return subgroup::shuffle_xor(s, lane() ^ (lane() / 2)); }, Groups::whole);
}

TEST(AutodiffSubgroups, InBranchesAndLoopsOfDifferentLength) {
    const auto apart = kernel("apart", [](Out<float> y, In<float> x) {
        auto i = global_index();
        Var<float> v = x[i];
        $for(k, range(0, i % 5 + 1)) {
            $if((i + k) % 2 == 0) { v = 0.5f * subgroup::reduce_max(Val<float>(v)) * x[i]; }
            $else { v = sin(subgroup::inclusive_add(Val<float>(v))); }
            Var<int> n = 0;
            $while(n < i % 3) {
                v = 0.5f * (v + subgroup::broadcast_first(Val<float>(v)));
                n += 1;
                $if(v > 100.0f) { $break; }
            }
        }
        y[i] = v;
    });
    expect_derivatives(apart, ndrange(45).group(16), device().zeros<float>(45), device().upload(numbers<float>(45, 3, 0.2, 1.5)));
}

TEST(AutodiffGroups, ReductionsAndScans) {
    CHECK_ALL(group);
    check("broadcast", [](const Val<float>& s) { return group::broadcast(s, 3); });
    const auto soft = [](auto a, auto b) { return a + b - 0.25f * a * b; };
    check("reduce", [&](const Val<float>& s) { return group::reduce(s, soft); }, Groups::cut);
    check("inclusive_scan", [&](const Val<float>& s) { return group::inclusive_scan(s, soft); });
    check("exclusive_scan", [&](const Val<float>& s) { return group::exclusive_scan(s, 0.0f, soft); }, Groups::cut);
}

TEST(AutodiffGroups, SumsInLoopsAndBranchesOfAllItems) {
    // Sums that feed each other from iteration to iteration, whose results are needed again, in groups of two dimensions.
    const auto repeated = kernel("repeated", [](Out<float, 2> y, In<float, 2> x) {
        auto [row, column] = global_index<2>();
        Var<float> v = x(row, column);
        $for(n, range(0, 3)) {
            $if(group_index<2>()[0] == 0 || n != 1) { v = sin(0.3f * group::reduce_add(Val<float>(v)) * x(row, column)); }
            $else { v = v + 0.1f * group::inclusive_add(v * v); }
            v += 0.2f * group::exclusive_add(cos(v));
        }
        y(row, column) = v;
    });
    for (const int columns : {12, 10}) {
        const Array<float, 2> x = device().upload(numbers<float>(7 * columns, 4, 0.2, 0.8)).reshape({7, columns});
        expect_derivatives(repeated, ndrange(7, columns).group(4, 4), device().zeros<float>({7, columns}), x);
    }
}

TEST(AutodiffGroups, SumsOfWholeNumbersDecideWhatIsSummed) {
    const auto selected = kernel("selected", [](Out<float> y, In<float> x) {
        auto i = global_index();
        auto chosen = i * 7 % 3 != 0;
        auto place = group::exclusive_add(select(chosen, 1, 0));
        $if(group::any(chosen)) { y[i] = group::reduce_add(select(chosen, x[i] * x[i], 0.0f)) * cast<float>(place); }
    });
    expect_derivatives(selected, ndrange(45).group(16), device().zeros<float>(45),
                       device().upload(numbers<float>(45, 6, 0.0, 1.0)));
}

/// The derivative of a sum over the group is a sum over the group, and stays one instruction: back ends then choose subgroups.
TEST(AutodiffGroups, DerivativesOfSumsAreSums) {
    const auto sums = kernel("sums", [](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = group::reduce_add(x[i] * x[i]) + group::inclusive_add(x[i]);
    });
    const ir::Kernel& primal = *sums.recorded();
    derive::Signature signature;
    signature.params = {derive::Activity::duplicated, derive::Activity::duplicated};
    const std::string reverse = ir::print(derive::adjoint(primal, signature).kernel),
                      forward = ir::print(derive::forward(primal, signature));
    for (const std::string& text : {reverse, forward})
        for (const char* operation : {"group reduce_add", "group inclusive_add"})
            EXPECT_NE(text.find(operation), std::string::npos) << operation << " in\n" << text;
    EXPECT_EQ(reverse.find("= for"), std::string::npos) << reverse;
}

TEST(AutodiffSubgroups, VectorsAndDoubles) {
    const auto vectors = kernel("vectors", [](Out<float> y, In<float> x) {
        auto i = global_index();
        auto s = subgroup::inclusive_mul(Val<float3>(x[i], 2.0f * x[i], sin(x[i])));
        y[i] = dot(s, subgroup::shuffle_up(s, 1));
    });
    expect_derivatives(vectors, ndrange(32).group(16), device().zeros<float>(32),
                       device().upload(numbers<float>(32, 5, 0.3, 0.9)));
    if (!device().supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no doubles";
    const auto doubles = kernel("doubles", [](Out<double> y, In<double> x) {
        auto i = global_index();
        y[i] = sin(group::inclusive_mul(x[i])) * group::reduce_max(x[i]);
    });
    expect_derivatives(doubles, ndrange(45).group(16), device().zeros<double>(45),
                       device().upload(numbers<double>(45, 5, 0.5, 1.5)));
}

}  // namespace
