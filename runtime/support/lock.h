// Locks by POSIX threads: the C++ library's own ones may throw, and would need that library.
#pragma once
#include <pthread.h>

namespace pumice_rt {

class Mutex {
public:
    Mutex() = default;
    ~Mutex() { pthread_mutex_destroy(&handle); }
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock() { pthread_mutex_lock(&handle); }
    void unlock() { pthread_mutex_unlock(&handle); }
    pthread_mutex_t handle = PTHREAD_MUTEX_INITIALIZER;
};

class Condition {
public:
    Condition() = default;
    ~Condition() { pthread_cond_destroy(&handle); }
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    /// The caller holds the mutex.
    void wait(Mutex& mutex) { pthread_cond_wait(&handle, &mutex.handle); }
    void wake_all() { pthread_cond_broadcast(&handle); }
    void wake_one() { pthread_cond_signal(&handle); }

private:
    pthread_cond_t handle = PTHREAD_COND_INITIALIZER;
};

/// Holds the mutex until the end of the block.
class Lock {
public:
    explicit Lock(Mutex& mutex) : mutex(mutex) { mutex.lock(); }
    ~Lock() { mutex.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    Mutex& mutex;
};

}  // namespace pumice_rt
