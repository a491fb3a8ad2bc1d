// Kernels with groups and barriers: scans and sorts.
#include "bench/corpus/groups.h"
#include "bench/corpus/groups_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- bitonic_sort: a bitonic network; steps over short distances in local memory, the others one launch each ----
constexpr int sort_bits = 9, sort_block = 1 << sort_bits, sort_items = sort_block / 2;

/// Compares two elements `distance` apart; sequences of `size` are in turns ascending and descending.
template <class Keys> void compare(Keys&& keys, const Val<int>& low, const Val<int>& distance, const Val<bool>& up) {
    const auto a = keys[low], b = keys[low + distance];
    const auto swap = (a > b) == up;
    keys[low] = select(swap, b, a);
    keys[low + distance] = select(swap, a, b);
}
/// The first element of pair p among elements in pairs `distance` apart.
Val<int> first_of_pair(const Val<int>& p, const Val<int>& distance) { return 2 * p - (p & (distance - 1)); }

const auto sort_blocks = kernel("bitonic_blocks", static_group<sort_items>, [](Out<uint32_t> keys, In<uint32_t> input) {
    Local<uint32_t, sort_block> block;
    auto l = local_index();
    const auto base = group_index() * sort_block;
    block[l] = input[base + l];
    block[l + sort_items] = input[base + l + sort_items];
    synchronize();
    $for(bits, range(1, sort_bits + 1)) {
        const auto up = ((base + 2 * l) >> bits & 1) == 0;
        $for(bit, range(bits - 1, -1, -1)) {
            const auto distance = 1 << bit;
            compare(block, first_of_pair(l, distance), distance, up);
            synchronize();
        }
    }
    keys[base + l] = block[l];
    keys[base + l + sort_items] = block[l + sort_items];
});
const auto sort_step = kernel("bitonic_step", [](InOut<uint32_t> keys, Val<int> size, Val<int> distance) {
    const auto low = first_of_pair(global_index(), distance);
    compare(keys, low, distance, (low & size) == 0);
});
const auto merge_blocks = kernel("bitonic_merge", static_group<sort_items>, [](InOut<uint32_t> keys, Val<int> size) {
    Local<uint32_t, sort_block> block;
    auto l = local_index();
    const auto base = group_index() * sort_block;
    block[l] = keys[base + l];
    block[l + sort_items] = keys[base + l + sort_items];
    synchronize();
    for (int distance = sort_items; distance >= 1; distance /= 2) {
        compare(block, first_of_pair(l, distance), distance, (base & size) == 0);
        synchronize();
    }
    keys[base + l] = block[l];
    keys[base + l + sort_items] = block[l + sort_items];
});

Kernel bitonic_sort() {
    return compared("bitonic_sort", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 2048 : 1 << 18;
        const auto input = on.of(uniform<uint32_t>(size_t(n), 1, 0, 1u << 31)), keys = zeros<uint32_t>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(keys), [=] {
                const Range pairs = ndrange(n / 2);
                sort_blocks(pairs, keys, input);
                for (int size = 2 * sort_block; size <= n; size *= 2) {
                    for (int distance = size / 2; distance > sort_items; distance /= 2) sort_step(pairs, keys, size, distance);
                    merge_blocks(pairs, keys, size);
                }
            });
        else
            return side(results_in(keys), [=] { openmp::bitonic_sort(keys, input, n); });
    });
}

// ---- exclusive_scan: sums of all elements before each; sums of blocks, their scan, the scan of each block ----
constexpr int scan_items = 256;

const auto sum_blocks = kernel("sum_blocks", [](Out<uint32_t> sums, In<uint32_t> x) {
    const auto sum = group::reduce_add(x[global_index()]);
    $if(local_index() == 0) { sums[group_index()] = sum; }
});
/// By one group, each item of which takes consecutive elements.
const auto scan_in_place = kernel("scan_in_place", static_group<scan_items>, [](InOut<uint32_t> x) {
    auto l = local_index();
    const auto n = x.size(0), each = (n + scan_items - 1) / scan_items;
    const auto from = min(l * each, n), to = min(from + each, n);
    Var sum = 0u;
    $for(i, range(from, to)) { sum += x[i]; }
    Var before = group::exclusive_add(sum);
    $for(i, range(from, to)) {
        const auto here = x[i];
        x[i] = before;
        before += here;
    }
});
const auto scan_blocks = kernel("scan_blocks", [](Out<uint32_t> y, In<uint32_t> x, In<uint32_t> before) {
    auto i = global_index();
    y[i] = before[group_index()] + group::exclusive_add(x[i]);
});

Kernel exclusive_scan() {
    return compared("exclusive_scan", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 5003 : 8'000'003;
        const auto x = on.of(uniform<uint32_t>(size_t(n), 1, 0, 1000)), y = zeros<uint32_t>(on, n),
                   sums = zeros<uint32_t>(on, (n + scan_items - 1) / scan_items);
        if constexpr (on.ours)
            return side(on.device, results_in(y), [=] {
                const Range blocks = ndrange(n).group(scan_items);
                sum_blocks(blocks, sums, x);
                scan_in_place(ndrange(scan_items), sums);
                scan_blocks(blocks, y, x, sums);
            });
        else
            return side(results_in(y), [=] { openmp::exclusive_scan(y, x, n); });
    });
}

// ---- radix_pass: one pass of a radix sort ----

/// Sorts keys, with their values, stably by one digit (4 bits). Three kernels: count the digits of each block of 256 keys; scan
/// the counts, digit by digit, so that each block knows where its keys of a digit begin; sort each block by one bit after the
/// other (split: zeros before ones) and write its keys there.
constexpr int digit_bits = 4, digits = 1 << digit_bits, radix_items = 256;

const auto digit_of = [](const Val<uint32_t>& key, const Val<int>& shift) { return key >> shift & uint32_t(digits - 1); };

const auto count_digits = kernel("radix_count", whole_groups, [](Out<uint32_t, 2> counts, In<uint32_t> keys, Val<int> shift) {
    Local<uint32_t, digits> count;
    auto l = local_index();
    $if(l < digits) { count[l] = 0u; }
    synchronize();
    $if(in_range()) { atomic_add(count[digit_of(keys[global_index()], shift)], 1u); }
    synchronize();
    $if(l < digits) { counts(l, group_index()) = count[l]; }
});
/// Sorts the block by one bit after the other. Items past the range have the greatest digit and stay last.
const auto scatter_digits = kernel("radix_scatter", whole_groups, static_group<radix_items>,
                                   [](Out<uint32_t> keys, Out<uint32_t> values, In<uint32_t> keys_in, In<uint32_t> values_in,
                                      In<uint32_t, 2> starts, Val<int> shift) {
                                       Local<uint32_t, radix_items> key, value;
                                       Local<int, digits> first;
                                       auto l = local_index();
                                       const auto n = keys_in.size(0), i = global_index();
                                       Var my_key = 0xffffffffu, my_value = 0u;
                                       $if(in_range()) {
                                           my_key = keys_in[i];
                                           my_value = values_in[i];
                                       }
                                       for (int bit = 0; bit < digit_bits; ++bit) {
                                           const auto set = cast<int>(my_key >> (shift + bit) & 1u);
                                           const auto ones_before = group::exclusive_add(set);
                                           const auto zeros = radix_items - group::reduce_add(set);
                                           const auto place = select(set == 1, zeros + ones_before, l - ones_before);
                                           key[place] = my_key;
                                           value[place] = my_value;
                                           synchronize();
                                           my_key = key[l];
                                           my_value = value[l];
                                           synchronize();
                                       }
                                       const auto digit = digit_of(my_key, shift);
                                       $if(l == 0 || digit_of(key[max(l - 1, 0)], shift) != digit) { first[digit] = l; }
                                       synchronize();
                                       $if(l < n - group_index() * radix_items) {
                                           const auto place = starts(digit, group_index()) + cast<uint32_t>(l - first[digit]);
                                           keys[place] = my_key;
                                           values[place] = my_value;
                                       }
                                   });

Kernel radix_pass() {
    return compared("radix_pass", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 1777 : 1'500'001, blocks = (n + radix_items - 1) / radix_items, shift = 8;
        const auto keys_in = on.of(uniform<uint32_t>(size_t(n), 1, 0, 1u << 31)),
                   values_in = on.of(uniform<uint32_t>(size_t(n), 2, 0, 1u << 31)), keys = zeros<uint32_t>(on, n),
                   values = zeros<uint32_t>(on, n);
        const auto counts = zeros<uint32_t>(on, {digits, blocks});
        if constexpr (on.ours)
            return side(on.device, results_in(keys, values), [=] {
                const Range blocks = ndrange(n).group(radix_items);
                count_digits(blocks, counts, keys_in, shift);
                scan_in_place(ndrange(scan_items), counts.flat());
                scatter_digits(blocks, keys, values, keys_in, values_in, counts, shift);
            });
        else
            return side(results_in(keys, values), [=] { openmp::radix_pass(keys, values, keys_in, values_in, n, shift); });
    });
}

}  // namespace

std::vector<Kernel> sorting() { return {bitonic_sort(), exclusive_scan(), radix_pass()}; }

}  // namespace bench::corpus
