// Random words of rows: items load and store words of their rows in any order, at a constant distance or in rows anywhere, beside
// the same on the host. The groups of accesses that the CPU makes of them overlap, have gaps, and lie around each other.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <random>

#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

/// An item adds `more` to the word `from` of its row, of the input or of the output, and stores the sum in the word `to` of its
/// row of the output.
struct Move {
    int from, to, more;
    bool of_output;
};

template <class T> void compare(const Device& device, uint64_t seeds) {
    fuzz::each_seed(seeds, [&](uint64_t seed) {
        std::mt19937_64 random(seed * 6151);
        const auto roll = [&](int n) { return int(random() % uint64_t(n)); };
        const int words = roll(2) ? 2 + roll(15) : 2 + roll(40), rows = 1 + roll(90), near = 1 + roll(words);
        const bool is_anywhere = roll(2) == 0, in_any_order = roll(2) == 0;
        std::vector<Move> moves;
        for (int n = 1 + roll(roll(3) ? 12 : 40); n > 0; --n)
            moves.push_back({roll(near), in_any_order ? roll(words) : (moves.empty() ? 0 : moves.back().to + 1) % words, roll(9),
                             roll(4) == 0});
        std::vector<int32_t> order(static_cast<size_t>(rows));
        for (int i = 0; i < rows; ++i) order[size_t(i)] = is_anywhere ? (i + rows / 3) % rows : i;
        std::vector<T> input(static_cast<size_t>(rows * words)), output;
        for (size_t i = 0; i < input.size(); ++i) input[i] = T(i * 37 % 101);
        output = input;

        const auto k = kernel("random_words", [&](InOut<T> out, In<T> in, In<int> order) {
            const auto i = global_index();
            const Val<int> row = is_anywhere ? order[i] * words : i * words;
            for (const Move& m : moves) {
                const Val<T> x = m.of_output ? Val<T>(out[row + m.from]) : Val<T>(in[row + m.from]);
                out[row + m.to] = x + T(m.more);
            }
        });
        const Array<T> got = device.upload(output);
        k(ndrange(rows), got, device.upload(input), device.upload(order));
        for (const int32_t r : order) {
            const auto at = [&](int word) { return size_t(r * words + word); };
            for (const Move& m : moves) output[at(m.to)] = T((m.of_output ? output : input)[at(m.from)] + T(m.more));
        }
        ASSERT_EQ(got.download(), output) << "PUMICE_FUZZ_SEED=" << seed << ": " << words << " words, " << rows << " rows\n"
                                          << k.ir();
    });
}

TEST(RandomWords, OfRowsAreThoseOfTheHost) {
    const Device& device = kept_device->get();
    const uint64_t seeds = device.name() == "interp" ? 20 : 60;
    compare<float>(device, seeds);
    compare<uint32_t>(device, seeds);
    if (device.supports(Feature::float64)) compare<double>(device, seeds / 2);
    if (device.supports(Feature::int16)) compare<uint16_t>(device, seeds / 2);
    if (device.supports(Feature::int8)) compare<uint8_t>(device, seeds / 2);
}

}  // namespace
