/* Every function of the C interface: right and wrong arguments with their sentences, hooks, and memory that runs out. C99. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "rt_shipped.h"

static int failures = 0;

#define CHECK(condition)                                                                                                      \
    do {                                                                                                                      \
        if (!(condition)) {                                                                                                   \
            fprintf(stderr, "%s:%d: %s does not hold; the last error: %s\n", __FILE__, __LINE__, #condition, pumice_error()); \
            ++failures;                                                                                                       \
        }                                                                                                                     \
    } while (0)

static void expect(int line, pumice_status got, pumice_status want, const char* sentence) {
    if (got == want && (got == PUMICE_OK || strcmp(pumice_error(), sentence) == 0)) return;
    fprintf(stderr, "%s:%d: status %d and not %d:\n  got  %s\n  want %s\n", __FILE__, line, (int)got, (int)want, pumice_error(),
            sentence);
    ++failures;
}
/* The sentence first: in_kernel() makes an error of its own. */
#define FAILS(call, status, sentence)                     \
    do {                                                  \
        const char* const wanted_ = (sentence);           \
        const pumice_status got_ = (call);                \
        expect(__LINE__, got_, (status), wanted_);        \
    } while (0)
#define OK(call) expect(__LINE__, (call), PUMICE_OK, "")

static pumice_array make(pumice_device d, int type, int64_t n) {
    pumice_array a;
    memset(&a, 0, sizeof a);
    OK(pumice_array_create(d, type, 0, 1, &n, &a));
    return a;
}

/* ---- devices and hooks ---- */

typedef struct {
    long live, calls, fails_at; /* blocks; the call that returns null, from 1, and all after it if it is negative */
    long loops, lines, errors, logs;
    char line[256];
    pthread_mutex_t mutex;
} Host;

static void host_begin(Host* h) {
    memset(h, 0, sizeof *h);
    pthread_mutex_init(&h->mutex, NULL);
}
static void* host_allocate(void* user, size_t bytes, size_t alignment) {
    Host* const h = user;
    void* memory = NULL;
    pthread_mutex_lock(&h->mutex);
    ++h->calls;
    if (h->fails_at == 0 || (h->fails_at > 0 ? h->calls != h->fails_at : h->calls < -h->fails_at)) {
        if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes)) memory = NULL;
        if (memory) memset(memory, 0xd7, bytes), ++h->live;
    }
    pthread_mutex_unlock(&h->mutex);
    return memory;
}
static void host_release(void* user, void* memory, size_t bytes) {
    Host* const h = user;
    memset(memory, 0xd8, bytes); /* the number of bytes is right, or a sanitizer finds it */
    pthread_mutex_lock(&h->mutex);
    --h->live;
    pthread_mutex_unlock(&h->mutex);
    free(memory);
}
static void host_parallel(void* user, int parts, void (*body)(void*, int), void* context) {
    ++((Host*)user)->loops;
    for (int part = parts - 1; part >= 0; --part) body(context, part);
}
static void host_print(void* user, const char* line) {
    ++((Host*)user)->lines;
    snprintf(((Host*)user)->line, sizeof((Host*)user)->line, "%s", line);
}
static void host_log(void* user, const char* line) { ((Host*)user)->logs += line[0] != 0; }
static void host_error(void* user, pumice_status status, const char* sentence) {
    ((Host*)user)->errors += status != PUMICE_OK && sentence[0] != 0;
}
static pumice_hooks hooks_of(Host* h) {
    pumice_hooks hooks;
    memset(&hooks, 0, sizeof hooks);
    hooks.user = h;
    hooks.allocate = host_allocate, hooks.release = host_release, hooks.parallel = host_parallel, hooks.threads = 3;
    hooks.log = host_log, hooks.print = host_print, hooks.error = host_error;
    return hooks;
}

static void devices(void) {
    pumice_device d = (pumice_device)&failures;
    Host h;
    pumice_hooks hooks;
    host_begin(&h);
    CHECK(strcmp(pumice_error(), "") == 0);
    FAILS(pumice_open("cpu", NULL, NULL), PUMICE_ERROR_ARGUMENT, "a device is opened into no variable");
    FAILS(pumice_open("toaster", NULL, &d), PUMICE_ERROR_DEVICE,
          "there is no device \"toaster\"; devices are cpu, vulkan, vulkan:N and vulkan:NAME");
    CHECK(d == NULL);
    hooks = hooks_of(&h);
    hooks.release = NULL;
    FAILS(pumice_open("cpu", &hooks, &d), PUMICE_ERROR_ARGUMENT,
          "of the hooks allocate and release one is given: memory needs both or none");
    CHECK(h.errors == 1 && h.live == 0);
    hooks = hooks_of(&h);
    OK(pumice_open("cpu", &hooks, &d));
    CHECK(strncmp(pumice_device_name(d), "cpu (", 5) == 0 && strstr(pumice_device_name(d), "3 threads"));
    CHECK(h.logs == 1);
    OK(pumice_synchronize(d));
    pumice_array large = make(d, PUMICE_U8, 1 << 20);
    char* const bytes = calloc(1, 1 << 20);
    if (bytes) OK(pumice_array_write(&large, bytes, 1 << 20));
    free(bytes);
    CHECK(h.loops > 0 && h.live > 0);
    pumice_array_release(&large);
    pumice_close(d);
    CHECK(h.live == 0);
    pumice_close(NULL);
    CHECK(strcmp(pumice_device_name(NULL), "") == 0);
    FAILS(pumice_synchronize(NULL), PUMICE_ERROR_ARGUMENT, "a call is given no device");
    hooks.threads = 1000000; /* more than any machine gives */
    hooks.parallel = NULL;
    hooks.threads = -5;
    OK(pumice_open("cpu", &hooks, &d));
    pumice_close(d);
    CHECK(h.live == 0);
}

/* ---- arrays ---- */

static void arrays(pumice_device d, pumice_device other) {
    const int64_t n = 10, negative = -1, huge = (int64_t)1 << 45, large[2] = {(int64_t)1 << 40, (int64_t)1 << 40};
    const int64_t none[2] = {(int64_t)1 << 20, 0};
    float from[10], to[10], seven = 7;
    char bytes[100], text[300];
    pumice_array a, b, c, empty;
    memset(&empty, 0, sizeof empty);
    memset(bytes, 0, sizeof bytes);
    FAILS(pumice_array_create(NULL, PUMICE_F32, 0, 1, &n, &a), PUMICE_ERROR_ARGUMENT,
          "an array is created on no device, or into no array");
    FAILS(pumice_array_create(d, PUMICE_F32, 0, 1, &n, NULL), PUMICE_ERROR_ARGUMENT,
          "an array is created on no device, or into no array");
    FAILS(pumice_array_create(d, 13, 0, 1, &n, &a), PUMICE_ERROR_ARGUMENT, "an array is created of the unknown type 13");
    FAILS(pumice_array_create(d, -1, 0, 1, &n, &a), PUMICE_ERROR_ARGUMENT, "an array is created of the unknown type -1");
    FAILS(pumice_array_create(d, PUMICE_F32, 0, 0, &n, &a), PUMICE_ERROR_ARGUMENT,
          "an array of 0 dimensions is created; the limit is 6");
    FAILS(pumice_array_create(d, PUMICE_F32, 0, 7, &n, &a), PUMICE_ERROR_ARGUMENT,
          "an array of 7 dimensions is created; the limit is 6");
    FAILS(pumice_array_create(d, PUMICE_F32, 0, 1, NULL, &a), PUMICE_ERROR_ARGUMENT, "an array is created without extents");
    FAILS(pumice_array_create(d, PUMICE_STRUCT, 0, 1, &n, &a), PUMICE_ERROR_ARGUMENT,
          "an array of elements of 0 bytes is created");
    FAILS(pumice_array_create(d, PUMICE_F32, 0, 1, &negative, &a), PUMICE_ERROR_ARGUMENT,
          "an array is created with extent -1 along dimension 0");
    FAILS(pumice_array_create(d, PUMICE_F32, 0, 2, large, &a), PUMICE_ERROR_ARGUMENT,
          "an array is created with extent 1099511627776 along dimension 1");
    if (pumice_array_create(d, PUMICE_U8, 0, 1, &huge, &a) ==
        PUMICE_OK) { /* a system that promises memory that it does not have */
        pumice_array_release(&a);
    } else {
        CHECK(strstr(pumice_error(), "cannot allocate 35184372088832 bytes on cpu (") == pumice_error());
        CHECK(strstr(pumice_error(), "): the system gives no more memory"));
    }
    OK(pumice_array_create(d, PUMICE_F32, 0, 2, none, &a));
    CHECK(a.memory == NULL);
    OK(pumice_array_write(&a, NULL, 0));
    OK(pumice_array_read(&a, NULL, 0));
    OK(pumice_array_fill(&a, NULL, NULL));
    pumice_array_release(&a);
    pumice_array_release(&empty);
    pumice_array_release(NULL);

    a = make(d, PUMICE_F32, n), b = make(d, PUMICE_F32, n), c = make(other, PUMICE_F32, n);
    OK(pumice_array_read(&a, to, sizeof to));
    for (int i = 0; i < 10; ++i) {
        CHECK(to[i] == 0);
        from[i] = (float)i;
    }
    OK(pumice_array_write(&a, from, sizeof from));
    OK(pumice_array_copy(&a, &b, NULL));
    OK(pumice_array_read(&b, to, sizeof to));
    CHECK(memcmp(from, to, sizeof to) == 0);
    OK(pumice_array_fill(&b, &seven, NULL));
    OK(pumice_array_read(&b, to, sizeof to));
    for (int i = 0; i < 10; ++i) CHECK(to[i] == 7);
    FAILS(pumice_array_write(NULL, from, 4), PUMICE_ERROR_ARGUMENT, "a call is given no array");
    FAILS(pumice_array_write(&empty, from, 4), PUMICE_ERROR_ARGUMENT,
          "an array of 0 dimensions and elements of 0 bytes was never created");
    FAILS(pumice_array_write(&a, from, 39), PUMICE_ERROR_ARGUMENT,
          "39 bytes are copied, and the array has 40: the sizes must agree");
    FAILS(pumice_array_read(&a, NULL, 40), PUMICE_ERROR_ARGUMENT, "40 bytes are copied from or to no memory");
    FAILS(pumice_array_fill(&a, NULL, NULL), PUMICE_ERROR_ARGUMENT, "an array is filled with no element");
    snprintf(text, sizeof text, "an array on %s is copied into one on %s", pumice_device_name(d), pumice_device_name(other));
    FAILS(pumice_array_copy(&a, &c, NULL), PUMICE_ERROR_ARGUMENT, text);
    FAILS(pumice_array_copy(&a, NULL, NULL), PUMICE_ERROR_ARGUMENT, "a call is given no array");
    b.extents[0] = 9;
    FAILS(pumice_array_copy(&a, &b, NULL), PUMICE_ERROR_ARGUMENT,
          "an array of 40 bytes is copied into one of 36: the sizes must agree");
    b.extents[0] = 11;
    FAILS(pumice_array_read(&b, to, 44), PUMICE_ERROR_ARGUMENT, "an array has 44 bytes from byte 0 on, and its memory has 40");
    b.extents[0] = 10, b.offset = -4;
    FAILS(pumice_array_read(&b, to, 40), PUMICE_ERROR_ARGUMENT, "an array has 40 bytes from byte -4 on, and its memory has 40");
    b.offset = 0;
    /* Overlapping parts of one memory. */
    pumice_array first = a, second = a;
    first.extents[0] = second.extents[0] = 7, second.offset = 12;
    OK(pumice_array_copy(&first, &second, NULL));
    OK(pumice_array_read(&a, to, sizeof to));
    for (int i = 0; i < 10; ++i) CHECK(to[i] == (float)(i < 3 ? i : i - 3));
    pumice_array wide = make(d, PUMICE_U8, 1);
    pumice_array_release(&wide);
    const int64_t one = 1;
    OK(pumice_array_create(d, PUMICE_STRUCT, 65, 1, &one, &wide));
    FAILS(pumice_array_fill(&wide, bytes, NULL), PUMICE_ERROR_ARGUMENT,
          "elements of 65 bytes cannot be filled; the limit is 64 bytes");
    pumice_array_release(&wide);
    pumice_array_release(&a), pumice_array_release(&b), pumice_array_release(&c);
    CHECK(a.memory == NULL);
    FAILS(pumice_array_read(&a, to, 40), PUMICE_ERROR_ARGUMENT, "an array was never created, or was released");
}

/* ---- launches ---- */

static const char* in_kernel(const char* kernel, const char* rest) {
    static char sentence[512];
    uint32_t number = 0;
    const char* line = NULL;
    OK(pumice_find_kernel(&rt_shipped_library, kernel, &number));
    /* The source line is taken from a sentence of the runtime. */
    pumice_range r;
    pumice_device d = NULL;
    memset(&r, 0, sizeof r);
    OK(pumice_open("cpu", NULL, &d));
    CHECK(pumice_launch(d, &rt_shipped_library, number, &r, NULL, 99) == PUMICE_ERROR_ARGUMENT);
    line = strstr(pumice_error(), "): it takes");
    CHECK(line != NULL);
    if (line) snprintf(sentence, sizeof sentence, "%.*s): %s", (int)(line - pumice_error()), pumice_error(), rest);
    pumice_close(d);
    return sentence;
}

static void launches(pumice_device d, pumice_device other) {
    const int64_t n = 100;
    pumice_array y = make(d, PUMICE_F32, n), x = make(d, PUMICE_F32, n), far = make(other, PUMICE_F32, n),
                 ints = make(d, PUMICE_I32, n);
    pumice_array part = y, plane = x, gone = make(d, PUMICE_F32, n), never;
    pumice_range r = pumice_range_1(n);
    pumice_argument arguments[3];
    char text[300];
    uint32_t number = 77;
    pumice_library of_other_version = rt_shipped_library;
    memset(&never, 0, sizeof never);
    pumice_array_release(&gone);
    OK(rt_shipped_saxpy(d, r, &y, &x, 0.5f));
    OK(rt_shipped_saxpy(d, pumice_range_1(0), &y, &x, 0.5f));
    FAILS(rt_shipped_saxpy(NULL, r, &y, &x, 0.5f), PUMICE_ERROR_ARGUMENT, "a launch is given no device");
    FAILS(pumice_launch(d, &rt_shipped_library, 0, NULL, NULL, 0), PUMICE_ERROR_ARGUMENT, "a launch is given no range");
    FAILS(pumice_launch(d, NULL, 0, &r, NULL, 0), PUMICE_ERROR_ARGUMENT, "a call is given no library");
    CHECK(pumice_launch(d, &rt_shipped_library, 1000, &r, NULL, 0) == PUMICE_ERROR_ARGUMENT);
    CHECK(strstr(pumice_error(), "kernel number 1000 of the library rt_shipped is launched, which has ") == pumice_error());
    of_other_version.version = 99;
    FAILS(pumice_launch(d, &of_other_version, 0, &r, NULL, 0), PUMICE_ERROR_BUNDLE,
          "the library rt_shipped was made for version 99 of the runtime, which has version 1");
    FAILS(pumice_launch(d, &rt_shipped_library, 0, &r, NULL, 2), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "it takes 3 arguments and is given 2"));
    FAILS(pumice_launch(d, &rt_shipped_library, 0, &r, NULL, 3), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its 3 arguments are in no memory"));
    FAILS(rt_shipped_saxpy(d, r, NULL, &x, 1), PUMICE_ERROR_ARGUMENT, in_kernel("saxpy", "argument 1 (y) is no array"));
    FAILS(rt_shipped_saxpy(d, r, &y, &ints, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 2 (x) is of type i32 of 4 bytes, and the kernel takes f32 of 4 bytes"));
    FAILS(rt_shipped_saxpy(d, r, &y, &gone, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 2 (x) is an array that was never created, or was released"));
    FAILS(rt_shipped_saxpy(d, r, &y, &never, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 2 (x) is an array that was never created, or was released"));
    FAILS(rt_shipped_saxpy(d, r, &y, &y, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 1 (y) and argument 2 (x) overlap in memory, and argument 1 (y) is written"));
    plane.rank = 2, plane.extents[1] = 1;
    FAILS(rt_shipped_saxpy(d, r, &y, &plane, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 2 (x) is a 2-dimensional array, and the kernel takes a 1-dimensional one"));
    snprintf(text, sizeof text, "argument 2 (x) lies on %s, and the launch is on %s", pumice_device_name(other),
             pumice_device_name(d));
    FAILS(rt_shipped_saxpy(d, r, &y, &far, 1), PUMICE_ERROR_ARGUMENT, in_kernel("saxpy", text));
    part.extents[0] = 101;
    FAILS(rt_shipped_saxpy(d, r, &part, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 1 (y) has 404 bytes from byte 0 on, and its memory has 400"));
    part.extents[0] = -1;
    FAILS(rt_shipped_saxpy(d, r, &part, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 1 (y) has extent -1 along dimension 0"));
    part.extents[0] = INT64_MAX;
    FAILS(rt_shipped_saxpy(d, r, &part, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 1 (y) has more than 2^63 bytes"));
    part.extents[0] = 99, part.offset = 2;
    FAILS(rt_shipped_saxpy(d, r, &part, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 1 (y) begins at byte 2, which is no multiple of 4"));
    memset(arguments, 0, sizeof arguments);
    arguments[0].array = &y, arguments[1].array = &x, arguments[2].type = PUMICE_F64;
    FAILS(pumice_launch(d, &rt_shipped_library, 0, &r, arguments, 3), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 3 (a) is of type f64, and the kernel takes f32"));
    arguments[2].type = -7;
    FAILS(pumice_launch(d, &rt_shipped_library, 0, &r, arguments, 3), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 3 (a) is of an unknown type, and the kernel takes f32"));
    arguments[2].array = &x;
    FAILS(pumice_launch(d, &rt_shipped_library, 0, &r, arguments, 3), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "argument 3 (a) is an array, and the kernel takes a scalar"));

    FAILS(rt_shipped_saxpy(d, pumice_range_2(2, 3), &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "it is launched over a 2-dimensional range and uses 1-dimensional indices"));
    r.rank = 7;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its range has 7 dimensions; the limit is 6"));
    r.rank = -1;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its range has -1 dimensions; the limit is 6"));
    r.rank = 0;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "it is launched over no range, and fixes none at its definition"));
    FAILS(rt_shipped_saxpy(d, pumice_range_1(-3), &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its range has extent -3 along dimension 0: extents are not negative"));
    r = pumice_range_1(3), r.from[0] = 5;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its range reaches from 5 to 3 along dimension 0: the end is not before the start"));
    FAILS(rt_shipped_saxpy(d, pumice_range_1((int64_t)1 << 40), &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy",
                    "its range reaches from 0 to 1099511627776 along dimension 0; indices are from -2147483648 to 2147483646"));
    r = pumice_range_1(INT32_MAX), r.from[0] = -5;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its range has extent 2147483652 along dimension 0; the limit is 2147483647"));
    r = pumice_range_1(n), r.group[0] = -1;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its group has extent -1 along dimension 0: extents are positive"));
    r.group[0] = 3; /* items that cannot tell their group take any */
    OK(rt_shipped_saxpy(d, r, &y, &x, 1));
    r.group[0] = (int64_t)1 << 62;
    FAILS(rt_shipped_saxpy(d, r, &y, &x, 1), PUMICE_ERROR_ARGUMENT,
          in_kernel("saxpy", "its group has more than 1048576 work-items, which is the limit"));
    r.group[0] = 48;
    snprintf(
        text, sizeof text,
        "is launched in groups of 48 x 1 x 1 (axis 0 first), and the library rt_shipped has no code of that group size for %s",
        pumice_device_name(d));
    CHECK(rt_shipped_told_group(d, r, &ints) == PUMICE_ERROR_ARGUMENT && strstr(pumice_error(), text));
    r.group[0] = 7;
    FAILS(rt_shipped_fixed_group(d, r, &ints), PUMICE_ERROR_ARGUMENT,
          in_kernel("fixed_group", "its group has extent 7 along axis 0, and the kernel fixes 8"));
    FAILS(rt_shipped_fixed_range(d, pumice_range_1(13), &ints), PUMICE_ERROR_ARGUMENT,
          in_kernel("fixed_range", "its range has extent 13 along axis 0, and the kernel fixes 12"));

    OK(pumice_find_kernel(&rt_shipped_library, "saxpy.adjoint", &number));
    CHECK(number == 1);
    FAILS(pumice_find_kernel(&rt_shipped_library, "nothing", &number), PUMICE_ERROR_ARGUMENT,
          "the library rt_shipped has no kernel \"nothing\"");
    FAILS(pumice_find_kernel(&rt_shipped_library, NULL, &number), PUMICE_ERROR_ARGUMENT,
          "the library rt_shipped has no kernel \"\"");
    FAILS(pumice_find_kernel(&rt_shipped_library, "saxpy", NULL), PUMICE_ERROR_ARGUMENT,
          "a kernel's number is written into no variable");
    FAILS(pumice_find_kernel(NULL, "saxpy", &number), PUMICE_ERROR_ARGUMENT, "a call is given no library");
    OK(pumice_prepare(d, &rt_shipped_library, 0));
    FAILS(pumice_prepare(NULL, &rt_shipped_library, 0), PUMICE_ERROR_ARGUMENT, "a kernel is prepared for no device");
    CHECK(pumice_prepare(d, &rt_shipped_library, 1000) == PUMICE_ERROR_ARGUMENT);
    pumice_array_release(&y), pumice_array_release(&x), pumice_array_release(&far), pumice_array_release(&ints);
}

/* ---- bundles ---- */

static void bundles(pumice_device d, const char* path) {
    const pumice_library *library = NULL, *again = NULL;
    pumice_range r = pumice_range_1(4);
    uint32_t kernel = 0;
    char text[300];
    pumice_argument arguments[3];
    pumice_array y = make(d, PUMICE_F32, 4), x = make(d, PUMICE_F32, 4);
    char* const copy = malloc(rt_shipped_library.bundle_bytes);
    memset(arguments, 0, sizeof arguments);
    arguments[0].array = &y, arguments[1].array = &x, arguments[2].type = PUMICE_F32;
    FAILS(pumice_bundle_open(NULL, 5, &library), PUMICE_ERROR_ARGUMENT, "a bundle is opened from no bytes, or into no library");
    FAILS(pumice_bundle_open("abc", 3, &library), PUMICE_ERROR_BUNDLE,
          "it has 3 bytes, less than a header (in the bundle in memory)");
    FAILS(pumice_bundle_open_file(NULL, &library), PUMICE_ERROR_ARGUMENT, "a bundle is opened from no path, or into no library");
    FAILS(pumice_bundle_open_file("/nowhere/at.all", &library), PUMICE_ERROR_BUNDLE,
          "the bundle /nowhere/at.all cannot be opened");
    CHECK(pumice_bundle_open_file("/", &library) == PUMICE_ERROR_BUNDLE);
    CHECK(pumice_bundle_open_file("/dev/null", &library) == PUMICE_ERROR_BUNDLE);
    for (int round = 0; round < 3; ++round) {
        OK(pumice_bundle_open_file(path, &library));
        OK(pumice_bundle_open(rt_shipped_library.bundle, rt_shipped_library.bundle_bytes, &again));
        OK(pumice_find_kernel(library, "saxpy", &kernel));
        snprintf(text, sizeof text, "has no code in the library %.40s", path);
        CHECK(pumice_launch(d, library, kernel, &r, arguments, 3) == PUMICE_ERROR_DEVICE && strstr(pumice_error(), text));
        CHECK(pumice_launch(d, again, kernel, &r, arguments, 3) == PUMICE_ERROR_DEVICE);
        CHECK(pumice_prepare(d, again, kernel) == PUMICE_ERROR_DEVICE);
        pumice_bundle_close(library), pumice_bundle_close(again);
    }
    pumice_bundle_close(NULL);
    pumice_bundle_close(&rt_shipped_library); /* stays */
    OK(pumice_launch(d, &rt_shipped_library, 0, &r, arguments, 3));
    if (copy) { /* edited, truncated, of another version */
        memcpy(copy, rt_shipped_library.bundle, rt_shipped_library.bundle_bytes);
        copy[500] ^= 1;
        FAILS(pumice_bundle_open(copy, rt_shipped_library.bundle_bytes, &library), PUMICE_ERROR_BUNDLE,
              "its checksum or table is wrong: it is damaged or edited (in the bundle in memory)");
        copy[500] ^= 1;
        CHECK(pumice_bundle_open(copy, rt_shipped_library.bundle_bytes - 1, &library) == PUMICE_ERROR_BUNDLE);
        CHECK(strstr(pumice_error(), ": it is truncated or edited (in the bundle in memory)"));
        copy[8] = 9;
        FAILS(pumice_bundle_open(copy, rt_shipped_library.bundle_bytes, &library), PUMICE_ERROR_BUNDLE,
              "its version is 9; this runtime reads the versions 1 to 1 (in the bundle in memory)");
        copy[0] = 'Q';
        FAILS(pumice_bundle_open(copy, rt_shipped_library.bundle_bytes, &library), PUMICE_ERROR_BUNDLE,
              "it does not begin like a bundle of Pumice (in the bundle in memory)");
    }
    free(copy);
    pumice_array_release(&y), pumice_array_release(&x);
}

/* ---- memory that runs out ---- */

/* Work of every kind; the first error, or PUMICE_OK with right results. Releases everything. */
static pumice_status work(pumice_device d) {
    enum { n = 3000 };
    static uint32_t from[n], bins[61];
    const int64_t many = n, few = 61, ints = 4;
    const uint32_t zero = 0;
    pumice_array x, sums, small;
    pumice_stream s = NULL, t = NULL;
    pumice_event e = NULL;
    pumice_status status;
    memset(&x, 0, sizeof x), memset(&sums, 0, sizeof sums), memset(&small, 0, sizeof small);
    for (int i = 0; i < n; ++i) from[i] = (uint32_t)i;
    pumice_range r = pumice_range_1(n), on = r;
    (void)((status = pumice_array_create(d, PUMICE_U32, 0, 1, &many, &x)) ||
           (status = pumice_array_create(d, PUMICE_U32, 0, 1, &few, &sums)) ||
           (status = pumice_array_create(d, PUMICE_I32, 0, 1, &ints, &small)) ||
           (status = pumice_array_write(&x, from, sizeof from)) || (status = pumice_array_fill(&sums, &zero, NULL)) ||
           (status = rt_shipped_histogram(d, r, &sums, &x)) || (status = pumice_stream_create(d, 0, &s)) ||
           (status = pumice_stream_create(d, 1, &t)) || (on.stream = s, status = rt_shipped_histogram(d, on, &sums, &x)) ||
           (status = pumice_record(d, s, &e)) || (status = pumice_wait_for(d, t, e)) ||
           (on.stream = t, status = rt_shipped_histogram(d, on, &sums, &x)) || (status = pumice_synchronize(d)) ||
           (status = rt_shipped_requires_small(d, pumice_range_1(ints), &small)) ||
           (status = rt_shipped_sized_local(d, pumice_range_1(ints), &small)) ||
           (status = pumice_array_read(&sums, bins, sizeof bins)));
    if (status == PUMICE_OK)
        for (int i = 0; i < 61; ++i) CHECK(bins[i] == 3u * (uint32_t)(n / 61 + (i < n % 61)));
    pumice_event_release(e);
    pumice_stream_release(s), pumice_stream_release(t);
    pumice_array_release(&x), pumice_array_release(&sums), pumice_array_release(&small);
    return status;
}

/* Runs the work while call number `fails_at` gives no memory (all from -fails_at on if it is negative); returns the calls. */
static long run_out(int own_pool, long fails_at) {
    Host h;
    pumice_device d = NULL;
    pumice_status status;
    host_begin(&h);
    pumice_hooks hooks = hooks_of(&h);
    if (own_pool) hooks.parallel = NULL;
    h.fails_at = fails_at;
    status = pumice_open("cpu", &hooks, &d);
    if (status == PUMICE_OK) {
        status = work(d);
        CHECK(status == PUMICE_OK || (status == PUMICE_ERROR_MEMORY && strstr(pumice_error(), "memory")));
        pumice_synchronize(d); /* errors of streams that nobody has asked for */
        h.fails_at = 0;
        OK(work(d));
        pumice_close(d);
    } else {
        CHECK(status == PUMICE_ERROR_MEMORY && d == NULL && h.errors == 1);
    }
    CHECK(h.live == 0);
    return h.calls;
}
static void running_out(int own_pool) {
    const long calls = run_out(own_pool, 0);
    for (long n = 1; n <= calls; ++n) {
        run_out(own_pool, n);
        run_out(own_pool, -n);
    }
    printf("memory ran out at each of %ld calls\n", calls);
}

/* ---- reports ---- */

static void reports(void) {
    Host h;
    pumice_device d = NULL;
    host_begin(&h);
    pumice_hooks hooks = hooks_of(&h);
    OK(pumice_open("cpu", &hooks, &d));
    pumice_array x = make(d, PUMICE_I32, 20);
    const int32_t eleven = 11;
    OK(pumice_array_fill(&x, &eleven, NULL));
    OK(rt_shipped_prints_planes(d, pumice_range_3(2, 3, 4), 0x3fc0));
    OK(rt_shipped_requires_small(d, pumice_range_1(20), &x));
    CHECK(h.lines == 0);
    CHECK(pumice_synchronize(d) == PUMICE_ERROR_REQUIREMENT);
    CHECK(h.lines == 24 && strcmp(h.line, "1 2 3 1.5") == 0 && h.errors == 1);
    CHECK(strstr(pumice_error(), "Kernel \"requires_small\" fails a requirement: 11 is below ten (work-item 0, rt_kernels.h:") ==
          pumice_error());
    CHECK(strstr(pumice_error(), "; 19 more requirements fail"));
    OK(pumice_synchronize(d));
    /* The error waits for the next wait also across a stream that is gone. */
    pumice_stream s = NULL;
    pumice_range r = pumice_range_1(20);
    OK(pumice_stream_create(d, -1, &s));
    r.stream = s;
    OK(rt_shipped_requires_small(d, r, &x));
    pumice_stream_release(s);
    CHECK(pumice_synchronize(d) == PUMICE_ERROR_REQUIREMENT);
    OK(rt_shipped_prints_planes(d, pumice_range_3(1, 1, 1), 0x3fc0));
    pumice_array_release(&x);
    pumice_close(d); /* delivers the last line */
    CHECK(h.lines == 25 && h.live == 0);
}

/* The hook for lines calls the runtime: nothing waits for itself. */
static pumice_device printing = NULL;
static int calls_back = 0;
static void call_back(void* user, const char* line) {
    const int64_t n = 4;
    float four[4];
    pumice_array y, x;
    pumice_stream s;
    (void)user;
    ++calls_back;
    if (line[0] != '0' || calls_back > 1) return;
    OK(pumice_synchronize(printing));
    OK(pumice_array_create(printing, PUMICE_F32, 0, 1, &n, &y));
    OK(pumice_array_create(printing, PUMICE_F32, 0, 1, &n, &x));
    OK(rt_shipped_saxpy(printing, pumice_range_1(4), &y, &x, 2));
    OK(pumice_array_read(&y, four, sizeof four));
    OK(pumice_stream_create(printing, 0, &s));
    pumice_stream_release(s);
    FAILS(rt_shipped_prints_planes(printing, pumice_range_3(1, 1, 1), 0), PUMICE_ERROR_ARGUMENT,
          "kernel \"prints_planes\" prints, and is launched by the hook that takes the lines");
    pumice_array_release(&y), pumice_array_release(&x);
}
static void calls_by_hooks(void) {
    pumice_hooks hooks;
    memset(&hooks, 0, sizeof hooks);
    hooks.print = call_back;
    OK(pumice_open("cpu", &hooks, &printing));
    OK(rt_shipped_prints_planes(printing, pumice_range_3(1, 2, 3), 0x3f80));
    OK(pumice_synchronize(printing));
    CHECK(calls_back == 6);
    pumice_close(printing);
}

int main(int argc, char** argv) {
    pumice_device d = NULL, other = NULL;
    pumice_hooks two;
    if (argc != 2) return fprintf(stderr, "usage: rt_interface BUNDLE\n"), 2;
    devices();
    memset(&two, 0, sizeof two);
    two.threads = 2;
    OK(pumice_open("cpu", &two, &d));
    OK(pumice_open("cpu", NULL, &other));
    arrays(d, other);
    launches(d, other);
    bundles(d, argv[1]);
    OK(work(d));
    pumice_close(d), pumice_close(other);
    running_out(0);
    running_out(1);
    reports();
    calls_by_hooks();
    if (failures) printf("%d checks failed\n", failures);
    return failures != 0;
}
