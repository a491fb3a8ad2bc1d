// Interleaved access groups: accesses with a constant stride between lanes (struct members, every third element) move together.
//
// Why: a gather or scatter takes one access for each lane. Members of a struct lie between each other, so a few whole vectors
// contain all of them; shuffles deinterleave these after loads and interleave before stores.
//
//     before:  %x = gather {p.x, stride 12}      after:  %a, %b, %c = 3 loads <8 x float> of 96 adjacent bytes
//              %y = gather {p.y, stride 12}              %x = lanes 0, 3, 6, ... of (%a, %b, %c)
//              %z = gather {p.z, stride 12}              %y = lanes 1, 4, 7, ...      %z = lanes 2, 5, 8, ...
//
// Loads move up to the first load of the group, stores down to the last store; nothing between touches the same words. Stores
// with gaps and packets with a tail use a mask over words. Even strides are split in halves recursively, odd ones by shuffles.
// Cost: about `stride` loads and at most stride * (stride - 1) shuffles a group, instead of `width` accesses a member.
// Limits: stride of at most 16 words; at least a quarter of the words must be used; packets of at least 4 lanes; masked packets
// only where the active lanes are consecutive and the target masks words (AVX-512; AVX2 from 4 bytes).
// Textbook: Nuzman, Rosen, Zaks, "Auto-vectorization of Interleaved Data for SIMD", PLDI 2006; LLVM InterleavedAccessInfo.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "core/analysis/element_accesses.h"
#include "core/support/error.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/lane_rows.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/access/streaming_stores.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/shuffles.h"
#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int most_words = 16;      ///< largest stride, in words
constexpr int most_compared = 64;   ///< accesses of a row's memory that are compared: keeps long blocks from quadratic time
constexpr int words_an_access = 4;  ///< most words of stride per word that is used: beyond, most of the traffic would be unused

}  // namespace

// ---- which accesses ----

/// The stride between lanes in bytes, if it is a constant and the access may join a group; else 0.
int64_t InterleavedGroups::stride_of(const Inst& i) const {
    if ((i.op != Op::load && i.op != Op::store) || k[i.memory].kind == MemoryKind::private_ || plan.sum_lanes[i.memory.id] > 0)
        return 0;
    if (emit.accesses.in_tiles.count(&i)) return 0;
    const auto indices = indices_of(k, i);
    const auto uniform = [&](Value v) { return packet.kind_of(v) == ValueKind::uniform; };
    if (packet.kind_of(indices.back()) != ValueKind::affine) return 0;
    const auto step = emit.addresses.index_step(i, indices.back());
    if (!step || *step <= 0 || *step > most_words) return 0;
    if (!std::all_of(indices.begin(), indices.end() - 1, uniform)) return 0;
    const int64_t stride = *step * int64_t(k[i.memory].element.size), word = size_of(i.type);
    return stride > word && stride <= most_words * word && stride % word == 0 ? stride : 0;
}

/// The constant distance in bytes from the address of `from` to that of `to`, in the same memory; empty if it is unknown.
std::optional<int64_t> InterleavedGroups::bytes_between(const Inst& from, const Inst& to) const {
    const Memory& m = k[from.memory];
    const auto a = indices_of(k, from), b = indices_of(k, to);
    int64_t elements = 0;
    for (size_t d = 0; d < a.size(); ++d) {
        const IndexPolynomial apart = difference(k, b[d], a[d]);
        if (!apart.is_constant() || (apart.constant != 0 && d + 1 < a.size())) return std::nullopt;
        elements = apart.constant;
    }
    return elements * int64_t(m.element.size) + int64_t(m.element.leaves[to.leaf].offset) -
           int64_t(m.element.leaves[from.leaf].offset);
}

/// True if the active lanes are consecutive and the target has masked vector accesses of such words.
bool InterleavedGroups::masks_words(int bytes) const {
    const bool follow = packet.running.first > 0 || !packet.running.to.empty();
    return follow && (target.isa == Isa::avx512 || (target.isa == Isa::avx2 && bytes >= 4));
}

/// True if a group that began before waits for the store.
bool InterleavedGroups::is_pending(const Inst* store) const {
    const auto waits = [&](const PendingGroupStore& group) {
        return std::ranges::any_of(group.all.accesses, [&](const auto& access) { return access.first == store; });
    };
    return std::ranges::any_of(pending_stores, waits);
}

/// The accesses of a block, from `id` on, that can move together with it: they access other words at the same stride, or of the
/// same row if `stride` is 0. Loads move up to the first of them, stores down to the last: legal, because nothing in between
/// touches the same words. Stores of pending groups stay there.
std::vector<AccessAt> InterleavedGroups::accesses_with(InstId id, int64_t stride) const {
    const Inst& i = k[id];
    const int64_t word = size_of(i.type), most = stride > 0 ? stride : most_words * word;
    std::vector<AccessAt> members{{&i, 0}}, others;  // others: writes between the loads
    const auto touches = [&](const std::vector<AccessAt>& all, const AccessAt& one) {
        return std::any_of(all.begin(), all.end(), [&](const AccessAt& m) {
            const int64_t between = one.at - m.at, size = size_of(m.inst->type), next = size_of(one.inst->type);
            if (stride == 0) return between < size && -between < next;
            const int64_t distance = (between % stride + stride) % stride;
            return distance < size || distance + next > stride;
        });
    };
    int compared = 0;
    each_access_after(k, packet.uniformity.structure().block_of(id), id, [&](const Inst& next) {
        if (stride == 0 && ++compared > most_compared) return false;
        const bool may_join = stride > 0 ? stride_of(next) == stride : emit.lane_rows.may_lie_in_lane_rows(next);
        const auto between = may_join ? bytes_between(i, next) : std::nullopt;
        const bool loads = i.op == Op::load, same = next.op == i.op;
        if (!between) return loads && same;
        const AccessAt member{&next, *between};
        const bool fits = size_of(next.type) == word && *between % word == 0 && std::abs(*between) < most;
        if (loads) {
            if (!same)
                others.push_back(member);
            else if (fits && !touches(others, member))
                members.push_back(member);
        } else {
            if (touches(members, member)) return false;
            if (same && fits && !is_pending(&next)) members.push_back(member);
        }
        return true;
    });
    return members;
}

/// An interleaved access group: the accesses that move together with `id`.
std::optional<InterleavedGroup> InterleavedGroups::interleaved_group(InstId id) const {
    if (!target.rules.has(Rule::interleaved_groups)) return {};
    const Inst& i = k[id];
    const int64_t stride = stride_of(i), word = size_of(i.type), lanes = std::min<int64_t>(width, 4 * target.width / word);
    if (stride == 0 || width < quad || lanes < 2 || !(packet.running.all() || masks_words(int(word)))) return std::nullopt;
    const std::vector<AccessAt> members = accesses_with(id, stride);
    InterleavedGroup s;
    for (const AccessAt& m : members) s.first = std::min(s.first, m.at);
    std::set<int> words;
    for (const AccessAt& m : members) {
        if (m.at - s.first >= stride) continue;
        s.accesses.push_back({m.inst, int((m.at - s.first) / word)});
        words.insert(s.accesses.back().second);
    }
    s.stride = int(stride / word), s.bytes = int(word), s.lanes = int(lanes);
    if (s.stride > words_an_access * int(words.size())) return std::nullopt;
    return s;
}

// ---- shuffles ----

/// True if all words of the group fit into one machine vector, which then moves as a whole: shuffles of small words across
/// several vectors take several instructions each.
bool InterleavedGroups::in_one_vector(const InterleavedGroup& s) const {
    return packet.running.all() && s.bytes < 4 &&
           std::bit_ceil(unsigned(s.stride)) * unsigned(s.lanes * s.bytes) <= unsigned(4 * target.width);
}

/// A shuffle of two vectors: index `lanes` is lane 0 of `b`.
std::string InterleavedGroups::shuffled_words(const InterleavedGroup& s, const std::string& a, const std::string& b,
                                              const std::function<int(int)>& of) {
    if (a == "poison" && b == "poison") return a;
    return emit.shuffles.shuffled(text("i", 8 * s.bytes), s.lanes, a, b, s.lanes, of);
}

/// Emits shuffles that deinterleave: `v` names vectors of adjacent words, as many as the stride has words. Element r of the
/// result is the vector with word r of each lane; it is "poison" where wanted[r] is false.
std::vector<std::string> InterleavedGroups::deinterleaved(const InterleavedGroup& s, const std::vector<std::string>& v,
                                                          const std::vector<bool>& wanted) {
    const int stride = int(v.size()), lanes = s.lanes;
    if (stride == 1) return v;
    std::vector<std::string> result(v.size(), "poison");
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return result;
    if (stride % 2 == 0) {
        for (const int odd : {0, 1}) {
            std::vector<std::string> half;
            std::vector<bool> wanted_half;
            for (int j = 0; j < stride; j += 2) {
                half.push_back(shuffled_words(s, v[size_t(j)], v[size_t(j + 1)], [&](int lane) { return 2 * lane + odd; }));
                wanted_half.push_back(wanted[size_t(j + odd)]);
            }
            half = deinterleaved(s, half, wanted_half);
            for (int j = 0; j < stride; j += 2) result[size_t(j + odd)] = half[size_t(j / 2)];
        }
        return result;
    }
    for (int r = 0; r < stride; ++r) {
        if (!wanted[size_t(r)]) continue;
        std::string& all = result[size_t(r)] = v[0];
        for (int j = 1; j < stride; ++j)
            all = shuffled_words(s, all, v[size_t(j)], [&](int lane) {
                const int word = lane * stride + r, from = word / lanes;
                return from == j ? lanes + word % lanes : j == 1 && from == 0 ? word : lane;
            });
    }
    return result;
}

/// Interleave, the inverse: vectors of adjacent words. Words without a value are poison.
std::vector<std::string> InterleavedGroups::interleaved(const InterleavedGroup& s, const std::vector<std::string>& words) {
    const int stride = int(words.size()), lanes = s.lanes;
    if (stride == 1) return words;
    std::vector<std::string> result(words.size(), "poison");
    if (stride % 2 == 0) {
        std::vector<std::string> halves[2];
        for (int j = 0; j < stride; ++j) halves[j % 2].push_back(words[size_t(j)]);
        for (auto& half : halves) half = interleaved(s, half);
        for (int j = 0; j < stride; ++j)
            result[size_t(j)] = shuffled_words(s, halves[0][size_t(j / 2)], halves[1][size_t(j / 2)],
                                               [&](int lane) { return (lane + j % 2 * lanes) / 2 + lane % 2 * lanes; });
        return result;
    }
    for (int j = 0; j < stride; ++j) {
        std::string& all = result[size_t(j)];
        for (int r = 0; r < stride; ++r)
            if (words[size_t(r)] != "poison")
                all = shuffled_words(s, all, words[size_t(r)], [&](int lane) {
                    const int word = j * lanes + lane;
                    return word % stride == r ? lanes + word / stride : lane;
                });
    }
    return result;
}

// ---- the accesses ----

/// The address `words` words after `address`.
std::string InterleavedGroups::words_after(const InterleavedGroup& s, const std::string& address, int words) {
    return words == 0 ? address : out.let(text("getelementptr i8, ptr ", address, ", i64 ", int64_t(words) * s.bytes), "p");
}

/// The address of the first lane's first word.
std::string InterleavedGroups::first_word(const InterleavedGroup& s) {
    const Inst& i = *s.accesses[0].first;
    const bool wide = k[i.memory].kind == MemoryKind::array && variant.wide_offsets;
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = emit.addresses.offset(i, wide, contiguous, more);
    const std::string address = emit.addresses.pointer_to(i, wide ? "i64" : "i32", index.scalar, more);
    return s.first == 0 ? address : out.let(text("getelementptr i8, ptr ", address, ", i64 ", s.first), "p");
}

/// The mask, <lanes x i1>, of the vector that starts at word `first`: the words of active lanes, of each lane those up to word
/// `last`, and only those in `words` if `words` is not empty.
std::string InterleavedGroups::word_mask(const InterleavedGroup& s, int first, int last, const std::vector<bool>& words) {
    const std::string v = text("<", s.lanes, " x i32>"), b = text("<", s.lanes, " x i1>");
    const auto list = [&](const char* type, const auto& of) {
        std::string all;
        for (int lane = 0; lane < s.lanes; ++lane) all += text(lane ? ", " : "<", type, " ", of(lane));
        return all + ">";
    };
    const std::string numbers = list("i32", [&](int lane) { return first + lane; });
    const std::string chosen =
        words.empty() ? "" : list("i1", [&](int lane) { return bool(words[size_t((first + lane) % s.stride)]); });
    if (packet.running.all()) return chosen;
    const auto compared = [&](const char* how, const std::string& lane, int more) {
        const std::string word = out.let(text("add i32 ", out.let(text("mul i32 ", lane, ", ", s.stride)), ", ", more));
        const std::string one = out.let(text("insertelement ", v, " poison, i32 ", word, ", i64 0"));
        const std::string all = out.let(text("shufflevector ", v, " ", one, ", ", v, " poison, ", v, " zeroinitializer"));
        return out.let(text("icmp ", how, " ", v, " ", numbers, ", ", all));
    };
    const bool counted = packet.running.first > 0;
    std::string mask = compared("slt", counted ? std::to_string(packet.running.first) : packet.running.to, last + 1 - s.stride);
    const auto both = [&](const std::string& other) { mask = out.let(text("and ", b, " ", mask, ", ", other)); };
    if (!counted && packet.running.from != "0") both(compared("sge", packet.running.from, 0));
    if (!chosen.empty()) both(chosen);
    return mask;
}

/// Keeps the words that were loaded, `parts` a word, for the loads of the group.
void InterleavedGroups::keep_loaded(const InterleavedGroup& s, const std::vector<std::vector<std::string>>& parts) {
    const std::string t = text("i", 8 * s.bytes);
    for (const auto& [inst, word] : s.accesses) {
        const std::string all = emit.shuffles.concatenated(t, s.lanes, parts[size_t(word)]);
        loaded_before[inst] =
            emit.casts.convert("bitcast", out.vector_type(t), all, out.vector_type(out.memory_type(inst->type)));
    }
}

/// The words to store as integers, from the values of the group's stores; poison for those of a gap.
std::vector<std::string> InterleavedGroups::stored_words(const InterleavedGroup& s, const std::vector<std::string>& given) {
    std::vector<std::string> words(static_cast<size_t>(s.stride), "poison");
    for (size_t a = 0; a < given.size(); ++a) {
        const auto& [inst, word] = s.accesses[a];
        words[size_t(word)] = emit.casts.convert("bitcast", out.vector_type(out.memory_type(inst->type)), given[a],
                                                 out.vector_type(text("i", 8 * s.bytes)));
    }
    return words;
}

/// The lanes of the words from lane `part` on.
std::vector<std::string> InterleavedGroups::words_of_part(const InterleavedGroup& s, std::vector<std::string> words, int part) {
    for (std::string& w : words)
        if (w != "poison" && s.lanes < width)
            w = emit.shuffles.shuffled(text("i", 8 * s.bytes), width, w, "poison", s.lanes,
                                       [&](int lane) { return part + lane; });
    return words;
}

/// Loads the group. Reads no byte before the first lane's first word, and none after the last lane's last word.
void InterleavedGroups::load_interleaved(const InterleavedGroup& s) {
    const std::string address = first_word(s), t = text("i", 8 * s.bytes), whole = text("<", s.lanes, " x ", t, ">");
    std::vector<bool> wanted(static_cast<size_t>(s.stride));
    int last = 0;
    for (const auto& [inst, word] : s.accesses) wanted[size_t(word)] = true, last = std::max(last, word);
    const int words = (s.lanes - 1) * s.stride + last + 1;
    std::vector<std::vector<std::string>> parts(wanted.size());  // vectors, by word
    emit.prefetches.prefetch_interleaved(s, address);
    const auto vector_at = [&](int first, int at) {
        const int late = first - at;
        const std::string v = out.let(text("load ", whole, ", ptr ", words_after(s, address, at), ", align ", s.bytes));
        return late == 0 ? v : shuffled_words(s, v, "poison", [&](int lane) { return std::min(lane + late, s.lanes - 1); });
    };
    const auto part_at = [&](int first) {
        const std::string mask = word_mask(s, first, last, {}), bits = text("<", s.lanes, " x i1>");
        const std::string function = text("@llvm.masked.load.v", s.lanes, t, ".p0");
        out.declare(text("declare ", whole, " ", function, "(ptr, i32, ", bits, ", ", whole, ")"));
        return out.let(text("call ", whole, " ", function, "(ptr ", words_after(s, address, first), ", i32 ", s.bytes, ", ", bits,
                            " ", mask, ", ", whole, " zeroinitializer)"));
    };
    for (int part = 0; part < width; part += s.lanes) {
        std::vector<std::string> v(wanted.size(), "poison");
        if (in_one_vector(s) && words == s.lanes * s.stride) {
            const std::string from = words_after(s, address, part * s.stride);
            const std::string all = out.let(text("load <", words, " x ", t, ">, ptr ", from, ", align ", s.bytes));
            for (int r = 0; r < s.stride; ++r)
                if (wanted[size_t(r)])
                    v[size_t(r)] =
                        emit.shuffles.shuffled(t, words, all, "poison", s.lanes, [&](int lane) { return lane * s.stride + r; });
        } else {
            const int begin = part * s.stride, end = begin + words;
            for (int at = begin; at < end; at += s.lanes)
                v[size_t((at - begin) / s.lanes)] =
                    packet.running.all() ? vector_at(at, std::min(at, end - s.lanes)) : part_at(at);
            v = deinterleaved(s, v, wanted);
        }
        for (size_t r = 0; r < v.size(); ++r) parts[r].push_back(v[r]);
    }
    keep_loaded(s, parts);
}

/// Stores the group. Words of a gap between the members are not written.
void InterleavedGroups::store_interleaved(const InterleavedGroup& s, const std::string& address,
                                          const std::vector<std::string>& given) {
    const std::string t = text("i", 8 * s.bytes), whole = text("<", s.lanes, " x ", t, ">");
    const std::vector<std::string> of_word = stored_words(s, given);
    std::vector<bool> given_words;
    for (const std::string& w : of_word) given_words.push_back(w != "poison");
    const bool full = std::find(given_words.begin(), given_words.end(), false) == given_words.end();
    std::vector<std::string> all;
    for (int part = 0; part < width; part += s.lanes) {
        const std::vector<std::string> words = words_of_part(s, of_word, part);
        if (!full || !in_one_vector(s)) {
            for (const std::string& v : interleaved(s, words)) all.push_back(v);
            continue;
        }
        const int lanes = s.lanes * s.stride, from = int(std::bit_ceil(unsigned(s.stride))) * s.lanes;
        const std::string together =
            emit.shuffles.shuffled(t, from, emit.shuffles.concatenated(t, s.lanes, words), "poison", lanes,
                                   [&](int word) { return word % s.stride * s.lanes + word / s.stride; });
        out.line(text("store <", lanes, " x ", t, "> ", together, ", ptr ", words_after(s, address, part * s.stride), ", align ",
                      s.bytes));
    }
    if (all.empty()) return;
    const auto each = [&](const std::function<void(const std::string& value, const std::string& address, int first)>& store) {
        for (size_t n = 0; n < all.size(); ++n) {
            const int first = int(n) * s.lanes;
            if (all[n] != "poison") store(all[n], words_after(s, address, first), first);
        }
    };
    const auto plain = [&](const std::string& value, const std::string& to, int) {
        out.line(text("store ", whole, " ", value, ", ptr ", to, ", align ", s.bytes));
    };
    if (!full || !packet.running.all()) {
        const std::string suffix = text("v", s.lanes, t), bits = text("<", s.lanes, " x i1>");
        out.declare(text("declare void @llvm.masked.store.", suffix, ".p0(", whole, ", ptr, i32, ", bits, ")"));
        return each([&](const std::string& value, const std::string& to, int first) {
            const std::string mask = word_mask(s, first, s.stride - 1, full ? std::vector<bool>() : given_words);
            out.line(text("call void @llvm.masked.store.", suffix, ".p0(", whole, " ", value, ", ptr ", to, ", i32 ", s.bytes,
                          ", ", bits, " ", mask, ")"));
        });
    }
    const Inst& i = *s.accesses[0].first;
    if (!emit.streams.streams(i)) return each(plain);
    const std::string aligned = out.label("aligned"), other = out.label("other"), end = out.label("stored");
    const int vector = s.lanes * s.bytes;
    out.branch(
        out.let(text("icmp eq i64 ", out.let(text("and i64 ", emit.streams.integer_address(address), ", ", vector - 1)), ", 0")),
        aligned, other);
    out.start(aligned);
    each([&](const std::string& value, const std::string& to, int) {
        out.line(text("store ", whole, " ", value, ", ptr ", to, ", align ", vector, emit.streams.nontemporal()));
    });
    out.jump(end);
    out.start(other);
    each(plain);
    out.start(end);
}

/// If a load belongs to a group: loads the group at its first member, defines the result, and returns true.
bool InterleavedGroups::loads_interleaved(InstId id) {
    const Inst& i = k[id];
    if (!loaded_before.count(&i)) {
        if (const auto s = interleaved_group(id))
            load_interleaved(*s);
        else if (const auto rows = packet.running.all() ? emit.lane_rows.lane_rows(id) : std::nullopt)
            emit.lane_rows.load_lane_rows(id, *rows);
        else
            return false;
    }
    const std::string lanes = loaded_before[&i];
    loaded_before.erase(&i);
    packet.define_lanes(k.result(i), emit.casts.from_memory(i.type, lanes, true));
    return true;
}

/// If a store belongs to a group: records its value, stores the group at its last member, and returns true.
bool InterleavedGroups::stores_interleaved(InstId id) {
    const Inst& i = k[id];
    const auto holds = [&](const PendingGroupStore& j) {
        return std::any_of(j.all.accesses.begin(), j.all.accesses.end(), [&](const auto& a) { return a.first == &i; });
    };
    auto join = std::find_if(pending_stores.begin(), pending_stores.end(), holds);
    if (join == pending_stores.end()) {
        if (const auto s = interleaved_group(id))
            pending_stores.push_back({*s, first_word(*s), {}, {}});
        else if (const auto rows = packet.running.all() ? emit.lane_rows.lane_rows(id) : std::nullopt)
            pending_stores.push_back({*rows, "", emit.lane_rows.addresses_of_rows(*rows, emit.addresses.access(i)), {}});
        else
            return false;
        join = pending_stores.end() - 1;
    }
    join->given.push_back(emit.casts.to_memory(i.type, packet.vector(k.operands(i).back()), true));
    if (join->given.size() < join->all.accesses.size()) return true;
    const PendingGroupStore complete = *join;
    pending_stores.erase(join);
    if (complete.all.apart)
        emit.lane_rows.store_lane_rows(complete);
    else
        store_interleaved(complete.all, complete.address, complete.given);
    return true;
}

}  // namespace pumice::cpu
