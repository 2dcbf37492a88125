// P(x | class, context) by back-off from longer to shorter contexts, with m chosen by leave-one-out.
#include <cmath>

#include "ensemble.hpp"
#include "support/buffer.hpp"
#include "support/log_products.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

// P(x | class) of some rows, from the shortest context to the longest known one. All rows go one level further
// together, which hides the latency of memory.
template <bool Watched, class Code>
class Walk {
public:
    Walk(size_t most, size_t n_classes)
        : C_(n_classes), p_(most * n_classes), scale_(n_classes, 0.0), node_(most), going_(most) {}

    // Multiply the factors of a family for rows `first` on into product (rows, classes); unseen values are skipped.
    void multiply(const FamilyView& family, const Code* child, const std::vector<const Code*>& parents, size_t first,
                  size_t rows, double* product) {
        size_t n_going = 0;
        for (size_t r = 0; r < rows; ++r)
            if (child[first + r] < family.size) {
                going_[n_going++] = static_cast<uint32_t>(r);
                node_[r] = 0;
            }
        const size_t n_known = n_going;
        if (n_known == 0) return;
        known_.assign(going_.begin(), going_.begin() + static_cast<ptrdiff_t>(n_known));
        std::fill(p_.begin(), p_.begin() + static_cast<ptrdiff_t>(rows * C_), 1.0 / static_cast<double>(family.size));
        for (size_t d = 0; n_going && family.n_entries[0] > 0; ++d) {  // or a root of too few rows
            for (size_t i = 0; i < n_going; ++i)
                refine(family, node_[going_[i]], family.m[d], child[first + going_[i]], p_.data() + going_[i] * C_);
            if (d == family.n_parents) break;
            size_t left = 0;
            for (size_t i = 0; i < n_going; ++i) {
                const uint32_t r = going_[i];
                const int32_t node =
                    family.contexts.child<Watched>(node_[r], static_cast<uint32_t>(parents[d][first + r]));
                if (node < 0 || family.n_entries[node] == 0) continue;
                node_[r] = node;
                going_[left++] = r;
            }
            n_going = left;
        }
        for (const uint32_t r : known_)
            for (size_t k = 0; k < C_; ++k) product[r * C_ + k] *= p_[r * C_ + k];
    }

private:
    void refine(const FamilyView& family, int32_t node, double m, uint32_t x, double* p) {
        const CountsView& all = family.contexts.counts;
        const auto [begin, end] = all.pairs<Watched>(node);
        if (Watched && begin == end) refuse_part();  // values are counted where classes are
        for (int32_t i = begin; i < end; ++i) {  // n + m is m where a class does not occur
            const uint16_t k = check_label<Watched>(all.label[i], C_);
            scale_[k] = 1 / (all.count[i] + m);
            p[k] *= m * scale_[k];
        }
        const int32_t first = family.first_entry[node];
        check_part<Watched>(first, family.n_entries[node], family.n_all_entries);
        const int32_t place = place_of(family.entry + first, family.n_entries[node], x);
        if (place < 0) return;
        const auto [from, to] = family.counts.pairs<Watched>(first + place);
        for (int32_t i = from; i < to; ++i) {  // a class of the value is one of the context
            const uint16_t k = check_label<Watched>(family.counts.label[i], C_);
            p[k] += family.counts.count[i] * scale_[k];
        }
    }

    const size_t C_;
    std::vector<double> p_, scale_;
    std::vector<int32_t> node_;
    std::vector<uint32_t> going_, known_;
};

namespace {

constexpr double kGrid[] = {0.5, 2, 8, 32, 128, 512};
constexpr size_t kChoices = std::size(kGrid);

// The m of the grid with the largest Σ weight · ln p.
class Choice {
public:
    // What is left of count and total without the row, and the probability in the context above.
    void add(double a, double b, double p, double weight) {
        double ratio[kChoices];
        for (size_t g = 0; g < kChoices; ++g) ratio[g] = (a + kGrid[g] * p) / (b + kGrid[g]);
        if (weight == 1.0) return logs_.multiply(ratio);
        std::copy(ratio, ratio + kChoices, ratios_ + waiting_ * kChoices);
        weights_[waiting_] = weight;
        if (++waiting_ == kWaiting) take_logarithms();
    }

    double best() {
        take_logarithms();
        logs_.close();
        return kGrid[std::max_element(logs_.sums, logs_.sums + kChoices) - logs_.sums];
    }

private:
    static constexpr size_t kWaiting = 32;  // of which logarithms are taken at once

    void take_logarithms() {
        double logs[kWaiting * kChoices];
        const size_t n = (waiting_ * kChoices + 3) / 4 * 4;
        std::fill(ratios_ + waiting_ * kChoices, ratios_ + n, 1.0);
        loops().logarithms(ratios_, n, logs);
        for (size_t i = 0; i < waiting_; ++i)
            for (size_t g = 0; g < kChoices; ++g) logs_.sums[g] += weights_[i] * logs[i * kChoices + g];
        waiting_ = 0;
    }

    LogSums<kChoices> logs_;
    double ratios_[kWaiting * kChoices], weights_[kWaiting];
    size_t waiting_ = 0;
};

// Codes as they are, or their ranks among those that occur where a table of all would be too large.
class DenseCodes {
public:
    DenseCodes(const Codes& codes, size_t size, size_t n) : codes_(codes), size_(size) {
        if (size <= 32 * n + 4096) return;
        with_type(codes, [&](auto cells) { values_.assign(cells, cells + n); });
        std::sort(values_.begin(), values_.end());
        values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
        ranks_.resize(n);
        with_type(codes, [&](auto cells) {
            for (size_t r = 0; r < n; ++r)
                ranks_[r] = static_cast<uint32_t>(
                    std::lower_bound(values_.begin(), values_.end(), static_cast<uint32_t>(cells[r])) -
                    values_.begin());
        });
        codes_ = {ranks_.data(), 4};
        size_ = std::max<size_t>(values_.size(), 1);
    }
    const Codes& codes() const { return codes_; }
    size_t size() const { return size_; }
    uint32_t value(uint32_t code) const { return values_.empty() ? code : values_[code]; }

private:
    Codes codes_;
    size_t size_;
    std::vector<uint32_t> ranks_, values_;
};

// Learns families, each level by level: contexts of no parent, of one, of two, ... Rows stand context by context, in
// each by value and class, as the parents' values divide them and keep their order: what is counted are runs.
class Learner {
public:
    // by_class: the rows in the order of their classes.
    Learner(const Rows& rows, const std::vector<uint32_t>& by_class)
        : rows_(rows), by_class_(by_class), C_(rows.n_classes), of_class_(rows.n_classes, 0.0), last_p_(rows.n),
          last_said_(rows.n) {}

    // m: of each level, or null to choose. Multiplies the factors of the asked rows, each left out, into product.
    Learned run(const Family& family, const double* m, double* product) {
        says_ = !m || rows_.n_asked > 0;
        base_ = 1.0 / static_cast<double>(family.size);
        n_said_ = 0;
        Learned out;
        const DenseCodes child(family.child, family.size, rows_.n);
        root(child, out.contexts);
        for (size_t d = 0; d <= family.parents.size(); ++d) {
            if (d) {
                const DenseCodes parent(family.parents[d - 1], family.sizes[d - 1], rows_.n);
                with_type(parent.codes(), [&](auto codes) { descend(codes, parent, out.contexts); });
            }
            count(child, out);
            out.m.push_back(m ? m[d] : choose());
            if (says_) estimate(out.m.back());
        }
        if (says_) {
            for (size_t i = 0; i < order_.size(); ++i) leave(order_[i], items_[item_of_[i]]);
            multiply(product);
        }
        return out;
    }

private:
    struct Entry {  // a value in a context
        uint32_t code;
        int64_t said;  // where its probabilities stand; those of a shorter context, or -1, where it has none
    };
    struct Cell {  // a class in an entry
        uint32_t entry, label;
        double count, of_class;  // of_class: of all values of the context
    };
    // What is predicted with one row left out: rows of equal weight in one cell are one.
    struct Item {
        double p;
        uint32_t cell;
        int64_t said;
    };

    // All rows in one context. Its cells are first those of no context at all, whose probabilities are all the same.
    void root(const DenseCodes& child, Trie& contexts) {
        const size_t n = rows_.n;
        order_.resize(n);
        item_of_.resize(n);
        entries_.clear();
        cells_.clear();
        items_.clear();
        totals_.assign(1, 0.0);
        starts_.assign(1, 0);
        contexts.add_node(0);
        level_ = 0;
        for (size_t r = 0; r < n; ++r) totals_[0] += rows_.weight(r);
        if (totals_[0] < kLeast) order_.clear();
        starts_.push_back(static_cast<uint32_t>(order_.size()));
        std::fill(last_p_.begin(), last_p_.end(), base_);
        std::fill(last_said_.begin(), last_said_.end(), int64_t{-1});
        if (order_.empty()) return;
        with_type(child.codes(), [&](auto codes) {
            next_.assign(child.size() + 1, 0);
            for (size_t r = 0; r < n; ++r) ++next_[codes[r] + 1];
            for (size_t v = 0; v < child.size(); ++v) next_[v + 1] += next_[v];
            for (const uint32_t r : by_class_) order_[next_[codes[r]]++] = r;
            for (size_t i = 0; i < n; ++i) {
                const uint32_t code = codes[order_[i]], label = rows_.labels[order_[i]];
                const bool first = entries_.empty() || entries_.back().code != code;
                if (first) entries_.push_back({code, -1});
                if (first || cells_.back().label != label) {
                    items_.push_back({base_, static_cast<uint32_t>(cells_.size()), -1});
                    cells_.push_back({static_cast<uint32_t>(entries_.size() - 1), label, 0, 0});
                }
                item_of_[i] = static_cast<uint32_t>(items_.size() - 1);
            }
        });
    }

    // Divides every context by the value of one more parent. Contexts of too few rows are not kept: back-off stops
    // above them.
    template <class Code>
    void descend(const Code* codes, const DenseCodes& parent, Trie& contexts) {
        number_.assign(parent.size(), 0);
        next_.resize(parent.size());
        weight_.assign(rows_.weights ? parent.size() : 0, 0.0);
        order_above_.swap(order_);
        item_above_.swap(item_of_);
        starts_above_.swap(starts_);
        order_.resize(order_above_.size());
        item_of_.resize(order_above_.size());
        code_.resize(order_above_.size());
        starts_.assign(1, 0);
        const size_t n_above = totals_.size(), level_above = level_;
        totals_.clear();
        level_ = contexts.size();
        uint32_t end = 0;
        for (size_t k = 0; k < n_above; ++k) {
            const size_t first = starts_above_[k], last = starts_above_[k + 1];
            touched_.clear();
            for (size_t i = first; i < last; ++i) {
                const uint32_t code = codes[order_above_[i]];
                code_[i] = code;
                if (number_[code]++ == 0) touched_.push_back(code);
                if (rows_.weights) weight_[code] += rows_.weights[order_above_[i]];
            }
            size_t n_children = 0;
            for (const uint32_t code : touched_) {
                const double total = rows_.weights ? weight_[code] : number_[code];
                next_[code] = kDropped;
                if (total >= kLeast) touched_[n_children++] = code;
                else number_[code] = 0;
                if (rows_.weights && total < kLeast) weight_[code] = 0;
            }
            touched_.resize(n_children);
            std::sort(touched_.begin(), touched_.end());
            if (n_children) {
                contexts.first_child[level_above + k] = static_cast<int32_t>(contexts.size());
                contexts.n_children[level_above + k] = static_cast<int32_t>(n_children);
            }
            for (const uint32_t code : touched_) {
                next_[code] = end;
                end += number_[code];
                starts_.push_back(end);
                totals_.push_back(rows_.weights ? weight_[code] : number_[code]);
                contexts.add_node(parent.value(code));
                number_[code] = 0;
                if (rows_.weights) weight_[code] = 0;
            }
            for (size_t i = first; i < last; ++i) {
                uint32_t& place = next_[code_[i]];
                if (place != kDropped) {
                    order_[place] = order_above_[i];
                    item_of_[place++] = item_above_[i];
                } else if (says_) {
                    leave(order_above_[i], items_[item_above_[i]]);
                }
            }
        }
        order_.resize(end);
        item_of_.resize(end);
    }

    // A row of which no longer context will say more.
    void leave(uint32_t r, const Item& item) {
        last_p_[r] = item.p;
        last_said_[r] = item.said;
    }

    // Rows of every value and class in every context, and what will be needed to say it of a new row.
    void count(const DenseCodes& child, Learned& out) {
        entries_above_.swap(entries_);
        cells_above_.swap(cells_);
        items_above_.swap(items_);
        entries_.clear();
        cells_.clear();
        items_.clear();
        class_label_.clear();
        class_count_.clear();
        class_starts_.assign(1, 0);
        cell_starts_.assign(1, 0);
        entry_starts_.assign(1, 0);
        for (size_t k = 0; k < totals_.size(); ++k) {
            uint32_t entry = UINT32_MAX;
            for (size_t i = starts_[k], end = starts_[k + 1]; i < end;) {
                const uint32_t cell = items_above_[item_of_[i]].cell, own = static_cast<uint32_t>(cells_.size());
                const Cell& above = cells_above_[cell];
                if (above.entry != entry) entries_.push_back(entries_above_[entry = above.entry]);
                cells_.push_back({static_cast<uint32_t>(entries_.size() - 1), above.label, 0, 0});
                if (rows_.weights) {
                    for (; i < end && items_above_[item_of_[i]].cell == cell; ++i) {
                        items_.push_back({items_above_[item_of_[i]].p, own, items_above_[item_of_[i]].said});
                        item_of_[i] = static_cast<uint32_t>(items_.size() - 1);
                        cells_[own].count += rows_.weights[order_[i]];
                    }
                    continue;
                }
                const size_t first = i;
                items_.push_back({items_above_[cell].p, own, items_above_[cell].said});
                for (; i < end && item_of_[i] == cell; ++i) item_of_[i] = own;  // an item is a cell
                cells_[own].count = static_cast<double>(i - first);
            }
            for (size_t c = cell_starts_.back(); c < cells_.size(); ++c) of_class_[cells_[c].label] += cells_[c].count;
            for (size_t c = cell_starts_.back(); c < cells_.size(); ++c)
                cells_[c].of_class = of_class_[cells_[c].label];
            for (size_t label = 0; label < C_ && cell_starts_.back() < cells_.size(); ++label) {
                if (!(of_class_[label] > 0)) continue;
                class_label_.push_back(static_cast<uint16_t>(label));
                class_count_.push_back(of_class_[label]);
                out.contexts.counts.add(static_cast<uint16_t>(label), of_class_[label]);
                of_class_[label] = 0;
            }
            out.contexts.counts.close();
            out.first_entry.push_back(static_cast<int32_t>(out.entry.size()));
            for (size_t c = cell_starts_.back(), e = entry_starts_.back(); e < entries_.size(); ++e) {
                out.entry.push_back(child.value(entries_[e].code));
                for (; c < cells_.size() && cells_[c].entry == e; ++c)
                    out.counts.add(static_cast<uint16_t>(cells_[c].label), cells_[c].count);
                out.counts.close();
            }
            out.n_entries.push_back(static_cast<int32_t>(out.entry.size()) - out.first_entry.back());
            class_starts_.push_back(class_label_.size());
            cell_starts_.push_back(cells_.size());
            entry_starts_.push_back(entries_.size());
        }
    }

    // f(item, its cell, the weight that leaves it, the weight of its rows) of a context's items that it can do without.
    template <class F>
    void used_items(size_t k, F f) {
        if (!rows_.weights) {
            if (totals_[k] - 1.0 < kLeast) return;
            for (size_t c = cell_starts_[k]; c < cell_starts_[k + 1]; ++c)
                f(items_[c], cells_[c], 1.0, cells_[c].count);
            return;
        }
        for (size_t i = starts_[k]; i < starts_[k + 1]; ++i) {
            const double weight = rows_.weight(order_[i]);
            if (totals_[k] - weight >= kLeast) f(items_[i], cells_[items_[i].cell], weight, weight);
        }
    }

    double choose() {
        Choice choice;
        for (size_t k = 0; k < totals_.size(); ++k)
            used_items(k, [&](const Item& item, const Cell& cell, double taken, double weight) {
                choice.add(std::max(cell.count - taken, 0.0), std::max(cell.of_class - taken, 0.0), item.p, weight);
            });
        return choice.best();
    }

    // P(x | class, context) of every entry, and of every item without its row.
    void estimate(double m) {
        for (size_t k = 0; k < totals_.size(); ++k) {
            if (!rows_.weights && totals_[k] - 1.0 < kLeast) continue;  // neither it nor a longer one says anything
            const size_t first = class_starts_[k], last = class_starts_[k + 1];
            size_t c = cell_starts_[k];
            for (size_t e = entry_starts_[k]; e < entry_starts_[k + 1]; ++e) {
                if ((n_said_ + 1) * C_ > said_.size()) said_.resize(std::max<size_t>(2 * said_.size(), 64 * C_));
                double* p = said_.data() + n_said_ * C_;
                const int64_t above = entries_[e].said;
                if (above < 0) std::fill(p, p + C_, base_);
                else std::copy_n(said_.data() + static_cast<size_t>(above) * C_, C_, p);
                // Where a class does not occur, m p / (0 + m) is p.
                for (size_t i = first; i < last; ++i) {
                    double& own = p[class_label_[i]];
                    own = m * own / (class_count_[i] + m);
                }
                for (; c < cell_starts_[k + 1] && cells_[c].entry == e; ++c)
                    p[cells_[c].label] += cells_[c].count / (cells_[c].of_class + m);
                entries_[e].said = static_cast<int64_t>(n_said_++);
            }
            used_items(k, [&](Item& item, const Cell& cell, double taken, double) {
                item.p = (std::max(cell.count - taken, 0.0) + m * item.p) / (std::max(cell.of_class - taken, 0.0) + m);
                item.said = entries_[cell.entry].said;
            });
        }
    }

    void multiply(double* product) const {
        for (size_t i = 0; i < rows_.n_asked; ++i) {
            const size_t r = static_cast<size_t>(rows_.asked[i]);
            double* to = product + i * C_;
            if (last_said_[r] < 0) {
                for (size_t k = 0; k < C_; ++k) to[k] *= base_;
                continue;
            }
            const double* p = &said_[static_cast<size_t>(last_said_[r]) * C_];
            const double own = to[rows_.labels[r]] * last_p_[r];
            for (size_t k = 0; k < C_; ++k) to[k] *= p[k];
            to[rows_.labels[r]] = own;
        }
    }

    static constexpr uint32_t kDropped = UINT32_MAX;

    const Rows& rows_;
    const std::vector<uint32_t>& by_class_;
    const size_t C_;
    bool says_ = true;  // or only counts
    double base_ = 1;   // P(x | class) without any context
    size_t level_ = 0;  // first node of the level
    // Rows, context by context, and the item of each; those of the level above while it is divided.
    std::vector<uint32_t> order_, item_of_, starts_, order_above_, item_above_, starts_above_;
    std::vector<uint32_t> code_, touched_, number_, next_;
    std::vector<double> totals_, weight_, of_class_, class_count_;
    std::vector<uint16_t> class_label_;
    std::vector<size_t> class_starts_, cell_starts_, entry_starts_;  // of each context
    std::vector<Entry> entries_, entries_above_;
    std::vector<Cell> cells_, cells_above_;
    std::vector<Item> items_, items_above_;
    Buffer<double> said_;  // (n_said_, classes): what entries say, of all levels
    size_t n_said_ = 0;
    std::vector<double> last_p_;  // of each row: of its own class, and where that of the others stands
    std::vector<int64_t> last_said_;
};

constexpr size_t kBeforeLog = 4;  // members multiplied before their logarithm is taken

// Member by member for some rows, so that what one has learned stays near while it is walked.
template <bool Watched, class Code>
void score_column(const FamilyView* families, const Codes* children, const std::vector<Codes>* parents, size_t n,
                  size_t n_members, size_t C, double* log_factors, size_t n_columns) {
    const size_t most = std::min<size_t>(n, std::clamp<size_t>(4096 / C, 64, 512)), most_cells = most * C;
    std::vector<double> sum(most_cells);
    LogProducts products(most_cells, kBeforeLog);
    std::vector<const Code*> above;
    Walk<Watched, Code> walk(most, C);
    for (size_t first = 0; first < n; first += most) {
        const size_t rows = std::min(most, n - first), cells = rows * C;
        std::fill(sum.begin(), sum.end(), 0.0);
        for (size_t j = 0; j < n_members; ++j) {
            above.clear();
            for (const Codes& parent : parents[j]) above.push_back(static_cast<const Code*>(parent.data));
            walk.multiply(families[j], static_cast<const Code*>(children[j].data), above, first, rows, products.data());
            products.next(j + 1 == n_members, cells, sum.data());
        }
        for (size_t at = 0; at < cells; ++at)
            log_factors[(first * C + at) * n_columns] = sum[at] / static_cast<double>(n_members);
    }
}

}  // namespace

void learn_families(const Rows& rows, const std::vector<Family>& families, size_t n_members, const double* m,
                    size_t n_levels, std::vector<Learned>& learned, double* log_factors, size_t n_threads) {
    const size_t n_columns = families.size() / n_members, C = rows.n_classes, cells = rows.n_asked * C;
    const std::vector<uint32_t> by_class = sort_rows(rows.labels, rows.n, C);
    learned.resize(families.size());
    parallel_for(n_columns, threads_for(rows.n * families.size(), n_threads), [&](size_t i) {
        std::vector<double> sum(cells, 0.0);
        LogProducts products(cells, kBeforeLog);
        Learner learner(rows, by_class);
        for (size_t j = 0; j < n_members; ++j) {
            const size_t f = i * n_members + j;
            learned[f] = learner.run(families[f], m ? m + f * n_levels : nullptr, products.data());
            products.next(j + 1 == n_members, cells, sum.data());
        }
        for (size_t at = 0; at < cells; ++at)
            log_factors[at * n_columns + i] = sum[at] / static_cast<double>(n_members);
    });
}

void score_families(const std::vector<FamilyView>& families, const std::vector<Codes>& children,
                    const std::vector<std::vector<Codes>>& parents, size_t n, size_t n_members, size_t C,
                    double* log_factors, size_t n_threads) {
    const size_t n_columns = families.size() / n_members;
    parallel_for(n_columns, threads_for(n * families.size() * C, n_threads), [&](size_t i) {
        const size_t f = i * n_members;
        with_type(children[f], [&](auto codes) {  // all codes are of one type
            using Code = std::remove_const_t<std::remove_pointer_t<decltype(codes)>>;
            const auto score = n < kManyRows ? score_column<true, Code> : score_column<false, Code>;
            for (size_t j = 0; n >= kManyRows && j < n_members; ++j) families[f + j].check(C);
            score(&families[f], &children[f], &parents[f], n, n_members, C, log_factors + i, n_columns);
        });
    });
}

}  // namespace bayeskit
