#include "bench/corpus/first_touch.h"

#include <omp.h>

namespace bench::corpus::openmp {

void zero(void* memory, long bytes) {
    char* const at = static_cast<char*>(memory);
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < bytes; ++i) at[i] = 0;
}

void use_one_thread() { omp_set_num_threads(1); }

}  // namespace bench::corpus::openmp
