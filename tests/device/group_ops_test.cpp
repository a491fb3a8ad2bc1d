// Subgroup and group operations.
#include <cstdlib>
#include <limits>
#include <set>
#include <span>

#include "core/interp/interp.h"
#include "tests/device/suite.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

/// Runs f on the device under test; where that is the interpreter, on one of each subgroup size.
template <class F> void on_each(F&& f) {
    if (!suite::is_checking_device()) return f(suite::device());
    for (const int size : {1, 4, 8, 32, 64, 128}) {
        SCOPED_TRACE(testing::Message() << "subgroups of " << size);
        f(Device(open_interp(InterpMode::prepared, size)));
    }
}

/// The subgroup, lane and sizes of each item of a launch.
struct Where {
    std::vector<int> index, lane;
    int size = 0, count = 0;
};
const auto where_kernel = kernel("where", [](Out<int> index, Out<int> lane, Out<int> sizes) {
    auto i = global_index();
    index[i] = subgroup::index();
    lane[i] = subgroup::lane();
    $if(i == 0) {
        sizes[0] = subgroup::size();
        sizes[1] = subgroup::count();
    }
});
/// The values of all items that are in the subgroup of item `i` and fulfil `with`, in the order of lanes; one group of `n` items.
Where where_in(const Device& device, int n, int group) {
    Array<int> index = device.zeros<int>(n), lane = device.zeros<int>(n), sizes = device.zeros<int>(2);
    where_kernel(ndrange(n).group(group), index, lane, sizes);
    const auto s = sizes.download();
    return {index.download(), lane.download(), s[0], s[1]};
}
/// The items of the subgroup of i that fulfil `takes_part`, in the order of lanes.
template <class F> std::vector<int> mates(const Where& w, int i, F takes_part) {
    std::vector<int> found;
    for (int j = 0; j < int(w.index.size()); ++j)
        if (w.index[size_t(j)] == w.index[size_t(i)] && takes_part(j)) found.push_back(j);
    std::sort(found.begin(), found.end(), [&](int a, int b) { return w.lane[size_t(a)] < w.lane[size_t(b)]; });
    return found;
}

TEST(Device, SubgroupIndicesAreConsistent) {
    on_each([](const Device& device) {
        for (const auto& [n, group] : {std::pair(64, 64), {32, 32}, {7, 7}, {5, 8}, {1, 1}, {50, 64}}) {
            const Where w = where_in(device, n, group);
            std::set<std::pair<int, int>> seen;
            for (int i = 0; i < n; ++i) {
                EXPECT_TRUE(w.lane[size_t(i)] >= 0 && w.lane[size_t(i)] < w.size) << n << ": " << i;
                EXPECT_TRUE(w.index[size_t(i)] >= 0 && w.index[size_t(i)] < w.count) << n << ": " << i;
                seen.insert({w.index[size_t(i)], w.lane[size_t(i)]});
            }
            EXPECT_EQ(int(seen.size()), n) << "each item has a lane of its own";
            EXPECT_EQ(w.size, device.limits().subgroup_size);
            // The entry lavapipe_lanes16: a lane for each 32 bits of a vector.
            const char* const bits = std::getenv("LP_NATIVE_VECTOR_WIDTH");
            EXPECT_TRUE(!bits || w.size == std::atoi(bits) / 32) << w.size;
            EXPECT_GE(w.count * w.size, n);
        }
    });
}

const auto sums = kernel("sums", [](Out<int> out, In<int> x, Out<float> real) {
    auto i = global_index();
    $if(i % 4 != 3) {
        Var sum = subgroup::reduce_add(x[i]) * 1000000;
        sum += subgroup::inclusive_add(x[i]) * 1000;
        sum += subgroup::exclusive_add(x[i]);
        out[i] = sum;
        real[i] = subgroup::reduce_max(cast<float>(x[i])) - subgroup::exclusive_min(cast<float>(x[i]) + 0.5f);
    }
    $else { out[i] = -1; }
});

TEST(Device, SubgroupSumsAndScans) {
    on_each([](const Device& device) {
        const int n = 61, group = 64;
        const Where w = where_in(device, n, group);
        std::vector<int> x(n);
        for (int i = 0; i < n; ++i) x[size_t(i)] = i * 7 % 10;
        Array<int> out = device.zeros<int>(n);
        Array<float> real = device.zeros<float>(n);
        sums(ndrange(n).group(group), out, device.upload(x), real);
        const auto got = out.download();
        const auto got_real = real.download();
        for (int i = 0; i < n; ++i) {
            if (i % 4 == 3) continue;
            int all = 0, before = 0, most = 0;
            float least = std::numeric_limits<float>::infinity();
            bool me = false;
            for (const int j : mates(w, i, [](int j) { return j % 4 != 3; })) {
                all += x[size_t(j)];
                most = std::max(most, x[size_t(j)]);
                me = me || j == i;
                if (!me) before += x[size_t(j)], least = std::min(least, float(x[size_t(j)]) + 0.5f);
            }
            EXPECT_EQ(got[size_t(i)], all * 1000000 + (before + x[size_t(i)]) * 1000 + before) << i;
            EXPECT_EQ(got_real[size_t(i)], float(most) - least) << i;
        }
    });
}

const auto lanes = kernel("lanes", [](Out<int, 2> out, In<int> x) {
    auto i = global_index();
    const Val<int> v = x[i], size = subgroup::size();
    out(0, i) = subgroup::broadcast_first(v);
    out(1, i) = subgroup::broadcast(v, 0);
    out(2, i) = subgroup::shuffle(v, size - 1 - subgroup::lane());
    out(3, i) = subgroup::shuffle_xor(v, 1);
    out(4, i) = subgroup::shuffle_up(v, 1);
    out(5, i) = subgroup::shuffle_down(v, 2);
    out(6, i) = cast<int>(subgroup::any(v > 90)) + 2 * cast<int>(subgroup::all(v >= 0)) + 4 * cast<int>(subgroup::elect());
    const Val<uint4> bits = subgroup::ballot(v % 3 == 0);
    out(7, i) = cast<int>(bits.x);
    out(11, i) = cast<int>(bits.y);
    out(12, i) = cast<int>(bits.z);
    out(13, i) = cast<int>(bits.w);
    const Val<float2> pair = subgroup::shuffle(Val<float2>(cast<float>(v), 0.5f), size - 1 - subgroup::lane());
    out(8, i) = cast<int>(pair.x + pair.y);
    out(9, i) = cast<int>(subgroup::reduce_and(v != 7));
    out(10, i) = cast<int>(subgroup::reduce_xor(cast<unsigned>(v)));
});

TEST(Device, SubgroupShufflesVotesAndBallot) {
    on_each([](const Device& device) {
        const int n = 128;  // whole subgroups
        const Where w = where_in(device, n, n);
        std::vector<int> x(n);
        for (int i = 0; i < n; ++i) x[size_t(i)] = (i * 37 + 7) % 101;
        Array<int, 2> out = device.zeros<int>({14, n});
        lanes(ndrange(n).group(n), out, device.upload(x));
        const auto got = out.download();
        for (int i = 0; i < n; ++i) {
            const auto list = mates(w, i, [](int) { return true; });
            ASSERT_EQ(int(list.size()), w.size);
            const int lane = w.lane[size_t(i)];
            const auto of = [&](int l) { return x[size_t(list[size_t(l >= 0 && l < w.size ? l : lane)])]; };
            int any = 0, all = 1, same = 1, mixed = 0;
            uint32_t bits[4] = {};
            for (int l = 0; l < w.size; ++l) {
                any |= of(l) > 90, all &= of(l) >= 0, same &= of(l) != 7, mixed ^= of(l);
                bits[l / 32] |= uint32_t(of(l) % 3 == 0) << l % 32;
            }
            const int want[14] = {of(0),
                                  of(0),
                                  of(w.size - 1 - lane),
                                  of(lane ^ 1),
                                  of(lane - 1),
                                  of(lane + 2),
                                  any + 2 * all + 4 * (lane == 0),
                                  int(bits[0]),
                                  of(w.size - 1 - lane),
                                  same,
                                  mixed,
                                  int(bits[1]),
                                  int(bits[2]),
                                  int(bits[3])};
            for (int row = 0; row < 14; ++row) EXPECT_EQ(got[size_t(row * n + i)], want[row]) << "row " << row << ", item " << i;
        }
    });
}

/// Sums of every numeric type of the device. The terms are small whole numbers times `step`, so that order does not matter. The
/// kernel itself stores its subgroups: on a device that lacks an operation it needs, subgroups have one item.
template <class T> void sums_of(const Device& device, const char* name, int64_t step = 1) {
    using Host = Computed<T>;
    const auto k = kernel(name, [](Out<T> out, Out<int> index, Out<int> lane, In<T> x) {
        auto i = global_index();
        out[i] = cast<T>(subgroup::reduce_add(x[i]) + subgroup::inclusive_max(x[i]) + subgroup::shuffle_xor(x[i], 1));
        out[i + 32] = subgroup::exclusive_min(x[i]);
        out[i + 48] = subgroup::exclusive_max(x[i]);
        index[i] = subgroup::index();
        lane[i] = subgroup::lane();
    });
    const auto moved = kernel(std::string(name) + "_moved", [](Out<T> out, In<T> x) {
        auto i = global_index();
        out[i] = subgroup::broadcast(x[i], 0);
        out[i + 16] = subgroup::broadcast_first(x[i]);
        out[i + 32] = subgroup::shuffle(x[i], subgroup::size() - 1 - subgroup::lane());
    });
    const int n = 16;
    std::vector<T> x;
    for (int i = 0; i < n; ++i) x.push_back(T(Host(i % 5 + 1) * Host(step)));
    Array<T> in = device.upload(x), out = device.zeros<T>(4 * n);
    Array<int> index = device.zeros<int>(n), lane = device.zeros<int>(n);
    k(ndrange(n).group(n), out, index, lane, in);
    const Where w{index.download(), lane.download(), 0, 0};
    auto got = out.download();
    for (int i = 0; i < n; ++i) {
        const auto list = mates(w, i, [](int) { return true; });
        int sum = 0, most = 0, other = i;
        for (const int j : list) {
            sum += j % 5 + 1;
            if (w.lane[size_t(j)] <= w.lane[size_t(i)]) most = std::max(most, j % 5 + 1);
            if (w.lane[size_t(j)] == (w.lane[size_t(i)] ^ 1)) other = j;
        }
        EXPECT_EQ(Host(got[size_t(i)]), Host(Host(sum + most + other % 5 + 1) * Host(step))) << name << " " << i;
    }
    using Limits = std::numeric_limits<Host>;
    for (int i = 0; i < n; ++i) {
        if (w.lane[size_t(i)]) continue;
        EXPECT_EQ(Host(got[size_t(i) + 32]), Limits::has_infinity ? Limits::infinity() : Limits::max()) << name;
        EXPECT_EQ(Host(got[size_t(i) + 48]), Limits::has_infinity ? Host(-Limits::infinity()) : Limits::lowest()) << name;
    }
    const Where places = where_in(device, n, n);
    if (n % places.size) return;  // all lanes that are read exist
    moved(ndrange(n).group(n), out, in);
    got = out.download();
    for (int i = 0; i < n; ++i) {
        const auto list = mates(places, i, [](int) { return true; });
        const auto of = [&](size_t l) { return Host(x[size_t(list[l])]); };
        EXPECT_EQ(Host(got[size_t(i)]), of(0)) << name;
        EXPECT_EQ(Host(got[size_t(i) + 16]), of(0)) << name;
        EXPECT_EQ(Host(got[size_t(i) + 32]), of(list.size() - 1 - size_t(places.lane[size_t(i)]))) << name;
    }
}

TEST(Device, SubgroupsOfEveryType) {
    on_each([](const Device& device) {
        sums_of<int>(device, "i32");
        sums_of<unsigned>(device, "u32");
        sums_of<float>(device, "f32");
        sums_of<int64_t>(device, "i64", 0x1'0000'0007ll), sums_of<uint64_t>(device, "u64", 0x2'0000'0003ull);
        if (device.supports(Feature::int8)) sums_of<int8_t>(device, "i8"), sums_of<uint8_t>(device, "u8");
        if (device.supports(Feature::int16)) sums_of<int16_t>(device, "i16"), sums_of<uint16_t>(device, "u16");
        if (device.supports(Feature::float16)) sums_of<half>(device, "f16");
        sums_of<bfloat16>(device, "bf16");
        if (device.supports(Feature::float64)) sums_of<double>(device, "f64");
    });
}

// ---- groups --------------------------------------------------------------------------------------------------------

const auto group_kernel = kernel("together", [](Out<int, 2> out, In<int> x) {
    auto i = global_index();
    const Val<int> v = x[i];
    out(0, i) = group::reduce_add(v);
    out(1, i) = group::reduce_max(v);
    out(2, i) = group::inclusive_add(v);
    out(3, i) = group::exclusive_add(v);
    out(4, i) = group::exclusive_min(v);
    out(5, i) = cast<int>(group::any(v == 3)) + 2 * cast<int>(group::all(v < 90));
    out(6, i) = group::broadcast(v, 0);
    out(7, i) = group::inclusive_scan(v, [](auto a, auto) { return a; });
    const Val<float2> sum = group::reduce_add(Val<float2>(cast<float>(v), 1.0f));
    out(8, i) = cast<int>(sum.x) + cast<int>(sum.y);
    out(9, i) = group::reduce(v, [](auto a, auto b) { return max(a, b) + 0 * min(a, b); });
    out(10, i) = group::reduce_or(v) ^ group::reduce_xor(v);
});

TEST(Device, GroupReductionsAndScansInPartialGroups) {
    for (const int group : {1, 7, 32, suite::at_most_group(256)}) {
        for (const int n : {3 * group, 2 * group + (group + 1) / 2, 5}) {  // the second and third end in a partial group
            SCOPED_TRACE(testing::Message() << "group " << group << ", range " << n);
            std::vector<int> x(static_cast<size_t>(n));
            for (int i = 0; i < n; ++i) x[size_t(i)] = (i * 37 + 11) % 101 - (i % 9 == 0 ? 20 : 0);
            Array<int, 2> out = suite::device().zeros<int>({11, n});
            group_kernel(ndrange(n).group(group), out, suite::device().upload(x));
            const auto got = out.download();
            std::vector<int> want(size_t(11 * n));
            for (int first = 0; first < n; first += group) {
                const int end = std::min(first + group, n);
                int sum = 0, most = INT_MIN, any = 0, all = 1, bits = 0, odd = 0;
                for (int i = first; i < end; ++i) {
                    const int v = x[size_t(i)];
                    sum += v, most = std::max(most, v), any |= v == 3, all &= v < 90, bits |= v, odd ^= v;
                }
                int running = 0, least = INT_MAX;
                for (int i = first; i < end; ++i) {
                    const int v = x[size_t(i)];
                    const int column[11] = {sum,
                                            most,
                                            running + v,
                                            running,
                                            least,
                                            any + 2 * all,
                                            x[size_t(first)],
                                            x[size_t(first)],
                                            sum + end - first,
                                            most,
                                            bits ^ odd};
                    for (int row = 0; row < 11; ++row) want[size_t(row * n + i)] = column[row];
                    running += v, least = std::min(least, v);
                }
            }
            for (int at = 0; at < 11 * n; ++at)
                ASSERT_EQ(got[size_t(at)], want[size_t(at)]) << "row " << at / n << ", item " << at % n;
        }
    }
}

const auto grid_sums = kernel("grid_sums", [](Out<int, 2> out, Out<int, 2> before) {
    auto [i, j] = global_index<2>();
    const Val<int> v = 10 * i + j;
    out(i, j) = group::reduce_add(v);
    before(i, j) = group::exclusive_add(v);
});

TEST(Device, GroupOperationsInTwoDimensionsWithPartialGroups) {
    const int h = 7, w = 9, gh = 4, gw = 4;
    Array<int, 2> out = suite::device().zeros<int>({h, w}), before = suite::device().zeros<int>({h, w});
    grid_sums(ndrange(h, w).group(gh, gw), out, before);
    const auto sum = out.download(), scan = before.download();
    for (int gi = 0; gi < h; gi += gh)
        for (int gj = 0; gj < w; gj += gw) {
            int running = 0;
            std::vector<std::pair<int, int>> items;
            for (int i = gi; i < std::min(gi + gh, h); ++i)
                for (int j = gj; j < std::min(gj + gw, w); ++j) {
                    EXPECT_EQ(scan[size_t(i * w + j)], running) << i << " " << j;
                    running += 10 * i + j;
                    items.emplace_back(i, j);
                }
            for (const auto& [i, j] : items) EXPECT_EQ(sum[size_t(i * w + j)], running) << i << " " << j;
        }
}

/// Reductions, inclusive and exclusive scans by one operation: rows 0, 1 and 2. The second iteration of a loop finds the local
/// memory of the first.
template <class T> auto by_operation(int op) {
    return kernel(text("by_operation_", op, name_of(*scalar_of<T>())),
                  [op](Out<T, 2> out, In<T> x, Val<int> width, Val<int> turns) {
                      auto [i, j] = global_index<2>();
                      const Val<int> at = i * width + j;
                      const auto write = [&](auto reduced, auto inclusive, auto exclusive) {
                          $for(turn, range(turns)) {
                              out(0, at) = reduced(x[at]);
                              out(1, at) = inclusive(x[at]);
                              out(2, at) = exclusive(x[at]);
                          }
                      };
#define BY(name)                                                                                                               \
    write([](const Val<T>& v) { return group::reduce_##name(v); }, [](const Val<T>& v) { return group::inclusive_##name(v); }, \
          [](const Val<T>& v) { return group::exclusive_##name(v); })
                      switch (op) {
                          case 0: BY(add); break;
                          case 1: BY(mul); break;
                          case 2: BY(min); break;
                          case 3: BY(max); break;
                          default: break;
                      }
                      if constexpr (std::is_integral_v<T>) switch (op) {
                              case 4: BY(and); break;
                              case 5: BY(or); break;
                              case 6: BY(xor); break;
                              default: break;
                          }
#undef BY
                  });
}

template <class T> T combined(int op, T a, T b) {
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    switch (op) {
        case 0: return T(Wide(a) + Wide(b));
        case 1: return T(Wide(a) * Wide(b));
        case 2: return std::min(a, b);
        case 3: return std::max(a, b);
        default: break;
    }
    if constexpr (std::is_integral_v<T>) return op == 4 ? T(a & b) : op == 5 ? T(a | b) : T(a ^ b);
    return a;
}

/// In groups of gh x gw over a range of h x w.
template <class T, class K> void check_operation(const K& k, int op, int h, int w, int gh, int gw) {
    SCOPED_TRACE(testing::Message() << "operation " << op << ", range " << h << " x " << w << ", group " << gh << " x " << gw);
    using Limits = std::numeric_limits<T>;
    const T none[] = {T(0),
                      T(1),
                      Limits::has_infinity ? Limits::infinity() : Limits::max(),
                      Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest(),
                      T(-1),
                      T(0),
                      T(0)};
    const int n = h * w;
    std::vector<T> x(size_t(n), T(0));
    // Floats are a few powers of two, so that sums and products are exact in any order.
    for (int i = 0; i < n; ++i)
        x[size_t(i)] = std::is_integral_v<T> ? T(uint64_t(i) * 0x9e3779b97f4a7c15ull >> 7)
                                             : T(i % 16 == 3   ? 2
                                                 : i % 16 == 9 ? 0.5
                                                               : 1);
    Array<T, 2> out = suite::device().zeros<T>({3, n});
    k(ndrange(h, w).group(gh, gw), out, suite::device().upload(x), w, 2);
    const auto got = out.download();
    std::vector<T> want(size_t(3 * n), T(0));
    for (int gi = 0; gi < h; gi += gh)
        for (int gj = 0; gj < w; gj += gw) {
            std::vector<int> items;
            for (int i = gi; i < std::min(gi + gh, h); ++i)
                for (int j = gj; j < std::min(gj + gw, w); ++j) items.push_back(i * w + j);
            T running = none[op];
            for (const int at : items) {
                want[size_t(2 * n + at)] = running;
                running = combined(op, running, x[size_t(at)]);
                want[size_t(n + at)] = running;
            }
            for (const int at : items) want[size_t(at)] = running;
        }
    for (int at = 0; at < 3 * n; ++at) ASSERT_EQ(got[size_t(at)], want[size_t(at)]) << "row " << at / n << ", item " << at % n;
}

/// Groups or rows that are no multiple of a subgroup, groups of one subgroup or a part of one, and partial groups.
constexpr int shapes[][4] = {{5, 9, 3, 4}, {1, 100, 1, 33}, {1, 1, 1, 1},     {1, 5, 1, 5},
                             {3, 7, 3, 7}, {9, 35, 8, 16},  {4, 100, 1, 127}, {40, 3, 32, 2}};

/// Checks the first `count` shapes.
template <class T> void check_shapes(std::initializer_list<int> ops, int count) {
    for (const int op : ops) {
        const auto k = by_operation<T>(op);
        for (const auto& [h, w, gh, gw] : std::span(shapes, size_t(count))) check_operation<T>(k, op, h, w, gh, gw);
    }
}

TEST(Device, GroupOperationsOfEveryKindInOddGroups) {
    check_shapes<int>({0}, int(std::size(shapes)));
    check_shapes<int>({1, 2, 3, 4, 5, 6}, 2);
}

TEST(Device, GroupOperationsOfOtherTypes) {
    check_shapes<float>({0, 1, 3}, 2);
    check_shapes<unsigned>({2}, 1);
    check_shapes<int64_t>({0, 2}, 1);
    if (suite::device().supports(Feature::int8)) check_shapes<int8_t>({2}, 1);
    if (suite::device().supports(Feature::int16)) check_shapes<uint16_t>({0}, 1);
    if (suite::device().supports(Feature::float64)) check_shapes<double>({2}, 1);
}

TEST(Device, GroupOperationsInTheLargestGroup) {
    const int size = suite::at_most_group(1024);
    check_operation<int>(by_operation<int>(0), 0, 1, 2 * size - 3, 1, size);
}

const auto ordered = kernel("ordered", [](Out<int> out, Out<unsigned> votes, In<int> x) {
    Local<int> neighbour(group_size_linear());
    auto i = global_index();
    auto l = local_index();
    neighbour[l] = x[i];
    // The operation is a barrier: all items see what the items wrote before it.
    const Val<int> sum = group::reduce_add(x[i]);
    const Val<int> items = group::reduce_add(Val<int>(1));
    const Val<bool> odd = group::reduce_xor(x[i] % 2 == 1), some = group::reduce_or(x[i] == 5),
                    each = group::reduce_and(x[i] < 90);
    // A value that is uniform in the group controls a loop with barriers.
    Var<int> turns = 0;
    $for(k, range(items % 5)) { turns += group::inclusive_max(x[i] % (k + 2)); }
    out[i] = sum + neighbour[(l + 1) % items] * 1000 + turns * 1000000;
    votes[i] = cast<unsigned>(odd) + 2u * cast<unsigned>(some) + 4u * cast<unsigned>(each);
});

TEST(Device, GroupOperationsAreBarriersAndTheirResultsMayControlLoops) {
    for (const auto& [n, group] : {std::pair(100, 33), {64, 64}, {7, 8}, {250, 100}}) {
        std::vector<int> x(size_t(n), 0);
        for (int i = 0; i < n; ++i) x[size_t(i)] = (i * 37 + 11) % 97;
        Array<int> out = suite::device().zeros<int>(n);
        Array<unsigned> votes = suite::device().zeros<unsigned>(n);
        ordered(ndrange(n).group(group), out, votes, suite::device().upload(x));
        const auto got = out.download();
        const auto got_votes = votes.download();
        for (int first = 0; first < n; first += group) {
            const int end = std::min(first + group, n), items = end - first;
            int sum = 0, odd = 0, some = 0, each = 1;
            for (int i = first; i < end; ++i) {
                const int v = x[size_t(i)];
                sum += v, odd ^= v % 2, some |= v == 5, each &= v < 90;
            }
            std::vector<int> most(5, 0);
            for (int i = first; i < end; ++i) {
                int turns = 0;
                for (int k = 0; k < items % 5; ++k) turns += most[size_t(k)] = std::max(most[size_t(k)], x[size_t(i)] % (k + 2));
                const int next = x[size_t(first + (i - first + 1) % items)];
                ASSERT_EQ(got[size_t(i)], sum + next * 1000 + turns * 1000000) << n << ", " << group << ": " << i;
                ASSERT_EQ(got_votes[size_t(i)], unsigned(odd + 2 * some + 4 * each)) << i;
            }
        }
    }
}

const auto whole = kernel("whole_sum", whole_groups, [](Out<int> out) {
    auto i = global_index();
    const Val<int> sum = group::reduce_add(Val<int>(1));
    $if(in_range()) { out[i] = sum; }
});

TEST(Device, GroupOperationsOfWholeGroupsCountAllItems) {
    Array<int> out = suite::device().zeros<int>(10);
    whole(ndrange(10).group(8), out);
    EXPECT_EQ(out.download(), std::vector<int>(10, 8));
}

const auto in_loops = kernel("in_loops", [](InOut<int> x, Val<int> times) {
    auto i = global_index();
    $for(k, range(times)) { x[i] = x[i] + group::reduce_max(x[i]) + k; }
});

TEST(Device, GroupOperationsInLoops) {
    Array<int> x = suite::device().upload<int>({1, 2, 3, 4, 5});
    in_loops(ndrange(5).group(3), x, 3);
    std::vector<int> want{1, 2, 3, 4, 5};
    for (int k = 0; k < 3; ++k) {
        const int a = std::max({want[0], want[1], want[2]}), b = std::max(want[3], want[4]);
        for (int i = 0; i < 5; ++i) want[size_t(i)] += (i < 3 ? a : b) + k;
    }
    EXPECT_EQ(x.download(), want);
}

}  // namespace

namespace group_test {
struct Extreme {
    float value;
    int where;
};
}  // namespace group_test
PUMICE_STRUCT(group_test::Extreme, value, where);

namespace {
using group_test::Extreme;

const auto find_largest = kernel("find_largest", [](Out<Extreme> out, In<float> x) {
    auto i = global_index();
    Var<Extreme> mine = Extreme{0, 0};
    mine.value = x[i];
    mine.where = i;
    const Val<Extreme> best = group::reduce(mine, [](const Val<Extreme>& a, const Val<Extreme>& b) {
        Var<Extreme> r = a;
        $if(b.value > a.value) { r = b; }
        return Val<Extreme>(r);
    });
    out[i] = best;
});

TEST(Device, GroupReduceOfAStructByALambda) {
    Array<float> x = suite::device().upload<float>({1, 5, 3, 2, 9, 4, 8});
    Array<Extreme> out = suite::device().zeros<Extreme>(7);
    find_largest(ndrange(7).group(4), out, x);
    const auto got = out.download();
    for (int i = 0; i < 7; ++i) EXPECT_EQ(got[size_t(i)].where, i < 4 ? 1 : 4) << i;
}

}  // namespace
