// Vectors aligned to cache lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace bayeskit {

template <class T>
struct CacheLines {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};

    CacheLines() = default;
    template <class U>
    CacheLines(const CacheLines<U>&) {}
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
    void deallocate(T* p, size_t) { ::operator delete(p, kLine); }
    template <class U>
    bool operator==(const CacheLines<U>&) const {
        return true;
    }
};

template <class T>
using Aligned = std::vector<T, CacheLines<T>>;

}  // namespace bayeskit
