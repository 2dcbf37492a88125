// Class chains: P(class | context) refined one column at a time, chosen on a part of the rows, counted on all.
#include <cmath>
#include <limits>
#include <numeric>

#include "ensemble.hpp"
#include "support/log_products.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

namespace {

// The value a number has between some cuts: 0 .. kMostCuts, a missing one the next; infinity is a number not known.
inline uint32_t interval(double x, const double* cuts) {
    if (x != x) return kMostCuts + 1;
    if (x == std::numeric_limits<double>::infinity()) return kMostCuts + 2;
    uint32_t v = 0;
    for (size_t i = 0; i < kMostCuts; ++i) v += x > cuts[i];  // no number is greater than NaN
    return v;
}

// The value a code has: itself if none is singled out, else 1 .. kMostCuts of those that are, 0 for all others
// together.
inline uint32_t group(uint32_t code, size_t size, const double* singled) {
    if (singled[0] != singled[0]) return code;
    if (code >= size) return kMostCuts + 2;  // not known
    const double x = code;
    for (uint32_t i = kMostCuts; i > 0; --i)
        if (x == singled[i - 1]) return i;
    return 0;
}

size_t n_values(const Column& column) { return std::max(column.n_codes, kMostCuts + 3); }

size_t most_values(const std::vector<Column>& columns) {
    size_t most = 0;
    for (const Column& column : columns) most = std::max(most, n_values(column));
    return most;
}

inline uint32_t value_of(const Column& column, size_t r, const double* cuts) {
    if (!column.coded) return interval(column.numbers.data[static_cast<ptrdiff_t>(r) * column.numbers.stride], cuts);
    // Without a function of references: where it is not laid out here, they go through memory for every cell.
    const void* codes = column.codes.data;
    const uint32_t code = column.codes.width == 1   ? static_cast<const uint8_t*>(codes)[r]
                          : column.codes.width == 2 ? static_cast<const uint16_t*>(codes)[r]
                                                    : static_cast<const uint32_t*>(codes)[r];
    return group(code, column.size, cuts);
}

// The values of learned rows.
void read_values(const Column& column, const double* cuts, const std::vector<uint32_t>& rows, uint32_t* values) {
    const size_t n = rows.size();
    if (!column.coded) {
        const Floats& numbers = column.numbers;
        for (size_t i = 0; i < n; ++i)
            values[i] = interval(numbers.data[static_cast<ptrdiff_t>(rows[i]) * numbers.stride], cuts);
        return;
    }
    uint32_t singled[kMostCuts];  // as codes; one that no row has in place of none
    for (size_t i = 0; i < kMostCuts; ++i)
        singled[i] = cuts[i] >= 0 && cuts[i] < static_cast<double>(column.n_codes) &&
                             cuts[i] == static_cast<double>(static_cast<uint32_t>(cuts[i]))
                         ? static_cast<uint32_t>(cuts[i])
                         : UINT32_MAX;
    with_type(column.codes, [&](auto codes) {
        if (cuts[0] != cuts[0])
            for (size_t i = 0; i < n; ++i) values[i] = codes[rows[i]];
        else
            for (size_t i = 0; i < n; ++i) {
                const uint32_t code = codes[rows[i]];
                uint32_t v = 0;
                for (uint32_t c = 0; c < kMostCuts; ++c) v = code == singled[c] ? c + 1 : v;
                values[i] = v;
            }
    });
}

// Rows in groups of one context each, side by side. A context of one row is that row: it is not split, but compared.
struct Groups {
    std::vector<uint32_t> rows;
    std::vector<size_t> start;  // and the end
    std::vector<int32_t> node;

    explicit Groups(std::vector<uint32_t> all) : rows(std::move(all)), start{0, rows.size()}, node{0} {}
    size_t size() const { return node.size(); }
    void clear() {
        rows.clear();
        start.assign(1, 0);
        node.clear();
    }
};

// Places of a group in the order of their values, those of one value as they stood.
class Divider {
public:
    explicit Divider(size_t most_values) : number_(most_values, 0) {}

    // order[first + i] is the i-th place; f(value, begin, end) of each value's part of the order.
    template <class F>
    void divide(const uint32_t* values, size_t first, size_t last, uint32_t* order, F f) {
        touched_.clear();
        for (size_t i = first; i < last; ++i)
            if (number_[values[i]]++ == 0) touched_.push_back(values[i]);
        std::sort(touched_.begin(), touched_.end());
        auto end = static_cast<uint32_t>(first);
        for (const uint32_t value : touched_) {
            const uint32_t begin = end;
            end += number_[value];
            number_[value] = begin;
        }
        for (size_t i = first; i < last; ++i) order[number_[values[i]]++] = static_cast<uint32_t>(i);
        size_t begin = first;
        for (const uint32_t value : touched_) {
            f(value, begin, static_cast<size_t>(number_[value]));
            begin = number_[value];
            number_[value] = 0;
        }
    }

private:
    std::vector<uint32_t> number_, touched_;
};

constexpr double kChoices[] = {1, 4, 16};
constexpr size_t kM = std::size(kChoices);
constexpr double kGain = 1e-9;
constexpr size_t kFewClasses = 8;
constexpr size_t kRemembered = 1 << 14;  // values times classes whose factors are held

// The part that chooses: its rows side by side, so that a candidate reads memory in order. Counts of rows are whole,
// sums of weights are not.
template <class Count>
class Chooser {
    static constexpr bool kWeighed = std::is_same_v<Count, double>;

public:
    Chooser(const Rows& rows, const std::vector<Column>& columns, const uint8_t* part, const double* own_prior)
        : rows_(rows), columns_(columns), C_(rows.n_classes), groups_(chosen(rows, part)),
          divider_(most_values(columns)), value_(groups_.rows.size()), order_(groups_.rows.size()),
          count_(most_values(columns) * C_), total_(most_values(columns)) {
        for (const uint32_t r : groups_.rows) {
            label_.push_back(rows.labels[r]);
            p_.push_back(own_prior[r]);
        }
        if (kWeighed || count_.size() > kRemembered) return;
        factor_.resize(count_.size() * kM);
        factor_of_.assign(count_.size(), 0);
    }

    // The best candidate of one step, taken; false where none gains.
    bool step(const Candidates& candidates, size_t d, Step& taken) {
        double best = kGain;
        size_t best_candidate = SIZE_MAX, best_m = 0;
        for (size_t j = 0; j < candidates.together; ++j) {
            LogSums<kM> gains;
            if (!gain(candidates, d * candidates.together + j, gains)) continue;
            for (size_t i = 0; i < kM; ++i)
                if (gains.sums[i] > best) {
                    best = gains.sums[i];
                    best_candidate = d * candidates.together + j;
                    best_m = i;
                }
        }
        if (best_candidate == SIZE_MAX) return false;
        taken.column = candidates.column[best_candidate];
        taken.m = kChoices[best_m];
        std::copy_n(candidates.cuts + best_candidate * kMostCuts, kMostCuts, taken.cuts);
        take(taken);
        return true;
    }

private:
    static std::vector<uint32_t> chosen(const Rows& rows, const uint8_t* part) {
        std::vector<uint32_t> found;
        for (size_t r = 0; r < rows.n; ++r)
            if (part[r]) found.push_back(static_cast<uint32_t>(r));
        return found;
    }

    size_t cell(size_t i) const { return value_[i] * C_ + label_[i]; }

    // Σ ln p' − ln p over the part for each m, each row left out; false where the candidate splits nothing.
    bool gain(const Candidates& candidates, size_t candidate, LogSums<kM>& gains) {
        read_values(columns_[candidates.column[candidate]], candidates.cuts + candidate * kMostCuts, groups_.rows,
                    value_.data());
        bool splits = false;
        for (size_t g = 0; g < groups_.size() && !splits; ++g)
            for (size_t i = groups_.start[g] + 1; i < groups_.start[g + 1] && !splits; ++i)
                splits = value_[i] != value_[groups_.start[g]];
        if (!splits) return false;
        for (size_t g = 0; g < groups_.size(); ++g) add_group(groups_.start[g], groups_.start[g + 1], gains);
        gains.close();
        return true;
    }

    // Rows of one group, value and class have one factor: in large groups it is made once.
    void add_group(size_t first, size_t last, LogSums<kM>& gains) {
        constexpr size_t kMany = 12;
        count_rows(first, last);
        const bool many = last - first >= kMany && !factor_of_.empty();
        if (many) ++group_;
        for (size_t i = first; i < last; ++i) {
            const size_t at = cell(i);
            double here[kM], *factor = many ? factor_.data() + at * kM : here;
            if (!many || factor_of_[at] != group_) {
                const double a = without(count_[at], i), b = without(total_[value_[i]], i), p = p_[i];
                for (size_t c = 0; c < kM; ++c) factor[c] = (a + kChoices[c] * p) / ((b + kChoices[c]) * p);
                if (many) factor_of_[at] = group_;
            }
            if (const double w = weight(i); w == 1.0) gains.multiply(factor);
            else
                for (size_t c = 0; c < kM; ++c) gains.sums[c] += w * std::log(factor[c]);
        }
        clear_rows(first, last);
    }

    Count weight(size_t i) const {
        if constexpr (kWeighed) return rows_.weights[groups_.rows[i]];
        else return 1;
    }
    double without(Count sum, size_t i) const {
        if constexpr (kWeighed) return rows_.without(sum, groups_.rows[i]);
        else return sum - 1.0;
    }

    void count_rows(size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            count_[cell(i)] += weight(i);
            total_[value_[i]] += weight(i);
        }
    }
    void clear_rows(size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) count_[cell(i)] = total_[value_[i]] = 0;
    }

    void take(const Step& step) {
        read_values(columns_[step.column], step.cuts, groups_.rows, value_.data());
        next_.clear();
        next_label_.clear();
        next_p_.clear();
        for (size_t g = 0; g < groups_.size(); ++g) {
            const size_t first = groups_.start[g], last = groups_.start[g + 1];
            count_rows(first, last);
            for (size_t i = first; i < last; ++i)
                p_[i] = (without(count_[cell(i)], i) + step.m * p_[i]) / (without(total_[value_[i]], i) + step.m);
            clear_rows(first, last);
            divider_.divide(value_.data(), first, last, order_.data(), [&](uint32_t, size_t from, size_t to) {
                if (to - from < 2) return;  // alone: nothing will change for it
                for (size_t at = from; at < to; ++at) {
                    next_.rows.push_back(groups_.rows[order_[at]]);
                    next_label_.push_back(label_[order_[at]]);
                    next_p_.push_back(p_[order_[at]]);
                }
                next_.start.push_back(next_.rows.size());
                next_.node.push_back(0);
            });
        }
        std::swap(groups_, next_);
        label_.swap(next_label_);
        p_.swap(next_p_);
    }

    const Rows& rows_;
    const std::vector<Column>& columns_;
    const size_t C_;
    Groups groups_, next_{{}};
    Divider divider_;
    std::vector<uint32_t> label_, next_label_, value_, order_;  // of each place, as the others
    std::vector<double> p_, next_p_;
    std::vector<Count> count_, total_;  // by value and class, and by value
    std::vector<double> factor_;                     // by value and class, for each m
    std::vector<uint64_t> factor_of_;                // the group for which it was made
    uint64_t group_ = 0;
};

// Every chosen context counted on all rows; g of the placed rows, each left out.
class Counter {
public:
    Counter(const Rows& rows, const std::vector<Column>& columns, const std::vector<int32_t>& place, double* g,
            Trie& out)
        : rows_(rows), columns_(columns), place_(place), g_(g), C_(rows.n_classes), groups_(all(rows.n)), out_(out),
          count_(C_, 0.0), divider_(most_values(columns)), value_(rows.n), order_(rows.n) {
        out_.add_node(0);
        for (size_t r = 0; r < rows.n; ++r) count_[rows.labels[r]] += rows.weight(r);
        close_node();
        if (rows.n == 1) {
            add_alone(0, 0);
            groups_.clear();
        }
    }

    void step(const Step& step) {
        read_values(columns_[step.column], step.cuts, groups_.rows, value_.data());
        next_.clear();
        for (size_t g = 0; g < groups_.size(); ++g) {
            const int32_t node = groups_.node[g];
            out_.first_child[node] = static_cast<int32_t>(out_.size());
            const auto child = [&](uint32_t value, size_t from, size_t to) {
                ++out_.n_children[node];
                out_.add_node(value);
                const auto own = static_cast<int32_t>(out_.size()) - 1;
                for (size_t i = from; i < to; ++i) {
                    const uint32_t r = groups_.rows[order_[i]];
                    count_[rows_.labels[r]] += rows_.weight(r);
                }
                if (to - from > 1) {
                    refine(from, to, step.m);
                    for (size_t i = from; i < to; ++i) next_.rows.push_back(groups_.rows[order_[i]]);
                    next_.start.push_back(next_.rows.size());
                    next_.node.push_back(own);
                } else {
                    add_alone(own, groups_.rows[order_[from]]);
                }
                close_node();
            };
            divider_.divide(value_.data(), groups_.start[g], groups_.start[g + 1], order_.data(), child);
        }
        std::swap(groups_, next_);
    }

private:
    static std::vector<uint32_t> all(size_t n) {
        std::vector<uint32_t> rows(n);
        std::iota(rows.begin(), rows.end(), 0u);
        return rows;
    }

    void add_alone(int32_t node, uint32_t r) {
        out_.n_children[node] = kOneRow;
        out_.first_child[node] = static_cast<int32_t>(r);
    }

    void refine(size_t first, size_t last, double m) {
        double total = 0;
        for (const double c : count_) total += c;
        for (size_t i = first; i < last; ++i) {
            const uint32_t r = groups_.rows[order_[i]];
            if (place_[r] < 0) continue;
            double* g = g_ + static_cast<size_t>(place_[r]) * C_;
            const double scale = 1 / (rows_.without(total, r) + m), own = m * g[rows_.labels[r]];
            for (size_t k = 0; k < C_; ++k) g[k] = (count_[k] + m * g[k]) * scale;
            g[rows_.labels[r]] = (rows_.without(count_[rows_.labels[r]], r) + own) * scale;
        }
    }

    void close_node() {
        for (size_t k = 0; k < C_; ++k)
            if (count_[k] > 0) out_.counts.add(static_cast<uint16_t>(k), count_[k]);
        out_.counts.close();
        std::fill(count_.begin(), count_.end(), 0.0);
    }

    const Rows& rows_;
    const std::vector<Column>& columns_;
    const std::vector<int32_t>& place_;
    double* g_;
    const size_t C_;
    Groups groups_, next_{{}};
    Trie& out_;
    std::vector<double> count_;
    Divider divider_;
    std::vector<uint32_t> value_, order_;
};

// P(class) without a row.
struct Beginning {
    const Rows& rows;
    double total = 0;
    std::vector<double> by_class;  // n_y + 1

    Beginning(const Rows& all, const double* prior) : rows(all), by_class(prior, prior + all.n_classes) {
        for (size_t r = 0; r < rows.n; ++r) total += rows.weight(r);
        for (double& p : by_class) p *= total + static_cast<double>(rows.n_classes);
    }
    double left_out(size_t r, size_t k) const {
        const double own = rows.labels[r] == k ? rows.without(by_class[k], r) : by_class[k];
        return own / (rows.without(total, r) + static_cast<double>(rows.n_classes));
    }
};

// P(class | context) of a row, refined step by step as long as its context is known.
template <bool Watched>
void walk_chain(const ChainView& chain, const std::vector<Column>& columns, const LearnedColumns& learned, size_t r,
                size_t C, double* g) {
    const TrieView& contexts = chain.contexts;
    const CountsView& counts = contexts.counts;
    int32_t node = 0;
    for (const Step& step : chain.steps) {
        const uint32_t value = value_of(columns[step.column], r, step.cuts);
        if (contexts.n_children[node] == kOneRow) {
            const int32_t other = contexts.first_child[node];
            check_part<Watched>(other, 1, learned.n);
            if (value_of(learned.columns[step.column], static_cast<size_t>(other), step.cuts) != value) return;
        } else if ((node = contexts.child<Watched>(node, value)) < 0) {
            return;
        }
        const auto [begin, end] = counts.pairs<Watched>(node);
        double total = 0;
        for (int32_t i = begin; i < end; ++i) total += counts.count[i];
        const double scale = 1 / (total + step.m), keep = step.m * scale;
        if (C <= kFewClasses) {  // one by one, as labels rise: what is written by pairs cannot be read at once in part
            int32_t i = begin;
            for (size_t k = 0; k < C; ++k) {
                double p = g[k] * keep;
                if (i < end && counts.label[i] == k) p += counts.count[i++] * scale;
                g[k] = p;
            }
            if (Watched && i < end) refuse_classes();
            continue;
        }
        for (size_t k = 0; k < C; ++k) g[k] *= keep;
        for (int32_t i = begin; i < end; ++i) g[check_label<Watched>(counts.label[i], C)] += counts.count[i] * scale;
    }
}

// Process a block of rows chain by chain, so that the tree of a chain stays in the cache.
template <bool Watched>
void score_rows_of(const std::vector<ChainView>& chains, const std::vector<Column>& columns,
                   const LearnedColumns& learned, size_t first, size_t last, double n_learned, size_t C,
                   const double* prior, double* log_sum, double* sum) {
    constexpr size_t kRows = 512;
    std::vector<double> g(C), product(std::min(kRows, last - first) * C);
    std::fill(log_sum + first * C, log_sum + last * C, 0.0);
    std::fill(sum + first * C, sum + last * C, 0.0);
    for (size_t from = first; from < last; from += kRows) {
        const size_t rows = std::min(kRows, last - from);
        std::fill(product.begin(), product.end(), 1.0);
        for (size_t t = 0; t < chains.size(); ++t) {
            for (size_t r = 0; r < rows; ++r) {
                std::copy(prior, prior + C, g.begin());
                walk_chain<Watched>(chains[t], columns, learned, from + r, C, g.data());
                for (size_t k = 0; k < C; ++k) {
                    const double h = (n_learned * g[k] + 1) / (n_learned + static_cast<double>(C));
                    sum[(from + r) * C + k] += h;
                    product[r * C + k] *= h;
                }
            }
            if (t % 8 == 7 || t + 1 == chains.size())
                for (size_t i = 0; i < rows * C; ++i) {
                    log_sum[from * C + i] += std::log(product[i]);
                    product[i] = 1;
                }
        }
    }
}

}  // namespace

void refuse_part() { throw std::invalid_argument("what was learned points outside its own arrays"); }
void refuse_classes() { throw std::invalid_argument("what was learned has more classes than asked for"); }

void count_chain(const Rows& rows, const std::vector<Column>& columns, const uint8_t* part, const double* prior,
                 Chain& chain, double* h) {
    const size_t C = rows.n_classes;
    const Beginning begin(rows, prior);
    std::vector<int32_t> place(rows.n, -1);
    for (size_t i = 0; i < rows.n_asked; ++i) {
        const size_t r = static_cast<size_t>(rows.asked[i]);
        for (size_t k = 0; k < C; ++k) h[i * C + k] = begin.left_out(r, k);
        if (!part || !part[r]) place[r] = static_cast<int32_t>(i);
    }
    Counter counter(rows, columns, place, h, chain.contexts);
    for (const Step& taken : chain.steps) counter.step(taken);
    for (size_t i = 0; i < rows.n_asked; ++i) {
        const bool outside = place[static_cast<size_t>(rows.asked[i])] >= 0;
        for (size_t k = 0; k < C; ++k)
            h[i * C + k] = outside ? (begin.total * h[i * C + k] + 1) / (begin.total + static_cast<double>(C)) : 0.0;
    }
}

Chain learn_chain(const Rows& rows, const std::vector<Column>& columns, const uint8_t* part,
                  const Candidates& candidates, const double* prior, double* h) {
    const Beginning begin(rows, prior);
    std::vector<double> own_prior(rows.n);
    for (size_t r = 0; r < rows.n; ++r) own_prior[r] = begin.left_out(r, rows.labels[r]);
    Chain chain;
    const auto choose = [&](auto chooser) {
        Step step;
        for (size_t d = 0; d < candidates.n_steps; ++d)
            if (chooser.step(candidates, d, step)) chain.steps.push_back(step);
    };
    if (rows.weights) choose(Chooser<double>(rows, columns, part, own_prior.data()));
    else choose(Chooser<uint32_t>(rows, columns, part, own_prior.data()));
    count_chain(rows, columns, part, prior, chain, h);
    return chain;
}

void score_chains(const std::vector<ChainView>& chains, const std::vector<Column>& columns,
                  const LearnedColumns& learned, size_t n, double n_learned, size_t C, const double* prior,
                  double* log_sum, double* sum, size_t n_threads) {
    const bool many = n >= kManyRows;
    if (many) parallel_for(chains.size(), n_threads, [&](size_t b) { chains[b].contexts.check(C, learned.n); });
    const auto score = many ? score_rows_of<false> : score_rows_of<true>;
    parallel_rows(n, 64, n_threads, [&](size_t first, size_t last) {
        score(chains, columns, learned, first, last, n_learned, C, prior, log_sum, sum);
    });
}

}  // namespace bayeskit
