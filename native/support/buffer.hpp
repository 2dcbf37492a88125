// Uninitialized memory that grows in place where the system can, and vectors aligned to cache lines.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace bayeskit {

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Buffer() { std::free(data_); }

    T* data() { return data_; }
    size_t size() const { return size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }

    void resize(size_t n) {
        void* moved = std::realloc(data_, (n ? n : 1) * sizeof(T));
        if (!moved) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        size_ = n;
        ask_for_large_pages();
    }

private:
    // A large block is then set up in few steps, and reached through few entries of the tables of pages.
    void ask_for_large_pages() {
#ifdef __linux__
        constexpr size_t kLarge = size_t{1} << 22, kPage = 4096;
        if (size_ * sizeof(T) < kLarge) return;
        const size_t first = (reinterpret_cast<size_t>(data_) + kPage - 1) & ~(kPage - 1);
        madvise(reinterpret_cast<void*>(first), reinterpret_cast<size_t>(data_ + size_) - first, MADV_HUGEPAGE);
#endif
    }

    T* data_ = nullptr;
    size_t size_ = 0;
};

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
