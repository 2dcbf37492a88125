// Cut points of numbers: by minimum description length (Fayyad and Irani), and of equal frequency as far as ties allow.
//
// Rows are put in buckets by value, so that only the buckets near a wanted cut are sorted. For the description length a
// bound on the entropy between two borders selects the few buckets that may hold the best cut.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <queue>

#include "kernels.hpp"
#include "support/buffer.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kBucketRows = 24;  // about, where values are spread evenly
constexpr size_t kMostBuckets = 65'000;  // with the three others within sixteen bits
constexpr size_t kMostCounts = 1 << 20;  // buckets times classes
constexpr size_t kSampled = 1024;  // rows whose range is divided evenly
constexpr size_t kColumns = 16;  // columns whose rows are put in buckets in one pass
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Buckets of numbers: one below a range, `inner` that divide it evenly, one above it; then those without a number.
struct Buckets {
    double low = 0, scale = 0;  // without a scale all rows are in the first
    size_t inner = 1;

    Buckets(const Floats& column, size_t n, size_t n_classes) {
        double high = -std::numeric_limits<double>::infinity();
        low = std::numeric_limits<double>::infinity();
        const auto widen_by = [&](size_t step) {
            for (size_t r = 0; r < n; r += step) {
                const double x = column.data[static_cast<ptrdiff_t>(r) * column.stride];
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
        };
        widen_by(std::max<size_t>(1, n / kSampled));
        if (!(low < high)) widen_by(1);
        const size_t most = std::max<size_t>(1, std::min(kMostBuckets, kMostCounts / n_classes));
        inner = std::clamp<size_t>(n / kBucketRows, 1, most);
        scale = low < high ? static_cast<double>(inner) / (high - low) : 0.0;
        if (!std::isfinite(scale)) scale = 0.0;
        if (scale == 0) low = 0;
    }

    size_t size() const { return inner + 2; }
    uint16_t missing() const { return static_cast<uint16_t>(size()); }

    // The bucket of each x of a tile; whether one is beyond the limit.
    bool put(const double* x, size_t rows, uint16_t* of) const {
        return loops().spread(x, rows, low, scale, static_cast<double>(inner + 1), missing(), of);
    }
};

// The bucket that holds a rank, by where each begins.
template <class Start>
size_t bucket_of(const std::vector<Start>& starts, size_t rank) {
    return static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), rank) - starts.begin()) - 1;
}

double half_way(double left, double right) {  // never the larger one
    const double middle = left + (right - left) / 2;
    return middle < right ? middle : left;
}

using Cuts = std::vector<std::vector<double>>;

// find(column, its buckets, the bucket of every row, room) of all columns, some at a time; rows without weight have no
// number.
template <class Find>
Cuts find_cuts(const std::vector<Floats>& columns, size_t n, size_t n_classes, const double* weights, size_t n_threads,
               const Find& find) {
    Cuts out(columns.size());
    Buffer<uint16_t> of;
    for (size_t from = 0; from < columns.size(); from += kColumns) {
        const size_t together = std::min(kColumns, columns.size() - from), n_workers = std::min(n_threads, together);
        if (of.size() < n * together) of.resize(n * together);
        std::vector<Buckets> buckets;
        for (size_t i = 0; i < together; ++i) buckets.emplace_back(columns[from + i], n, n_classes);
        std::vector<std::atomic<bool>> huge(together);
        parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
            double x[kTile];
            for (size_t at = first; at < last; at += kTile)
                for (size_t i = 0; i < together; ++i) {
                    const size_t rows = std::min(kTile, last - at);
                    uint16_t* codes = of.data() + i * n + at;
                    gather_column(columns[from + i], at, rows, x);
                    if (buckets[i].put(x, rows, codes)) huge[i] = true;
                    for (size_t r = 0; weights && r < rows; ++r)
                        if (!(weights[at + r] > 0)) codes[r] = buckets[i].missing();
                }
        });
        for (size_t i = 0; i < together; ++i)
            if (huge[i])
                throw std::invalid_argument("column " + std::to_string(from + i) + " holds a number beyond 1e150");
        parallel_for(n_workers, n_threads, [&](size_t worker) {
            Buffer<uint32_t> room;
            for (size_t i = worker; i < together; i += n_workers)
                out[from + i] = find(from + i, buckets[i], of.data() + i * n, room);
        });
    }
    return out;
}

// --- minimum description length ----------------------------------------------------------------------------------

constexpr double kTie = 1e-10;  // of the rows: entropies this close are equal, and the first cut is taken

double times_log(double x) { return x > 0 ? x * std::log(x) : 0.0; }

struct Side {  // of a cut
    double rows = 0, entropy = 0, classes = 0;  // entropy times rows, and the number of classes that occur
    double bits() const { return rows > 0 ? classes * entropy / rows : 0.0; }
};

struct Cell {
    double x;
    uint32_t label, row;
    bool operator<(const Cell& other) const { return x < other.x || (x == other.x && row < other.row); }
};

// Counts of rows are whole, sums of weights are not.
template <class Count>
class Column {
    struct Cut {
        const Count* counts;  // by class, of all rows before it
        Side left, right;
        double log_ratio;  // of the rows on the left to those on the right
        size_t logs;  // where that of the right to the left stands for each class
        double entropy() const { return left.entropy + right.entropy; }
    };
    struct Range {
        double bound;  // no cut from the first to the last has less entropy
        size_t from, to;  // borders of buckets
        Cut first, last;
    };
    static constexpr bool kWeighted = std::is_same_v<Count, double>;

public:
    Column(const Floats& column, size_t n, const Buckets& buckets, const uint16_t* of, const Codes& labels,
           size_t n_classes, const double* weights, Buffer<uint32_t>& room)
        : column_(column), n_classes_(n_classes), labels_(labels), weights_(weights), starts_(buckets.size() + 2),
          before_((buckets.size() + 2) * n_classes), latest_(buckets.size() + 1), next_(room), sorted_(buckets.size()),
          all_(n_classes), sizes_((2 * n_classes + 5) / 4 * 8) {
        if (next_.size() < n) next_.resize(n);
        with_type(labels, [&](auto label) {
            for (size_t r = 0; r < n; ++r) {  // the last bucket is of those without a number
                const size_t b = of[r], at = (b + 1) * n_classes + label[r];
                if constexpr (kWeighted) {
                    before_[at] += weights[r];
                    ++starts_[b + 1];
                } else {
                    ++before_[at];
                }
                next_[r] = latest_[b];
                latest_[b] = static_cast<uint32_t>(r);
            }
        });
        for (size_t b = 0; b < buckets.size(); ++b) {
            starts_[b + 1] += starts_[b];
            for (size_t c = 0; c < n_classes; ++c) {
                Count& here = before_[(b + 1) * n_classes + c];
                if constexpr (!kWeighted) starts_[b + 1] += here;
                here += before_[b * n_classes + c];
            }
        }
        starts_.pop_back();
    }

    std::vector<double> cuts() {
        std::vector<double> found;
        std::vector<std::pair<size_t, size_t>> open;
        if (starts_.back() > 1) open.emplace_back(0, starts_.back());
        while (!open.empty()) {
            const auto [first, last] = open.back();
            open.pop_back();
            const size_t at = best(first, last);
            if (!at) continue;
            found.push_back(half_way(value(at - 1), value(at)));
            open.emplace_back(first, at);
            open.emplace_back(at, last);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    // The rows of a bucket in order.
    const Cell* sorted(size_t b) {
        const size_t n = starts_[b + 1] - starts_[b];
        if (!sorted_[b] && n) {
            cells_.resize(cells_.size() + n);
            Cell *last = cells_.data() + cells_.size(), *first = last - n;
            with_type(labels_, [&](auto label) {
                uint32_t row = latest_[b];
                for (Cell* cell = last; cell > first; row = next_[row])
                    *--cell = {column_.data[static_cast<ptrdiff_t>(row) * column_.stride], label[row], row};
            });
            const auto is_same = [first](const Cell& cell) { return cell.x == first->x; };
            if (!std::all_of(first, last, is_same)) std::sort(first, last);
            sorted_[b] = static_cast<uint32_t>(cells_.size());
        }
        return cells_.data() + sorted_[b] - n;
    }

    double value(size_t position) {
        const size_t b = bucket_of(starts_, position);
        return sorted(b)[position - starts_[b]].x;
    }

    Count weight(const Cell& cell) const {
        if constexpr (kWeighted) return weights_[cell.row];
        return 1;
    }

    // Weights by class of the rows before a position.
    std::vector<Count> counts_before(size_t position) {
        const size_t b = std::min(bucket_of(starts_, position), sorted_.size());
        const Count* at = before_.data() + b * n_classes_;
        std::vector<Count> counts(at, at + n_classes_);
        if (position == starts_[b]) return counts;
        const Cell* cell = sorted(b);
        for (size_t p = starts_[b]; p < position; ++p, ++cell) counts[cell->label] += weight(*cell);
        return counts;
    }

    double left_of(const Count* counts, size_t c) const {
        return std::max(0.0, static_cast<double>(counts[c]) - base_[c]);
    }

    Cut cut(const Count* counts) {
        Cut out{counts, {}, {}, 0.0, logs_.size()};
        double *l = sizes_.data(), *r = l + n_classes_, *both = r + n_classes_;
        for (size_t c = 0; c < n_classes_; ++c) {
            l[c] = left_of(counts, c), r[c] = std::max(0.0, all_[c] - l[c]);
            out.left.rows += l[c], out.left.classes += l[c] > 0;
            out.right.rows += r[c], out.right.classes += r[c] > 0;
        }
        both[0] = out.left.rows, both[1] = out.right.rows;
        double *log_l = sizes_.data() + sizes_.size() / 2, *log_r = log_l + n_classes_, *log_both = log_r + n_classes_;
        loops().logarithms(l, sizes_.size() / 2, log_l);
        const auto times = [](double x, double log) { return x > 0 ? x * log : 0.0; };
        out.left.entropy = times(both[0], log_both[0]), out.right.entropy = times(both[1], log_both[1]);
        out.log_ratio = log_both[0] - log_both[1];
        logs_.resize(logs_.size() + n_classes_);
        for (size_t c = 0; c < n_classes_; ++c) {
            out.left.entropy -= times(l[c], log_l[c]), out.right.entropy -= times(r[c], log_r[c]);
            logs_[out.logs + c] = log_r[c] - log_l[c];
        }
        return out;
    }

    // What moving all rows of class c from the right of one cut to the left of another changes at least, whatever rows
    // of other classes go with them. It is concave in the rows that go: a part of them changes no less than that part
    // of it, and all of them no less than by the slope at the end.
    double least_change(const Cut& from, const Cut& to, size_t c) const {
        const double rows = to.counts[c] - from.counts[c], left = from.left.rows, right = from.right.rows;
        const double l = left_of(from.counts, c), r = std::max(0.0, all_[c] - l), rest = std::max(0.0, r - rows);
        if (rows < rest && rows < l) return rows * (from.log_ratio + logs_[to.logs + c]);  // near enough
        const auto f = times_log;
        return f(left + rows) - f(left) + f(std::max(0.0, right - rows)) - f(right) - f(l + rows) + f(l) - f(rest) +
               f(r);
    }

    // Every cut is a sum of such moves, so its entropy is no less than the bound.
    Range range(size_t from, size_t to, const Cut& first, const Cut& last) const {
        double bound = first.entropy();
        bool empty = true;
        for (size_t c = 0; c < n_classes_; ++c) {
            if (!(last.counts[c] > first.counts[c])) continue;
            empty = false;
            bound += std::min(0.0, least_change(first, last, c));
        }
        return {empty ? kInfinity : bound, from, to, first, last};
    }

    // Whether the gain of a cut is worth the bits to describe it.
    bool pays(const Cut& cut) const { return cut.entropy() < affordable_ - cut.left.bits() - cut.right.bits(); }

    // The entropy that no cut of a range that pays can reach: `N Ent` never falls as rows are added, so each side has
    // no less than at its smaller end.
    double affordable(const Range& at) const {
        const Side left{at.last.left.rows, at.first.left.entropy, at.first.left.classes};
        const Side right{at.first.right.rows, at.last.right.entropy, at.last.right.classes};
        return affordable_ - left.bits() - right.bits();
    }

    // Call visit(position, cut) for the cuts within a bucket whose entropy may be at most `enough()`.
    template <class Enough, class Visit>
    void scan(const Range& at, const Enough& enough, const Visit& visit) {
        const size_t b = at.from;
        const Count *from = at.first.counts, *to = at.last.counts;
        std::vector<Count> counts(from, from + n_classes_);
        std::vector<double> slopes(n_classes_);
        for (size_t c = 0; c < n_classes_; ++c)
            if (to[c] > from[c]) slopes[c] = least_change(at.first, at.last, c) / static_cast<double>(to[c] - from[c]);
        const size_t start = std::max<size_t>(starts_[b], first_), end = std::min<size_t>(starts_[b + 1], last_);
        const double slack = 1e-9 * total_;
        double bound = at.first.entropy();
        const Cell* cell = sorted(b) + (start - starts_[b]);
        for (size_t p = start; p < end; ++p, ++cell) {
            if (p > start && cell->x != cell[-1].x && bound <= enough() + slack) visit(p, cut(counts.data()));
            const Count w = weight(*cell);
            counts[cell->label] += w;
            bound += w * slopes[cell->label];
        }
    }

    // Halve a range, or look into its only bucket: visit(position, cut), then keep(half).
    template <class Enough, class Visit, class Keep>
    void narrow(const Range& at, const Enough& enough, const Visit& visit, const Keep& keep) {
        if (at.to - at.from == 1) return scan(at, enough, visit);
        const size_t middle = at.from + (at.to - at.from) / 2;
        const Cut here = cut(before_.data() + middle * n_classes_);
        if (here.left.rows > 0 && here.right.rows > 0) visit(starts_[middle], here);
        keep(range(at.from, middle, at.first, here));
        keep(range(middle, at.to, here, at.last));
    }

    // The position of the best cut of rows first..last, 0 where none pays for itself.
    size_t best(size_t first, size_t last) {
        first_ = first, last_ = last;
        logs_.clear();
        const std::vector<Count> from = counts_before(first), to = counts_before(last);
        base_.assign(from.begin(), from.end());
        for (size_t c = 0; c < n_classes_; ++c) all_[c] = left_of(to.data(), c);
        const Cut start = cut(from.data()), end = cut(to.data());
        const double k = start.right.classes, whole = start.right.entropy;
        total_ = start.right.rows;
        if (k < 2) return 0;
        affordable_ = whole + k * whole / total_ - std::log(std::max(total_ - 1, 1.0)) - k * std::log(3.0) -
                      std::log1p(-2 * std::pow(3.0, -k));
        const Range everywhere = range(bucket_of(starts_, first), bucket_of(starts_, last - 1) + 1, start, end);
        if (!any_pays(everywhere)) return 0;

        struct Found {
            size_t position;
            double entropy;
            bool pays;
        };
        std::vector<Found> found;  // those that were the best so far, or as good
        double least = kInfinity;
        const auto enough = [&] { return least + kTie * total_; };
        const auto visit = [&](size_t position, const Cut& cut) {
            least = std::min(least, cut.entropy());
            if (cut.entropy() <= enough()) found.push_back({position, cut.entropy(), pays(cut)});
        };
        std::vector<Range> ranges{everywhere};
        std::priority_queue<std::pair<double, size_t>> next;  // the least bound first
        next.emplace(-everywhere.bound, 0);
        while (!next.empty() && -next.top().first <= enough()) {
            const Range at = ranges[next.top().second];
            next.pop();
            narrow(at, enough, visit, [&](const Range& half) {
                if (half.bound > enough()) return;
                next.emplace(-half.bound, ranges.size());
                ranges.push_back(half);
            });
        }
        const Found* first_best = nullptr;
        for (const Found& one : found)
            if (one.entropy <= enough() && (!first_best || one.position < first_best->position)) first_best = &one;
        return first_best && first_best->pays ? first_best->position : 0;
    }

    // Whether any cut pays for itself: ranges in which none can are left out, the others narrowed.
    bool any_pays(const Range& everywhere) {
        std::vector<Range> open{everywhere};
        bool found = false;
        while (!open.empty() && !found) {
            const Range at = open.back();
            open.pop_back();
            const double enough = affordable(at);
            if (!(at.bound < enough)) continue;
            narrow(at, [enough] { return enough; }, [&](size_t, const Cut& cut) { found = found || pays(cut); },
                   [&](const Range& half) { open.push_back(half); });
        }
        return found;
    }

    Floats column_;
    size_t n_classes_;
    Codes labels_;
    const double* weights_;
    std::vector<uint32_t> starts_;  // (buckets + 1): where each begins
    std::vector<Count> before_;  // (buckets + 1, classes): weights of the rows before it
    std::vector<uint32_t> latest_;  // row of each bucket
    Buffer<uint32_t>& next_;  // row of the same bucket, going back
    std::vector<uint32_t> sorted_;  // (buckets): where the cells of each end, 0 where they are not sorted yet
    std::vector<Cell> cells_;
    size_t first_ = 0, last_ = 0;  // the rows at hand
    std::vector<double> base_, all_;  // counts before them, and theirs
    std::vector<double> sizes_;  // of the sides of a cut by class and in all, and their logarithms
    std::vector<double> logs_;  // (cuts looked at, classes): see Cut
    double total_ = 0;  // their weight
    double affordable_ = 0;  // entropy of a cut that just pays, but for Σ kᵢ Entᵢ of its sides
};

// Weights as multiples of a power of two so small that it hardly matters and so large that their sums are exact: then
// the order of the rows does not matter, and nothing is left of a class that is not there.
std::vector<double> on_a_grid(const double* weights, size_t n) {
    std::vector<double> out(weights, weights + n);
    double sum = 0;
    for (const double weight : out) sum += weight * 0;  // NaN where one is not finite
    if (sum != 0) throw std::invalid_argument("weights holds what is no finite number");
    int exponent = 0;
    if (n) std::frexp(*std::max_element(weights, weights + n) * static_cast<double>(n), &exponent);
    const double grid = std::ldexp(1.0, exponent - 52);
    if (grid > 0)
        for (double& weight : out) weight = std::nearbyint(weight / grid) * grid;
    return out;
}

// --- equal frequency ---------------------------------------------------------------------------------------------

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
            const size_t b = bucket_of(starts_, ranks[i]);
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
                double right = kInfinity;
                for (size_t l = k; l < borders.size() && right == kInfinity; ++l)
                    right = next(left, cells + borders[l], l + 1 < borders.size() ? cells + borders[l + 1] : end);
                if (right == kInfinity) right = least_after(b);
                if (right == kInfinity) break;
                out.push_back(half_way(left, right));
            }
        }
        return out;
    }

private:
    static double next(double left, const double* from, const double* to) {
        double least = kInfinity;
        for (; from < to; ++from) least = *from > left && *from < least ? *from : least;
        return least;
    }

    double least_after(size_t b) {
        if (starts_[b + 1] == numbers()) return kInfinity;
        const size_t after = bucket_of(starts_, starts_[b + 1]);
        const double* cells = room_.data() + places_[after];
        return *std::min_element(cells, cells + (starts_[after + 1] - starts_[after]));
    }

    // The numbers of the buckets that hold a rank, and of those after them.
    void gather(const std::vector<size_t>& ranks) {
        std::vector<uint8_t> is_wanted(starts_.size());
        for (const size_t rank : ranks) {
            const size_t b = bucket_of(starts_, rank);
            is_wanted[b] = 1;
            if (starts_[b + 1] < numbers()) is_wanted[bucket_of(starts_, starts_[b + 1])] = 1;
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

Cuts mdl_cuts(const std::vector<Floats>& columns, size_t n, const Codes& labels, size_t n_classes, const double* given,
              size_t n_threads) {
    check_labels(labels, n, n_classes);
    if (n >= UINT32_MAX) throw std::invalid_argument("more than 2^32 rows cannot be cut at once");
    const std::vector<double> rounded = given ? on_a_grid(given, n) : std::vector<double>();
    const double* weights = given ? rounded.data() : nullptr;
    return find_cuts(columns, n, n_classes, weights, n_threads,
                     [&](size_t j, const Buckets& buckets, const uint16_t* of, Buffer<uint32_t>& room) {
        if (weights) return Column<double>(columns[j], n, buckets, of, labels, n_classes, weights, room).cuts();
        return Column<uint32_t>(columns[j], n, buckets, of, labels, n_classes, weights, room).cuts();
    });
}

Cuts frequency_cuts(const std::vector<Floats>& columns, size_t n, const std::vector<size_t>& intervals,
                    double tolerance, size_t n_threads) {
    return find_cuts(columns, n, 1, nullptr, n_threads,
                     [&](size_t j, const Buckets& buckets, const uint16_t* of, Buffer<uint32_t>&) {
        Ranked column(columns[j], n, buckets, of);
        const size_t most = std::min(intervals[j], column.numbers());  // more have no number
        const auto size = static_cast<double>(column.numbers()), width = size / static_cast<double>(most);
        std::vector<size_t> ranks;
        for (size_t k = 1; k < most; ++k) {
            const double place = std::ceil(static_cast<double>(k) * width - tolerance * size);
            const size_t rank = std::min(static_cast<size_t>(std::max(place, 1.0)), column.numbers()) - 1;
            if (ranks.empty() || ranks.back() < rank) ranks.push_back(rank);
        }
        return column.cuts(ranks);
    });
}

}  // namespace bayeskit
