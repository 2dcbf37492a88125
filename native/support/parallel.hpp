// Run tasks 0..n-1 on several threads. Results never depend on which thread runs a task.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bayeskit {

constexpr size_t kMostThreads = 4096;  // as in threads.py

// A thread is started, and waited for, in the time of some tens of thousands of cells: fewer are the work of one.
inline size_t threads_for(size_t n_cells, size_t n_threads) { return n_cells < (size_t{1} << 16) ? 1 : n_threads; }

template <class Task>
void parallel_for(size_t n_tasks, size_t n_threads, const Task& task) {
    n_threads = std::min({n_threads, n_tasks, kMostThreads});
    if (n_threads <= 1) {
        for (size_t i = 0; i < n_tasks; ++i) task(i);
        return;
    }
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    const auto work = [&] {
        try {
            for (size_t i; (i = next.fetch_add(1)) < n_tasks;) task(i);
        } catch (...) {
            const std::lock_guard<std::mutex> hold(guard);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(n_threads - 1);
    try {
        while (helpers.size() + 1 < n_threads) helpers.emplace_back(work);
    } catch (const std::exception&) {
        // No more threads to be had: those that started, and this one, do the work.
    }
    work();
    for (auto& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

// Rows 0..n-1 in equal parts of a multiple of `step`, for results that do not depend on where the cuts are.
template <class Task>
void parallel_rows(size_t n, size_t step, size_t n_threads, const Task& task) {
    if (n == 0) return;
    n_threads = std::clamp<size_t>(n_threads, 1, kMostThreads);
    const size_t share = (n + 4 * n_threads - 1) / (4 * n_threads);
    const size_t part = n_threads == 1 ? n : (share + step - 1) / step * step;
    parallel_for((n + part - 1) / part, n_threads,
                 [=, &task](size_t i) { task(i * part, std::min(n, (i + 1) * part)); });
}

}  // namespace bayeskit
