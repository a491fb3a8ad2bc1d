// The rows of a group whose kernel has transposed loads: `width` rows at a time, through a tile on the stack.
//
// Why: see cpu/access/transposed_loads.cpp, which finds and fills. This file prints the loops around them:
//
//     for each `width` rows:   for each block of columns:   fill the tile: `width` row loads and a transpose
//                                                           for each of the rows: the packet, whose load reads the tile
//
// With alignment peeling each row begins at another column, since each is peeled by a number of items of its own. So all blocks
// of the `width` rows are filled first, then the rows run; the tile begins one packet before the group. Addresses of items
// outside of the range are replaced by those of the nearest item inside (clamped()).
// Cost: a stack tile; groups at the end of the range need a second copy of the body without tiles (PacketRows::rows).
// Limits: those of transposed_loads.cpp. Textbook name: vectorised tiled transpose.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/support/error.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/packet/frame_values.h"
#include "cpu/rows/emit_packet_rows.h"
#include "cpu/rows/transposed_rows.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int line_bytes = 64;
}

/// The packets of a full group, `width` rows at a time. In each row, packets whose columns share a cache line run one after
/// another.
void TransposedRows::transposed_rows(const Body& body) {
    std::vector<std::string> tiles;
    const auto vectors = [&](InstId id) { return out.vector_type(out.memory_type(k[id].type)); };
    const auto blocks = [&](size_t axis) { return variant.group[axis] / width; };
    const int64_t together = std::gcd(blocks(0), std::max(1, line_bytes / (width * TransposedLoads::most_bytes)));
    for (const InstId id : emit.transposed.transposed_loads)
        tiles.push_back(out.alloca_of(text("[", width * together, " x ", vectors(id), "]"), "tile"));
    const auto address = [&](size_t n, const std::string& at) {
        return out.let(text("getelementptr ", vectors(emit.transposed.transposed_loads[n]), ", ptr ", tiles[n], ", i32 ", at),
                       "p");
    };
    const auto each_block = [&](const std::string& x, const std::function<void(const std::string& block)>& act) {
        if (together == 1) return act("0");
        out.counted("block", std::to_string(together), [&](const std::string& block) {
            packet.local_at[0] = out.let(text("add i32 ", x, ", ", out.let(text("mul i32 ", block, ", ", width))), "x");
            act(block);
        });
        packet.local_at[0] = x;
    };
    out.counted("z", std::to_string(variant.group[2]), [&](const std::string& z) {
        out.counted("rows", std::to_string(blocks(1)), [&](const std::string& rows) {
            const std::string first = out.let(text("mul i32 ", rows, ", ", width));
            out.counted("columns", std::to_string(blocks(0) / together), [&](const std::string& column) {
                const std::string x = out.let(text("mul i32 ", column, ", ", width * together), "x");
                packet.local_at = {x, first, z};
                each_block(x, [&](const std::string& block) {
                    emit.rows.one_packet({}, [&] {
                        for (size_t n = 0; n < emit.transposed.transposed_loads.size(); ++n)
                            emit.transposed.fill_transposed(k[emit.transposed.transposed_loads[n]], address(n, block), together);
                    });
                });
                const bool before = std::exchange(out.unrolled, out.unrolled || emit.transposed.stays_short());
                for (const InstId id : emit.transposed.transposed_loads) emit.accesses.in_tiles[&k[id]];
                out.counted("row", std::to_string(width), [&](const std::string& row) {
                    packet.local_at[1] = out.let(text("add i32 ", first, ", ", row));
                    const std::string begin = out.let(text("mul i32 ", row, ", ", together));
                    each_block(x, [&](const std::string& block) {
                        const std::string at = out.let(text("add i32 ", begin, ", ", block));
                        for (size_t n = 0; n < emit.transposed.transposed_loads.size(); ++n)
                            emit.accesses.in_tiles[&k[emit.transposed.transposed_loads[n]]] = address(n, at);
                        emit.rows.one_packet({}, body);
                    });
                });
                out.unrolled = before;
                for (const InstId id : emit.transposed.transposed_loads) emit.accesses.in_tiles.erase(&k[id]);
            });
        });
    });
}

/// The same with alignment peeling, where each row is peeled by a number of its own: the tile starts one packet before the group.
/// Addresses of items outside of the range are replaced by those of the nearest item inside.
void TransposedRows::peeled_transposed_rows(const Body& body) {
    const int64_t blocks = variant.group[0] / width + 1;
    std::vector<std::string> tiles;
    const auto vectors = [&](InstId id) { return out.vector_type(out.memory_type(k[id].type)); };
    for (const InstId id : emit.transposed.transposed_loads)
        tiles.push_back(out.alloca_of(text("[", width * blocks, " x ", vectors(id), "]"), "tile"));
    const std::string base = out.let(text("mul i32 ", packet.group_at[0], ", ", variant.group[0]));
    const std::string first =
        out.let(text("sub i32 ", most_peeled, ", ", base));  // of the range, in the coordinates of peeled_row
    const std::string last =
        out.let(text("add i32 ", first, ", ", out.let(text("sub i32 ", emit.frame.axis_text("extent", 0), ", 1"))));
    out.counted("z", std::to_string(variant.group[2]), [&](const std::string& z) {
        out.counted("rows", std::to_string(variant.group[1] / width), [&](const std::string& rows) {
            const std::string top = out.let(text("mul i32 ", rows, ", ", width));
            out.counted("block", std::to_string(blocks), [&](const std::string& block) {
                const std::string x =
                    out.let(text("add i32 ", out.let(text("mul i32 ", block, ", ", width)), ", ", most_peeled - width), "x");
                packet.local_at = {clamped(x, first, last), top, z};
                const auto fill = [&](const std::function<std::string(int lane)>& steps) {
                    emit.rows.one_packet({}, [&] {
                        for (size_t n = 0; n < emit.transposed.transposed_loads.size(); ++n) {
                            const std::string row = out.let(text("getelementptr ", vectors(emit.transposed.transposed_loads[n]),
                                                                 ", ptr ", tiles[n], ", i32 ", block),
                                                            "p");
                            emit.transposed.fill_transposed(k[emit.transposed.transposed_loads[n]], row, blocks, steps);
                        }
                    });
                };
                const std::string interior = out.label("interior"), boundary = out.label("boundary"),
                                  filled = out.label("filled");
                const std::string end = out.let(text("add i32 ", x, ", ", width - 1));
                const std::string from = out.let(text("icmp eq i32 ", x, ", ", packet.local_at[0])),
                                  to = out.let(text("icmp sle i32 ", end, ", ", last));
                out.branch(out.let(text("and i1 ", from, ", ", to)), interior, boundary);
                out.start(interior);
                fill({});
                out.jump(filled);
                out.start(boundary);
                fill([&](int lane) {
                    const std::string before =
                        out.let(text("add i32 ", out.let(text("sub i32 ", x, ", ", first)), ", ", lane - 1));
                    return out.let(text("icmp ult i32 ", before, ", ", out.let(text("sub i32 ", last, ", ", first))));
                });
                out.start(filled);
            });
            out.counted("row", std::to_string(width), [&](const std::string& row) {
                packet.local_at[1] = out.let(text("add i32 ", top, ", ", row));
                const std::string row_begin = out.let(text("mul i32 ", row, ", ", blocks * width));
                emit.rows.peeled_row([&] {
                    const std::string x = out.let(text("add i32 ", row_begin, ", ",
                                                       out.let(text("sub i32 ", packet.local_at[0], ", ", most_peeled - width))));
                    for (size_t n = 0; n < emit.transposed.transposed_loads.size(); ++n) {
                        const int bytes = size_of(k[emit.transposed.transposed_loads[n]].type);
                        const std::string row_address =
                            out.let(text("getelementptr [", bytes, " x i8], ptr ", tiles[n], ", i32 ", x), "p");
                        emit.accesses.in_tiles[&k[emit.transposed.transposed_loads[n]]] = text(row_address, ", align ", bytes);
                    }
                    body();
                });
            });
            for (const InstId id : emit.transposed.transposed_loads) emit.accesses.in_tiles.erase(&k[id]);
        });
    });
}

/// min(max(x, least), most) of i32 values.
std::string TransposedRows::clamped(const std::string& x, const std::string& least, const std::string& most) {
    out.declare("declare i32 @llvm.smin.i32(i32, i32)");
    out.declare("declare i32 @llvm.smax.i32(i32, i32)");
    const std::string above = out.let(text("call i32 @llvm.smax.i32(i32 ", x, ", i32 ", least, ")"));
    return out.let(text("call i32 @llvm.smin.i32(i32 ", above, ", i32 ", most, ")"));
}

}  // namespace pumice::cpu
