// Cut points by minimum description length (Fayyad and Irani). Rows are put in buckets by value; a bucket is sorted
// only where the best cut may lie in it, which a bound on the entropy tells.
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kBucketRows = 32;       // about, where values are spread evenly
constexpr size_t kMostBuckets = 1 << 15;
constexpr size_t kMostCounts = 1 << 20;   // buckets times classes
constexpr size_t kLargestTable = 1 << 24;
constexpr double kTie = 1e-10;            // of the rows: entropies this close are equal, and the first cut is taken

// x ln x, from a table where counts are whole.
class Entropies {
public:
    Entropies(size_t n, bool whole) {
        if (!whole || n > kLargestTable) return;
        table_.resize(n + 1);
        for (size_t i = 1; i <= n; ++i) table_[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
    }
    double operator()(double x) const {
        if (!table_.empty()) return table_[static_cast<size_t>(x)];
        return x > 0 ? x * std::log(x) : 0.0;
    }

private:
    std::vector<double> table_;
};

class Column {
public:
    Column(const Floats& column, size_t n, const uint32_t* labels, size_t n_classes, const double* weights,
           const Entropies& f)
        : n_classes_(n_classes), labels_(labels), weights_(weights), f_(f), x_(n) {
        std::vector<double>& x = x_;
        gather_column(column, 0, n, x.data());
        double low = std::numeric_limits<double>::infinity(), high = -low;
        size_t present = 0;
        for (size_t r = 0; r < n; ++r) {
            if (weights && !(weights[r] > 0)) x[r] = std::numeric_limits<double>::quiet_NaN();
            low = x[r] < low ? x[r] : low;
            high = x[r] > high ? x[r] : high;
            present += x[r] == x[r];
        }
        low_ = low, high_ = high;
        spread(present, low, high);
    }

    std::vector<double> cuts() {
        std::vector<double> found;
        std::vector<std::pair<size_t, size_t>> open;
        if (rows_.size() > 1 && low_ < high_) open.emplace_back(0, rows_.size());
        while (!open.empty()) {
            const auto [first, last] = open.back();
            open.pop_back();
            const size_t at = best(first, last);
            if (!at) continue;
            const double left = x_[rows_[at - 1]], right = x_[rows_[at]], middle = left + (right - left) / 2;
            found.push_back(middle < right ? middle : left);
            open.emplace_back(first, at);
            open.emplace_back(at, last);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    void spread(size_t n, double low, double high) {
        const std::vector<double>& x = x_;
        const size_t most = std::max<size_t>(1, std::min(kMostBuckets, kMostCounts / n_classes_));
        const size_t buckets = std::clamp<size_t>(n / kBucketRows, 1, most);
        const double scale = static_cast<double>(buckets) / (high - low);
        const bool even = n > 0 && std::isfinite(scale) && scale > 0;
        starts_.assign(buckets + 1, 0);
        before_.assign((buckets + 1) * n_classes_, 0.0);
        sorted_.assign(buckets, 0);
        std::vector<uint16_t> of(x.size());
        for (size_t r = 0; r < x.size(); ++r) {
            if (x[r] != x[r]) continue;
            const size_t b = even ? std::min(buckets - 1, static_cast<size_t>((x[r] - low) * scale)) : 0;
            of[r] = static_cast<uint16_t>(b);
            ++starts_[b + 1];
            before_[(b + 1) * n_classes_ + labels_[r]] += weights_ ? weights_[r] : 1.0;
        }
        for (size_t b = 0; b < buckets; ++b) {
            starts_[b + 1] += starts_[b];
            for (size_t c = 0; c < n_classes_; ++c) before_[(b + 1) * n_classes_ + c] += before_[b * n_classes_ + c];
        }
        rows_.resize(n);
        std::vector<size_t> next(starts_.begin(), starts_.end() - 1);
        for (size_t r = 0; r < x.size(); ++r)
            if (x[r] == x[r]) rows_[next[of[r]]++] = static_cast<uint32_t>(r);
    }

    double weight(size_t position) const { return weights_ ? weights_[rows_[position]] : 1.0; }
    uint32_t label(size_t position) const { return labels_[rows_[position]]; }

    void sort_bucket(size_t b) {
        if (sorted_[b]) return;
        sorted_[b] = 1;
        std::sort(rows_.data() + starts_[b], rows_.data() + starts_[b + 1],
                  [this](uint32_t p, uint32_t q) { return x_[p] < x_[q] || (x_[p] == x_[q] && p < q); });
    }

    size_t bucket_at(size_t position) const {  // the one that holds this row
        return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin()) - 1;
    }

    // Weights by class of the rows before a position; its bucket must be sorted unless it starts there.
    std::vector<double> counts_before(size_t position) {
        const size_t b = std::min(bucket_at(position), sorted_.size() - 1);
        std::vector<double> counts(before_.begin() + static_cast<ptrdiff_t>(b * n_classes_),
                                   before_.begin() + static_cast<ptrdiff_t>((b + 1) * n_classes_));
        if (position > starts_[b]) sort_bucket(b);
        for (size_t p = starts_[b]; p < position; ++p) counts[label(p)] += weight(p);
        return counts;
    }

    // N₁ Ent₁ + N₂ Ent₂ where `at` less `base_` lies to the left.
    double split_entropy(const double* at) const {
        double left = 0, sum = 0;
        for (size_t c = 0; c < n_classes_; ++c) {
            const double l = at[c] - base_[c];
            left += l;
            sum -= f_(l) + f_(std::max(0.0, all_[c] - l));
        }
        return sum + f_(left) + f_(std::max(0.0, total_ - left));
    }

    // Not more than `split_entropy` of anything between two cuts, of which the first has entropy `at_first`. It is
    // concave, so no step loses more than its length times the least slope, ln(L/l) - ln(R/r) for each class.
    double least_entropy(const double* from, const double* to, double at_first) const {
        double left = 0, loss = 0;
        for (size_t c = 0; c < n_classes_; ++c) left += std::max(0.0, from[c] - base_[c]);
        for (size_t c = 0; c < n_classes_; ++c) {
            const double first = std::max(0.0, from[c] - base_[c]), last = std::min(all_[c], to[c] - base_[c]);
            if (!(last > first)) continue;
            const double ratio = left * (all_[c] - last) / (last * (total_ - left));
            if (ratio < 1) loss -= (last - first) * std::log(ratio);
        }
        return at_first - loss;
    }

    // Call visit(position, entropy) for the cuts of one bucket within first..last, in order. Only those that may have
    // at most `enough` are computed in full: a row moves four terms, and their running sum is near enough to tell.
    template <class Visit>
    void scan(size_t b, size_t first, size_t last, const double& enough, const Visit& visit) {
        sort_bucket(b);
        std::vector<double> counts(before_.begin() + static_cast<ptrdiff_t>(b * n_classes_),
                                   before_.begin() + static_cast<ptrdiff_t>((b + 1) * n_classes_));
        size_t p = starts_[b];
        for (; p < first; ++p) counts[label(p)] += weight(p);
        const size_t end = std::min(starts_[b + 1], last);
        double left = 0, running = split_entropy(counts.data());
        for (size_t c = 0; c < n_classes_; ++c) left += counts[c] - base_[c];
        const double slack = 1e-7 * total_;
        for (const size_t start = p; p < end; ++p) {
            const bool new_value = p == start ? p > first : x_[rows_[p]] != x_[rows_[p - 1]];
            if (new_value && running <= enough + slack) visit(p, split_entropy(counts.data()));
            const uint32_t c = label(p);
            const double w = weight(p), l = counts[c] - base_[c], r = std::max(0.0, all_[c] - l);
            const double right = std::max(0.0, total_ - left);
            running += (f_(l) - f_(l + w)) + (f_(r) - f_(std::max(0.0, r - w))) + (f_(left + w) - f_(left)) +
                       (f_(std::max(0.0, right - w)) - f_(right));
            counts[c] += w;
            left += w;
        }
    }

    // The position of the best cut of rows first..last, 0 where none pays for itself.
    size_t best(size_t first, size_t last) {
        base_ = counts_before(first);
        all_ = counts_before(last);
        total_ = 0;
        double inner = 0;
        size_t k = 0;
        for (size_t c = 0; c < n_classes_; ++c) {
            all_[c] -= base_[c];
            total_ += all_[c];
            inner += f_(all_[c]);
            k += all_[c] > 0;
        }
        if (k < 2) return 0;
        const size_t from = bucket_at(first), to = std::min(bucket_at(last - 1), sorted_.size() - 1);
        const double nothing = std::numeric_limits<double>::infinity();
        double least = nothing;
        std::vector<double> bounds(to - from + 1, nothing);  // first at least this, then the least there is
        for (size_t b = from; b <= to; ++b) {
            if (starts_[b] == starts_[b + 1]) continue;
            const double* at = before_.data() + b * n_classes_;
            const bool inside = starts_[b] > first;
            const double entropy = inside ? split_entropy(at) : f_(total_) - inner;
            if (inside) least = std::min(least, entropy);
            bounds[b - from] = least_entropy(at, at + n_classes_, entropy);
        }
        for (size_t b = from; b <= to; ++b) {
            if (!(bounds[b - from] < least)) continue;
            double own = nothing;
            scan(b, first, last, least, [&own](size_t, double entropy) { own = std::min(own, entropy); });
            bounds[b - from] = own;
            least = std::min(least, own);
        }
        if (!std::isfinite(least)) return 0;
        size_t found = 0;
        const double enough = least + kTie * total_;
        for (size_t b = from; b <= to && !found; ++b)
            if (bounds[b - from] <= enough)
                scan(b, first, last, enough, [&](size_t p, double entropy) {
                    if (!found && entropy <= enough) found = p;
                });
        return found && pays(found, f_(total_) - inner, k) ? found : 0;
    }

    // Whether the gain of the cut is worth the bits to describe it.
    bool pays(size_t at, double entropy, size_t k) {
        const auto counts = counts_before(at);
        double left[3] = {0, 0, 0}, right[3] = {0, 0, 0};  // rows, Σ f(n_c), classes
        for (size_t c = 0; c < n_classes_; ++c) {
            const double l = counts[c] - base_[c], r = std::max(0.0, all_[c] - l);
            left[0] += l, left[1] += f_(l), left[2] += l > 0;
            right[0] += r, right[1] += f_(r), right[2] += r > 0;
        }
        const double e1 = f_(left[0]) - left[1], e2 = f_(right[0]) - right[1], kk = static_cast<double>(k);
        const double delta = kk * std::log(3.0) + std::log1p(-2 * std::pow(3.0, -kk)) -
                             (kk * entropy / total_ - left[2] * e1 / left[0] - right[2] * e2 / right[0]);
        return entropy - e1 - e2 > std::log(std::max(total_ - 1, 1.0)) + delta;
    }

    size_t n_classes_;
    const uint32_t* labels_;
    const double* weights_;
    const Entropies& f_;
    std::vector<double> x_;
    std::vector<uint32_t> rows_;    // bucket after bucket; those that were looked into are sorted
    std::vector<size_t> starts_;    // (buckets + 1): where each begins
    std::vector<double> before_;    // (buckets + 1, classes): weights of the rows before it
    std::vector<char> sorted_;
    std::vector<double> base_, all_;  // of the rows at hand: counts before them, and theirs
    double total_ = 0, low_, high_;
};

}  // namespace

std::vector<std::vector<double>> mdl_cuts(const std::vector<Floats>& columns, size_t n, const Codes& labels,
                                          size_t n_classes, const double* weights, size_t n_threads) {
    check_labels(labels, n, n_classes);
    if (n > UINT32_MAX) throw std::invalid_argument("more than 2^32 rows cannot be cut at once");
    const Entropies f(n, !weights);
    std::vector<uint32_t> classes(n);
    for (size_t at = 0; at < n; at += kTile) widen(labels, at, std::min(kTile, n - at), 1, classes.data() + at);
    std::vector<std::vector<double>> out(columns.size());
    parallel_for(columns.size(), n_threads,
                 [&](size_t j) { out[j] = Column(columns[j], n, classes.data(), n_classes, weights, f).cuts(); });
    return out;
}

}  // namespace bayeskit
