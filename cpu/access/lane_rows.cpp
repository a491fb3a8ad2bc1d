// Lane rows: adjacent words of rows that lie anywhere, one row a lane, move as short vectors of each row.
//
// Why: in points(i, 0), points(i, 1), points(i, 2), or in table[j] and table[j + 1], the rows of two lanes are a distance apart
// that is unknown when the code is made. A gather or scatter a word takes one access for each lane and word, and several
// instructions of the processor for each of these.
//
//     before:  %a = gather <8 x ptr> (row[lane])           after, for each lane: %v = load <4 x float>, ptr row[lane]
//              %b = gather <8 x ptr> (row[lane] + 4)                 4 x 4 blocks transposed in registers: %a, %b, %c, %d
//              %c = gather <8 x ptr> (row[lane] + 8)
//              %d = gather <8 x ptr> (row[lane] + 12)
//
// Stores go the other way, if the words have no gap. Loads move up to the first load, stores down to the last store; nothing
// between touches the same words. Rows of whole vectors are transposed as squares.
// Cost: an access for each lane and four words, and about two shuffles a vector.
// Limits: words of 4 or 8 bytes; at most 16 words a row, of which at least half of each four are used; complete packets of at
// least 4 lanes; of local memory only members of structs. A constant stride of at most 16 words is an interleaved group
// (interleaved_group.cpp) instead.
// Textbook: superword-level parallelism (Larsen and Amarasinghe, PLDI 2000) and in-register matrix transpose (Eklundh 1972).
#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "core/support/error.h"
#include "cpu/access/contiguity_check.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/lane_patterns.h"
#include "cpu/access/lane_rows.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/access/streaming_stores.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int most_words = 16;  ///< words of a row

/// Of accesses at distances from the one at 0, those that it reaches without a gap: stores must not write between them.
std::vector<AccessAt> beside(std::vector<AccessAt> all, int64_t word) {
    std::set<int64_t> at;
    for (const AccessAt& m : all) at.insert(m.at);
    int64_t first = 0, last = 0;
    while (at.count(first - word)) first -= word;
    while (at.count(last + word)) last += word;
    std::erase_if(all, [&](const AccessAt& m) { return m.at < first || m.at > last; });
    return all;
}

/// The first words of a row's short vectors. A vector has four words, or the whole row if that has fewer.
std::vector<int> pieces_of(int words, int quad) {
    std::vector<int> begins;
    for (int at = 0; at < words; at += quad) begins.push_back(std::max(0, std::min(at, words - quad)));
    return begins;
}

}  // namespace

// ---- which accesses ----

/// True if the lanes' words may lie in rows anywhere.
bool LaneRows::may_lie_in_lane_rows(const Inst& i) const {
    if ((i.op != Op::load && i.op != Op::store) || k[i.memory].kind == MemoryKind::private_ || plan.sum_lanes[i.memory.id] > 0)
        return false;
    // Scalars of local memory were often stored a short while ago, one by one: processors forward these to loads of one only.
    if (k[i.memory].kind == MemoryKind::local && k[i.memory].element.leaves.size() == 1) return false;
    if (!emit.memory.memory_offsets.empty() && emit.memory.staged(i.memory)) return false;  // LLVM promotes it to registers
    if (emit.accesses.in_tiles.count(&i) || i.type == Scalar::boolean) return false;
    const int word = size_of(i.type);
    if ((word != 4 && word != 8) || int(k[i.memory].element.size) % word != 0) return false;
    const auto indices = indices_of(k, i);
    for (const Value v : indices.first(indices.size() - 1))
        if (packet.kind_of(v) != ValueKind::uniform) return true;
    if (packet.kind_of(indices.back()) == ValueKind::uniform || emit.contiguity.checks_contiguity(i)) return false;
    // In an interior packet a boundary index is affine.
    if (!emit.pure.interior_values.empty() && packet.has_value[indices.back().id] &&
        packet.values[indices.back().id].kind != ValueKind::vector)
        return false;
    const auto step = emit.addresses.index_step(i, indices.back());
    return step ? std::abs(*step) > 1 : packet.kind_of(indices.back()) == ValueKind::vector;
}

/// The accesses of a block, from `id` on, to adjacent words of the lanes' rows.
std::optional<InterleavedGroup> LaneRows::lane_rows(InstId id) const {
    const Inst& i = k[id];
    if (!target.rules.has(Rule::lane_rows) || width < quad || !may_lie_in_lane_rows(i)) return std::nullopt;
    const int64_t word = size_of(i.type), lanes = std::min<int64_t>(width, 4 * target.width / word);
    if (lanes < quad || width % lanes != 0) return std::nullopt;
    InterleavedGroup s;
    s.apart = true, s.bytes = int(word), s.lanes = int(lanes);
    std::vector<AccessAt> members = emit.groups.accesses_with(id, 0), near;
    if (i.op == Op::store) members = beside(std::move(members), word);
    int64_t last = 0;
    for (const AccessAt& m : members) {
        const int64_t first = std::min(s.first, m.at), end = std::max(last, m.at);
        if (end - first >= most_words * word) continue;
        s.first = first, last = end;
        near.push_back(m);
    }
    std::set<int> words;
    for (const AccessAt& m : near) {
        s.accesses.push_back({m.inst, int((m.at - s.first) / word)});
        words.insert(s.accesses.back().second);
    }
    s.stride = int((last - s.first) / word) + 1;
    const bool full = int(words.size()) == s.stride;
    if (words.size() < 2 || (i.op == Op::store && !full)) return std::nullopt;
    if (2 * int(pieces_of(s.stride, quad).size()) > int(words.size())) return std::nullopt;
    return s;
}

// ---- the accesses ----

/// The address of each lane's first word.
std::vector<std::string> LaneRows::addresses_of_rows(const InterleavedGroup& s, const Address& a) {
    std::vector<std::string> rows;
    const Inst& i = *s.accesses[0].first;
    const auto indices = indices_of(k, i);
    const auto counts = [&](Value v) { return packet.kind_of(v) != ValueKind::vector; };
    const auto lane = [&](int n) {
        const std::string one = out.extract("ptr", a.pointer, std::to_string(n));
        return s.first == 0 ? one : out.let(text("getelementptr i8, ptr ", one, ", i64 ", s.first), "p");
    };
    if (const auto distances = emit.patterns.distances(i)) {
        // Lanes of one row get one address.
        rows.push_back(lane(0));
        for (int n = 1; n < width; ++n)
            rows.push_back((*distances)[size_t(n)] == 0 ? rows[0]
                                                        : out.let(text("getelementptr i8, ptr ", rows[0], ", i64 ",
                                                                       (*distances)[size_t(n)] * k[i.memory].element.size),
                                                                  "p"));
        return rows;
    }
    if (!std::all_of(indices.begin(), indices.end(), counts)) {
        for (int n = 0; n < width; ++n) rows.push_back(lane(n));
        return rows;
    }
    // Rows at equal distances: an addition a lane is cheaper than taking a vector apart.
    rows.push_back(lane(0));
    const std::string second = emit.streams.integer_address(lane(1));
    const std::string apart = out.let(text("sub i64 ", second, ", ", emit.streams.integer_address(rows[0])));
    for (int n = 1; n < width; ++n)
        rows.push_back(
            out.let(text("getelementptr i8, ptr ", rows[0], ", i64 ", out.let(text("mul i64 ", apart, ", ", n))), "p"));
    return rows;
}

/// Loads the words of the lanes' rows: nothing before the first word and nothing after the last one.
void LaneRows::load_lane_rows(InstId id, const InterleavedGroup& s) {
    const std::string t = text("i", 8 * s.bytes), four = text("<", quad, " x ", t, ">");
    const Address all = emit.addresses.access(*s.accesses[0].first);
    emit.prefetches.prefetch(id, all);
    const std::vector<std::string> rows = addresses_of_rows(s, all);
    const auto words_of = [&](const std::string& row, int first, int count) {
        return out.let(text("load ", count == 1 ? t : text("<", count, " x ", t, ">"), ", ptr ",
                            emit.groups.words_after(s, row, first), ", align ", s.bytes));
    };
    const auto piece = [&](const std::string& row, int first) {
        if (s.stride >= quad) return words_of(row, first, quad);
        const std::string two = emit.shuffles.resized(t, words_of(row, 0, 2), 2, quad);
        return s.stride == 2 ? two
                             : out.let(text("insertelement ", four, " ", two, ", ", t, " ", words_of(row, 2, 1), ", i64 2"));
    };
    const std::vector<int> begins = pieces_of(s.stride, quad);
    std::vector<std::vector<std::string>> parts(static_cast<size_t>(s.stride));  // vectors, by word
    for (int part = 0; part < width; part += s.lanes) {
        std::vector<std::string> columns(parts.size());
        const auto row = [&](int lane) { return rows[size_t(part + lane)]; };
        for (int at = 0; s.stride % s.lanes == 0 && at < s.stride; at += s.lanes) {
            std::vector<std::string> square;
            for (int lane = 0; lane < s.lanes; ++lane) square.push_back(words_of(row(lane), at, s.lanes));
            square = emit.shuffles.transposed(t, square);
            std::move(square.begin(), square.end(), columns.begin() + at);
        }
        for (size_t p = 0; s.stride % s.lanes != 0 && p < begins.size(); ++p) {
            const auto block = emit.shuffles.transposed(
                t, s.lanes, quad, [&](int lane, int) -> std::string { return piece(row(lane), begins[p]); });
            for (int c = 0; c < quad && begins[p] + c < s.stride; ++c) columns[size_t(begins[p] + c)] = block[size_t(c)];
        }
        for (size_t w = 0; w < parts.size(); ++w) parts[w].push_back(columns[w]);
    }
    emit.groups.keep_loaded(s, parts);
}

/// Stores the words of the lanes' rows.
void LaneRows::store_lane_rows(const PendingGroupStore& pending) {
    const InterleavedGroup& s = pending.all;
    const std::string t = text("i", 8 * s.bytes);
    const std::vector<std::string> of_word = emit.groups.stored_words(s, pending.given);
    const auto put = [&](const std::string& value, int count, const std::string& row, int first) {
        out.line(text("store ", count == 1 ? t : text("<", count, " x ", t, ">"), " ", value, ", ptr ",
                      emit.groups.words_after(s, row, first), ", align ", s.bytes));
    };
    const auto distances = emit.patterns.distances(*s.accesses[0].first);
    const bool adjacent = distances && int64_t(k[s.accesses[0].first->memory].element.size) == int64_t(s.stride) * s.bytes;
    for (int part = 0; part < width; part += s.lanes) {
        const std::vector<std::string> words = emit.groups.words_of_part(s, of_word, part);
        const auto runs = adjacent ? LanePatterns::runs_of(*distances, part, s.lanes) : std::vector<LanePatterns::Run>{};
        if (!runs.empty() && int(runs.size()) <= s.lanes / 2) {
            const int from = int(std::bit_ceil(unsigned(s.stride))) * s.lanes;
            const std::string together = emit.shuffles.concatenated(t, s.lanes, words);
            for (const auto& [lane, count] : runs)
                put(emit.shuffles.shuffled(
                        t, from, together, "poison", count * s.stride,
                        [&, first = lane - part](int word) { return word % s.stride * s.lanes + first + word / s.stride; }),
                    count * s.stride, pending.rows[size_t(lane)], 0);
            continue;
        }
        const auto row = [&](int lane) { return pending.rows[size_t(part + lane)]; };
        for (int at = 0; s.stride % s.lanes == 0 && at < s.stride; at += s.lanes) {
            const auto square =
                emit.shuffles.transposed(t, std::vector<std::string>(words.begin() + at, words.begin() + at + s.lanes));
            for (int lane = 0; lane < s.lanes; ++lane) put(square[size_t(lane)], s.lanes, row(lane), at);
        }
        if (s.stride % s.lanes == 0) continue;
        for (const int begin : pieces_of(s.stride, quad)) {
            std::array<std::string, quad> block;
            block.fill("poison");
            for (int c = 0; c < quad && begin + c < s.stride; ++c) block[size_t(c)] = words[size_t(begin + c)];
            emit.shuffles.transpose_blocks(block, t, s.lanes);
            for (int lane = 0; lane < s.lanes; ++lane) {
                const auto some = [&](int first, int count) {
                    return emit.shuffles.shuffled(t, s.lanes, block[size_t(lane % quad)], "poison", count,
                                                  [&](int n) { return lane / quad * quad + first + n; });
                };
                if (s.stride >= quad) {
                    put(some(0, quad), quad, row(lane), begin);
                    continue;
                }
                put(some(0, 2), 2, row(lane), 0);
                if (s.stride == 3)
                    put(out.let(text("extractelement <", s.lanes, " x ", t, "> ", block[size_t(lane % quad)], ", i64 ",
                                     lane / quad * quad + 2)),
                        1, row(lane), 2);
            }
        }
    }
}

}  // namespace pumice::cpu
