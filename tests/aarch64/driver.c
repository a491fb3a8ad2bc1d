/* Calls a kernel's AArch64 code under qemu. Reads from stdin, in words of 64 bits: the bytes of scratch memory; start, extent and
 * count of three axes each; the number of parameters; for each its bytes (0 for a scalar), then a scalar's bits, or an array's
 * three extents and what it holds. Writes to stdout what the arrays hold afterwards. Both machines are little-endian. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct argument {
    uint64_t bits;
    const int64_t* extents;
};
struct frame { /* cpu/native/frame.h */
    const struct argument* arguments;
    char* scratch;
    char* ring;
    int32_t start[3], extent[3], count[3];
    uint32_t launch;
    int32_t columns[2];
};

void pumice_kernel(const struct frame* frame, int64_t first, int64_t count);

static void take(void* to, size_t bytes) {
    if (fread(to, 1, bytes, stdin) != bytes) exit(2);
}
static int64_t word(void) {
    int64_t w;
    take(&w, sizeof w);
    return w;
}
static void* memory(int64_t bytes) {
    void* m = NULL;
    if (posix_memalign(&m, 64, (size_t)bytes + 64)) exit(3);
    return m;
}

int main(void) {
    struct argument arguments[8];
    int64_t extents[8][3], bytes[8];
    struct frame f;
    memset(&f, 0, sizeof f);
    const int64_t scratch = word();
    f.scratch = memory(scratch);
    memset(f.scratch, 0xa5, (size_t)scratch); /* what it holds before is never read */
    for (int axis = 0; axis < 3; ++axis) f.start[axis] = (int32_t)word();
    for (int axis = 0; axis < 3; ++axis) f.extent[axis] = (int32_t)word();
    for (int axis = 0; axis < 3; ++axis) f.count[axis] = (int32_t)word();
    const int64_t n = word();
    if (n > 8) return 4;
    for (int64_t i = 0; i < n; ++i) {
        bytes[i] = word();
        arguments[i].extents = extents[i];
        if (bytes[i] == 0) {
            arguments[i].bits = (uint64_t)word();
            continue;
        }
        take(extents[i], sizeof extents[i]);
        void* data = memory(bytes[i]);
        take(data, (size_t)bytes[i]);
        arguments[i].bits = (uint64_t)(uintptr_t)data;
    }
    f.arguments = arguments;
    f.columns[1] = f.count[0];
    const int64_t groups = (int64_t)f.count[0] * f.count[1] * f.count[2], half = groups / 2;
    pumice_kernel(&f, 0, half); /* in two parts, as two threads would */
    pumice_kernel(&f, half, groups - half);
    for (int64_t i = 0; i < n; ++i) {
        const void* data = (const void*)(uintptr_t)arguments[i].bits;
        if (bytes[i] && fwrite(data, 1, (size_t)bytes[i], stdout) != (size_t)bytes[i]) return 5;
    }
    return fflush(stdout) ? 6 : 0;
}
