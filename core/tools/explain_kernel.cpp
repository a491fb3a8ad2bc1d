#include "core/tools/explain_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/analysis/linear_index.h"
#include "core/ir/named.h"
#include "core/passes/dead.h"
#include "core/passes/promote.h"
#include "core/passes/simplify.h"
#include "core/support/error.h"
#include "core/tools/kernel_counts.h"

namespace pumice::tools {

using namespace ir;

namespace {

std::string number(double n) { return n == std::floor(n) && n < 1e15 ? text(int64_t(n)) : text(n); }

/// "3", "0..4", "2..".
std::string bounds_text(const Bounds& b) {
    if (b.exact()) return number(b.most);
    return number(b.least) + ".." + (std::isfinite(b.most) ? number(b.most) : std::string());
}

/// The counts of a line.
struct LineCounts {
    Bounds times, read, written, floats, integers;
};

using Key = std::pair<uint32_t, uint32_t>;  // file, line

void put_table(std::string& out, const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths(rows[0].size());
    for (const auto& row : rows)
        for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    for (const auto& row : rows) {
        out += "  ";
        for (size_t c = 0; c < row.size(); ++c) {
            const std::string space(widths[c] - row[c].size(), ' ');
            out += c == 0 ? row[c] + space : "  " + space + row[c];
        }
        out.erase(out.find_last_not_of(' ') + 1);
        out += '\n';
    }
}

class Explanation {
public:
    explicit Explanation(const Kernel& kernel) : k(kernel), counts(kernel), uniformity(kernel), indices(kernel, uniformity) {}

    std::string run() {
        std::string out = summary();
        table(out);
        for (const InstId id : uniformity.structure().order()) note(id);
        for (const auto& [at, text] : notes) out += k.where({at.first, at.second}) + ": " + text + '\n';
        return out;
    }

private:
    std::string summary() const {
        const Bounds read = counts.bytes_read(), written = counts.bytes_written(), floats = counts.float_operations(),
                     bytes{read.least + written.least, read.most + written.most};
        std::string out =
            text(named(k), ": an item reads ", bounds_text(read), " bytes, writes ", bounds_text(written), " bytes, does ",
                 bounds_text(floats), " operations on floats and ", bounds_text(counts.integer_operations()), " on integers");
        if (floats.exact() && bytes.exact() && bytes.most > 0)
            out += text("; ", fixed_text(floats.most / bytes.most, 3), " a byte");
        return out + '\n';
    }

    void table(std::string& out) const {
        std::map<Key, LineCounts> lines;
        for (const InstId id : uniformity.structure().order()) {
            const Inst& i = k[id];
            const Bounds times = counts.times(id);
            const Bounds read = times * double(tools::bytes_read(k, i)), written = times * double(tools::bytes_written(k, i));
            const Bounds floats = times * tools::float_operations(k, i), integers = times * tools::integer_operations(k, i);
            const bool control = is_control(i.op) || is_barrier(i.op);
            if (i.loc.line == 0 || (read.most + written.most + floats.most + integers.most == 0 && !control)) continue;
            LineCounts& line = lines[{i.loc.file, i.loc.line}];
            if (times.most > line.times.most) line.times = times;
            line.read += read, line.written += written, line.floats += floats, line.integers += integers;
        }
        if (lines.empty()) return;
        std::vector<std::vector<std::string>> rows{{"line", "times", "reads", "writes", "floats", "integers"}};
        for (const auto& [at, line] : lines)
            rows.push_back({k.where({at.first, at.second}), bounds_text(line.times), bounds_text(line.read),
                            bounds_text(line.written), bounds_text(line.floats), bounds_text(line.integers)});
        put_table(out, rows);
    }

    void add(const Inst& i, const std::string& what) {
        if (i.loc.line == 0) return;
        const std::pair<Key, std::string> one{{i.loc.file, i.loc.line}, what};
        if (std::ranges::find(notes, one) == notes.end()) notes.push_back(one);
    }

    void note(InstId id) {
        const Inst& i = k[id];
        if (i.op == Op::if_ && uniformity.parting(id) > Scope::subgroup) add(i, "items of a subgroup take both arms of the if");
        if (is_loop(i.op) && uniformity.parting(id) > Scope::subgroup)
            add(i, "items of a subgroup leave the loop at different iterations");
        if (is_loop(i.op) && !std::isfinite(counts.times(first_of(i)).most) && std::isfinite(counts.times(id).most))
            add(i, "how often the loop runs depends on data or arguments");
        if (i.op == Op::barrier) add(i, "a barrier");
        if (i.op == Op::group) add(i, "a group operation, which is a barrier, too");
        if (is_atomic(i.op)) {
            const bool all = !indices_of(k, i).empty() && std::all_of(indices_of(k, i).begin(), indices_of(k, i).end(),
                                                                      [&](Value v) { return uniformity.of(v) < Scope::item; });
            add(i, text("an atomic on ", name_of(k, i.memory), all ? ", by items of a subgroup on one element" : ""));
        }
        if ((i.op == Op::load || i.op == Op::store) && k[i.memory].kind == MemoryKind::array) note_access(i);
    }

    InstId first_of(const Inst& loop) const { return k[loop.op == Op::for_ ? loop.blocks[0] : loop.blocks[1]].insts.front(); }

    /// Accesses at which adjacent items do not touch adjacent elements, or one element.
    void note_access(const Inst& i) {
        const std::string what = text("the ", i.op == Op::load ? "load of " : "store to ", name_of(k, i.memory));
        const auto places = indices_of(k, i);
        const Memory& memory = k[i.memory];
        bool other_varies = false;
        for (size_t n = 0; n + 1 < places.size(); ++n) {
            const AffineForm& f = indices.of(places[n]);
            const auto step = f.known ? f.step(32) : std::nullopt;
            const bool same = uniformity.of(places[n]) < Scope::item || (step && *step == 0);
            if (!same && !step) return add(i, what + " has indices that follow no pattern from item to item");
            other_varies |= !same;
        }
        const AffineForm& f = indices.of(places.back());
        std::optional<int64_t> step = f.known ? f.step(32) : std::nullopt;
        if (uniformity.of(places.back()) < Scope::item) step = 0;
        if (other_varies)
            add(i, what + " goes by whole rows from item to item");
        else if (!step && f.known)
            add(i, what + " goes by steps that a scalar gives from item to item");
        else if (!step)
            add(i, what + " has an index that follows no pattern from item to item");
        else if (*step != 0 && (*step != 1 || int64_t(memory.element.size) != int64_t(size_of(i.type))))
            add(i, text(what, " goes by steps of ", *step * int64_t(memory.element.size), " bytes from item to item"));
    }

    const Kernel& k;
    const KernelCounts counts;
    const Uniformity uniformity;
    const LinearIndex indices;
    std::vector<std::pair<Key, std::string>> notes;
};

}  // namespace

std::string name_of(const Kernel& kernel, MemoryId memory) {
    const Memory& m = kernel[memory];
    const std::string& given = m.argument >= 0 ? kernel.params[size_t(m.argument)].identity.name : m.name;
    return given.empty() ? m.name : given;
}

Kernel explained(const Kernel& recorded) { return dead(simplify(promote(recorded))); }

std::string explain(const Kernel& kernel) { return Explanation(kernel).run(); }

}  // namespace pumice::tools
