// K-means: seeds drawn by k-means++, then Lloyd's rounds, from several starts.
//
// A row keeps its cluster for as long as the centres have not moved by the margin between its nearest centre and the
// next one: until then it is not looked at again. What is skipped would not have changed.
#include "k_means.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "simd/cluster_loops.hpp"
#include "support/aligned.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kRows = 512;  // that are looked at together

// Rows padded to whole registers, and the largest distance from the origin.
struct PaddedRows {
    PaddedRows(const double* from, size_t n, size_t d) : width((d + 3) / 4 * 4), cells(n * width) {
        double most = 0;
        for (size_t i = 0; i < n; ++i) {
            double square = 0;
            for (size_t j = 0; j < d; ++j) {
                const double x = cells[i * width + j] = from[i * d + j];
                square += x * x;
            }
            most = std::max(most, square);
        }
        reach = std::sqrt(most);
        view = {cells.data(), n, d, width};
    }
    size_t width;
    Aligned<double> cells;
    double reach;
    ClusterRows view;
};

class Start {
public:
    Start(const ClusterStarts& in, const PaddedRows& rows, size_t start)
        : in_(in), rows_(rows.view), safety_(kSafety * rows.reach), start_(start), k_(in.n_clusters), d_(in.n_columns),
          room_(4 * rows.width), centres(k_ * d_), labels(in.n, 0) {
        seed();
        settle();
    }

private:
    const ClusterStarts& in_;
    const ClusterRows rows_;
    const double safety_;
    const size_t start_, k_, d_;
    Aligned<double> room_, sums_;
    std::vector<double> deadline_, travelled_;
    std::vector<int64_t> sizes_;

public:
    std::vector<double> centres;
    std::vector<uint32_t> labels;
    double inertia = 0;

private:
    const double* row(size_t i) const { return rows_.cells + i * rows_.width; }

    // Each next centre is the best of some rows drawn by their distance from the centres that are there.
    void seed() {
        const size_t n_blocks = (in_.n + kBlock - 1) / kBlock;
        Aligned<double> closest((in_.n + 3) / 4 * 4, 0.0), blocks(n_blocks);
        std::fill_n(closest.begin(), in_.n, HUGE_VAL);
        std::vector<double> candidates(in_.n_trials * d_), potentials(in_.n_trials);
        std::copy_n(row(static_cast<size_t>(in_.first[start_])), d_, centres.data());
        cluster_loops().come_closer(rows_, centres.data(), room_.data(), closest.data(), blocks.data());
        double potential = std::accumulate(blocks.begin(), blocks.end(), 0.0);
        for (size_t c = 1; c < k_; ++c) {
            const double* uniforms = in_.uniforms + (start_ * (k_ - 1) + c - 1) * in_.n_trials;
            for (size_t t = 0; t < in_.n_trials; ++t)
                std::copy_n(row(reached(uniforms[t] * potential, closest, blocks)), d_, &candidates[t * d_]);
            cluster_loops().potentials(rows_, closest.data(), candidates.data(), in_.n_trials, room_.data(),
                                       potentials.data());
            const size_t best = std::min_element(potentials.begin(), potentials.end()) - potentials.begin();
            double* centre = &centres[c * d_];
            std::copy_n(&candidates[best * d_], d_, centre);
            if (c + 1 < k_) cluster_loops().come_closer(rows_, centre, room_.data(), closest.data(), blocks.data());
            potential = potentials[best];
        }
    }

    // The first row up to which the distances sum up to this.
    size_t reached(double sum, const Aligned<double>& closest, const Aligned<double>& blocks) const {
        double before = 0;
        size_t block = 0;
        while (block + 1 < blocks.size() && before + blocks[block] < sum) before += blocks[block++];
        for (size_t i = block * kBlock; i < in_.n; ++i)
            if ((before += closest[i]) >= sum) return i;
        return in_.n - 1;
    }

    void settle() {
        sums_.assign(k_ * 2 * rows_.width, 0.0);
        sizes_.assign(k_, 0);
        deadline_.assign(in_.n, 0.0);
        travelled_.assign(k_, 0.0);
        bool is_strict = false;
        for (size_t round = 0; round < in_.max_rounds && !is_strict; ++round) {
            const size_t n_moved = assign(round == 0, true);
            const double shift = update();
            is_strict = round > 0 && n_moved == 0;
            if (shift <= in_.tolerance) break;
        }
        if (!is_strict) assign(false, false);
        for (size_t i = 0; i < in_.n; ++i) inertia += distance(i);
    }

    double distance(size_t i) const {
        const double *x = row(i), *centre = &centres[labels[i] * d_];
        double sum = 0;
        for (size_t j = 0; j < d_; ++j) sum += (x[j] - centre[j]) * (x[j] - centre[j]);
        return sum;
    }

    // Rows whose margin is used up go to their nearest centre; how many have changed.
    size_t assign(bool all, bool count) {
        uint32_t which[kRows];
        int64_t to[kRows];
        double margins[kRows];
        size_t n_moved = 0;
        for (size_t i = 0; i < in_.n;) {
            size_t n = 0;
            for (; i < in_.n && n < kRows; ++i) {
                which[n] = static_cast<uint32_t>(i);
                n += all || !(travelled_[labels[i]] < deadline_[i]);
            }
            if (!n) break;
            cluster_loops().nearest(rows_, which, n, centres.data(), k_, safety_, room_.data(), to, margins);
            for (size_t r = 0; r < n; ++r) deadline_[which[r]] = travelled_[to[r]] + margins[r];
            n_moved += all ? take(which, to, n) : move(which, to, n, count);
        }
        return n_moved;
    }

    size_t take(const uint32_t* which, const int64_t* to, size_t n) {
        cluster_loops().move(rows_, which, n, nullptr, to, sums_.data());
        for (size_t r = 0; r < n; ++r) {
            labels[which[r]] = static_cast<uint32_t>(to[r]);
            ++sizes_[to[r]];
        }
        return n;
    }

    size_t move(uint32_t* which, int64_t* to, size_t n, bool count) {
        int64_t from[kRows];
        size_t n_moved = 0;
        for (size_t r = 0; r < n; ++r) {
            uint32_t& label = labels[which[r]];
            if (label == to[r]) continue;
            --sizes_[label], ++sizes_[to[r]];
            from[n_moved] = label, which[n_moved] = which[r];
            label = static_cast<uint32_t>(to[n_moved++] = to[r]);
        }
        if (count) cluster_loops().move(rows_, which, n_moved, from, to, sums_.data());
        return n_moved;
    }

    // Centres are the means of their rows; Σ of the squares of how far they moved.
    double update() {
        const size_t width = rows_.width;
        std::vector<double> means(k_ * d_), moved(k_);
        std::vector<int64_t> sizes = sizes_;
        for (size_t c = 0; c < k_; ++c)
            for (size_t j = 0; j < d_; ++j)
                means[c * d_ + j] = sums_[c * 2 * width + j] + sums_[(c * 2 + 1) * width + j];
        relocate(means, sizes);
        for (size_t c = 0; c < k_; ++c)
            for (size_t j = 0; sizes[c] > 0 && j < d_; ++j) means[c * d_ + j] /= static_cast<double>(sizes[c]);
        const size_t largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
        double total = 0, most = 0, next = 0;
        for (size_t c = 0; c < k_; ++c) {
            if (sizes[c] <= 0) std::copy_n(&means[largest * d_], d_, &means[c * d_]);
            double square = 0;
            for (size_t j = 0; j < d_; ++j) {
                const double away = means[c * d_ + j] - centres[c * d_ + j];
                square += away * away;
            }
            total += square;
            moved[c] = std::sqrt(square);
            if (moved[c] > most) next = most, most = moved[c];
            else next = std::max(next, moved[c]);
        }
        for (size_t c = 0; c < k_; ++c) travelled_[c] += moved[c] + (moved[c] == most ? next : most);
        centres.swap(means);
        return total;
    }

    // A cluster without rows takes the row that is farthest from its centre, for the sake of the means alone.
    void relocate(std::vector<double>& sums, std::vector<int64_t>& sizes) const {
        std::vector<size_t> empty;
        for (size_t c = 0; c < k_; ++c)
            if (!sizes[c]) empty.push_back(c);
        if (empty.empty()) return;
        std::vector<double> distances(in_.n);
        for (size_t i = 0; i < in_.n; ++i) distances[i] = distance(i);
        std::vector<size_t> order(in_.n);
        std::iota(order.begin(), order.end(), size_t{0});
        const auto is_farther = [&](size_t a, size_t b) {
            return distances[a] > distances[b] || (distances[a] == distances[b] && a > b);
        };
        std::partial_sort(order.begin(), order.begin() + empty.size(), order.end(), is_farther);
        if (!(distances[order[0]] > 0)) return;  // more clusters than rows that differ
        for (size_t e = 0; e < empty.size(); ++e) {
            const size_t far = order[e], old = labels[far];
            for (size_t j = 0; j < d_; ++j) {
                sums[old * d_ + j] -= row(far)[j];
                sums[empty[e] * d_ + j] = row(far)[j];
            }
            sizes[empty[e]] = 1;
            --sizes[old];
        }
    }
};

// Whether two clusterings are one but for the names of the clusters.
bool same_clusters(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, size_t n_clusters) {
    std::vector<int64_t> name(n_clusters, -1);
    for (size_t i = 0; i < a.size(); ++i) {
        int64_t& of = name[a[i]];
        if (of < 0) of = b[i];
        else if (of != b[i]) return false;
    }
    return true;
}

}  // namespace

double k_means(const ClusterStarts& in, double* centres, uint32_t* labels, size_t n_threads) {
    const PaddedRows rows(in.rows, in.n, in.n_columns);
    std::vector<std::unique_ptr<Start>> starts(in.n_starts);
    parallel_for(in.n_starts, threads_for(in.n * in.n_columns * in.n_clusters, n_threads),
                 [&](size_t s) { starts[s] = std::make_unique<Start>(in, rows, s); });
    const Start* best = starts[0].get();
    for (const auto& start : starts)  // rounding alone must not choose between names of the same clusters
        if (start->inertia < best->inertia && !same_clusters(start->labels, best->labels, in.n_clusters))
            best = start.get();
    std::copy(best->centres.begin(), best->centres.end(), centres);
    std::copy(best->labels.begin(), best->labels.end(), labels);
    return best->inertia;
}

}  // namespace bayeskit
