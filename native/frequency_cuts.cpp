// Cut points of equal frequency, as far as ties allow. Rows are counted in buckets by value; the wanted ranks are then
// selected within their buckets.
#include <algorithm>

#include "buckets.hpp"

namespace bayeskit {
namespace {

class Ranked {
public:
    Ranked(const Floats& column, size_t n, const Buckets& buckets, const uint16_t* of)
        : column_(column), n_(n), of_(of), starts_(buckets.size() + 2) {
        for (size_t r = 0; r < n; ++r) ++starts_[of[r] + 1];  // those without a number come last
        starts_.pop_back();
        for (size_t b = 1; b < starts_.size(); ++b) starts_[b] += starts_[b - 1];
    }

    size_t numbers() const { return starts_.back(); }

    // Half way from each number at rising ranks to the next larger one; none after the largest.
    std::vector<double> cuts(const std::vector<size_t>& ranks) {
        std::vector<double> out;
        gather(ranks);
        for (size_t i = 0; i < ranks.size();) {
            const size_t b = bucket(ranks[i]);
            std::vector<size_t> borders;
            for (; i < ranks.size() && ranks[i] < starts_[b + 1]; ++i) borders.push_back(ranks[i] - starts_[b]);
            double* cells = room_.data() + places_[b];
            double* end = cells + (starts_[b + 1] - starts_[b]);
            double* from = cells;
            for (const size_t border : borders) {
                std::nth_element(from, cells + border, end);
                from = cells + border + 1;
            }
            for (size_t k = 0; k < borders.size(); ++k) {
                const double left = cells[borders[k]];
                if (k && left == cells[borders[k - 1]]) continue;
                // From a selected rank to the next, numbers are between those at the two.
                double right = kNone;
                for (size_t l = k; l < borders.size() && right == kNone; ++l)
                    right = next(left, cells + borders[l], l + 1 < borders.size() ? cells + borders[l + 1] : end);
                if (right == kNone) right = least_after(b);
                if (right == kNone) break;
                const double middle = left + (right - left) / 2;
                out.push_back(middle < right ? middle : left);
            }
        }
        return out;
    }

private:
    static constexpr double kNone = std::numeric_limits<double>::infinity();

    size_t bucket(size_t rank) const {
        return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), rank) - starts_.begin()) - 1;
    }

    static double next(double left, const double* from, const double* to) {
        double least = kNone;
        for (; from < to; ++from) least = *from > left && *from < least ? *from : least;
        return least;
    }

    double least_after(size_t b) {
        if (starts_[b + 1] == numbers()) return kNone;
        const size_t after = bucket(starts_[b + 1]);
        const double* cells = room_.data() + places_[after];
        return *std::min_element(cells, cells + (starts_[after + 1] - starts_[after]));
    }

    // The numbers of the buckets that hold a rank, and of those after them.
    void gather(const std::vector<size_t>& ranks) {
        std::vector<uint8_t> is_wanted(starts_.size());
        for (const size_t rank : ranks) {
            const size_t b = bucket(rank);
            is_wanted[b] = 1;
            if (starts_[b + 1] < numbers()) is_wanted[bucket(starts_[b + 1])] = 1;
        }
        places_.assign(starts_.size(), 0);
        size_t size = 0;
        for (size_t b = 0; b + 1 < starts_.size(); ++b)
            if (is_wanted[b]) {
                places_[b] = size;
                size += starts_[b + 1] - starts_[b];
            }
        room_.resize(size);
        std::vector<size_t> at = places_;
        for (size_t r = 0; r < n_; ++r)
            if (is_wanted[of_[r]]) room_[at[of_[r]]++] = column_.data[static_cast<ptrdiff_t>(r) * column_.stride];
    }

    Floats column_;
    size_t n_;
    const uint16_t* of_;
    std::vector<size_t> starts_;  // (buckets + 1): how many numbers are in those before
    std::vector<size_t> places_;  // where the numbers of a wanted bucket are in the room
    Buffer<double> room_;
};

}  // namespace

std::vector<std::vector<double>> frequency_cuts(const std::vector<Floats>& columns, size_t n,
                                                const std::vector<size_t>& intervals, double tolerance,
                                                size_t n_threads) {
    std::vector<std::vector<double>> out(columns.size());
    Buffer<uint16_t> of;
    for (size_t j = 0; j < columns.size(); j += kColumns) {
        const size_t together = std::min(kColumns, columns.size() - j);
        const auto buckets = put_in_buckets(columns, j, together, n, 1, nullptr, of, n_threads);
        parallel_for(together, n_threads, [&](size_t i) {
            Ranked column(columns[j + i], n, buckets[i], of.data() + i * n);
            const size_t most = std::min(intervals[j + i], column.numbers());  // more have no number
            const auto size = static_cast<double>(column.numbers()), width = size / static_cast<double>(most);
            std::vector<size_t> ranks;
            for (size_t k = 1; k < most; ++k) {
                const double place = std::ceil(static_cast<double>(k) * width - tolerance * size);
                const size_t rank = std::min(static_cast<size_t>(std::max(place, 1.0)), column.numbers()) - 1;
                if (ranks.empty() || ranks.back() < rank) ranks.push_back(rank);
            }
            out[j + i] = column.cuts(ranks);
        });
    }
    return out;
}

}  // namespace bayeskit
