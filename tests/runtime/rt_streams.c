/* Streams and events: order, overlap, waits between streams, releases with work pending, and calls from several threads. C99. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rt_shipped.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RT_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define RT_THREAD_SANITIZER
#endif

static int failures = 0;

#define CHECK(condition)                                                                                                      \
    do {                                                                                                                      \
        if (!(condition)) {                                                                                                   \
            fprintf(stderr, "%s:%d: %s does not hold; the last error: %s\n", __FILE__, __LINE__, #condition, pumice_error()); \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                                               \
        }                                                                                                                     \
    } while (0)
#define OK(call) CHECK((call) == PUMICE_OK)

enum { items = 500 };

static pumice_array make(pumice_device d, int type, int64_t n) {
    pumice_array a;
    memset(&a, 0, sizeof a);
    OK(pumice_array_create(d, type, 0, 1, &n, &a));
    return a;
}
static pumice_range on(int64_t n, pumice_stream s) {
    pumice_range r = pumice_range_1(n);
    r.stream = s;
    return r;
}
static uint32_t first_of(const pumice_array* a) {
    static uint32_t unused[items];
    uint32_t* const all = a->extents[0] == items ? malloc(sizeof unused) : NULL;
    uint32_t first = 0;
    if (!all) return 0;
    OK(pumice_array_read(a, all, sizeof unused));
    for (int i = 1; i < items; ++i) CHECK(all[i] == all[0]);
    first = all[0];
    free(all);
    return first;
}

/* Work of one stream runs in order; that of two is ordered by events. */
static void order(pumice_device d) {
    pumice_stream s, t;
    pumice_array x = make(d, PUMICE_U32, items);
    uint32_t want = 0;
    OK(pumice_stream_create(d, -1, &s));
    OK(pumice_stream_create(d, 1, &t));
    for (uint32_t i = 1; i <= 60; ++i) {
        pumice_event e;
        OK(rt_shipped_mix(d, on(items, i % 2 ? s : t), &x, i));
        OK(pumice_record(d, i % 2 ? s : t, &e));
        OK(pumice_wait_for(d, i % 2 ? t : s, e));
        pumice_event_release(e); /* while the wait is pending */
        want = want * 31 + i;
        if (i % 16 == 0) { /* the default stream comes after both, and before what follows */
            OK(rt_shipped_mix(d, on(items, NULL), &x, 1000));
            want = want * 31 + 1000;
        }
    }
    CHECK(first_of(&x) == want);
    const uint32_t five = 5;
    pumice_array y = make(d, PUMICE_U32, items);
    OK(pumice_array_fill(&x, &five, s));
    OK(rt_shipped_mix(d, on(items, s), &x, 1));
    OK(pumice_array_copy(&x, &y, s));
    OK(rt_shipped_mix(d, on(items, s), &y, 2));
    CHECK(first_of(&y) == (5 * 31 + 1) * 31 + 2);
    pumice_stream_release(s), pumice_stream_release(t);
    pumice_array_release(&x), pumice_array_release(&y);
}

/* The host goes on while a stream works, and two streams work at once. */
static void overlap(pumice_device d) {
    pumice_stream s;
    pumice_event e, none;
    pumice_array x = make(d, PUMICE_F32, 1), y = make(d, PUMICE_U32, items);
    OK(pumice_stream_create(d, 0, &s));
    OK(pumice_record(d, NULL, &none));
    CHECK(pumice_event_done(none));
    OK(rt_shipped_spin(d, on(1, s), &x, 100000000));
    OK(pumice_record(d, s, &e));
    CHECK(!pumice_event_done(e));
    OK(pumice_event_wait(e));
    CHECK(pumice_event_done(e));
    OK(pumice_event_wait(none));
    OK(pumice_event_wait(NULL));
    CHECK(pumice_event_done(NULL));
    pumice_event_release(e), pumice_event_release(none), pumice_event_release(NULL);
    pumice_stream_release(s), pumice_stream_release(NULL);
    pumice_array_release(&x), pumice_array_release(&y);
}

/* Work of a low stream begins when no more urgent stream has any, unless the host waits for it. */
static void priorities(pumice_device d, int busy) {
    pumice_stream high[2], low;
    pumice_event ends[2], end;
    pumice_array x[2], y = make(d, PUMICE_U32, items);
    const uint32_t seven = 7;
    OK(pumice_stream_create(d, -1, &low));
    for (int i = 0; i < busy; ++i) {
        x[i] = make(d, PUMICE_F32, 1);
        OK(pumice_stream_create(d, i == 0 ? 1 : 0, &high[i]));
    }
    for (int waited = 0; waited < 2; ++waited) {
        /* The stream is busy between its launches, too. */
        for (int k = 0; k < 4 * busy; ++k) OK(rt_shipped_spin(d, on(1, high[k % busy]), &x[k % busy], 20000000));
        for (int i = 0; i < busy; ++i) OK(pumice_record(d, high[i], &ends[i]));
        OK(rt_shipped_mix(d, on(items, low), &y, 1));
        OK(pumice_array_fill(&y, &seven, low));
        OK(pumice_record(d, low, &end));
        if (waited) {
            OK(pumice_event_wait(end));
            CHECK(!pumice_event_done(ends[0]));
        }
        for (int all = 0; !all && !waited;) {
            const int low_is_done = pumice_event_done(end), first = pumice_event_done(ends[0]);
            const int second = busy < 2 || pumice_event_done(ends[1]);
            const int in_order = !low_is_done || first || (busy == 2 && second);
            CHECK(in_order);
            all = (first && second) || !in_order;
        }
        for (int i = 0; i < busy; ++i) pumice_event_release(ends[i]);
        CHECK(first_of(&y) == 7);
        pumice_event_release(end);
    }
    /* A stream that waits for an event is not busy. */
    OK(rt_shipped_mix(d, on(items, low), &y, 1));
    OK(pumice_record(d, low, &end));
    for (int i = 0; i < busy; ++i) OK(pumice_wait_for(d, high[i], end));
    for (int i = 0; i < busy; ++i) OK(rt_shipped_spin(d, on(1, high[i]), &x[i], 1000));
    CHECK(first_of(&y) == 7 * 31 + 1);
    pumice_event_release(end);
    for (int i = 0; i < busy; ++i) pumice_stream_release(high[i]), pumice_array_release(&x[i]);
    pumice_stream_release(low);
    pumice_array_release(&y);
}

/* Streams, arrays and events are released while work is pending. */
static void releases(pumice_device d) {
    for (int round = 0; round < 5; ++round) {
        pumice_stream s, t;
        pumice_event e;
        pumice_array x = make(d, PUMICE_F32, 4), y = make(d, PUMICE_U32, items);
        OK(pumice_stream_create(d, 0, &s));
        OK(pumice_stream_create(d, 0, &t));
        OK(rt_shipped_spin(d, on(4, s), &x, 300000));
        OK(pumice_record(d, s, &e));
        OK(pumice_wait_for(d, t, e));
        OK(rt_shipped_mix(d, on(items, t), &y, 9));
        pumice_stream_release(s);
        CHECK(pumice_event_done(e)); /* the stream is gone, and its work was done before */
        OK(pumice_event_wait(e));
        OK(pumice_wait_for(d, t, e));
        OK(pumice_wait_for(d, NULL, e));
        OK(rt_shipped_mix(d, on(items, t), &y, 9));
        if (round % 2) pumice_array_release(&x);
        CHECK(first_of(&y) == 9 * 31 + 9);
        pumice_stream_release(t);
        pumice_event_release(e);
        pumice_array_release(&x), pumice_array_release(&y);
    }
}

static void wrong(pumice_device d, pumice_device other) {
    pumice_stream s;
    pumice_event e;
    pumice_array y = make(d, PUMICE_U32, items);
    CHECK(pumice_stream_create(NULL, 0, &s) == PUMICE_ERROR_ARGUMENT);
    CHECK(pumice_stream_create(d, 0, NULL) == PUMICE_ERROR_ARGUMENT);
    CHECK(strcmp(pumice_error(), "a stream is created on no device, or into no variable") == 0);
    CHECK(pumice_stream_create(d, 2, &s) == PUMICE_ERROR_ARGUMENT);
    CHECK(strcmp(pumice_error(), "a stream has priority 2; it is -1, 0 or 1") == 0);
    OK(pumice_stream_create(other, 0, &s));
    CHECK(rt_shipped_mix(d, on(items, s), &y, 1) == PUMICE_ERROR_ARGUMENT);
    CHECK(strstr(pumice_error(), "kernel \"mix\" is put on a stream of ") == pumice_error());
    CHECK(pumice_record(d, s, &e) == PUMICE_ERROR_ARGUMENT);
    CHECK(strstr(pumice_error(), "a stream of ") == pumice_error());
    CHECK(pumice_record(d, NULL, NULL) == PUMICE_ERROR_ARGUMENT);
    CHECK(pumice_record(NULL, NULL, &e) == PUMICE_ERROR_ARGUMENT);
    CHECK(pumice_wait_for(d, s, NULL) == PUMICE_ERROR_ARGUMENT);
    CHECK(pumice_array_fill(&y, "abcd", s) == PUMICE_ERROR_ARGUMENT);
    OK(pumice_record(other, s, &e));
    OK(pumice_wait_for(d, NULL, e)); /* of another device */
    /* A group without code is an error of the launch on a stream, too. */
    pumice_stream own;
    pumice_range r;
    OK(pumice_stream_create(d, 0, &own));
    r = on(items, own), r.group[0] = 48;
    pumice_array ints = make(d, PUMICE_I32, items);
    CHECK(rt_shipped_told_group(d, r, &ints) == PUMICE_ERROR_ARGUMENT);
    pumice_stream_release(own);
    pumice_event_release(e);
    pumice_stream_release(s);
    pumice_array_release(&y), pumice_array_release(&ints);
}

/* A forked process has the device and its arrays, one thread, and no stream of its parent. */
static void forks(pumice_device d) {
    pumice_stream s, own;
    pumice_event e;
    pumice_array x = make(d, PUMICE_U32, items), y = make(d, PUMICE_F32, items);
    OK(pumice_stream_create(d, 0, &s));
    OK(rt_shipped_mix(d, on(items, NULL), &x, 3));
    OK(pumice_array_fill(&y, "abcd", s));
    OK(rt_shipped_spin(d, on(4, s), &y, 300000)); /* pending */
    OK(pumice_record(d, s, &e));
    const pid_t forked = fork();
    if (forked == 0) {
        alarm(60); /* for a wait that does not end */
        failures = 0;
        OK(rt_shipped_mix(d, on(items, NULL), &x, 4));
        CHECK(first_of(&x) == 3 * 31 + 4);
        CHECK(rt_shipped_mix(d, on(items, s), &x, 4) == PUMICE_ERROR_LOST);
        CHECK(strstr(pumice_error(), "was made before this process was forked, and its thread does not exist here"));
        CHECK(pumice_array_fill(&x, "abcd", s) == PUMICE_ERROR_LOST);
        OK(pumice_synchronize(d));
        OK(pumice_event_wait(e));
        OK(pumice_wait_for(d, NULL, e));
        OK(pumice_stream_create(d, 0, &own));
        OK(pumice_wait_for(d, own, e));
        OK(rt_shipped_mix(d, on(items, own), &x, 5));
        CHECK(first_of(&x) == (3 * 31 + 4) * 31 + 5);
        pumice_array_release(&x), pumice_array_release(&y);
        pumice_event_release(e);
        pumice_stream_release(own), pumice_stream_release(s);
        pumice_close(d);
        OK(pumice_open("cpu", NULL, &d));
        x = make(d, PUMICE_U32, items);
        OK(rt_shipped_mix(d, on(items, NULL), &x, 6));
        CHECK(first_of(&x) == 6);
        pumice_array_release(&x);
        pumice_close(d);
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(waitpid(forked, &status, 0) == forked);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(rt_shipped_mix(d, on(items, s), &x, 7)); /* the parent goes on */
    CHECK(first_of(&x) == 3 * 31 + 7);
    pumice_event_release(e);
    pumice_stream_release(s);
    pumice_array_release(&x), pumice_array_release(&y);
}

/* ---- several threads ---- */

typedef struct {
    pumice_device device;
    int number;
    pthread_barrier_t* start;
} Worker;

static void* worker(void* context) {
    const Worker* const w = context;
    pumice_device d = w->device, own = NULL;
    pumice_stream s;
    pumice_array x = make(d, PUMICE_U32, items);
    uint32_t want = 0;
    OK(pumice_stream_create(d, 0, &s));
    pthread_barrier_wait(w->start);
    OK(pumice_open("cpu", NULL, &own)); /* the library's first use on another device */
    for (uint32_t i = 0; i < 50; ++i) {
        OK(rt_shipped_mix(d, on(items, w->number % 2 ? s : NULL), &x, i));
        want = want * 31 + i;
        if (i % 10 == 3) {
            pumice_event e;
            OK(pumice_record(d, s, &e));
            OK(pumice_event_wait(e));
            pumice_event_release(e);
            CHECK(first_of(&x) == want);
        }
        if (i % 10 == 5) OK(rt_shipped_prints_planes(d, pumice_range_3(1, 2, 3), 0x3f80));
        if (i % 10 == 7) OK(pumice_synchronize(d));
        if (i % 10 == 9) {
            pumice_array z = make(own, PUMICE_F64, items), y = make(own, PUMICE_F64, items);
            OK(rt_shipped_doubles(own, pumice_range_1(items), &z, &y, 1.0));
            pumice_array_release(&z), pumice_array_release(&y);
        }
    }
    CHECK(first_of(&x) == want);
    pumice_stream_release(s);
    pumice_array_release(&x);
    pumice_close(own);
    return NULL;
}

static void count_line(void* user, const char* line) {
    if (line[0]) __atomic_fetch_add((int*)user, 1, __ATOMIC_RELAXED);
}

static void threads(void) {
    enum { count = 6 };
    pthread_t all[count];
    Worker workers[count];
    pthread_barrier_t start;
    pumice_device d = NULL;
    pumice_hooks hooks;
    int lines = 0;
    memset(&hooks, 0, sizeof hooks);
    hooks.user = &lines, hooks.print = count_line, hooks.threads = 2;
    OK(pumice_open("cpu", &hooks, &d));
    pthread_barrier_init(&start, NULL, count);
    for (int i = 0; i < count; ++i) {
        const Worker w = {d, i, &start};
        workers[i] = w;
        CHECK(pthread_create(&all[i], NULL, worker, &workers[i]) == 0);
    }
    for (int i = 0; i < count; ++i) pthread_join(all[i], NULL);
    OK(pumice_synchronize(d));
    CHECK(lines == count * 5 * 6);
    pumice_close(d);
    pthread_barrier_destroy(&start);
}

int main(void) {
    pumice_device d = NULL, other = NULL;
    pumice_hooks hooks;
    threads(); /* first, so that the bundle is opened by several threads at once */
    memset(&hooks, 0, sizeof hooks);
    for (hooks.threads = 1; hooks.threads <= 2; ++hooks.threads) {
        OK(pumice_open("cpu", &hooks, &d));
        OK(pumice_open("cpu", NULL, &other));
        order(d);
        overlap(d);
        priorities(d, hooks.threads);
        releases(d);
        wrong(d, other);
#ifndef RT_THREAD_SANITIZER /* it ends a forked process that starts a thread */
        forks(d);
#else
        (void)forks;
#endif
        pumice_close(d), pumice_close(other);
    }
    if (failures) printf("%d checks failed\n", failures);
    return failures != 0;
}
