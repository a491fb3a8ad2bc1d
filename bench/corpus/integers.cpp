// Hashes, ciphers, strings, numbers.
#include "bench/corpus/corpus.h"
#include "bench/corpus/integers_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

/// Random words; every bit is drawn.
std::vector<uint32_t> words(size_t count, uint32_t seed) {
    std::vector<uint32_t> out(count);
    uint64_t state = seed;
    for (uint32_t& v : out) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v = uint32_t(state >> 32);
    }
    return out;
}
std::vector<uint64_t> long_words(size_t count, uint32_t seed) {
    const std::vector<uint32_t> halves = words(2 * count, seed);
    std::vector<uint64_t> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = uint64_t(halves[2 * i]) << 32 | halves[2 * i + 1];
    return out;
}

Val<uint32_t> rotate_right(Val<uint32_t> x, int n) { return x >> n | x << (32 - n); }
Val<uint32_t> rotate_left(Val<uint32_t> x, int n) { return x << n | x >> (32 - n); }
Val<uint64_t> rotate_left(Val<uint64_t> x, int n) { return x << n | x >> (64 - n); }

// ---- sha256: SHA-256 of messages of 32 bytes, a message an item ----
const std::vector<uint32_t> sha256_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

const auto sha256_kernel = kernel("sha256", [](Out<uint32_t, 2> digests, In<uint32_t, 2> messages, In<uint32_t> constants) {
    auto m = global_index();
    Private<uint32_t, 64> w;
    for (int k = 0; k < 16; ++k) w[k] = 0u;
    for (int k = 0; k < 8; ++k) w[k] = messages(m, k);
    w[8] = 0x80000000u;
    w[15] = 256u;
    $for(k, range(16, 64)) {
        auto x = w[k - 15], y = w[k - 2];
        auto low = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
        auto high = rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10;
        w[k] = w[k - 16] + low + w[k - 7] + high;
    }
    const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    Var a = start[0], b = start[1], c = start[2], d = start[3], e = start[4], f = start[5], g = start[6], h = start[7];
    $for(k, range(64)) {
        auto choice = g ^ (e & (f ^ g)), majority = (a & b) | (c & (a | b));
        Val t = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + choice + constants[k] + w[k];
        Val u = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + majority;
        h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    digests(m, 0) = a + start[0], digests(m, 1) = b + start[1], digests(m, 2) = c + start[2], digests(m, 3) = d + start[3];
    digests(m, 4) = e + start[4], digests(m, 5) = f + start[5], digests(m, 6) = g + start[6], digests(m, 7) = h + start[7];
});

Kernel sha256() {
    const auto count_of = [](Size size) { return size == Size::test ? 205 : 120001; };
    return compared("sha256", 0, count_of, [=](auto on, int n) {
        const auto messages = on.of(words(size_t(n) * 8, 1), {n, 8});
        const auto digests = zeros<uint32_t>(on, {n, 8});
        const auto constants = on.of(sha256_constants);
        if constexpr (on.ours)
            return side(on.device, results_in(digests), [=] { sha256_kernel(ndrange(n), digests, messages, constants); });
        else
            return side(results_in(digests), [=] { openmp::sha256(digests, messages, constants, n); });
    });
}

// ---- chacha20: a buffer encrypted by the ChaCha20 stream, a block of 64 bytes an item ----
const auto chacha20_kernel =
    kernel("chacha20", [](Out<uint32_t, 2> cipher, In<uint32_t, 2> text, In<uint32_t> key, In<uint32_t> nonce) {
        auto block = global_index();
        const auto fill = [&](Private<uint32_t, 16>& x) {
            x[0] = 0x61707865u, x[1] = 0x3320646eu, x[2] = 0x79622d32u, x[3] = 0x6b206574u;
            for (int k = 0; k < 8; ++k) x[4 + k] = key[k];
            x[12] = cast<uint32_t>(block);
            for (int k = 0; k < 3; ++k) x[13 + k] = nonce[k];
        };
        Private<uint32_t, 16> x, start;
        fill(x), fill(start);
        const auto quarter = [&](int a, int b, int c, int d) {
            x[a] += x[b], x[d] = rotate_left(x[d] ^ x[a], 16);
            x[c] += x[d], x[b] = rotate_left(x[b] ^ x[c], 12);
            x[a] += x[b], x[d] = rotate_left(x[d] ^ x[a], 8);
            x[c] += x[d], x[b] = rotate_left(x[b] ^ x[c], 7);
        };
        $for(round, range(10)) {
            quarter(0, 4, 8, 12), quarter(1, 5, 9, 13), quarter(2, 6, 10, 14), quarter(3, 7, 11, 15);
            quarter(0, 5, 10, 15), quarter(1, 6, 11, 12), quarter(2, 7, 8, 13), quarter(3, 4, 9, 14);
        }
        for (int k = 0; k < 16; ++k) cipher(block, k) = text(block, k) ^ (x[k] + start[k]);
    });

Kernel chacha20() {
    const auto count_of = [](Size size) { return size == Size::test ? 203 : 240001; };
    return compared("chacha20", 0, count_of, [=](auto on, int n) {
        const auto text = on.of(words(size_t(n) * 16, 2), {n, 16});
        const auto cipher = zeros<uint32_t>(on, {n, 16});
        const auto key = on.of(words(8, 3)), nonce = on.of(words(3, 4));
        if constexpr (on.ours)
            return side(on.device, results_in(cipher), [=] { chacha20_kernel(ndrange(n), cipher, text, key, nonce); });
        else
            return side(results_in(cipher), [=] { openmp::chacha20(cipher, text, key, nonce, n); });
    });
}

// ---- xxhash64: XXH64 of records of 128 bytes, a record an item ----
const auto xxhash64_kernel = kernel("xxhash64", [](Out<uint64_t> hashes, In<uint64_t, 2> records, Val<uint64_t> seed) {
    const uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9, p4 = 0x85EBCA77C2B2AE63;
    auto r = global_index();
    Var a = seed + (p1 + p2), b = seed + p2, c = seed, d = seed - p1;
    const auto round = [&](Val<uint64_t> lane, Val<uint64_t> word) { return rotate_left(lane + word * p2, 31) * p1; };
    $for(k, range(0, records.size(1), 4)) {
        a = round(a, records(r, k));
        b = round(b, records(r, k + 1));
        c = round(c, records(r, k + 2));
        d = round(d, records(r, k + 3));
    }
    Var h = rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
    for (auto lane : {Val<uint64_t>(a), Val<uint64_t>(b), Val<uint64_t>(c), Val<uint64_t>(d)})
        h = (h ^ rotate_left(lane * p2, 31) * p1) * p1 + p4;
    h += cast<uint64_t>(records.size(1)) * 8;
    h = (h ^ h >> 33) * p2;
    h = (h ^ h >> 29) * p3;
    hashes[r] = h ^ h >> 32;
});

Kernel xxhash64() {
    const auto count_of = [](Size size) { return size == Size::test ? 1003 : 300001; };
    const int length = 16;
    return compared("xxhash64", 0, count_of, [=](auto on, int n) {
        const auto records = on.of(long_words(size_t(n) * length, 5), {n, length});
        const auto hashes = zeros<uint64_t>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(hashes), [=] { xxhash64_kernel(ndrange(n), hashes, records, 42); });
        else
            return side(results_in(hashes), [=] { openmp::xxhash64(hashes, records, n, length, 42); });
    });
}

// ---- crc32: CRC-32 of rows of 252 bytes, four bytes a step by four tables, a row an item ----
const auto crc32_kernel = kernel("crc32", [](Out<uint32_t> sums, In<uint32_t, 2> rows, In<uint32_t, 2> tables) {
    auto r = global_index();
    Var sum = ~0u;
    $for(k, range(rows.size(1))) {
        auto x = sum ^ rows(r, k);
        sum = tables(3, x & 255u) ^ tables(2, x >> 8 & 255u) ^ tables(1, x >> 16 & 255u) ^ tables(0, x >> 24);
    }
    sums[r] = ~sum;
});

Kernel crc32() {
    const auto tables_of = [] {
        std::vector<uint32_t> tables(4 * 256);
        for (uint32_t byte = 0; byte < 256; ++byte) {
            uint32_t x = byte;
            for (int bit = 0; bit < 8; ++bit) x = x >> 1 ^ (x & 1 ? 0xedb88320 : 0);
            tables[byte] = x;
        }
        for (size_t k = 256; k < tables.size(); ++k) tables[k] = tables[k - 256] >> 8 ^ tables[tables[k - 256] & 255];
        return tables;
    };
    const auto count_of = [](Size size) { return size == Size::test ? 205 : 120003; };
    const int length = 63;
    return compared("crc32", 0, count_of, [=](auto on, int n) {
        const auto rows = on.of(words(size_t(n) * length, 6), {n, length});
        const auto tables = on.of(tables_of(), {4, 256});
        const auto sums = zeros<uint32_t>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(sums), [=] { crc32_kernel(ndrange(n), sums, rows, tables); });
        else
            return side(results_in(sums),
                        [=] { openmp::crc32(sums, rows, reinterpret_cast<const uint32_t(*)[256]>(tables.data()), n, length); });
    });
}

// ---- find_patterns: how often each of a few patterns occurs in a text of four letters, a position an item ----
const auto find_patterns_kernel =
    kernel("find_patterns", [](InOut<int32_t> counts, In<uint8_t> text, In<uint8_t, 2> patterns, In<int32_t> lengths) {
        auto i = global_index();
        $for(p, range(patterns.size(0))) {
            Var same = true;
            $for(k, range(lengths[p])) { same = same && text[i + k] == patterns(p, k); }
            $if(same) { atomic_add(counts[p], 1); }
        }
    });

Kernel find_patterns() {
    struct Shape {
        explicit Shape(Size size) : positions(size == Size::test ? 5003 : 12000001) {}
        int positions;
        int width = 8;
        std::vector<int32_t> lengths{6, 8, 5, 7};
        std::vector<uint8_t> letters(size_t count, uint32_t seed) const {
            std::vector<uint8_t> out(count);
            const std::vector<uint32_t> drawn = words(count, seed);
            for (size_t i = 0; i < count; ++i) out[i] = uint8_t("acgt"[drawn[i] >> 30]);
            return out;
        }
        std::vector<uint8_t> text() const { return letters(size_t(positions + width), 7); }
        std::vector<uint8_t> patterns() const { return letters(lengths.size() * size_t(width), 8); }
    };
    return compared<Shape>("find_patterns", 0, [](auto on, const Shape& s) {
        const int count = int(s.lengths.size());
        const auto text = on.of(s.text());
        const auto patterns = on.of(s.patterns(), {count, s.width});
        const auto lengths = on.of(s.lengths), counts = zeros<int32_t>(on, count);
        if constexpr (on.ours)
            return side(on.device, results_in(counts), [=] {
                counts.fill(0);
                find_patterns_kernel(ndrange(s.positions), counts, text, patterns, lengths);
            });
        else
            return side(results_in(counts), [=] {
                openmp::find_patterns(counts, text, patterns, lengths, s.positions, int(s.lengths.size()), s.width);
            });
    });
}

// ---- nearest_fingerprint: for each query the fingerprint of 64 bits at the least Hamming distance ----
const auto nearest_fingerprint_kernel =
    kernel("nearest_fingerprint", [](Out<int32_t> nearest, In<uint64_t> queries, In<uint64_t> fingerprints) {
        auto q = global_index();
        auto query = queries[q];
        Var<uint64_t> least = uint64_t(65);
        Var best = 0;
        $for(k, range(fingerprints.size(0))) {
            auto distance = popcount(query ^ fingerprints[k]);
            $if(distance < least) {
                least = distance;
                best = k;
            }
        }
        nearest[q] = best;
    });

Kernel nearest_fingerprint() {
    struct Shape {
        explicit Shape(Size size) : queries(size == Size::test ? 99 : 3003), fingerprints(size == Size::test ? 157 : 4001) {}
        int queries, fingerprints;
    };
    return compared<Shape>("nearest_fingerprint", 0, [](auto on, const Shape& s) {
        const auto queries = on.of(long_words(size_t(s.queries), 9));
        const auto fingerprints = on.of(long_words(size_t(s.fingerprints), 10));
        const auto nearest = zeros<int32_t>(on, s.queries);
        if constexpr (on.ours)
            return side(on.device, results_in(nearest),
                        [=] { nearest_fingerprint_kernel(ndrange(s.queries), nearest, queries, fingerprints); });
        else
            return side(results_in(nearest),
                        [=] { openmp::nearest_fingerprint(nearest, queries, fingerprints, s.queries, s.fingerprints); });
    });
}

// ---- collatz: the number of steps from n to 1, for n of a range: loops of uneven length ----
const auto collatz_kernel = kernel("collatz", [](Out<uint32_t> steps, Val<uint64_t> first) {
    auto i = global_index();
    Var n = first + cast<uint64_t>(i);
    auto twos = ctz(n);
    n >>= twos;
    Var done = cast<uint32_t>(twos);
    $while(n != 1u) {
        n = 3u * n + 1u;
        auto zeros = ctz(n);
        n >>= zeros;
        done += cast<uint32_t>(zeros) + 1u;
    }
    steps[i] = done;
});

Kernel collatz() {
    const auto count_of = [](Size size) { return size == Size::test ? 157 : 120001; };
    const uint64_t first = 1'000'000'007;
    return compared("collatz", 0, count_of, [=](auto on, int n) {
        const auto steps = zeros<uint32_t>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(steps), [=] { collatz_kernel(ndrange(n), steps, first); });
        else
            return side(results_in(steps), [=] { openmp::collatz(steps, first, n); });
    });
}

// ---- miller_rabin: which of many numbers are prime, by powers modulo the number to the bases 2, 7 and 61 ----
const auto miller_rabin_kernel = kernel("miller_rabin", [](Out<int32_t> prime, In<uint32_t> numbers) {
    auto i = global_index();
    auto n = cast<uint64_t>(numbers[i]);
    auto twos = ctz(n - 1u);
    Var passed = 1;
    for (const uint64_t base : {2, 7, 61}) {
        $if(passed != 0) {
            Var power = Val<uint64_t>(1u), square = Val<uint64_t>(base), exponent = (n - 1u) >> twos;
            $while(exponent != 0u) {
                $if((exponent & 1u) != 0u) { power = power * square % n; }
                square = square * square % n;
                exponent >>= 1;
            }
            Var found = power == 1u || power == n - 1u;
            $for(k, range(1u, twos)) {
                $if(found) { $break; }
                power = power * power % n;
                found = power == n - 1u;
            }
            $if(!found) { passed = 0; }
        }
    }
    prime[i] = passed;
});

Kernel miller_rabin() {
    const auto numbers_of = [](Size size) {
        std::vector<uint32_t> numbers = words(size == Size::test ? 157 : 60001, 11);
        for (uint32_t& n : numbers) n |= 65;
        return numbers;
    };
    return compared("miller_rabin", 0, numbers_of, [](auto on, const std::vector<uint32_t>& drawn) {
        const auto numbers = on.of(drawn);
        const int n = int(numbers.size());
        const auto prime = zeros<int32_t>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(prime), [=] { miller_rabin_kernel(ndrange(n), prime, numbers); });
        else
            return side(results_in(prime), [=] { openmp::miller_rabin(prime, numbers, int(numbers.size())); });
    });
}

// ---- decode_runs: runs of equal words written out, 32 words an item that finds its first run by binary search ----
const auto decode_runs_kernel = kernel("decode_runs", [](Out<uint32_t> out, In<int32_t> starts, In<uint32_t> values) {
    auto begin = global_index() * 32, end = min(begin + 32, out.size(0));
    Var low = 0, high = values.size(0);
    $while(high - low > 1) {
        auto middle = (low + high) / 2;
        $if(starts[middle] <= begin) { low = middle; }
        $else { high = middle; }
    }
    $for(i, range(begin, end)) {
        $while(starts[low + 1] <= i) { ++low; }
        out[i] = values[low];
    }
});

Kernel decode_runs() {
    return compared("decode_runs", 0, [](auto on, Size size) {
        const int runs = size == Size::test ? 301 : 300001;
        const auto host_starts = [&] {
            std::vector<int32_t> out(size_t(runs) + 1);
            const std::vector<uint32_t> drawn = words(size_t(runs), 12);
            for (size_t r = 0; r < drawn.size(); ++r) out[r + 1] = out[r] + 1 + int32_t((drawn[r] >> 16) * uint64_t(40) >> 16);
            return out;
        };
        const auto starts = on.of(host_starts());
        const auto values = on.of(words(size_t(runs), 13)), out = zeros<uint32_t>(on, host_starts().back());
        if constexpr (on.ours)
            return side(on.device, results_in(out),
                        [=] { decode_runs_kernel(ndrange((out.size(0) + 31) / 32), out, starts, values); });
        else
            return side(results_in(out), [=] { openmp::decode_runs(out, starts, values, runs); });
    });
}

}  // namespace

std::vector<Kernel> integers() {
    return {sha256(),  chacha20(),     xxhash64(),   crc32(), find_patterns(), nearest_fingerprint(),
            collatz(), miller_rabin(), decode_runs()};
}

}  // namespace bench::corpus
