// Derivatives of programs.
#include <cmath>

#include "tests/device/suite.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;
using suite::iota;

namespace {

const auto square = kernel("square", [](InOut<float> a) {
    auto i = global_index();
    a[i] *= a[i];
});
const auto half_square = kernel("half_square", [](InOut<float> a) {
    auto i = global_index();
    a[i] = 0.5f * a[i] + 0.25f * a[i] * a[i];
});
const auto mix = kernel("mix", [](Out<float> next, In<float> now, In<float> p) {
    auto i = global_index();
    auto n = global_size();
    next[i] = now[i] + 0.1f * sin(now[(i + 1) % n]) * p[i];
});
const auto add = kernel("add", [](InOut<float> sum, In<float> a) {
    auto i = global_index();
    sum[i] += a[i];
});
const auto total =
    kernel("total", [](InOut<float> sum, In<float> a) { atomic_add(sum[0], a[global_index()] * a[global_index()]); });

/// Central differences of the sum of `y` after the program, along each element of x.
template <class F> std::vector<double> differences(F&& result, const std::vector<float>& x, float h) {
    std::vector<double> g;
    for (size_t i = 0; i < x.size(); ++i) {
        std::vector<float> p = x, m = x;
        p[i] += h, m[i] -= h;
        g.push_back((result(p) - result(m)) / (double(p[i]) - double(m[i])));
    }
    return g;
}
double sum(const Array<float>& a) {
    double s = 0;
    for (const float v : a.download()) s += v;
    return s;
}
void expect_near(const std::vector<float>& got, const std::vector<double>& want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << "at " << i;
}

TEST(AutodiffPrograms, TwoKernelsInPlace) {
    const auto twice = [](Array<float>& a) {
        square(ndrange(4), a);
        square(ndrange(4), a);
    };
    Array<float> a = device().upload(std::vector<float>{1, 2, 0.5f, -1}), da = device().full<float>(4, 1.0f);
    autodiff(Reverse, twice, Duplicated(a, da));
    EXPECT_EQ(a.download(), (std::vector<float>{1, 16, 0.0625f, 1}));
    EXPECT_EQ(da.download(), (std::vector<float>{4, 32, 0.5f, -4}));
    Array<float> b = device().upload(std::vector<float>{1, 2, 0.5f, -1}), db = device().full<float>(4, 1.0f);
    autodiff(Forward, twice, Duplicated(b, db));
    EXPECT_EQ(b.download(), (std::vector<float>{1, 16, 0.0625f, 1}));
    EXPECT_EQ(db.download(), (std::vector<float>{4, 32, 0.5f, -4}));
}

/// Fills, copies, clones, uploads, allocations inside, a reused array, a condition on the host, an array as input and output.
void medley(Array<float>& y, Array<float>& x, const Array<float>& p, int steps) {
    const int n = int(x.count());
    const Device d = x.device();
    Array<float> now = x.clone(), other = d.zeros<float>(n), sums = d.full<float>(n, 3.0f);
    for (int step = 0; step < steps; ++step) {
        mix(ndrange(n), other, now, p);
        if (step % 3 == 1) {
            now.copy_from(other);
            add(ndrange(n), sums, now);
        } else {
            std::swap(now, other);
        }
        if (step == 4) sums.fill(1.0f);
        Array<float> fresh = d.upload(std::vector<float>(size_t(n), 0.5f));
        add(ndrange(n), fresh, now);
        half_square(ndrange(n), fresh);
        add(ndrange(n), sums, fresh);
    }
    half_square(ndrange(n), x);
    add(ndrange(n), x, sums);
    y.copy_from(x);
}

TEST(AutodiffPrograms, CheckpointsGiveTheSameGradient) {
    const int n = 6, steps = 11;
    const Device d = device();
    const std::vector<float> host{0.1f, 0.4f, -0.3f, 0.9f, 0.2f, -0.6f}, params{1, 2, 3, 1, 2, 0.5f};
    const auto result = [&](const std::vector<float>& at) {
        Array<float> y = d.zeros<float>(n), x = d.upload(at), p = d.upload(params);
        medley(y, x, p, steps);
        return sum(y);
    };
    const std::vector<double> want = differences(result, host, 1e-2f);
    Array<float> plain_y = d.zeros<float>(n), plain_x = d.upload(host), plain_p = d.upload(params);
    medley(plain_y, plain_x, plain_p, steps);

    for (const int states : {0, 1, 2, 8}) {
        SCOPED_TRACE(states);
        Array<float> y = d.zeros<float>(n), dy = d.full<float>(n, 1.0f), x = d.upload(host), dx = d.zeros<float>(n);
        Array<float> p = d.upload(params), dp = d.zeros<float>(n);
        autodiff(states ? Reverse.checkpoints(states) : Reverse, medley, Duplicated(y, dy), Duplicated(x, dx), Duplicated(p, dp),
                 Const(steps));
        EXPECT_EQ(y.download(), plain_y.download());
        EXPECT_EQ(x.download(), plain_x.download());
        expect_near(dx.download(), want, 2e-3);
        EXPECT_EQ(dy.download(), std::vector<float>(n, 0.0f));
        static std::vector<float> first_dx, first_dp;
        if (states == 0) first_dx = dx.download(), first_dp = dp.download();
        EXPECT_EQ(dx.download(), first_dx);
        EXPECT_EQ(dp.download(), first_dp);

        // forward against reverse
        Array<float> y2 = d.zeros<float>(n), ty = d.zeros<float>(n), x2 = d.upload(host),
                     tx = d.upload(std::vector<float>{1, -2, 0.5f, 3, 1, 1});
        const std::vector<float> direction = tx.download();
        autodiff(Forward, medley, Duplicated(y2, ty), Duplicated(x2, tx), Const(p), Const(steps));
        double along = 0;
        for (size_t i = 0; i < n; ++i) along += double(direction[i]) * dx.download()[i];
        EXPECT_NEAR(sum(ty), along, 1e-4 * std::abs(along));
        EXPECT_EQ(y2.download(), plain_y.download());
    }
}

TEST(AutodiffPrograms, ConditionsOnTheHost) {
    const auto until_small = [](Array<float>& x) {
        while (x.download()[0] > 0.01f) half_square(ndrange(3), x);
    };
    const std::vector<float> host{0.8f, 0.3f, 0.5f};
    Array<float> x = device().upload(host), dx = device().full<float>(3, 1.0f);
    autodiff(Reverse.checkpoints(3), until_small, Duplicated(x, dx));
    const auto result = [&](const std::vector<float>& at) {
        Array<float> a = device().upload(at);
        until_small(a);
        return sum(a);
    };
    expect_near(dx.download(), differences(result, host, 1e-3f), 2e-3);
}

TEST(AutodiffPrograms, ProgramsThatReturnArrays) {
    const auto loss = [](Array<float>& x) {
        Array<float> sum = x.device().zeros<float>(1);
        total(ndrange(4), sum, x);
        return sum;
    };
    Array<float> x = device().upload(std::vector<float>{1, 2, 3, 4}), dx = device().zeros<float>(4);
    const auto [value] = autodiff(ReverseWithPrimal, loss, Duplicated(x, dx));
    EXPECT_EQ(value.download(), std::vector<float>{30});
    EXPECT_EQ(dx.download(), (std::vector<float>{2, 4, 6, 8}));
    autodiff(Reverse.checkpoints(2), loss, Duplicated(x, dx));
    EXPECT_EQ(dx.download(), (std::vector<float>{4, 8, 12, 16}));
    dx.fill(1.0f);
    const auto [tangent, same] = autodiff(ForwardWithPrimal, loss, Duplicated(x, dx));
    EXPECT_EQ(tangent.download(), std::vector<float>{20});
    EXPECT_EQ(same.download(), std::vector<float>{30});
    Array<float> d1 = device().zeros<float>(4), d2 = device().zeros<float>(4);
    autodiff(Reverse, loss, BatchDuplicated(x, std::array{d1, d2}));
    EXPECT_EQ(d2.download(), (std::vector<float>{2, 4, 6, 8}));
}

TEST(AutodiffPrograms, ViewsOfOneAllocation) {
    const auto program = [](Array<float>& x) {
        square(ndrange(2), x.slice(0, 2));
        x.slice(2, 4).copy_from(x.slice(0, 2));
        square(ndrange(2), x.slice(1, 3));
        View<float>(x).view(0, 6, 2).copy_from(View<float>(x).view(1, 6, 2));
    };
    const std::vector<float> host{2, 3, 4, 5, 6, 7};
    Array<float> x = device().upload(host), dx = device().upload(std::vector<float>{1, 2, 3, 4, 5, 6});
    autodiff(Reverse, program, Duplicated(x, dx));
    const auto result = [&](const std::vector<float>& at) {
        Array<float> a = device().upload(at);
        program(a);
        const std::vector<float> v = a.download();
        double s = 0;
        for (size_t i = 0; i < v.size(); ++i) s += double(i + 1) * v[i];
        return s;
    };
    expect_near(dx.download(), differences(result, host, 1e-2f), 1e-3);
}

TEST(AutodiffPrograms, HostStepsWithRules) {
    // Sorting on the host: the derivative follows the permutation.
    const auto order_of = [](const std::vector<float>& v) {
        std::vector<size_t> order(v.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[a] < v[b]; });
        return order;
    };
    const auto sort = host_step("sort", [&](Array<float>& y, const Array<float>& x) {
        std::vector<float> v = x.download();
        std::sort(v.begin(), v.end());
        y.copy_from(v);
    });
    const auto sort_with_rule = sort.reverse([&](const Duplicated<Array<float>>& y, const Duplicated<Array<float>>& x) {
                                        const std::vector<size_t> order = order_of(x.value.download());
                                        std::vector<float> dx = x.shadow.download(), dy = y.shadow.download();
                                        for (size_t i = 0; i < order.size(); ++i) dx[order[i]] += dy[i];
                                        x.shadow.copy_from(dx);
                                        y.shadow.fill(0.0f);
                                    })
                                    .forward([&](const Duplicated<Array<float>>& y, const Duplicated<Array<float>>& x) {
                                        const std::vector<size_t> order = order_of(x.value.download());
                                        std::vector<float> dx = x.shadow.download(), dy(dx.size());
                                        for (size_t i = 0; i < order.size(); ++i) dy[i] = dx[order[i]];
                                        y.shadow.copy_from(dy);
                                    });
    const auto program = [&](const auto& step) {
        return [&step](Array<float>& y, Array<float>& x) {
            Array<float> sorted = x.device().zeros<float>(4);
            square(ndrange(4), x);
            step(sorted, x);
            mix(ndrange(4), y, sorted, sorted);
        };
    };
    const std::vector<float> host{0.9f, 0.2f, 0.7f, 0.4f};
    const auto result = [&](const std::vector<float>& at) {
        Array<float> x = device().upload(at), y = device().zeros<float>(4);
        program(sort)(y, x);
        return sum(y);
    };
    const std::vector<double> want = differences(result, host, 1e-3f);
    for (const int states : {0, 2}) {
        Array<float> x = device().upload(host), dx = device().zeros<float>(4), y = device().zeros<float>(4),
                     dy = device().full<float>(4, 1.0f);
        autodiff(states ? Reverse.checkpoints(states) : Reverse, program(sort_with_rule), Duplicated(y, dy), Duplicated(x, dx));
        expect_near(dx.download(), want, 2e-3);
    }
    Array<float> x = device().upload(host), dx = device().full<float>(4, 1.0f), y = device().zeros<float>(4),
                 dy = device().zeros<float>(4);
    autodiff(Forward, program(sort_with_rule), Duplicated(y, dy), Duplicated(x, dx));
    double along = 0;
    for (const double d : want) along += d;
    EXPECT_NEAR(sum(dy), along, 2e-3 * std::abs(along));

    Array<float> x0 = device().upload(host), dx0 = device().zeros<float>(4), dy0 = device().full<float>(4, 1.0f);
    autodiff(Reverse, program(sort.inactive()), Duplicated(y, dy0), Duplicated(x0, dx0));
    EXPECT_EQ(dx0.download(), std::vector<float>(4, 0.0f));
    EXPECT_EQ(suite::message_of([&] { autodiff(Reverse, program(sort), Duplicated(y, dy0), Duplicated(x0, dx0)); }),
              "the host step \"sort\" works on arrays that depend on what is differentiated and has no rule for reverse mode: "
              "add .reverse(rule) or .inactive()");
}

TEST(AutodiffPrograms, DataReadBackCarryNoDerivative) {
    const auto through_the_host = [](Array<float>& y, Array<float>& x) {
        square(ndrange(4), x);
        std::vector<float> v = x.download();
        for (float& f : v) f *= 2;
        y.copy_from(v);
    };
    Array<float> x = device().full<float>(4, 3.0f), dx = device().zeros<float>(4), y = device().zeros<float>(4),
                 dy = device().full<float>(4, 1.0f);
    EXPECT_EQ(suite::message_of([&] { autodiff(Reverse, through_the_host, Duplicated(y, dy), Duplicated(x, dx)); }),
              "the derivative of a program: it writes 4 elements from the host that the result depends on, after it has read "
              "back an array or image that depends "
              "on what is differentiated; the derivative ends there: make this a host_step with a rule, or write under "
              "no_derivative() if it is meant to end");
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));  // no launch was reversed
    const auto meant = [](Array<float>& y, Array<float>& x) {
        square(ndrange(4), x);
        const std::vector<float> v = x.download();
        no_derivative([&] { y.copy_from(v); });
    };
    autodiff(Reverse, meant, Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 0.0f));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 0.0f));
}

/// Counts the launches of a kernel, and the bytes of the arrays that are allocated while it exists.
class Counter : public detail::TraceHook {
public:
    explicit Counter(std::string kernel) : kernel(std::move(kernel)) {}
    bool launching(const KernelBase& k, const Range&, std::span<const detail::HostArgument>) override {
        return launches += k.name() == kernel, false;
    }
    void allocated(const std::shared_ptr<detail::ArrayState>& array, bool) override {
        if (array->memory) alive.push_back({array->memory, array->memory->bytes});
        int64_t bytes = 0;
        for (const auto& [memory, size] : alive) bytes += memory.expired() ? 0 : size;
        most = std::max(most, bytes);
        std::erase_if(alive, [](const auto& a) { return a.first.expired(); });
    }

    int launches = 0;
    int64_t most = 0;

private:
    std::string kernel;
    std::vector<std::pair<std::weak_ptr<Allocation>, int64_t>> alive;
};

TEST(AutodiffPrograms, AThousandStepsWithTenCheckpoints) {
    const int n = 64, steps = 1000;
    const auto program = [&](Array<float>& x) {
        Array<float> p = x.device().full<float>(n, 0.01f), now = x.clone(), next = x.device().zeros<float>(n);
        for (int s = 0; s < steps; s += 2) {
            mix(ndrange(n), next, now, p);
            mix(ndrange(n), now, next, p);
        }
        x.copy_from(now);
    };
    std::vector<float> host = iota<float>(n);
    for (float& v : host) v *= 0.1f;
    Array<float> x = device().upload(host), dx = device().full<float>(n, 1.0f);
    autodiff(Reverse, program, Duplicated(x, dx));

    Array<float> y = device().upload(host), dy = device().full<float>(n, 1.0f);
    Counter counter("mix");
    {
        detail::ScopedTraceHook watching(&counter);
        autodiff(Reverse.checkpoints(10), program, Duplicated(y, dy));
    }
    EXPECT_EQ(dy.download(), dx.download());
    EXPECT_EQ(y.download(), x.download());
    EXPECT_LE(counter.launches, 5000);
    EXPECT_GE(counter.launches, 1000 + 3636);
    // A state holds p, now, next and x, but not the shadows of four arrays. Devices free memory when their work is done.
    EXPECT_LE(counter.most, int64_t(12 * 4 + 4) * n * int64_t(sizeof(float)));
    RecordProperty("forward_steps", counter.launches);
    RecordProperty("most_bytes", int(counter.most));
}

// A derivative inside no_derivative() is a number like any other; one around it stops there.
TEST(AutodiffPrograms, ADerivativeWithinNoDerivativeIsRight) {
    const Device d = device();
    const auto twice = kernel("twice", [](Out<float> to, In<float> from) {
        auto i = global_index();
        to[i] = from[i] * from[i];
    });
    const auto program = [&](const Array<float>& to, const Array<float>& from) { twice(ndrange(2), to, from); };
    const Array<float> x = d.full<float>(2, 1.5f), dx = d.zeros<float>(2), y = d.zeros<float>(2), dy = d.full<float>(2, 1.0f);
    no_derivative([&] { autodiff(Reverse, program, Duplicated(y, dy), Duplicated(x, dx)); });
    EXPECT_EQ(dx.download(), std::vector<float>(2, 3.0f));
    const Array<float> tangent = d.zeros<float>(2), along = d.full<float>(2, 1.0f);
    no_derivative([&] { autodiff(Forward, program, Duplicated(y, tangent), Duplicated(x, along)); });
    EXPECT_EQ(tangent.download(), std::vector<float>(2, 3.0f));

    // The gradient is a constant of the program around: y = x + (2 x), of which the second term has no derivative.
    const Array<float> seed = d.full<float>(2, 1.0f), back = d.zeros<float>(2);
    const auto add = kernel("add", [](Out<float> to, In<float> a, In<float> b) {
        auto i = global_index();
        to[i] = a[i] + b[i];
    });
    autodiff(
        Reverse,
        [&](const Array<float>& to, const Array<float>& from) {
            const Array<float> gradient = d.zeros<float>(2), value = d.zeros<float>(2), one = d.full<float>(2, 1.0f);
            no_derivative([&] { autodiff(Reverse, program, Duplicated(value, one), Duplicated(from, gradient)); });
            add(ndrange(2), to, from, gradient);
        },
        Duplicated(y, seed), Duplicated(x, back));
    EXPECT_EQ(y.download(), std::vector<float>(2, 4.5f));
    EXPECT_EQ(back.download(), std::vector<float>(2, 1.0f));
}

TEST(AutodiffPrograms, ForwardModeReportsWhatTheHostMadeOfActiveData) {
    const Device d = device();
    const Array<float> x = d.full<float>(2, 1.5f), dx = d.full<float>(2, 1.0f), y = d.zeros<float>(2), dy = d.zeros<float>(2);
    const auto through_host = [](const Array<float>& to, const Array<float>& from) { to.copy_from(from.download()); };
    try {
        autodiff(Forward, through_host, Duplicated(y, dy), Duplicated(x, dx));
        ADD_FAILURE() << "no error";
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("it writes 2 elements from the host that the result depends on"), std::string::npos)
            << e.what();
    }
    autodiff(
        Forward, [](const Array<float>& to, const Array<float>& from) { no_derivative([&] { to.copy_from(from.download()); }); },
        Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dy.download(), std::vector<float>(2, 0.0f));
}

}  // namespace
