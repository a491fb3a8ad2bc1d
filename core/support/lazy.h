// A value that is made when somebody first asks for it.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/support/namespaces.h"

namespace pumice::internal {

/// Holds what `make` returns, which runs once, at the first question; none where it returns nothing. Copies share the value. May
/// be asked by several threads at once; `make` must not ask the same object.
template <class T> class Lazy {
public:
    Lazy() = default;  ///< none
    Lazy(std::function<std::optional<T>()> make) : state(std::make_shared<State>()) { state->make = std::move(make); }

    /// Null where there is none.
    const T* get() const {
        if (!state) return nullptr;
        std::call_once(state->once, [this] {
            state->value = state->make();
            state->make = nullptr;  // with what it holds
        });
        return state->value ? &*state->value : nullptr;
    }
    explicit operator bool() const { return get() != nullptr; }
    const T& operator*() const { return *get(); }
    const T* operator->() const { return get(); }

private:
    struct State {
        std::once_flag once;
        std::function<std::optional<T>()> make;
        std::optional<T> value;
    };
    std::shared_ptr<State> state;
};

}  // namespace pumice::internal
