// The door of the ensemble's kernels: arrays are checked here, and what was learnt leaves as flat arrays.
#include "ensemble.hpp"

#include <cmath>
#include <cstring>

#include "arrays.hpp"

void bind_ensemble(nb::module_& m);

namespace {

void need(bool holds, const char* otherwise) {
    if (!holds) refuse(otherwise);
}

// Asked before a message is put together: once an array, not once a cell.
template <class T>
size_t beyond_largest(const T* cells, size_t n) {
    T top = 0;
    for (size_t r = 0; r < n; ++r) top = std::max(top, cells[r]);
    return n ? static_cast<size_t>(top) + 1 : 0;
}

template <class T>
nb::object array_of(const std::vector<T>& cells, const char* type) {
    nb::object array = nb::module_::import_("numpy").attr("empty")(cells.size(), type);
    if (!cells.empty())
        std::memcpy(nb::cast<nb::ndarray<nb::device::cpu>>(array).data(), cells.data(), cells.size() * sizeof(T));
    return array;
}

template <class... Shape>
std::pair<nb::object, double*> doubles(Shape... shape) {
    nb::object array = nb::module_::import_("numpy").attr("zeros")(nb::make_tuple(shape...), "float64");
    return {array, static_cast<double*>(nb::cast<nb::ndarray<nb::device::cpu>>(array).data())};
}

Codes column_codes(const Array& array, size_t offset) {
    const int width = array.dtype().bits / 8;
    return {static_cast<const char*>(array.data()) + offset * static_cast<size_t>(width), width};
}

bool holds_codes(const Array& array) {
    return holds<uint8_t>(array) || holds<uint16_t>(array) || holds<uint32_t>(array);
}

size_t size_of(int64_t size, size_t column) {
    if (size < 1 || size > kMostCodes)
        refuse(column_name(column) + " has the size " + std::to_string(size) + ", which is no number of values");
    return static_cast<size_t>(size);
}

// Codes (members, columns, rows) and the families of the asked columns, column after column.
struct Families {
    std::vector<Family> all;
    size_t n_members, n_columns, n, n_levels;

    Families(const Array& codes, const Array& all_sizes, const Array& all_parents, const Array& asked, bool learning,
             size_t n_threads) {
        if (!holds_codes(codes)) refuse_type("codes is not uint8, uint16 or uint32");
        need(codes.ndim() == 3, "codes does not have three axes (members, columns, rows)");
        check_layout(codes, "codes");
        const Cells<int64_t, 2> sizes(all_sizes, "sizes");
        const Cells<int32_t, 3> parents(all_parents, "parents");
        const Cells<int64_t, 1> columns(asked, "columns");
        const size_t T = codes.shape(0), A = codes.shape(1);
        n_members = T, n_columns = columns.size(), n = codes.shape(2), n_levels = parents.shape(2) + 1;
        need(T > 0, "codes has no members");
        need(n <= INT32_MAX, "codes has more rows than can be counted at once");
        need(sizes.shape(0) == T && sizes.shape(1) == A, "sizes does not have the members and columns of codes");
        need(parents.shape(0) == T && parents.shape(1) == A, "parents does not have the members and columns of codes");
        for (size_t i = 0; i < T * A; ++i) size_of(sizes[i], i % A);
        std::vector<char> fits(T * A);
        parallel_for(T * A, n_threads, [&](size_t i) {
            uint32_t top = 0;
            with_type(column_codes(codes, i * n), [&](auto cells) {
                for (size_t r = 0; r < n; ++r) top = std::max<uint32_t>(top, cells[r]);
            });
            fits[i] = static_cast<int64_t>(top) < sizes[i] + (learning ? 0 : 1);
        });
        for (size_t i = 0; i < T * A; ++i)
            if (!fits[i]) refuse(column_name(i % A) + " has a code beyond its size");
        for (size_t c = 0; c < columns.size(); ++c) {
            if (columns[c] < 0 || columns[c] >= static_cast<int64_t>(A))
                refuse("columns names no column " + std::to_string(columns[c]));
            for (size_t j = 0; j < T; ++j) {
                const size_t own = j * A + static_cast<size_t>(columns[c]);
                Family family{column_codes(codes, own * n), static_cast<size_t>(sizes[own]), {}, {}};
                for (size_t p = 0; p < parents.shape(2); ++p) {
                    const int32_t by = parents[own * parents.shape(2) + p];
                    if (by < 0) break;
                    if (by >= static_cast<int64_t>(A)) refuse("parents names no column " + std::to_string(by));
                    const size_t above = j * A + static_cast<size_t>(by);
                    family.parents.push_back(column_codes(codes, above * n));
                    family.sizes.push_back(static_cast<size_t>(sizes[above]));
                }
                all.push_back(std::move(family));
            }
        }
    }
};

size_t number_of_classes(int64_t n_classes) {
    if (classes(n_classes) > UINT16_MAX) refuse("n_classes is " + std::to_string(n_classes) + ", beyond 65535");
    return static_cast<size_t>(n_classes);
}

Rows rows_of(const Array& all_labels, int64_t n_classes, const std::optional<Array>& weights, const Array& all_asked) {
    const Cells<uint32_t, 1> labels(all_labels, "labels");
    const Cells<int64_t, 1> asked(all_asked, "asked");
    const size_t n = labels.size();
    const double* by = weights ? flat<double>(*weights, "weights", n) : nullptr;
    const Rows rows{n, labels.data(), number_of_classes(n_classes), by, asked.data(), asked.size()};
    need(n <= INT32_MAX && asked.size() <= INT32_MAX, "labels has more rows than can be counted at once");
    const size_t classes = beyond_largest(labels.data(), n);
    if (classes > rows.n_classes) refuse("labels hold " + std::to_string(classes - 1) + ", beyond the classes");
    for (size_t i = 0; i < asked.size(); ++i)
        if (asked[i] < 0 || asked[i] >= static_cast<int64_t>(n)) refuse("asked names a row that is not there");
    return rows;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

// Trees and their counts one after the other.
struct Flat {
    std::vector<int64_t> nodes{0}, pairs{0};
    std::vector<int32_t> first_child, n_children, start;
    std::vector<uint32_t> value;
    std::vector<uint16_t> label;
    std::vector<float> count;

    void add(const Trie& trie) {
        append(first_child, trie.first_child);
        append(n_children, trie.n_children);
        append(value, trie.value);
        append(start, trie.counts.start);
        append(label, trie.counts.label);
        append(count, trie.counts.count);
        nodes.push_back(static_cast<int64_t>(value.size()));
        pairs.push_back(static_cast<int64_t>(label.size()));
    }
    nb::tuple arrays() const {
        return nb::make_tuple(array_of(nodes, "int64"), array_of(pairs, "int64"), array_of(first_child, "int32"),
                              array_of(n_children, "int32"), array_of(value, "uint32"), array_of(start, "int32"),
                              array_of(label, "uint16"), array_of(count, "float32"));
    }
};

// What was learnt, as it comes back: arrays in a tuple.
class Parts {
public:
    Parts(const nb::handle& given, size_t n, const char* name) : name_(name) {
        if (!nb::try_cast(given, parts_, false) || parts_.size() != n)
            refuse(std::string(name) + " is no tuple of " + std::to_string(n) + " parts");
    }
    nb::handle operator[](size_t i) const { return parts_[i]; }
    template <class T, size_t Axes>
    Cells<T, Axes> cells(size_t i) const {
        const std::string name = std::string(name_) + ", part " + std::to_string(i);
        Array array;
        if (!nb::try_cast(parts_[i], array, false)) refuse_type(name + " is no array");
        held_.push_back(array);
        return {array, name};
    }

private:
    nb::tuple parts_;
    mutable std::vector<Array> held_;  // for as long as their cells are read
    const char* name_;
};

// Where the places of each of n trees begin, and the end of the last.
void check_starts(const Cells<int64_t, 1>& starts, size_t n, size_t end, const char* otherwise) {
    bool fits = starts.size() == n + 1 && starts[0] == 0 && starts[n] == static_cast<int64_t>(end);
    for (size_t f = 0; fits && f < n; ++f) fits = starts[f] <= starts[f + 1] && starts[f + 1] - starts[f] <= INT32_MAX;
    need(fits, otherwise);
}

uint32_t length_of(const Cells<int64_t, 1>& starts, size_t f) {
    return static_cast<uint32_t>(starts[f + 1] - starts[f]);
}

// What a tree holds is looked at as it is walked (support/trie.hpp): most of it is not needed for a few rows.
struct Trees {
    Cells<int64_t, 1> nodes;
    std::vector<TrieView> views;

    Trees(const Parts& parts, size_t n) : nodes(parts.cells<int64_t, 1>(0)) {
        const auto pairs = parts.cells<int64_t, 1>(1);
        const auto first = parts.cells<int32_t, 1>(2), children = parts.cells<int32_t, 1>(3);
        const auto value = parts.cells<uint32_t, 1>(4);
        const auto start = parts.cells<int32_t, 1>(5);
        const auto label = parts.cells<uint16_t, 1>(6);
        const auto count = parts.cells<float, 1>(7);
        check_starts(nodes, n, value.size(), "the arrays of the trees do not fit together");
        check_starts(pairs, n, label.size(), "the arrays of the trees do not fit together");
        need(first.size() == value.size() && children.size() == value.size() && start.size() == value.size() + n &&
                 label.size() == count.size(),
             "the arrays of the trees do not fit together");
        for (size_t f = 0; f < n; ++f) {
            const int64_t at = nodes[f], pair = pairs[f];
            need(at < nodes[f + 1], "a tree has no root");
            views.push_back({first.data() + at,
                             children.data() + at,
                             value.data() + at,
                             length_of(nodes, f),
                             {start.data() + at + f, label.data() + pair, count.data() + pair, length_of(pairs, f)}});
        }
    }
};

nb::tuple py_learn_backoff(const Array& codes, const Array& sizes, const Array& parents, const Array& columns,
                           const Array& labels, int64_t n_classes, const std::optional<Array>& weights,
                           const Array& asked, int64_t n_threads, const std::optional<Array>& given_m) {
    const size_t t = threads(n_threads);
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const Families families(codes, sizes, parents, columns, true, t);
    need(families.n == rows.n, "codes has another number of rows than labels");
    const size_t levels = families.n_levels, n_families = families.all.size();
    const double* held = nullptr;
    if (given_m) {
        const Cells<double, 2> grid(*given_m, "m");
        need(grid.shape(0) == n_families && grid.shape(1) == levels, "m has another shape than the families");
        held = grid.data();
    }
    for (size_t f = 0; held && f < n_families; ++f)
        for (size_t d = 0; d <= families.all[f].parents.size(); ++d)
            need(held[f * levels + d] > 0 && std::isfinite(held[f * levels + d]),
                 "m holds what is no finite number above zero");
    auto [factors, cells] = doubles(rows.n_asked, rows.n_classes, families.n_columns);
    Flat trees;
    std::vector<double> m(n_families * levels, 0.0);
    std::vector<int64_t> entries{0}, pairs{0};
    std::vector<int32_t> first_entry, n_entries, start;
    std::vector<uint32_t> entry;
    std::vector<uint16_t> label;
    std::vector<float> count;
    without_lock([&, cells = cells] {
        std::vector<Learnt> learnt;
        learn_families(rows, families.all, families.n_members, held, levels, learnt, cells, t);
        for (size_t f = 0; f < learnt.size(); ++f) {
            std::copy(learnt[f].m.begin(), learnt[f].m.end(), m.begin() + static_cast<ptrdiff_t>(f * levels));
            trees.add(learnt[f].contexts);
            append(first_entry, learnt[f].first_entry);
            append(n_entries, learnt[f].n_entries);
            append(entry, learnt[f].entry);
            append(start, learnt[f].counts.start);
            append(label, learnt[f].counts.label);
            append(count, learnt[f].counts.count);
            entries.push_back(static_cast<int64_t>(entry.size()));
            pairs.push_back(static_cast<int64_t>(label.size()));
            learnt[f] = {};
        }
    });
    nb::object grid = array_of(m, "float64").attr("reshape")(n_families, levels);
    return nb::make_tuple(
        factors, nb::make_tuple(grid, trees.arrays(), array_of(entries, "int64"), array_of(pairs, "int64"),
                                array_of(first_entry, "int32"), array_of(n_entries, "int32"), array_of(entry, "uint32"),
                                array_of(start, "int32"), array_of(label, "uint16"), array_of(count, "float32")));
}

nb::object py_score_backoff(const Array& codes, const Array& sizes, const Array& parents, const Array& columns,
                            int64_t n_classes, const nb::object& given, int64_t n_threads) {
    const size_t t = threads(n_threads), C = number_of_classes(n_classes);
    const Families families(codes, sizes, parents, columns, false, t);
    const size_t n = families.all.size();
    const Parts learnt(given, 10, "learnt");
    const auto m = learnt.cells<double, 2>(0);
    const Parts flat_trees(learnt[1], 8, "the trees");
    const Trees trees(flat_trees, n);
    const auto entries = learnt.cells<int64_t, 1>(2), pairs = learnt.cells<int64_t, 1>(3);
    const auto first = learnt.cells<int32_t, 1>(4), number = learnt.cells<int32_t, 1>(5);
    const auto entry = learnt.cells<uint32_t, 1>(6);
    const auto start = learnt.cells<int32_t, 1>(7);
    const auto label = learnt.cells<uint16_t, 1>(8);
    const auto count = learnt.cells<float, 1>(9);
    check_starts(entries, n, entry.size(), "the arrays of what was learnt do not fit together");
    check_starts(pairs, n, label.size(), "the arrays of what was learnt do not fit together");
    need(m.shape(0) == n && m.shape(1) == families.n_levels && first.size() == number.size() &&
             static_cast<int64_t>(first.size()) == trees.nodes[n] && start.size() == entry.size() + n &&
             label.size() == count.size(),
         "the arrays of what was learnt do not fit together");
    std::vector<FamilyView> views;
    std::vector<Codes> children;
    std::vector<std::vector<Codes>> above;
    for (size_t f = 0; f < n; ++f) {
        const Family& family = families.all[f];
        const int64_t node = trees.nodes[f], e = entries[f], pair = pairs[f];
        views.push_back({family.size,
                         family.parents.size(),
                         m.data() + f * m.shape(1),
                         trees.views[f],
                         first.data() + node,
                         number.data() + node,
                         entry.data() + e,
                         length_of(entries, f),
                         {start.data() + e + f, label.data() + pair, count.data() + pair, length_of(pairs, f)}});
        children.push_back(family.child);
        above.push_back(family.parents);
    }
    auto [factors, cells] = doubles(families.n, C, families.n_columns);
    without_lock(
        [&, cells = cells] { score_families(views, children, above, families.n, families.n_members, C, cells, t); });
    return factors;
}

std::vector<Column> columns_of(const Arrays& arrays, const Array& all_sizes, size_t n) {
    const auto* sizes = flat<int64_t>(all_sizes, "sizes", arrays.size());
    std::vector<Column> columns;
    for (size_t i = 0; i < arrays.size(); ++i) {
        const Array& array = arrays[i];
        const std::string name = column_name(i);
        if (holds_codes(array)) {
            columns.push_back({true, codes(array, name, n), {}, size_of(sizes[i], i), 0});
            continue;
        }
        if (!holds<double>(array)) refuse_type(name + " is neither codes nor float64");
        columns.push_back({false, {}, {flat<double>(array, name, n), 1}, 0, 0});
    }
    return columns;
}

// The columns of learnt rows: their codes are within their sizes, and what is counted by value has room for all values.
std::vector<Column> learnt_columns_of(const Arrays& arrays, const Array& sizes, size_t n) {
    std::vector<Column> columns = columns_of(arrays, sizes, n);
    for (size_t i = 0; i < columns.size(); ++i) {
        Column& column = columns[i];
        if (column.coded)
            column.n_codes = with_type(column.codes, [n](auto cells) { return beyond_largest(cells, n); });
        if (column.n_codes > column.size) refuse(column_name(i) + " has a code beyond its size");
    }
    return columns;
}

// Sums of ln h and h over the chains, in their order whatever the threads, and the chains as flat arrays.
nb::tuple said_and_learnt(const std::vector<Chain>& chains, const std::vector<std::vector<double>>& h, size_t n_asked,
                          size_t C) {
    auto [log_sum, log_cells] = doubles(n_asked, C);
    auto [sum, cells] = doubles(n_asked, C);
    Flat trees;
    std::vector<int64_t> step_start{0};
    std::vector<int32_t> step_column;
    std::vector<double> step_m, step_cuts;
    for (size_t b = 0; b < chains.size(); ++b) {
        for (size_t i = 0; i < h[b].size(); ++i) {
            if (h[b][i] <= 0) continue;
            log_cells[i] += std::log(h[b][i]);
            cells[i] += h[b][i];
        }
        for (const Step& step : chains[b].steps) {
            step_column.push_back(step.column);
            step_m.push_back(step.m);
            step_cuts.insert(step_cuts.end(), step.cuts, step.cuts + kMostCuts);
        }
        step_start.push_back(static_cast<int64_t>(step_column.size()));
        trees.add(chains[b].contexts);
    }
    nb::object shaped = array_of(step_cuts, "float64").attr("reshape")(step_column.size(), kMostCuts);
    return nb::make_tuple(log_sum, sum,
                          nb::make_tuple(array_of(step_start, "int64"), array_of(step_column, "int32"),
                                         array_of(step_m, "float64"), shaped, trees.arrays()));
}

nb::tuple py_learn_chains(const Arrays& arrays, const Array& sizes, const Array& labels, int64_t n_classes,
                          const std::optional<Array>& weights, const Array& asked, const Array& given_parts,
                          const Array& given_candidates, const Array& given_cuts, const Array& given_prior,
                          int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto columns = learnt_columns_of(arrays, sizes, rows.n);
    const Cells<uint8_t, 2> parts(given_parts, "parts");
    const Cells<int32_t, 3> candidates(given_candidates, "candidates");
    const Cells<double, 4> cuts(given_cuts, "cuts");
    const size_t B = parts.shape(0), D = candidates.shape(1), q = candidates.shape(2), C = rows.n_classes;
    const double* prior = flat<double>(given_prior, "prior", C);
    need(parts.shape(1) == rows.n && candidates.shape(0) == B && cuts.shape(0) == B && cuts.shape(1) == D &&
             cuts.shape(2) == q && cuts.shape(3) == kMostCuts,
         "parts, candidates and cuts do not fit together");
    for (size_t i = 0; i < candidates.size(); ++i)
        if (candidates[i] < 0 || candidates[i] >= static_cast<int64_t>(columns.size()))
            refuse("candidates names a column that is not there");
    std::vector<Chain> chains(B);
    std::vector<std::vector<double>> h(B);
    without_lock([&] {
        parallel_for(B, t, [&](size_t b) {
            h[b].resize(rows.n_asked * C);
            chains[b] = learn_chain(rows, columns, parts.data() + b * rows.n,
                                    {candidates.data() + b * D * q, cuts.data() + b * D * q * kMostCuts, D, q}, prior,
                                    h[b].data());
        });
    });
    return said_and_learnt(chains, h, rows.n_asked, C);
}

// The steps of chains: where those of each start, and of each its column, m and cuts.
std::vector<std::vector<Step>> steps_of(const Cells<int64_t, 1>& start, const Cells<int32_t, 1>& column,
                                        const Cells<double, 1>& m, const Cells<double, 2>& cuts, size_t n_columns) {
    const size_t size = m.size();
    need(start.size() > 0 && column.size() == size && cuts.shape(0) == size && cuts.shape(1) == kMostCuts,
         "the arrays of the chains do not fit together");
    const size_t n = start.size() - 1;
    check_starts(start, n, size, "the arrays of the chains do not fit together");
    std::vector<std::vector<Step>> steps(n);
    for (size_t b = 0; b < n; ++b) {
        for (auto s = static_cast<size_t>(start[b]); s < static_cast<size_t>(start[b + 1]); ++s) {
            need(column[s] >= 0 && column[s] < static_cast<int64_t>(n_columns),
                 "a step names a column that is not there");
            need(m[s] > 0 && std::isfinite(m[s]), "a step has an m that is no finite number above zero");
            Step step{column[s], m[s], {}};
            std::copy_n(cuts.data() + s * kMostCuts, kMostCuts, step.cuts);
            steps[b].push_back(step);
        }
    }
    return steps;
}

nb::tuple py_count_chains(const Arrays& arrays, const Array& sizes, const Array& labels, int64_t n_classes,
                          const std::optional<Array>& weights, const Array& asked, const Array& start,
                          const Array& column, const Array& m, const Array& cuts, const Array& given_prior,
                          int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto columns = learnt_columns_of(arrays, sizes, rows.n);
    const double* prior = flat<double>(given_prior, "prior", rows.n_classes);
    const auto steps = steps_of({start, "start"}, {column, "column"}, {m, "m"}, {cuts, "cuts"}, columns.size());
    std::vector<Chain> chains(steps.size());
    std::vector<std::vector<double>> h(steps.size());
    without_lock([&] {
        parallel_for(steps.size(), t, [&](size_t b) {
            h[b].resize(rows.n_asked * rows.n_classes);
            chains[b].steps = steps[b];
            count_chain(rows, columns, nullptr, prior, chains[b], h[b].data());
        });
    });
    return said_and_learnt(chains, h, rows.n_asked, rows.n_classes);
}

nb::tuple py_score_chains(const Arrays& arrays, const Array& sizes, const Arrays& learnt_arrays, double n_learnt,
                          const Array& given_prior, const nb::object& given, int64_t n_threads) {
    const Cells<double, 1> prior(given_prior, "prior");
    const size_t t = threads(n_threads), C = prior.size(), n = length(arrays), n_before = length(learnt_arrays);
    need(C > 0, "prior has no classes");
    need(n_before <= INT32_MAX, "learnt_columns has more rows than can be counted at once");
    const auto columns = columns_of(arrays, sizes, n), before = columns_of(learnt_arrays, sizes, n_before);
    for (size_t i = 0; i < columns.size(); ++i)
        if (columns[i].coded != before[i].coded) refuse(column_name(i) + " was learnt as another kind");
    const Parts learnt(given, 5, "learnt");
    auto steps = steps_of(learnt.cells<int64_t, 1>(0), learnt.cells<int32_t, 1>(1), learnt.cells<double, 1>(2),
                          learnt.cells<double, 2>(3), columns.size());
    const Parts flat_trees(learnt[4], 8, "the trees");
    const Trees trees(flat_trees, steps.size());
    std::vector<ChainView> chains;
    for (size_t b = 0; b < steps.size(); ++b) chains.push_back({std::move(steps[b]), trees.views[b]});
    auto [log_sum, log_cells] = doubles(n, C);
    auto [sum, cells] = doubles(n, C);
    without_lock([&, log_cells = log_cells, cells = cells] {
        score_chains(chains, columns, {before, static_cast<uint32_t>(n_before)}, n, n_learnt, C, prior.data(),
                     log_cells, cells, t);
    });
    return nb::make_tuple(log_sum, sum);
}

nb::tuple py_exponent_loss(const Array& given_factors, const Array& given_labels, const std::optional<Array>& weights,
                           const Array& exponents, int64_t n_threads) {
    const Cells<float, 3> factors(given_factors, "factors");
    const size_t t = threads(n_threads), n = factors.shape(0), C = factors.shape(1), T = factors.shape(2);
    const auto* labels = flat<uint32_t>(given_labels, "labels", n);
    const auto* by = weights ? flat<double>(*weights, "weights", n) : nullptr;
    const auto* powers = flat<double>(exponents, "exponents", T);
    need(C > 0, "factors has no classes");
    need(beyond_largest(labels, n) <= C, "labels hold a class beyond the factors");
    auto [gradient, cells] = doubles(T);
    const double loss = without_lock(
        [&, cells = cells] { return exponent_loss(factors.data(), n, C, T, labels, by, powers, cells, t); });
    return nb::make_tuple(loss, gradient);
}

}  // namespace

void bind_ensemble(nb::module_& m) {
    m.def("learn_backoff", &py_learn_backoff, "codes"_a, "sizes"_a, "parents"_a, "columns"_a, "labels"_a, "n_classes"_a,
          "weights"_a.none(), "asked"_a, "n_threads"_a, "m"_a.none() = nb::none());
    m.def("score_backoff", &py_score_backoff, "codes"_a, "sizes"_a, "parents"_a, "columns"_a, "n_classes"_a, "learnt"_a,
          "n_threads"_a);
    m.def("learn_chains", &py_learn_chains, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "asked"_a, "parts"_a, "candidates"_a, "cuts"_a, "prior"_a, "n_threads"_a);
    m.def("count_chains", &py_count_chains, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "asked"_a, "start"_a, "column"_a, "m"_a, "cuts"_a, "prior"_a, "n_threads"_a);
    m.def("score_chains", &py_score_chains, "columns"_a, "sizes"_a, "learnt_columns"_a, "n_learnt"_a, "prior"_a,
          "learnt"_a, "n_threads"_a);
    m.def("exponent_loss", &py_exponent_loss, "factors"_a, "labels"_a, "weights"_a.none(), "exponents"_a,
          "n_threads"_a);
}
