// Emits the packets of a group, row by row.
#pragma once
#include <array>
#include <functional>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class PacketRows : EmitterPart {
public:
    explicit PacketRows(const EmitterPart& all) : EmitterPart(all) {}

    void plan_row_values();
    std::string rows_left(int axis);
    void full_packets(const std::string& slot, const std::string& end, const Body& body);
    void packets_of_row(const std::string& end, bool trimmed, const Body& body, const std::string& first = "0");
    const ir::Inst* main_access() const;
    int packets_in_a_row() const;
    void peeled_row(const Body& body);
    void rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body);
    void one_packet(const Mask& items, const Body& body);
    void partial_packet(const std::string& end, const Body& body);
    void row_end(const Body& emit_packet);

    /// Emits the rows of a plane so that several run together (cpu/emit/emit_jammed_rows.cpp), if set.
    std::function<void(const std::array<std::string, 3>& counts, bool trimmed, const Body& body)> jammed_rows;

private:
    void wide_packet(const std::string& slot, const std::string& end, const std::string& loop, const std::string& narrow);
    std::string peel_of_row();
    void compute_row_values();
    void plain_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body);
};

}  // namespace pumice::cpu
