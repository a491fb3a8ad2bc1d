// Processes with a shipped library beside processes with the library, and beside those that call Vulkan themselves: their start,
// and launches.
#pragma once
#include "bench/ship/ship_table.h"

namespace bench::ship {

/// From the start of a process to its first result: on cpu; and on lavapipe, beside raw Vulkan with a warm pipeline cache.
void compare_starts(bool quick, Table& table);
/// A launch on lavapipe, beside the library and raw Vulkan. Each side is in processes of its own: the processors of the driver's
/// threads are chosen when a process starts.
void compare_launches_on_lavapipe(bool quick, Table& table);

}  // namespace bench::ship
