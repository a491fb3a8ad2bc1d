// Host memory of the runtime: allocated by the application's hooks (its malloc and free), or else by the C library, and never by
// `new`, so that running out of it is an error and not an abort.
#pragma once
#include <stddef.h>
#include <string.h>
#include <new>  // placement only
#include <utility>

#include "runtime/api/rt_api.h"

namespace pumice_rt {

/// Memory by the hooks, or by the C library where they have none. Null if there is none.
void* allocate(const pumice_hooks& hooks, size_t bytes, size_t alignment = 16);
void release(const pumice_hooks& hooks, void* memory, size_t bytes);

/// A new object, or null.
template <class T, class... A> T* make(const pumice_hooks& hooks, A&&... arguments) {
    void* memory = allocate(hooks, sizeof(T), alignof(T) < 16 ? 16 : alignof(T));
    return memory ? new (memory) T{std::forward<A>(arguments)...} : nullptr;
}
template <class T> void destroy(const pumice_hooks& hooks, T* object) {
    if (!object) return;
    object->~T();
    release(hooks, object, sizeof(T));
}

/// A growing array of trivial elements. Functions that allocate return false if there is no memory; the list is then as before.
template <class T> class List {
public:
    explicit List(const pumice_hooks& with) : hooks(&with) {}
    ~List() { release(*hooks, items, capacity * sizeof(T)); }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    bool reserve(size_t count) {
        if (count <= capacity) return true;
        size_t wanted = capacity < 8 ? 8 : 2 * capacity;
        if (wanted < count) wanted = count;
        T* const larger = static_cast<T*>(allocate(*hooks, wanted * sizeof(T), alignof(T) < 16 ? 16 : alignof(T)));
        if (!larger) return false;
        if (used) memcpy(static_cast<void*>(larger), items, used * sizeof(T));
        release(*hooks, items, capacity * sizeof(T));
        items = larger, capacity = wanted;
        return true;
    }
    bool push(const T& item) {
        const T copy = item;  // it may be an element of this list
        if (!reserve(used + 1)) return false;
        items[used++] = copy;
        return true;
    }
    /// New elements have all bytes 0.
    bool resize(size_t count) {
        if (!reserve(count)) return false;
        if (count > used) memset(static_cast<void*>(items + used), 0, (count - used) * sizeof(T));
        used = count;
        return true;
    }
    void clear() { used = 0; }
    void swap(List& other) {
        std::swap(hooks, other.hooks);
        std::swap(items, other.items);
        std::swap(used, other.used);
        std::swap(capacity, other.capacity);
    }
    /// The last element takes the place of element i.
    void remove_unordered(size_t i) { items[i] = items[--used]; }
    T& operator[](size_t i) { return items[i]; }
    const T& operator[](size_t i) const { return items[i]; }
    T* data() { return items; }
    const T* data() const { return items; }
    size_t size() const { return used; }
    T* begin() { return items; }
    T* end() { return items + used; }
    const T* begin() const { return items; }
    const T* end() const { return items + used; }

private:
    const pumice_hooks* hooks;
    T* items = nullptr;
    size_t used = 0, capacity = 0;
};

}  // namespace pumice_rt
