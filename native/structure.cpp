// See structure.hpp. A family is a node with its parents; every score is a sum over families, which are counted once.
// Formula: BIC, AIC, BDeu and K2 scores of a network
#include "structure.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "simd/loops.hpp"
#include "support/random.hpp"

namespace bayeskit {
namespace {

constexpr size_t kMostBitValues = 64;              // a column of more values has no bitmaps
constexpr size_t kMostBitmapBytes = size_t{1} << 30;
constexpr size_t kMostTableCells = size_t{1} << 20;  // larger tables are counted by sorting
constexpr size_t kMostCached = size_t{1} << 22;      // families
constexpr double kGain = 1e-7;                       // smaller differences of scores are rounding
constexpr double kImpossible = -1e30;                // the score of an order that breaks a required arc
constexpr size_t kTabuRuns = 2;
constexpr uint16_t kNobody = UINT16_MAX;

// ln Γ(x) for x >= 16, by Stirling's series.
double log_gamma_large(double x) {
    const double y = 1 / (x * x);
    const double series = (1.0 / 12 + y * (-1.0 / 360 + y * (1.0 / 1260 - y / 1680))) / x;
    return (x - 0.5) * std::log(x) - x + 0.91893853320467274 + series;
}

// ln Γ(a + n) - ln Γ(a)
class RisingFactorial {
public:
    explicit RisingFactorial(double a) : a_(a), log_gamma_(log_gamma_large(a + kDirect) - direct(kDirect)) {}
    double operator()(size_t n) const {
        return n < kDirect ? direct(n) : log_gamma_large(a_ + static_cast<double>(n)) - log_gamma_;
    }

private:
    static constexpr size_t kDirect = 16;
    double direct(size_t n) const {
        double product = 1;
        for (size_t i = 0; i < n; ++i) product *= a_ + static_cast<double>(i);
        return std::log(product);
    }
    double a_, log_gamma_;
};

struct Family {
    std::array<uint16_t, kMostParents + 1> members;  // the child, its parents ascending, then kNobody
    bool operator==(const Family&) const = default;
};

struct FamilyHash {
    size_t operator()(const Family& family) const {
        uint64_t halves[2];
        static_assert(sizeof halves == sizeof family.members);
        std::memcpy(halves, family.members.data(), sizeof halves);
        return mixed(halves[0] ^ mixed(halves[1] + kGolden));
    }
};

class FamilyScores {
public:
    explicit FamilyScores(const StructureData& data)
        : data_(data), n_words_((data.n_rows + 64 * kBitWords - 1) / (64 * kBitWords) * kBitWords) {
        if (data.score != Score::bdeu && data.score != Score::k2) {
            weighed_.resize(data.n_rows + 1);
            for (size_t n = 1; n <= data.n_rows; ++n)
                weighed_[n] = static_cast<double>(n) * std::log(static_cast<double>(n));
        }
        make_bitmaps();
        buffers_.resize(kMostParents * n_words_);
    }

    size_t n_counted() const { return n_counted_; }

    // The parents are in ascending order.
    double operator()(size_t child, const uint16_t* parents, size_t n_parents) {
        Family family;
        family.members.fill(kNobody);
        family.members[0] = static_cast<uint16_t>(child);
        std::copy(parents, parents + n_parents, family.members.begin() + 1);
        if (const auto known = cache_.find(family); known != cache_.end()) return known->second;
        if (cache_.size() >= kMostCached) cache_.clear();
        return cache_[family] = count(child, parents, n_parents);
    }
    double operator()(size_t child, const std::vector<uint16_t>& parents) {
        return (*this)(child, parents.data(), parents.size());
    }

private:
    const StructureData& data_;
    size_t n_words_, n_counted_ = 0;
    std::vector<double> weighed_;                 // n ln n
    std::vector<std::vector<uint64_t>> bitmaps_;  // of each node: (values, words), or nothing
    std::vector<std::vector<size_t>> sizes_;      // rows of each value
    std::vector<uint64_t> buffers_;               // of each level of a walk
    std::vector<uint32_t> table_;
    std::vector<uint64_t> cells_;
    std::unordered_map<Family, double, FamilyHash> cache_;

    void make_bitmaps() {
        bitmaps_.resize(data_.n());
        sizes_.resize(data_.n());
        size_t bytes = 0;
        for (size_t v = 0; v < data_.n(); ++v) {
            const size_t k = data_.n_values[v], needed = k * n_words_ * sizeof(uint64_t);
            sizes_[v].assign(k, 0);
            const uint16_t* codes = data_.columns[v];
            if (k > kMostBitValues || bytes + needed > kMostBitmapBytes) {
                for (size_t r = 0; r < data_.n_rows; ++r) ++sizes_[v][codes[r]];
                continue;
            }
            bytes += needed;
            bitmaps_[v].assign(k * n_words_, 0);
            for (size_t first = 0; first < data_.n_rows; first += 64) {
                uint64_t words[kMostBitValues] = {};
                const size_t n = std::min<size_t>(64, data_.n_rows - first);
                for (size_t r = 0; r < n; ++r) words[codes[first + r]] |= uint64_t{1} << r;
                for (size_t value = 0; value < k; ++value) {
                    bitmaps_[v][value * n_words_ + first / 64] = words[value];
                    sizes_[v][value] += static_cast<size_t>(std::popcount(words[value]));
                }
            }
        }
    }

    const uint64_t* bitmap(size_t node, size_t value) const { return bitmaps_[node].data() + value * n_words_; }

    double count(size_t child, const uint16_t* parents, size_t n_parents) {
        ++n_counted_;
        const size_t r = data_.n_values[child];
        double q = 1;
        for (size_t i = 0; i < n_parents; ++i) q *= static_cast<double>(data_.n_values[parents[i]]);
        const double cells = q * static_cast<double>(r);
        if (cells > 0x1p63) return kImpossible;  // cells have no number
        if (data_.score == Score::bdeu || data_.score == Score::k2) {
            const bool k2 = data_.score == Score::k2;
            const RisingFactorial context(k2 ? static_cast<double>(r) : data_.equivalent_sample_size / q);
            const RisingFactorial cell(k2 ? 1.0 : data_.equivalent_sample_size / cells);
            return sum(child, parents, n_parents, cells, context, cell);
        }
        const auto weighed = [this](size_t n) { return weighed_[n]; };
        const double fit = sum(child, parents, n_parents, cells, weighed, weighed);
        const double parameters = q * static_cast<double>(r - 1);
        if (data_.score == Score::bic)
            return fit - 0.5 * std::log(std::max(1.0, static_cast<double>(data_.n_rows))) * parameters;
        return data_.score == Score::aic ? fit - parameters : fit;
    }

    // Σ over contexts of Σ cell(n of a value) - context(n), over what occurs; by the way that takes the least time.
    template <class Context, class Cell>
    double sum(size_t child, const uint16_t* parents, size_t n_parents, double cells, const Context& context,
               const Cell& cell) {
        const auto rows = static_cast<double>(data_.n_rows), words = static_cast<double>(n_words_);
        bool has_bitmaps = !bitmaps_[child].empty();
        for (size_t i = 0; i < n_parents; ++i) has_bitmaps = has_bitmaps && !bitmaps_[parents[i]].empty();
        const double direct_cost = rows * (0.75 + 0.12 * static_cast<double>(n_parents)) + cells;
        if (n_parents == 0) return of_context(child, sizes_[child].data(), data_.n_rows, context, cell);
        if (has_bitmaps && cells * words * 0.19 < direct_cost) {
            double total = 0;
            walk(child, parents, n_parents, 0, nullptr, total, context, cell);
            return total;
        }
        return cells <= static_cast<double>(kMostTableCells)
                   ? by_table(child, parents, n_parents, static_cast<size_t>(cells), context, cell)
                   : by_sorting(child, parents, n_parents, context, cell);
    }

    template <class Number, class Context, class Cell>
    double of_context(size_t child, const Number* counts, size_t n, const Context& context, const Cell& cell) const {
        double total = 0;
        for (size_t k = 0; k < data_.n_values[child]; ++k)
            if (counts[k]) total += cell(counts[k]);
        return total - context(n);
    }

    // Depth first over the values of the parents; a context that no row has is left out with all below it.
    template <class Context, class Cell>
    void walk(size_t child, const uint16_t* parents, size_t n_parents, size_t level, const uint64_t* within,
              double& total, const Context& context, const Cell& cell) {
        const Loops& loop = loops();
        for (size_t value = 0; value < data_.n_values[parents[level]]; ++value) {
            const uint64_t* rows = bitmap(parents[level], value);
            size_t n = sizes_[parents[level]][value];
            if (within) {
                uint64_t* both = &buffers_[level * n_words_];
                n = loop.intersect(within, rows, both, n_words_);
                rows = both;
            }
            if (!n) continue;
            if (level + 1 < n_parents) {
                walk(child, parents, n_parents, level + 1, rows, total, context, cell);
                continue;
            }
            size_t counts[kMostBitValues], left = n;
            const size_t last = data_.n_values[child] - 1;
            for (size_t k = 0; k < last; ++k)
                left -= counts[k] = left ? loop.count_both(rows, bitmap(child, k), n_words_) : 0;
            counts[last] = left;
            total += of_context(child, counts, n, context, cell);
        }
    }

    // The cell of a row: the values of the parents, the first varying slowest, then that of the child.
    template <class T>
    void locate(size_t child, const uint16_t* parents, size_t n_parents, size_t first, size_t n, T* cells) const {
        std::fill(cells, cells + n, T{0});
        for (size_t i = 0; i <= n_parents; ++i) {
            const size_t v = i < n_parents ? parents[i] : child;
            const uint16_t* codes = data_.columns[v] + first;
            const auto size = static_cast<T>(data_.n_values[v]);
            for (size_t r = 0; r < n; ++r) cells[r] = cells[r] * size + codes[r];
        }
    }

    template <class Context, class Cell>
    double by_table(size_t child, const uint16_t* parents, size_t n_parents, size_t cells, const Context& context,
                    const Cell& cell) {
        constexpr size_t kBlock = 2048, kTables = 4;  // side by side: neighboring rows often share a cell
        table_.assign(kTables * cells, 0);
        uint32_t at[kBlock];
        for (size_t first = 0; first < data_.n_rows; first += kBlock) {
            const size_t n = std::min(kBlock, data_.n_rows - first);
            locate(child, parents, n_parents, first, n, at);
            size_t r = 0;
            for (; r + kTables <= n; r += kTables)
                for (size_t t = 0; t < kTables; ++t) ++table_[t * cells + at[r + t]];
            for (; r < n; ++r) ++table_[at[r]];
        }
        for (size_t t = 1; t < kTables; ++t)
            for (size_t c = 0; c < cells; ++c) table_[c] += table_[t * cells + c];
        double total = 0;
        const size_t k = data_.n_values[child];
        for (size_t c = 0; c < cells; c += k) {
            const size_t n = std::accumulate(table_.begin() + c, table_.begin() + c + k, size_t{0});
            if (n) total += of_context(child, &table_[c], n, context, cell);
        }
        return total;
    }

    template <class Context, class Cell>
    double by_sorting(size_t child, const uint16_t* parents, size_t n_parents, const Context& context,
                      const Cell& cell) {
        cells_.resize(data_.n_rows);
        locate(child, parents, n_parents, 0, data_.n_rows, cells_.data());
        std::sort(cells_.begin(), cells_.end());
        const size_t k = data_.n_values[child];
        double total = 0;
        for (size_t r = 0; r < cells_.size();) {
            const uint64_t here = cells_[r] / k;
            size_t n = 0;
            while (r < cells_.size() && cells_[r] / k == here) {
                const size_t start = r;
                while (r < cells_.size() && cells_[r] == cells_[start]) ++r;
                total += cell(r - start);
                n += r - start;
            }
            total -= context(n);
        }
        return total;
    }
};

// Calls back at most ten times a second.
class Progress {
public:
    explicit Progress(const SearchSettings& settings) : settings_(settings) {}
    bool proceed(double done, double score) {
        const auto now = std::chrono::steady_clock::now();
        if (!stopped_ && now - last_ > std::chrono::milliseconds(100)) {
            last_ = now;
            stopped_ = !settings_.proceed(done, score);
        }
        return !stopped_;
    }
    bool stopped() const { return stopped_; }

private:
    const SearchSettings& settings_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    bool stopped_ = false;
};

std::vector<uint16_t> with(const std::vector<uint16_t>& set, uint16_t member) {
    std::vector<uint16_t> out = set;
    out.insert(std::lower_bound(out.begin(), out.end(), member), member);
    return out;
}

std::vector<uint16_t> without(const std::vector<uint16_t>& set, uint16_t member) {
    std::vector<uint16_t> out = set;
    out.erase(std::lower_bound(out.begin(), out.end(), member));
    return out;
}

double total_score(FamilyScores& scores, const Parents& parents) {
    double total = 0;
    for (size_t v = 0; v < parents.size(); ++v) total += scores(v, parents[v]);
    return total;
}

struct Graph {
    Parents parents;
    double score;
};

// Greedy steps: add, remove or turn the arc that raises the score most. With a tabu list a step may lower the score,
// and the graphs of the last steps are not visited again; the best graph of all steps is returned.
class Climb {
public:
    // Moves are tried in an order of the nodes, which decides between equal gains.
    Climb(const StructureData& data, FamilyScores& scores, Parents start, const std::vector<uint16_t>& order)
        : data_(data), scores_(scores), order_(order), n_(data.n()), parents_(std::move(start)),
          n_words_((n_ + 63) / 64), has_(n_ * n_), change_(n_ * n_), descendants_(n_ * n_words_) {
        for (size_t c = 0; c < n_; ++c) {
            for (const uint16_t p : parents_[c]) {
                has_[p * n_ + c] = 1;
                hash_ ^= key(p, c);
            }
            own_.push_back(scores_(c, parents_[c]));
        }
        for (size_t c = 0; c < n_; ++c) refresh(c);
    }

    Graph run(size_t tabu_length, size_t patience, Progress& progress, double from, double to) {
        Graph best{parents_, std::accumulate(own_.begin(), own_.end(), 0.0)};
        double score = best.score;
        std::vector<uint64_t> tabu(tabu_length, hash_);
        const double expected = 2.0 * static_cast<double>(n_);
        for (size_t step = 0, fruitless = 0; fruitless < std::max<size_t>(patience, 1); ++step) {
            if (tabu_length) tabu[step % tabu_length] = hash_;
            const Move move = best_move(tabu);
            if (!move.exists || (!tabu_length && move.gain <= kGain)) break;
            apply(move);
            score += move.gain;
            ++fruitless;
            if (score > best.score + kGain) {
                best = {parents_, score};
                fruitless = 0;
            }
            const double done = 1 - 1 / (1 + static_cast<double>(step) / expected);
            if (!progress.proceed(from + (to - from) * done, best.score)) break;
        }
        best.score = total_score(scores_, best.parents);
        return best;
    }

private:
    enum class Kind { add, remove, turn };
    struct Move {
        Kind kind = Kind::add;
        size_t parent = 0, child = 0;
        double gain = -INFINITY;
        bool exists = false;
    };

    const StructureData& data_;
    FamilyScores& scores_;
    const std::vector<uint16_t>& order_;
    size_t n_;
    Parents parents_;
    size_t n_words_;
    std::vector<char> has_;             // (parents, children)
    std::vector<double> own_, change_;  // of each node; (parents, children): by adding or removing the arc
    std::vector<uint64_t> descendants_;
    uint64_t hash_ = 0;

    static uint64_t key(size_t p, size_t c) { return mixed((uint64_t{p} << 32 | c) + kGolden); }
    bool descends(size_t from, size_t to) const { return descendants_[from * n_words_ + to / 64] >> (to % 64) & 1; }

    void refresh(size_t c) {
        for (size_t p = 0; p < n_; ++p) {
            double& change = change_[p * n_ + c];
            change = -INFINITY;
            if (p == c) continue;
            const auto parent = static_cast<uint16_t>(p);
            if (has_[p * n_ + c]) change = scores_(c, without(parents_[c], parent)) - own_[c];
            else if (data_.arc(p, c) != Arc::forbidden && parents_[c].size() < data_.max_parents)
                change = scores_(c, with(parents_[c], parent)) - own_[c];
        }
    }

    // A node's descendants are its children and theirs.
    void find_descendants() {
        const Parents children = children_of(parents_);
        const std::vector<uint16_t> order = parents_first(parents_, children, [](size_t) { return 0; });
        std::fill(descendants_.begin(), descendants_.end(), 0);
        for (size_t i = order.size(); i-- > 0;) {
            uint64_t* below = &descendants_[order[i] * n_words_];
            for (const uint16_t c : children[order[i]]) {
                below[c / 64] |= uint64_t{1} << (c % 64);
                for (size_t w = 0; w < n_words_; ++w) below[w] |= descendants_[c * n_words_ + w];
            }
        }
    }

    bool can_turn(size_t p, size_t c) const {
        for (const uint16_t other : parents_[c])
            if (other != p && descends(p, other)) return false;
        return true;
    }

    // Of moves that gain the same up to rounding, the first.
    Move best_move(const std::vector<uint64_t>& tabu) {
        find_descendants();
        Move best;
        const auto consider = [&](Kind kind, size_t p, size_t c, double gain, uint64_t hash) {
            if (gain > best.gain + kGain && std::find(tabu.begin(), tabu.end(), hash) == tabu.end())
                best = {kind, p, c, gain, true};
        };
        for (const uint16_t p : order_)
            for (const uint16_t c : order_) {
                const double change = change_[p * n_ + c];
                if (!has_[p * n_ + c]) {
                    if (change > best.gain && !descends(c, p)) consider(Kind::add, p, c, change, hash_ ^ key(p, c));
                    continue;
                }
                if (data_.arc(p, c) == Arc::required) continue;
                consider(Kind::remove, p, c, change, hash_ ^ key(p, c));
                const double turned = change + change_[c * n_ + p];
                if (turned > best.gain && can_turn(p, c))
                    consider(Kind::turn, p, c, turned, hash_ ^ key(p, c) ^ key(c, p));
            }
        return best;
    }

    void toggle(size_t p, size_t c) {
        const auto parent = static_cast<uint16_t>(p);
        char& has = has_[p * n_ + c];
        parents_[c] = has ? without(parents_[c], parent) : with(parents_[c], parent);
        has = !has;
        hash_ ^= key(p, c);
        own_[c] = scores_(c, parents_[c]);
        refresh(c);
    }

    void apply(const Move& move) {
        toggle(move.parent, move.child);
        if (move.kind == Kind::turn) toggle(move.child, move.parent);
    }
};

// Orders of the nodes (Teyssier and Koller 2005): given an order, each node takes its best parents among its
// predecessors, out of a few candidates. A table gives the best set for every subset of the candidates.
class OrderSearch {
public:
    OrderSearch(const StructureData& data, FamilyScores& scores, const Graph& start, size_t n_candidates,
                Progress& progress, double from, double to)
        : data_(data), n_(data.n()), candidates_(n_), place_(n_ * n_, -1), tables_(n_), mask_(n_), order_(n_), at_(n_) {
        for (size_t v = 0; v < n_; ++v) {
            const double done = static_cast<double>(v) / static_cast<double>(n_);
            if (!progress.proceed(from + (to - from) * done, start.score)) break;
            choose_candidates(v, scores, start.parents, n_candidates);
            fill_table(v, scores);
        }
    }

    // Climb from the graph's order and from others near it; returns a better graph, or the same.
    Graph run(Graph best, size_t n_restarts, Random& random, FamilyScores& scores, Progress& progress, double from,
              double to) {
        for (size_t restart = 0; restart <= n_restarts; ++restart) {
            const bool anew = restart % 4 == 3;
            const Parents parents = anew ? Parents(n_) : best.parents;
            set_order(parents_first(parents, children_of(parents),
                                    [&](size_t ready) { return restart ? random.below(ready) : 0; }));
            if (restart > 0 && !anew)
                for (size_t i = 0; i < std::max<size_t>(2, n_ / 8); ++i) move_to(random.below(n_), random.below(n_));
            climb(random);
            Graph found{chosen(), 0};
            found.score = total_score(scores, found.parents);
            if (found.score > best.score + kGain && is_allowed(found.parents)) best = std::move(found);
            const double done = static_cast<double>(restart + 1) / static_cast<double>(n_restarts + 1);
            if (!progress.proceed(from + (to - from) * done, best.score)) break;
        }
        return best;
    }

private:
    struct Table {
        std::vector<double> best;    // for every set of candidates that precede the node
        std::vector<uint32_t> chosen;
    };

    const StructureData& data_;
    size_t n_;
    std::vector<std::vector<uint16_t>> candidates_;
    std::vector<int8_t> place_;  // (nodes, nodes): which candidate of the first the second is
    std::vector<Table> tables_;
    std::vector<uint32_t> mask_;  // candidates of each node that precede it
    std::vector<uint16_t> order_;
    std::vector<size_t> at_;

    // Required parents, the Markov blanket in the start graph, then the best single parents.
    void choose_candidates(size_t v, FamilyScores& scores, const Parents& start, size_t n_candidates) {
        auto& list = candidates_[v];
        const auto offer = [&](size_t p, size_t most) {
            if (p == v || list.size() >= most || data_.arc(p, v) == Arc::forbidden || place_[v * n_ + p] >= 0) return;
            place_[v * n_ + p] = static_cast<int8_t>(list.size());
            list.push_back(static_cast<uint16_t>(p));
        };
        for (size_t p = 0; p < n_; ++p)
            if (p != v && data_.arc(p, v) == Arc::required) offer(p, n_);
        for (const uint16_t p : start[v]) offer(p, n_candidates);
        for (size_t c = 0; c < n_; ++c)
            if (std::binary_search(start[c].begin(), start[c].end(), v)) offer(c, n_candidates);
        for (size_t c = 0; c < n_; ++c)
            if (std::binary_search(start[c].begin(), start[c].end(), v))
                for (const uint16_t spouse : start[c]) offer(spouse, n_candidates);
        std::vector<std::pair<double, uint16_t>> single;
        for (size_t p = 0; p < n_; ++p)
            if (p != v && data_.arc(p, v) != Arc::forbidden) {
                const auto parent = static_cast<uint16_t>(p);
                single.emplace_back(-scores(v, &parent, 1), parent);
            }
        std::sort(single.begin(), single.end());
        for (const auto& [_, p] : single) offer(p, n_candidates);
    }

    void fill_table(size_t v, FamilyScores& scores) {
        const auto& list = candidates_[v];
        const uint32_t n_sets = uint32_t{1} << list.size();
        uint32_t required = 0;
        for (size_t i = 0; i < list.size(); ++i)
            if (data_.arc(list[i], v) == Arc::required) required |= uint32_t{1} << i;
        Table& table = tables_[v];
        table.best.assign(n_sets, kImpossible);
        table.chosen.assign(n_sets, required);
        std::vector<uint16_t> parents;
        for (uint32_t set = 0; set < n_sets; ++set) {
            double& best = table.best[set];
            for (uint32_t rest = set; rest; rest &= rest - 1) {
                const uint32_t smaller = set & ~(rest & -rest);
                if (table.best[smaller] > best) best = table.best[smaller], table.chosen[set] = table.chosen[smaller];
            }
            if ((set & required) != required || static_cast<size_t>(std::popcount(set)) > data_.max_parents) continue;
            read(v, set, parents);
            const double score = scores(v, parents);
            if (score > best + kGain) best = score, table.chosen[set] = set;
        }
    }

    void read(size_t v, uint32_t set, std::vector<uint16_t>& parents) const {
        parents.clear();
        for (uint32_t rest = set; rest; rest &= rest - 1) parents.push_back(candidates_[v][std::countr_zero(rest)]);
        std::sort(parents.begin(), parents.end());
    }

    Parents chosen() const {
        Parents out(n_);
        for (size_t v = 0; v < n_; ++v) read(v, tables_[v].chosen[mask_[v]], out[v]);
        return out;
    }

    bool is_allowed(const Parents& parents) const {
        for (size_t c = 0; c < n_; ++c)
            for (size_t p = 0; p < n_; ++p)
                if (p != c && data_.arc(p, c) == Arc::required &&
                    !std::binary_search(parents[c].begin(), parents[c].end(), p))
                    return false;
        return true;
    }

    void set_order(const std::vector<uint16_t>& order) {
        order_ = order;
        for (size_t i = 0; i < n_; ++i) at_[order[i]] = i;
        for (size_t v = 0; v < n_; ++v) {
            mask_[v] = 0;
            for (size_t i = 0; i < candidates_[v].size(); ++i)
                if (at_[candidates_[v][i]] < at_[v]) mask_[v] |= uint32_t{1} << i;
        }
    }

    uint32_t toggled(size_t v, size_t other, uint32_t mask) const {
        const int8_t i = place_[v * n_ + other];
        return i < 0 ? mask : mask ^ (uint32_t{1} << i);
    }

    // Move node v to a place, one exchange of neighbors after the other.
    void move_to(size_t v, size_t to) {
        while (at_[v] != to) {
            const size_t next = at_[v] < to ? at_[v] + 1 : at_[v] - 1;
            const uint16_t other = order_[next];
            mask_[v] = toggled(v, other, mask_[v]);
            mask_[other] = toggled(other, v, mask_[other]);
            order_[at_[v]] = other;
            order_[next] = static_cast<uint16_t>(v);
            at_[other] = at_[v];
            at_[v] = next;
        }
    }

    // Move every node to its best place, until no move raises the score.
    void climb(Random& random) {
        std::vector<uint16_t> turns(n_);
        std::iota(turns.begin(), turns.end(), uint16_t{0});
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t i = n_; i > 1; --i) std::swap(turns[i - 1], turns[random.below(i)]);
            for (const uint16_t v : turns) {
                double best = kGain;
                size_t place = at_[v];
                for (const int step : {-1, 1}) {
                    uint32_t mask = mask_[v];
                    double others = 0;
                    for (size_t i = at_[v] + static_cast<size_t>(step); i < n_; i += static_cast<size_t>(step)) {
                        const uint16_t other = order_[i];
                        const uint32_t theirs = toggled(other, v, mask_[other]);
                        if (theirs != mask_[other])
                            others += tables_[other].best[theirs] - tables_[other].best[mask_[other]];
                        mask = toggled(v, other, mask);
                        const double gain = others + tables_[v].best[mask] - tables_[v].best[mask_[v]];
                        if (gain > best) best = gain, place = i;
                    }
                }
                if (place != at_[v]) {
                    move_to(v, place);
                    moved = true;
                }
            }
        }
    }
};

// The best graph of all (Silander and Myllymäki 2006): the best parents of each node within every set of the others,
// then the best last node of every set.
Graph exact_search(const StructureData& data, FamilyScores& scores, Progress& progress, double from) {
    const size_t n = data.n();
    const uint32_t n_sets = uint32_t{1} << n, n_others = n ? uint32_t{1} << (n - 1) : 1;
    // Sets of the others: the bits of a node above v move down by one.
    const auto others_of = [](uint32_t set, size_t v) {
        const uint32_t below = (uint32_t{1} << v) - 1;
        return (set & below) | (set >> 1 & ~below);
    };
    std::vector<uint16_t> parents;
    const auto own_score = [&](size_t v, uint32_t others) {
        parents.clear();
        for (uint32_t rest = others; rest; rest &= rest - 1) {
            const auto i = static_cast<size_t>(std::countr_zero(rest));
            parents.push_back(static_cast<uint16_t>(i < v ? i : i + 1));
        }
        size_t required = 0;
        for (size_t p = 0; p < n; ++p) required += p != v && data.arc(p, v) == Arc::required;
        for (const uint16_t p : parents) {
            if (data.arc(p, v) == Arc::forbidden) return kImpossible;
            required -= data.arc(p, v) == Arc::required;
        }
        return required ? kImpossible : scores(v, parents);
    };
    std::vector<std::vector<double>> best(n, std::vector<double>(n_others, kImpossible));
    for (size_t v = 0; v < n; ++v)
        for (uint32_t set = 0; set < n_others; ++set) {
            double& here = best[v][set];
            for (uint32_t rest = set; rest; rest &= rest - 1) here = std::max(here, best[v][set & ~(rest & -rest)]);
            if (static_cast<size_t>(std::popcount(set)) <= data.max_parents) here = std::max(here, own_score(v, set));
            if (set % 1024 == 0) {
                const double done = (static_cast<double>(v) + static_cast<double>(set) / n_others) / n;
                if (!progress.proceed(from + (0.9 - from) * done, 0)) return {};
            }
        }
    std::vector<double> total(n_sets, 0);
    std::vector<uint8_t> last(n_sets, 0);
    for (uint32_t set = 1; set < n_sets; ++set) {
        total[set] = -INFINITY;
        for (uint32_t rest = set; rest; rest &= rest - 1) {
            const auto v = static_cast<size_t>(std::countr_zero(rest));
            const uint32_t before = set & ~(uint32_t{1} << v);
            const double score = total[before] + best[v][others_of(before, v)];
            if (score > total[set]) total[set] = score, last[set] = static_cast<uint8_t>(v);
        }
    }
    Graph out{Parents(n), 0};
    for (uint32_t set = n_sets - 1; set;) {
        const size_t v = last[set];
        set &= ~(uint32_t{1} << v);
        // The smallest set that reaches the best score.
        uint32_t chosen = others_of(set, v);
        for (bool smaller = true; smaller;) {
            smaller = false;
            for (uint32_t rest = chosen; rest && !smaller; rest &= rest - 1) {
                const uint32_t fewer = chosen & ~(rest & -rest);
                if (best[v][fewer] == best[v][chosen]) chosen = fewer, smaller = true;
            }
        }
        own_score(v, chosen);
        out.parents[v] = parents;
    }
    out.score = total_score(scores, out.parents);
    return out;
}

}  // namespace

LearnedStructure learn_structure(const StructureData& data, Parents start, const SearchSettings& settings) {
    FamilyScores scores(data);
    Progress progress(settings);
    Graph best{std::move(start), 0};
    best.score = total_score(scores, best.parents);
    const auto improve = [&](Graph other) {
        if (!other.parents.empty() && other.score > best.score + kGain) best = std::move(other);
    };
    const bool greedy = settings.search == Search::hill_climb;
    const size_t length = greedy ? 0 : settings.tabu_length, patience = greedy ? 1 : settings.patience;
    Random random(settings.seed);
    std::vector<uint16_t> order(data.n());
    std::iota(order.begin(), order.end(), uint16_t{0});
    const auto climb = [&](const Parents& start_graph, double from, double to) {
        improve(Climb(data, scores, start_graph, order).run(length, patience, progress, from, to));
        for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    };
    switch (data.n() < 2 ? Search::none : settings.search) {
        case Search::none: break;
        case Search::hill_climb: climb(best.parents, 0, 1); break;
        case Search::tabu: {
            const Parents first = best.parents;  // equal gains lead to different graphs: take the best of a few
            for (size_t run = 0; run < kTabuRuns && !progress.stopped(); ++run)
                climb(first, static_cast<double>(run) / kTabuRuns, (run + 1.0) / kTabuRuns);
            break;
        }
        case Search::order: {
            climb(best.parents, 0, 0.2);
            OrderSearch search(data, scores, best, settings.n_candidates, progress, 0.2, 0.4);
            if (progress.stopped()) break;
            improve(search.run(best, settings.n_restarts, random, scores, progress, 0.4, 0.9));
            if (!progress.stopped()) climb(best.parents, 0.9, 1);
            break;
        }
        case Search::exact:
            climb(best.parents, 0, 0.1);
            if (!progress.stopped()) improve(exact_search(data, scores, progress, 0.1));
    }
    return {std::move(best.parents), best.score, scores.n_counted(), !progress.stopped()};
}

}  // namespace bayeskit
