// First touch of memory by OpenMP's threads, for all OpenMP forms. These are compiled with -O3 -march=native -ffast-math
// -fopenmp.
#pragma once

namespace bench::corpus::openmp {

/// Writes zeros from the threads that will use the memory.
void zero(void* memory, long bytes);

/// The next parallel regions of this thread have one thread.
void use_one_thread();

}  // namespace bench::corpus::openmp
