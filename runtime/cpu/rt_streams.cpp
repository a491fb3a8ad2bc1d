#include "runtime/cpu/rt_streams.h"

#include <stdio.h>

namespace pumice_rt {

bool StreamGate::is_free(int priority, int threads) const {
    int urgent = 0;
    for (int p = priority + 2; p < 3; ++p) urgent += __atomic_load_n(&busy[p], __ATOMIC_SEQ_CST);
    return urgent < threads;
}

void StreamGate::end(int priority) {
    count(priority, -1);
    if (__atomic_load_n(&passing, __ATOMIC_SEQ_CST) > 0) wake();
}

void StreamGate::wake() {
    const Lock lock(mutex);
    changed.wake_all();
}

void StreamGate::pass(int priority, int threads, const int* waiters) {
    if (is_free(priority, threads)) return;
    const Lock lock(mutex);
    __atomic_fetch_add(&passing, 1, __ATOMIC_SEQ_CST);
    while (!is_free(priority, threads) && __atomic_load_n(waiters, __ATOMIC_SEQ_CST) == 0) changed.wait(mutex);
    __atomic_fetch_sub(&passing, 1, __ATOMIC_SEQ_CST);
}

CpuStream::CpuStream(pumice_device on, int with, RunCommand* runs, StreamGate& of, int count)
    : run(runs), gate(of), threads(count) {
    device = on, priority = with;
}

pumice_status CpuStream::start() {
    started = pthread_create(&thread, nullptr, thread_main, this) == 0;
    return started ? PUMICE_OK
                   : fail(PUMICE_ERROR_SYSTEM, "a stream on %s cannot be made: the system gives no thread", device->name);
}

void CpuStream::let_go() {
    if (__atomic_sub_fetch(&holders, 1, __ATOMIC_ACQ_REL) == 0) destroy(device->hooks, this);
}

void CpuStream::stop() {
    if (!started) return;
    started = false;
    {
        const Lock lock(mutex);
        stops = true;
        changed.wake_all();
    }
    pthread_join(thread, nullptr);  // it runs all commands first
}

uint64_t CpuStream::submit(Command* command) {
    const Lock lock(mutex);
    if (submitted == finished) gate.begin(priority);
    (last ? last->next : first) = command;
    last = command;
    changed.wake_all();
    return ++submitted;
}

uint64_t CpuStream::submitted_so_far() {
    if (is_of_parent()) return 0;  // the parent may have forked while its thread held the mutex
    const Lock lock(mutex);
    return submitted;
}

void CpuStream::wait(uint64_t number) {
    if (is_of_parent()) return;
    const Lock lock(mutex);
    if (finished >= number) return;
    __atomic_fetch_add(&waiters, 1, __ATOMIC_SEQ_CST);
    gate.wake();
    while (finished < number) changed.wait(mutex);
    __atomic_fetch_sub(&waiters, 1, __ATOMIC_SEQ_CST);
}

bool CpuStream::done(uint64_t number) {
    if (is_of_parent()) return true;
    const Lock lock(mutex);
    return finished >= number;
}

pumice_status CpuStream::take_error(bool quietly) {
    if (is_of_parent()) return PUMICE_OK;
    const Lock lock(mutex);
    const pumice_status status = error;
    error = PUMICE_OK;
    return status == PUMICE_OK || quietly ? status : fail(status, "%s", sentence);
}

void* CpuStream::thread_main(void* stream) {
    static_cast<CpuStream*>(stream)->work();
    return nullptr;
}

void CpuStream::work() {
    mutex.lock();
    for (;;) {
        while (!first && !stops) changed.wait(mutex);
        Command* const command = first;
        if (!command) break;
        first = command->next;
        if (!first) last = nullptr;
        mutex.unlock();
        const bool waits = command->kind == Command::Kind::wait;
        if (waits)
            gate.end(priority);  // a stream that waits is not busy
        else
            gate.pass(priority, threads, &waiters);
        const pumice_status status = run(device, *command);
        release(device->hooks, command, command->bytes);
        if (waits) gate.begin(priority);
        mutex.lock();
        if (status != PUMICE_OK && error == PUMICE_OK) {
            error = status;
            snprintf(sentence, sizeof sentence, "%s", pumice_error());
        }
        if (++finished == submitted) gate.end(priority);
        changed.wake_all();
    }
    mutex.unlock();
}

}  // namespace pumice_rt
