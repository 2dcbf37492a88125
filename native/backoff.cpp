// P(x | class, context) by back-off from longer to shorter contexts, with m chosen by leave-one-out.
#include <cmath>
#include <numeric>

#include "ensemble.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr double kGrid[] = {0.5, 2, 8, 32, 128, 512};
constexpr size_t kChoices = std::size(kGrid);
constexpr double kTiny = 1e-200;  // products are turned into logarithms before they vanish

// Distinct keys among those of some rows, numbered in their order; ids[i] is the number of keys[i].
void number_keys(const std::vector<uint64_t>& keys, uint64_t bound, std::vector<int32_t>& ids,
                 std::vector<uint64_t>& distinct, std::vector<int32_t>& table) {
    distinct.clear();
    ids.resize(keys.size());
    if (bound <= 32 * keys.size() + 4096) {
        table.assign(bound, 0);
        for (const uint64_t key : keys) table[key] = 1;
        for (uint64_t key = 0; key < bound; ++key)
            if (table[key]) {
                table[key] = static_cast<int32_t>(distinct.size());
                distinct.push_back(key);
            }
        for (size_t i = 0; i < keys.size(); ++i) ids[i] = table[keys[i]];
        return;
    }
    distinct = keys;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (size_t i = 0; i < keys.size(); ++i)
        ids[i] = static_cast<int32_t>(std::lower_bound(distinct.begin(), distinct.end(), keys[i]) - distinct.begin());
}

// Something that is predicted with one row left out: rows of equal weight in one context, value and class are one.
struct Item {
    double count, total, taken, weight, p;
    bool used;
};

// The m of the grid with the largest Σ weight · ln p.
double choose_m(const std::vector<Item>& items) {
    double sums[kChoices] = {}, product[kChoices];
    std::fill(product, product + kChoices, 1.0);
    for (const Item& it : items) {
        if (!it.used) continue;
        const double a = it.count - it.taken, b = it.total - it.taken;
        if (it.weight == 1.0) {
            double least = 1;
            for (size_t g = 0; g < kChoices; ++g) {
                product[g] *= (a + kGrid[g] * it.p) / (b + kGrid[g]);
                least = std::min(least, product[g]);
            }
            if (least < kTiny)
                for (size_t g = 0; g < kChoices; ++g) {
                    sums[g] += std::log(product[g]);
                    product[g] = 1;
                }
        } else {
            for (size_t g = 0; g < kChoices; ++g)
                sums[g] += it.weight * std::log((a + kGrid[g] * it.p) / (b + kGrid[g]));
        }
    }
    size_t best = 0;
    for (size_t g = 0; g < kChoices; ++g) {
        sums[g] += std::log(product[g]);
        if (sums[g] > sums[best]) best = g;
    }
    return kGrid[best];
}

// Learns one family level by level: contexts of no parent, of one, of two, ...
class Learner {
public:
    Learner(const Rows& rows, const Family& family, const double* m)
        : rows_(rows), family_(family), C_(rows.n_classes), m_(m), says_(!m || rows.n_asked > 0) {
        inside_.resize(rows.n);
        std::iota(inside_.begin(), inside_.end(), 0u);
        context_.assign(rows.n, 0);
        if (!says_) return;
        item_of_.assign(rows.n, -1);
        entry_of_.assign(rows.n, -1);
        last_item_.assign(rows.n, -1);
        last_entry_.assign(rows.n, -1);
    }

    Learnt run(double* product) {
        for (size_t d = 0; d <= family_.parents.size(); ++d) {
            if (d == 0) root();
            else descend(family_.parents[d - 1], family_.sizes[d - 1]);
            count();
            const double m = m_ ? m_[d] : choose_m(items_);
            out_.m.push_back(m);
            if (says_) estimate(m);
            write();
        }
        if (says_) multiply(product);
        return std::move(out_);
    }

private:
    void root() {
        totals_.assign(1, 0);
        for (const uint32_t r : inside_) totals_[0] += rows_.weight(r);
        out_.contexts.add_node(0);
        level_ = 0;
        if (totals_[0] < kLeast) inside_.clear();
    }

    void descend(const Codes& parent, size_t size) {
        keys_.resize(inside_.size());
        with_type(parent, [&](auto codes) {
            for (size_t i = 0; i < inside_.size(); ++i)
                keys_[i] = static_cast<uint64_t>(context_[inside_[i]]) * size + codes[inside_[i]];
        });
        number_keys(keys_, totals_.size() * size, ids_, distinct_, table_);
        std::vector<double> sums(distinct_.size(), 0.0);
        for (size_t i = 0; i < inside_.size(); ++i) sums[ids_[i]] += rows_.weight(inside_[i]);
        // Contexts of too few rows are not kept: back-off stops above them.
        const size_t parent_level = level_;
        level_ = out_.contexts.size();
        std::vector<int32_t> kept(distinct_.size(), -1);
        totals_.clear();
        for (size_t k = 0; k < distinct_.size(); ++k) {
            if (sums[k] < kLeast) continue;
            kept[k] = static_cast<int32_t>(totals_.size());
            totals_.push_back(sums[k]);
            const size_t above = parent_level + distinct_[k] / size;
            if (out_.contexts.n_children[above]++ == 0)
                out_.contexts.first_child[above] = static_cast<int32_t>(out_.contexts.size());
            out_.contexts.add_node(static_cast<uint32_t>(distinct_[k] % size));
        }
        size_t left = 0;
        for (size_t i = 0; i < inside_.size(); ++i)
            if (kept[ids_[i]] >= 0) {
                context_[inside_[i]] = kept[ids_[i]];
                inside_[left++] = inside_[i];
            }
        inside_.resize(left);
    }

    void count() {
        const size_t n = inside_.size(), K = totals_.size();
        keys_.resize(n);
        with_type(family_.child, [&](auto codes) {
            for (size_t i = 0; i < n; ++i)
                keys_[i] = static_cast<uint64_t>(context_[inside_[i]]) * family_.size + codes[inside_[i]];
        });
        number_keys(keys_, K * family_.size, ids_, distinct_, table_);  // entries: a value in a context
        entries_ = distinct_;
        if (says_) {
            std::vector<int32_t> above(entries_.size(), -1);
            for (size_t i = 0; i < n; ++i) {
                above[ids_[i]] = entry_of_[inside_[i]];
                entry_of_[inside_[i]] = ids_[i];
            }
            entry_above_ = std::move(above);
        }
        for (size_t i = 0; i < n; ++i) keys_[i] = static_cast<uint64_t>(ids_[i]) * C_ + rows_.labels[inside_[i]];
        number_keys(keys_, entries_.size() * C_, ids_, distinct_, table_);  // cells: a class in an entry
        cells_ = distinct_;
        cell_counts_.assign(cells_.size(), 0.0);
        by_class_.assign(K * C_, 0.0);
        for (size_t i = 0; i < n; ++i) {
            const uint32_t r = inside_[i];
            cell_counts_[ids_[i]] += rows_.weight(r);
            by_class_[static_cast<size_t>(context_[r]) * C_ + rows_.labels[r]] += rows_.weight(r);
        }
        if (!says_) return;
        std::vector<Item> items(rows_.weights ? n : cells_.size());
        for (size_t i = 0; i < n; ++i) {
            const uint32_t r = inside_[i];
            const size_t at = rows_.weights ? i : static_cast<size_t>(ids_[i]), k = rows_.labels[r];
            const double p = item_of_[r] < 0 ? 1.0 / static_cast<double>(family_.size) : items_[item_of_[r]].p;
            const double taken = rows_.taken(r), total = totals_[context_[r]];
            items[at] = {cell_counts_[ids_[i]],
                         by_class_[static_cast<size_t>(context_[r]) * C_ + k],
                         taken,
                         rows_.weights ? rows_.weight(r) : cell_counts_[ids_[i]],
                         p,
                         total - taken >= kLeast};
            item_of_[r] = static_cast<int32_t>(at);
        }
        items_ = std::move(items);
    }

    // P(x | class, context) of every entry, and of every item without its row.
    void estimate(double m) {
        for (Item& it : items_)
            if (it.used) it.p = (it.count - it.taken + m * it.p) / (it.total - it.taken + m);
        const size_t E = entries_.size();
        std::vector<double> now(E * C_);
        const double base = 1.0 / static_cast<double>(family_.size);
        for (size_t e = 0; e < E; ++e) {
            const double* of_context = by_class_.data() + entries_[e] / family_.size * C_;
            const double* above = entry_above_[e] < 0 ? nullptr : p_.data() + static_cast<size_t>(entry_above_[e]) * C_;
            for (size_t k = 0; k < C_; ++k) now[e * C_ + k] = m * (above ? above[k] : base) / (of_context[k] + m);
        }
        for (size_t i = 0; i < cells_.size(); ++i)
            now[cells_[i]] +=
                cell_counts_[i] / (by_class_[entries_[cells_[i] / C_] / family_.size * C_ + cells_[i] % C_] + m);
        p_ = std::move(now);

        // Rows whose context can do without them go on from here; the others stay with what they had.
        const size_t first_item = said_own_.size(), first_entry = said_.size() / C_;
        for (const Item& it : items_) said_own_.push_back(it.p);
        said_.insert(said_.end(), p_.begin(), p_.end());
        for (const uint32_t r : inside_)
            if (items_[item_of_[r]].used) {
                last_item_[r] = static_cast<int64_t>(first_item + item_of_[r]);
                last_entry_[r] = static_cast<int64_t>(first_entry + entry_of_[r]);
            }
    }

    // What will be needed to say it of a new row.
    void write() {
        const size_t E = entries_.size();
        size_t e = 0, cell = 0;
        for (size_t node = 0; node < totals_.size(); ++node) {
            for (size_t k = 0; k < C_; ++k)
                if (by_class_[node * C_ + k] > 0)
                    out_.contexts.counts.add(static_cast<uint16_t>(k), by_class_[node * C_ + k]);
            out_.contexts.counts.close();
            out_.first_entry.push_back(static_cast<int32_t>(out_.entry.size()));
            for (; e < E && entries_[e] / family_.size == node; ++e) {
                out_.entry.push_back(static_cast<uint32_t>(entries_[e] % family_.size));
                for (; cell < cells_.size() && cells_[cell] / C_ == e; ++cell)
                    out_.counts.add(static_cast<uint16_t>(cells_[cell] % C_), cell_counts_[cell]);
                out_.counts.close();
            }
            out_.n_entries.push_back(static_cast<int32_t>(out_.entry.size()) - out_.first_entry.back());
        }
    }

    void multiply(double* product) const {
        const double base = 1.0 / static_cast<double>(family_.size);
        for (size_t i = 0; i < rows_.n_asked; ++i) {
            const size_t r = static_cast<size_t>(rows_.asked[i]);
            double* to = product + i * C_;
            if (last_item_[r] < 0) {
                for (size_t k = 0; k < C_; ++k) to[k] *= base;
                continue;
            }
            const double* p = said_.data() + static_cast<size_t>(last_entry_[r]) * C_;
            const double own = to[rows_.labels[r]] * said_own_[last_item_[r]];
            for (size_t k = 0; k < C_; ++k) to[k] *= p[k];
            to[rows_.labels[r]] = own;
        }
    }

    const Rows& rows_;
    const Family& family_;
    const size_t C_;
    const double* m_;   // of each level, or null
    const bool says_;   // or only counts
    Learnt out_;
    size_t level_ = 0;                       // first node of the level
    std::vector<uint32_t> inside_;           // rows in contexts of this level
    std::vector<int32_t> context_, item_of_, entry_of_, ids_, table_, entry_above_;
    std::vector<int64_t> last_item_, last_entry_;
    std::vector<uint64_t> keys_, distinct_, entries_, cells_;
    std::vector<double> totals_, by_class_, cell_counts_, p_, said_, said_own_;
    std::vector<Item> items_;
};

constexpr size_t kBeforeLog = 4;  // members multiplied before their logarithm is taken

// P(x | class) of a row, from the shortest context to the longest known one.
template <bool Watched, class Code>
void say(const FamilyView& family, uint32_t x, const Code* const* parents, size_t r, size_t C, double* p) {
    std::fill(p, p + C, 1.0 / static_cast<double>(family.size));
    const CountsView& all = family.contexts.counts;
    int32_t node = 0;
    for (size_t d = 0;; ++d) {
        if (family.n_entries[node] == 0) return;  // a root of too few rows
        const double m = family.m[d];
        const auto [begin, end] = all.pairs<Watched>(node);
        if (Watched && begin == end) refuse_part();  // values are counted where classes are
        for (int32_t i = begin; i < end; ++i)  // n + m is m where a class does not occur
            p[check_label<Watched>(all.label[i], C)] *= m / (all.count[i] + m);
        const int32_t first = family.first_entry[node];
        check_part<Watched>(first, family.n_entries[node], family.n_all_entries);
        const int32_t found = place_of(family.entry + first, family.n_entries[node], x);
        if (found >= 0) {
            const auto [from, to] = family.counts.pairs<Watched>(first + found);
            int32_t of_context = begin;
            for (int32_t i = from; i < to; ++i) {
                const uint16_t k = check_label<Watched>(family.counts.label[i], C);
                while (of_context + 1 < end && all.label[of_context] != k) ++of_context;  // both rise
                p[k] += family.counts.count[i] / (all.count[of_context] + m);
            }
        }
        if (d == family.n_parents) return;
        node = family.contexts.child<Watched>(node, static_cast<uint32_t>(parents[d][r]));
        if (node < 0) return;
    }
}

template <bool Watched, class Code>
void score_column(const FamilyView* families, const Codes* children, const std::vector<Codes>* parents, size_t n,
                  size_t n_members, size_t C, double* log_factors, size_t n_columns) {
    std::vector<double> p(C), product(C), sum(C);
    std::vector<std::vector<const Code*>> above(n_members);
    for (size_t j = 0; j < n_members; ++j)
        for (const Codes& parent : parents[j]) above[j].push_back(static_cast<const Code*>(parent.data));
    for (size_t r = 0; r < n; ++r) {
        std::fill(product.begin(), product.end(), 1.0);
        std::fill(sum.begin(), sum.end(), 0.0);
        for (size_t j = 0; j < n_members; ++j) {
            const auto x = static_cast<uint32_t>(static_cast<const Code*>(children[j].data)[r]);
            if (x < families[j].size) {  // a value never seen is left out
                say<Watched>(families[j], x, above[j].data(), r, C, p.data());
                for (size_t k = 0; k < C; ++k) product[k] *= p[k];
            }
            if ((j + 1) % kBeforeLog && j + 1 < n_members) continue;
            for (size_t k = 0; k < C; ++k) {
                sum[k] += std::log(product[k]);
                product[k] = 1;
            }
        }
        for (size_t k = 0; k < C; ++k) log_factors[(r * C + k) * n_columns] = sum[k] / static_cast<double>(n_members);
    }
}

}  // namespace

Learnt learn_family(const Rows& rows, const Family& family, const double* m, double* product) {
    return Learner(rows, family, m).run(product);
}

void learn_families(const Rows& rows, const std::vector<Family>& families, size_t n_members, const double* m,
                    size_t n_levels, std::vector<Learnt>& learnt, double* log_factors, size_t n_threads) {
    const size_t n_columns = families.size() / n_members, C = rows.n_classes, cells = rows.n_asked * C;
    learnt.resize(families.size());
    parallel_for(n_columns, threads_for(rows.n * families.size(), n_threads), [&](size_t i) {
        std::vector<double> product(cells, 1.0), sum(cells, 0.0);
        for (size_t j = 0; j < n_members; ++j) {
            const size_t f = i * n_members + j;
            learnt[f] = learn_family(rows, families[f], m ? m + f * n_levels : nullptr, product.data());
            if ((j + 1) % kBeforeLog && j + 1 < n_members) continue;
            for (size_t at = 0; at < cells; ++at) {
                sum[at] += std::log(product[at]);
                product[at] = 1;
            }
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
