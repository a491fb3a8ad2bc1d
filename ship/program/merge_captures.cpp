// Merging: the captures are walked side by side; what must be equal is compared, and every number gets an expression.
#include "ship/program/merge_captures.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "core/ir/cache_key.h"
#include "core/support/error.h"
#include "ship/program/size_fit.h"

namespace pumice::ship {
namespace {

using namespace pumice_rt;

/// Turns an upload of one repeated value into a fill, whose length may depend on a size.
void simplify(CapturedCommand& c) {
    if (c.kind != CommandKind::write) return;
    for (const size_t period : {4u, 8u, 16u, 2u, 1u}) {
        if (c.data.size() % period != 0) continue;
        if (std::memcmp(c.data.data(), c.data.data() + period, c.data.size() - period) != 0) continue;
        c.kind = CommandKind::fill;
        c.data.resize(period);
        return;
    }
}

class Merge {
public:
    Merge(const std::string& name, std::vector<CapturedProgram> of, const std::vector<CaptureVariable>& with, size_t sizes)
        : who(name),
          captures(std::move(of)),
          variables(with),
          first(captures[0]),
          fit(columns_of(with), sizes, made.expressions) {
        made.expressions = first.expressions;
        for (CapturedProgram& one : captures)
            for (CapturedCommand& c : one.commands) simplify(c);
    }

    EntryRecords all() {
        compare_scalars();
        std::vector<bool> used(first.buffers.size(), false);
        for (const CapturedCommand& c : first.commands) {
            if (c.kind == CommandKind::allocate) continue;
            for (const int b : {c.to, c.from})
                if (b >= 0) used[size_t(b)] = true;
            for (const CapturedArgument& a : c.arguments)
                if (a.buffer >= 0) used[size_t(a.buffer)] = true;
        }
        buffers(used);
        for (size_t i = 0; i < first.commands.size(); ++i) {
            if (i == first.primal) made.record.primal = uint32_t(made.commands.size());
            compare(i);
            at = i;
            const CapturedCommand& c = first.commands[i];
            if (c.kind != CommandKind::allocate || used[size_t(c.to)]) command(c);
        }
        for (const CapturedProgram& one : captures)
            if (one.commands.size() != first.commands.size()) differ(first.commands.size());
        if (first.primal >= first.commands.size()) made.record.primal = uint32_t(made.commands.size());
        made.record.scans = uint32_t(first.totals.size()), made.record.sums = uint32_t(first.sums);
        for (const CapturedResult& r : first.results)
            made.results.push_back({uint32_t(r.parameter), uint32_t(r.type), uint32_t(r.expression)});
        made.written = first.written;
        return std::move(made);
    }

private:
    static std::vector<std::vector<int64_t>> columns_of(const std::vector<CaptureVariable>& variables) {
        const size_t count = variables.empty() ? 1 : variables[0].values.size();
        std::vector<std::vector<int64_t>> all(count);
        for (const CaptureVariable& v : variables)
            for (size_t k = 0; k < count; ++k) all[k].push_back(v.values[k]);
        return all;
    }
    /// "n = 256, m = 64" in capture k.
    std::string values_of(size_t k) const {
        std::string out;
        for (const CaptureVariable& v : variables)
            if (!v.name.empty()) out += text(out.empty() ? "" : ", ", v.name, " = ", v.values[k]);
        return out;
    }
    template <class... Parts> [[noreturn]] void refuse(const Parts&... parts) const {
        fail(who, " cannot be shipped: ", parts...);
    }
    [[noreturn]] void differ(size_t i) const {
        const auto what = [&](const CapturedProgram& p) {
            return i < p.commands.size() ? text_of(p.commands[i]) : std::string("nothing");
        };
        size_t k = 1;
        while (k + 1 < captures.size() && what(captures[k]) == what(first)) ++k;
        refuse("its command ", i + 1, " is ", what(first), " with ", values_of(0), ", and ", what(captures[k]), " with ",
               values_of(k), ": sizes may decide how many elements and items there are, but not which commands there are");
    }
    void compare_scalars() const {
        for (const CapturedProgram& one : captures) {
            bool equal = one.expressions.size() == first.expressions.size() && one.buffers.size() == first.buffers.size();
            for (size_t e = 0; equal && e < one.expressions.size(); ++e)
                equal = std::memcmp(&one.expressions[e], &first.expressions[e], sizeof(ScalarExpression)) == 0;
            if (equal) continue;
            for (size_t i = 0; i < std::min(one.commands.size(), first.commands.size()); ++i)
                if (one.commands[i].kind != first.commands[i].kind) differ(i);
            if (one.commands.size() != first.commands.size()) differ(std::min(one.commands.size(), first.commands.size()));
            refuse("it computes scalars in which a number depends on a size; make that number a parameter of the program");
        }
    }

    /// Throws unless command i is the same in all captures, but for its numbers.
    void compare(size_t i) const {
        const CapturedCommand& a = first.commands[i];
        for (const CapturedProgram& one : captures) {
            if (i >= one.commands.size()) differ(i);
            const CapturedCommand& b = one.commands[i];
            const bool same_kernel = !a.kernel == !b.kernel && (a.kernel == b.kernel || hash_of(*a.kernel) == hash_of(*b.kernel));
            if (a.kind != b.kind || !same_kernel || a.to != b.to || a.from != b.from || a.zeroed != b.zeroed ||
                a.rank != b.rank || a.counted != b.counted || a.arguments.size() != b.arguments.size())
                differ(i);
            if (a.group != b.group)
                refuse(text_of(a), " has groups of other sizes with ", values_of(size_t(&one - captures.data())), " than with ",
                       values_of(0));
            if (a.data != b.data)
                refuse(text_of(a), " of ", a.bytes,
                       " bytes has contents that depend on a size: compute them in a kernel, or make the "
                       "array a parameter of the program");
            for (size_t n = 0; n < a.arguments.size(); ++n)
                if (a.arguments[n].buffer != b.arguments[n].buffer || a.arguments[n].expression != b.arguments[n].expression)
                    differ(i);
        }
    }
    const std::string& hash_of(const ir::Kernel& kernel) const {
        std::string& hash = hashes[&kernel];
        if (hash.empty()) {
            CacheKey key;
            key.add(kernel);
            hash = key.hash();
        }
        return hash;
    }

    /// The expression of a number of the command that is merged.
    uint32_t number(const char* what, const std::function<int64_t(const CapturedCommand&)>& of) {
        std::vector<int64_t> column;
        for (const CapturedProgram& one : captures) column.push_back(of(one.commands[at]));
        if (const auto found = fit.of(column)) return *found;
        refuse_number(text_of(first.commands[at]), what, column);
    }
    [[noreturn]] void refuse_number(const std::string& command, const char* what, const std::vector<int64_t>& column) const {
        std::string list;
        for (size_t k = 0; k < std::min<size_t>(column.size(), 4); ++k)
            list += text(k ? ", " : "", column[k], variables.empty() ? "" : " with " + values_of(k));
        refuse(command, ": ", what, " is no sum of products of sizes and no rounded quotient by a constant (it is ", list,
               ", ...)");
    }

    void buffers(const std::vector<bool>& used) {
        place.assign(first.buffers.size(), no_index);
        for (size_t b = 0; b < first.buffers.size(); ++b) {
            BufferRecord r{};
            const CapturedBuffer& buffer = first.buffers[b];
            r.kind = uint32_t(buffer.argument >= 0 ? BufferKind::argument : BufferKind::temporary);
            r.argument = buffer.argument >= 0 ? uint32_t(buffer.argument) : 0;
            if (!used[b] && buffer.argument < 0) continue;
            std::vector<int64_t> column;
            for (const CapturedProgram& one : captures) column.push_back(one.buffers[b].bytes);
            const auto bytes = fit.of(column);
            if (!bytes) refuse_number("an allocation", "its size in bytes", column);
            r.bytes = *bytes;
            place[b] = uint32_t(made.buffers.size());
            made.buffers.push_back(r);
        }
    }

    void command(const CapturedCommand& c) {
        CommandRecord r{};
        r.kind = uint32_t(c.kind), r.to = r.from = no_index;
        if (c.zeroed) r.flags |= CommandRecord::zeroed;
        if (c.to >= 0) r.to = place[size_t(c.to)];
        if (c.from >= 0) r.from = place[size_t(c.from)];
        r.to_offset = number("an offset in bytes", [](const CapturedCommand& x) { return x.to_offset; });
        r.from_offset = number("an offset in bytes", [](const CapturedCommand& x) { return x.from_offset; });
        r.bytes = number("a size in bytes", [](const CapturedCommand& x) { return x.bytes; });
        r.index = uint32_t(c.index), r.type = uint32_t(c.type);
        if (c.kind == CommandKind::fill) {
            std::memcpy(r.pattern, c.data.data(), c.data.size());
            r.pattern_bytes = uint32_t(c.data.size());
        } else if (c.kind == CommandKind::write) {
            r.data = made.constants.size();
            made.constants.emplace_back(reinterpret_cast<const char*>(c.data.data()), c.data.size());
        } else if (c.kind == CommandKind::scan) {
            r.data = uint64_t(c.most);
        } else if (c.kind == CommandKind::launch) {
            launch(c, r);
        }
        made.commands.push_back(r);
    }

    void launch(const CapturedCommand& c, CommandRecord& r) {
        r.kernel = kernel_number(c), r.rank = uint32_t(c.rank);
        if (c.counted) r.flags |= CommandRecord::counted;
        for (size_t axis = 0; axis < 3; ++axis) {
            r.start[axis] = number("the start of its range", [=](const CapturedCommand& x) { return x.start[axis]; });
            r.extent[axis] = number("an extent of its range", [=](const CapturedCommand& x) { return x.extent[axis]; });
            r.group[axis] = uint32_t(c.group[axis]);
        }
        r.arguments = {uint32_t(made.command_arguments.size()), uint32_t(c.arguments.size())};
        for (size_t i = 0; i < c.arguments.size(); ++i) {
            const ir::Parameter& p = c.kernel->params[i];
            CommandArgumentRecord a{};
            a.buffer = c.arguments[i].buffer >= 0 ? place[size_t(c.arguments[i].buffer)] : no_index;
            a.offset = number("an argument's offset in bytes", [=](const CapturedCommand& x) { return x.arguments[i].offset; });
            a.bytes = number("an argument's size in bytes", [=](const CapturedCommand& x) { return x.arguments[i].bytes; });
            for (size_t axis = 0; axis < ir::max_rank; ++axis)
                a.extents[axis] = p.is_array ? number("an argument's extent",
                                                      [=](const CapturedCommand& x) { return x.arguments[i].extents[axis]; })
                                             : fit.constant(1);
            a.scalar = p.is_array ? fit.constant(0) : scalar(p, i, c.arguments[i]);
            made.command_arguments.push_back(a);
        }
    }

    uint32_t scalar(const ir::Parameter& p, size_t i, const CapturedArgument& argument) {
        if (argument.expression >= 0) return uint32_t(argument.expression);
        const std::string label = first.commands[at].kernel->label(i);
        if (is_int(p.type))
            return number(label.c_str(), [&](const CapturedCommand& x) {
                const uint64_t bits = x.arguments[i].bits;
                switch (p.type) {
                    case Scalar::i8: return int64_t(int8_t(bits));
                    case Scalar::i16: return int64_t(int16_t(bits));
                    case Scalar::i32: return int64_t(int32_t(bits));
                    default: return int64_t(bits);
                }
            });
        for (const CapturedProgram& one : captures)
            if (one.commands[at].arguments[i].bits != argument.bits)
                refuse(text_of(first.commands[at]), ": ", label, " is a ", name_of(p.type),
                       " that depends on a size; make it a parameter of the program");
        return fit.constant(int64_t(argument.bits));
    }

    uint32_t kernel_number(const CapturedCommand& c) {
        const auto [found, is_new] = numbers.try_emplace(hash_of(*c.kernel), uint32_t(made.kernels.size()));
        if (is_new) made.kernels.push_back({c.kernel, {}});
        auto& groups = made.kernels[found->second].groups;
        if (c.group[0] && std::ranges::find(groups, c.group) == groups.end()) groups.push_back(c.group);
        return found->second;
    }

    const std::string& who;
    std::vector<CapturedProgram> captures;
    const std::vector<CaptureVariable>& variables;
    const CapturedProgram& first;
    EntryRecords made;
    SizeFit fit;
    size_t at = 0;
    std::vector<uint32_t> place;  ///< by buffer of the captures
    std::map<std::string, uint32_t> numbers;
    mutable std::map<const ir::Kernel*, std::string> hashes;
};

}  // namespace

EntryRecords merge(const std::string& who, std::vector<CapturedProgram> captures, const std::vector<CaptureVariable>& variables,
                   size_t sizes) {
    return Merge(who, std::move(captures), variables, sizes).all();
}

}  // namespace pumice::ship
