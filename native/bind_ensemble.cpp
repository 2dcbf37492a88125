// The door of the ensemble's kernels: arrays are checked here, and what was learnt leaves as flat arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "ensemble.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bayeskit;

void bind_ensemble(nb::module_& m);

namespace {

using Any = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T, size_t D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<In<double, 1>>;

void need(bool holds, const char* otherwise) {
    if (!holds) throw nb::value_error(otherwise);
}

void need(bool holds, const std::string& otherwise) { need(holds, otherwise.c_str()); }

// Asked before a message is put together: once an array, not once a cell.
template <class T>
size_t beyond_largest(const T* cells, size_t n) {
    T top = 0;
    for (size_t r = 0; r < n; ++r) top = std::max(top, cells[r]);
    return n ? static_cast<size_t>(top) + 1 : 0;
}

size_t at_least_one(int64_t number, const char* name) {
    need(number >= 1, std::string(name) + " is " + std::to_string(number) + ", not 1 or more");
    return static_cast<size_t>(number);
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

Codes column_codes(const Any& array, size_t offset) {
    const int width = array.dtype().bits / 8;
    return {static_cast<const char*>(array.data()) + offset * static_cast<size_t>(width), width};
}

bool holds_codes(const Any& array) {
    const auto type = array.dtype();
    return type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::UInt) && type.bits <= 32 && type.lanes == 1;
}

// Codes (members, columns, rows) and the families of the asked columns, column after column.
std::vector<Family> families_of(const Any& codes, const In<int64_t, 2>& sizes, const In<int32_t, 3>& parents,
                                const In<int64_t, 1>& columns, bool learning, size_t n_threads) {
    if (!holds_codes(codes)) throw nb::type_error("codes is not uint8, uint16 or uint32");
    need(codes.ndim() == 3, "codes does not have three axes (members, columns, rows)");
    const size_t T = codes.shape(0), A = codes.shape(1), n = codes.shape(2);
    int64_t expected = 1;
    for (size_t i = 3; i-- > 0 && codes.size() > 0;) {
        need(codes.shape(i) == 1 || codes.stride(i) == expected, "codes is not contiguous");
        expected *= static_cast<int64_t>(codes.shape(i));
    }
    need(sizes.shape(0) == T && sizes.shape(1) == A, "sizes does not have the members and columns of codes");
    need(parents.shape(0) == T && parents.shape(1) == A, "parents does not have the members and columns of codes");
    std::vector<char> fits(T * A);
    parallel_for(T * A, n_threads, [&](size_t i) {
        uint32_t top = 0;
        with_type(column_codes(codes, i * n), [&](auto cells) {
            for (size_t r = 0; r < n; ++r) top = std::max<uint32_t>(top, cells[r]);
        });
        fits[i] = sizes.data()[i] > 0 && static_cast<int64_t>(top) < sizes.data()[i] + (learning ? 0 : 1);
    });
    for (size_t i = 0; i < T * A; ++i)
        need(fits[i] || n == 0, "column " + std::to_string(i % A) + " has a code beyond its size");
    std::vector<Family> families;
    for (size_t c = 0; c < columns.shape(0); ++c) {
        const int64_t column = columns.data()[c];
        need(column >= 0 && column < static_cast<int64_t>(A), "columns names no column " + std::to_string(column));
        for (size_t j = 0; j < T; ++j) {
            const size_t own = j * A + static_cast<size_t>(column);
            Family family{column_codes(codes, own * n), static_cast<size_t>(sizes.data()[own]), {}, {}};
            for (size_t p = 0; p < parents.shape(2); ++p) {
                const int32_t by = parents.data()[own * parents.shape(2) + p];
                if (by < 0) break;
                need(by < static_cast<int32_t>(A), "parents names no column " + std::to_string(by));
                family.parents.push_back(column_codes(codes, (j * A + static_cast<size_t>(by)) * n));
                family.sizes.push_back(static_cast<size_t>(sizes.data()[j * A + static_cast<size_t>(by)]));
            }
            families.push_back(std::move(family));
        }
    }
    return families;
}

Rows rows_of(const In<uint32_t, 1>& labels, int64_t n_classes, const Weights& weights, const In<int64_t, 1>& asked) {
    const size_t n = labels.shape(0);
    need(!weights || weights->shape(0) == n, "weights has another length than labels");
    const Rows rows{n, labels.data(), at_least_one(n_classes, "n_classes"), weights ? weights->data() : nullptr,
                    asked.data(), asked.shape(0)};
    need(rows.n_classes <= UINT16_MAX, "n_classes is beyond 65535");
    const size_t classes = beyond_largest(labels.data(), n);
    need(classes <= rows.n_classes, "labels hold " + std::to_string(classes - 1) + ", beyond the classes");
    for (size_t i = 0; i < asked.shape(0); ++i)
        need(asked.data()[i] >= 0 && asked.data()[i] < static_cast<int64_t>(n), "asked names a row that is not there");
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


template <class T>
T part_of(const nb::tuple& parts, size_t i) {
    return nb::cast<T>(parts[i]);
}

std::vector<TrieView> views_of(const nb::tuple& parts, size_t n) {
    const auto nodes = part_of<In<int64_t, 1>>(parts, 0), pairs = part_of<In<int64_t, 1>>(parts, 1);
    const auto first = part_of<In<int32_t, 1>>(parts, 2), children = part_of<In<int32_t, 1>>(parts, 3);
    const auto value = part_of<In<uint32_t, 1>>(parts, 4);
    const auto start = part_of<In<int32_t, 1>>(parts, 5);
    const auto label = part_of<In<uint16_t, 1>>(parts, 6);
    const auto count = part_of<In<float, 1>>(parts, 7);
    const size_t size = value.shape(0);
    need(nodes.shape(0) == n + 1 && pairs.shape(0) == n + 1, "there are not as many trees as asked for");
    need(first.shape(0) == size && children.shape(0) == size && start.shape(0) == size + n &&
             nodes.data()[n] == static_cast<int64_t>(size) && label.shape(0) == count.shape(0) &&
             pairs.data()[n] == static_cast<int64_t>(label.shape(0)),
         "the arrays of the trees do not fit together");
    std::vector<TrieView> views;
    for (size_t f = 0; f < n; ++f) {
        const int64_t at = nodes.data()[f], pair = pairs.data()[f];
        need(at >= 0 && at < nodes.data()[f + 1] && pair >= 0 && pair <= pairs.data()[f + 1],
             "the arrays of the trees do not fit together");
        views.push_back({first.data() + at, children.data() + at, value.data() + at,
                         {start.data() + at + static_cast<int64_t>(f), label.data() + pair, count.data() + pair}});
    }
    return views;
}

nb::tuple py_learn_backoff(const Any& codes, const In<int64_t, 2>& sizes, const In<int32_t, 3>& parents,
                           const In<int64_t, 1>& columns, const In<uint32_t, 1>& labels, int64_t n_classes,
                           const Weights& weights, const In<int64_t, 1>& asked, int64_t n_threads,
                           const std::optional<In<double, 2>>& held) {
    const size_t t = at_least_one(n_threads, "n_threads");
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto families = families_of(codes, sizes, parents, columns, true, t);
    need(codes.shape(2) == rows.n, "codes has another number of rows than labels");
    auto [factors, cells] = doubles(rows.n_asked, rows.n_classes, columns.shape(0));
    const size_t levels = parents.shape(2) + 1;
    need(!held || (held->shape(0) == families.size() && held->shape(1) == levels), "m has another shape than the families");
    for (size_t f = 0; held && f < families.size(); ++f)
        for (size_t d = 0; d <= families[f].parents.size(); ++d)
            need(held->data()[f * levels + d] > 0 && std::isfinite(held->data()[f * levels + d]),
                 "m holds what is no finite number above zero");
    Flat trees;
    std::vector<double> m(families.size() * levels, 0.0);
    std::vector<int64_t> entries{0}, pairs{0};
    std::vector<int32_t> first_entry, n_entries, start;
    std::vector<uint32_t> entry;
    std::vector<uint16_t> label;
    std::vector<float> count;
    {
        nb::gil_scoped_release release;
        std::vector<Learnt> learnt;
        learn_families(rows, families, codes.shape(0), held ? held->data() : nullptr, levels, learnt, cells, t);
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
    }
    nb::object grid = array_of(m, "float64").attr("reshape")(families.size(), levels);
    return nb::make_tuple(factors,
                          nb::make_tuple(grid, trees.arrays(), array_of(entries, "int64"), array_of(pairs, "int64"),
                                         array_of(first_entry, "int32"), array_of(n_entries, "int32"),
                                         array_of(entry, "uint32"), array_of(start, "int32"),
                                         array_of(label, "uint16"), array_of(count, "float32")));
}

nb::object py_score_backoff(const Any& codes, const In<int64_t, 2>& sizes, const In<int32_t, 3>& parents,
                            const In<int64_t, 1>& columns, int64_t n_classes, const nb::tuple& learnt,
                            int64_t n_threads) {
    const size_t t = at_least_one(n_threads, "n_threads"), C = at_least_one(n_classes, "n_classes");
    const auto families = families_of(codes, sizes, parents, columns, false, t);
    const size_t n = families.size();
    need(learnt.size() == 10, "what was learnt has ten parts");
    const auto m = part_of<In<double, 2>>(learnt, 0);
    const auto trees = views_of(nb::cast<nb::tuple>(learnt[1]), n);
    const auto entries = part_of<In<int64_t, 1>>(learnt, 2), pairs = part_of<In<int64_t, 1>>(learnt, 3);
    const auto first = part_of<In<int32_t, 1>>(learnt, 4), number = part_of<In<int32_t, 1>>(learnt, 5);
    const auto entry = part_of<In<uint32_t, 1>>(learnt, 6);
    const auto start = part_of<In<int32_t, 1>>(learnt, 7);
    const auto label = part_of<In<uint16_t, 1>>(learnt, 8);
    const auto count = part_of<In<float, 1>>(learnt, 9);
    const auto nodes = nb::cast<In<int64_t, 1>>(nb::cast<nb::tuple>(learnt[1])[0]);
    need(m.shape(0) == n && m.shape(1) == parents.shape(2) + 1 && entries.shape(0) == n + 1 && pairs.shape(0) == n + 1 &&
             first.shape(0) == number.shape(0) && static_cast<int64_t>(first.shape(0)) == nodes.data()[n] &&
             start.shape(0) == entry.shape(0) + n && label.shape(0) == count.shape(0),
         "the arrays of what was learnt do not fit together");
    std::vector<FamilyView> views;
    std::vector<Codes> children;
    std::vector<std::vector<Codes>> above;
    for (size_t f = 0; f < n; ++f) {
        const int64_t node = nodes.data()[f], e = entries.data()[f], pair = pairs.data()[f];
        views.push_back({families[f].size, families[f].parents.size(), m.data() + f * m.shape(1), trees[f],
                         first.data() + node, number.data() + node, entry.data() + e,
                         {start.data() + e + static_cast<int64_t>(f), label.data() + pair, count.data() + pair}});
        children.push_back(families[f].child);
        above.push_back(families[f].parents);
    }
    auto [factors, cells] = doubles(codes.shape(2), C, columns.shape(0));
    nb::gil_scoped_release release;
    score_families(views, children, above, codes.shape(2), codes.shape(0), C, cells, t);
    return factors;
}

std::vector<Column> columns_of(const std::vector<Any>& arrays, const In<int64_t, 1>& sizes, size_t n) {
    need(sizes.shape(0) == arrays.size(), "sizes has another number of columns");
    std::vector<Column> columns;
    for (size_t i = 0; i < arrays.size(); ++i) {
        const Any& array = arrays[i];
        const std::string name = "column " + std::to_string(i);
        need(array.ndim() == 1 && array.shape(0) == n, name + " has another number of rows");
        need(n <= 1 || array.stride(0) == 1, name + " is not contiguous");
        if (holds_codes(array)) {
            need(sizes.data()[i] > 0, name + " has no values");
            columns.push_back({true, column_codes(array, 0), {}, static_cast<size_t>(sizes.data()[i])});
        } else {
            if (array.dtype() != nb::dtype<double>()) throw nb::type_error((name + " is neither codes nor float64").c_str());
            columns.push_back({false, {}, {static_cast<const double*>(array.data()), 1}, 0});
        }
    }
    return columns;
}

void need_codes_within(const std::vector<Column>& columns, size_t n) {
    for (size_t i = 0; i < columns.size(); ++i)
        if (columns[i].coded)
            with_type(columns[i].codes, [&](auto cells) {
                need(beyond_largest(cells, n) <= columns[i].size,
                     "column " + std::to_string(i) + " has a code beyond its size");
            });
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

nb::tuple py_learn_chains(const std::vector<Any>& arrays, const In<int64_t, 1>& sizes, const In<uint32_t, 1>& labels,
                          int64_t n_classes, const Weights& weights, const In<int64_t, 1>& asked,
                          const In<uint8_t, 2>& parts, const In<int32_t, 3>& candidates, const In<double, 4>& cuts,
                          const In<double, 1>& prior, int64_t n_threads) {
    const size_t t = at_least_one(n_threads, "n_threads");
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto columns = columns_of(arrays, sizes, rows.n);
    const size_t B = parts.shape(0), D = candidates.shape(1), q = candidates.shape(2), C = rows.n_classes;
    need(parts.shape(1) == rows.n && candidates.shape(0) == B && cuts.shape(0) == B && cuts.shape(1) == D &&
             cuts.shape(2) == q && cuts.shape(3) == kMostCuts && prior.shape(0) == C,
         "parts, candidates, cuts and prior do not fit together");
    for (size_t i = 0; i < candidates.size(); ++i)
        need(candidates.data()[i] >= 0 && candidates.data()[i] < static_cast<int32_t>(columns.size()),
             "candidates names a column that is not there");
    need_codes_within(columns, rows.n);
    std::vector<Chain> chains(B);
    std::vector<std::vector<double>> h(B);
    {
        nb::gil_scoped_release release;
        parallel_for(B, t, [&](size_t b) {
            h[b].resize(rows.n_asked * C);
            chains[b] = learn_chain(rows, columns, parts.data() + b * rows.n,
                                    {candidates.data() + b * D * q, cuts.data() + b * D * q * kMostCuts, D, q},
                                    prior.data(), h[b].data());
        });
    }
    return said_and_learnt(chains, h, rows.n_asked, C);
}

// The steps of chains: where those of each start, and of each its column, m and cuts.
std::vector<std::vector<Step>> steps_of(const In<int64_t, 1>& start, const In<int32_t, 1>& column,
                                        const In<double, 1>& m, const In<double, 2>& cuts, size_t n_columns) {
    const size_t n = start.shape(0), size = m.shape(0);
    need(n > 0 && column.shape(0) == size && cuts.shape(0) == size && cuts.shape(1) == kMostCuts &&
             start.data()[0] == 0 && start.data()[n - 1] == static_cast<int64_t>(size),
         "the arrays of the chains do not fit together");
    std::vector<std::vector<Step>> steps(n - 1);
    for (size_t b = 0; b + 1 < n; ++b) {
        need(start.data()[b] <= start.data()[b + 1] && start.data()[b + 1] <= static_cast<int64_t>(size),
             "the arrays of the chains do not fit together");
        for (int64_t s = start.data()[b]; s < start.data()[b + 1]; ++s) {
            need(column.data()[s] >= 0 && column.data()[s] < static_cast<int32_t>(n_columns),
                 "a step names a column that is not there");
            need(m.data()[s] > 0 && std::isfinite(m.data()[s]), "a step has an m that is no finite number above zero");
            Step step{column.data()[s], m.data()[s], {}};
            std::copy_n(cuts.data() + static_cast<size_t>(s) * kMostCuts, kMostCuts, step.cuts);
            steps[b].push_back(step);
        }
    }
    return steps;
}

nb::tuple py_count_chains(const std::vector<Any>& arrays, const In<int64_t, 1>& sizes, const In<uint32_t, 1>& labels,
                          int64_t n_classes, const Weights& weights, const In<int64_t, 1>& asked,
                          const In<int64_t, 1>& start, const In<int32_t, 1>& column, const In<double, 1>& m,
                          const In<double, 2>& cuts, const In<double, 1>& prior, int64_t n_threads) {
    const size_t t = at_least_one(n_threads, "n_threads");
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto columns = columns_of(arrays, sizes, rows.n);
    need(prior.shape(0) == rows.n_classes, "prior has another number of classes");
    need_codes_within(columns, rows.n);
    const auto steps = steps_of(start, column, m, cuts, columns.size());
    std::vector<Chain> chains(steps.size());
    std::vector<std::vector<double>> h(steps.size());
    {
        nb::gil_scoped_release release;
        parallel_for(steps.size(), t, [&](size_t b) {
            h[b].resize(rows.n_asked * rows.n_classes);
            chains[b].steps = steps[b];
            count_chain(rows, columns, nullptr, prior.data(), chains[b], h[b].data());
        });
    }
    return said_and_learnt(chains, h, rows.n_asked, rows.n_classes);
}

nb::tuple py_score_chains(const std::vector<Any>& arrays, const In<int64_t, 1>& sizes,
                          const std::vector<Any>& learnt_arrays, double n_learnt, const In<double, 1>& prior,
                          const nb::tuple& learnt, int64_t n_threads) {
    const size_t t = at_least_one(n_threads, "n_threads"), C = prior.shape(0);
    const auto length = [](const std::vector<Any>& some) {
        return some.empty() || some[0].ndim() == 0 ? size_t{0} : some[0].shape(0);
    };
    const size_t n = length(arrays);
    const auto columns = columns_of(arrays, sizes, n), before = columns_of(learnt_arrays, sizes, length(learnt_arrays));
    for (size_t i = 0; i < columns.size(); ++i)
        need(columns[i].coded == before[i].coded, "column " + std::to_string(i) + " was learnt as another kind");
    need(learnt.size() == 5, "what was learnt has five parts");
    auto steps = steps_of(part_of<In<int64_t, 1>>(learnt, 0), part_of<In<int32_t, 1>>(learnt, 1),
                          part_of<In<double, 1>>(learnt, 2), part_of<In<double, 2>>(learnt, 3), columns.size());
    const auto trees = views_of(nb::cast<nb::tuple>(learnt[4]), steps.size());
    std::vector<ChainView> chains;
    for (size_t b = 0; b < steps.size(); ++b) chains.push_back({std::move(steps[b]), trees[b]});
    auto [log_sum, log_cells] = doubles(n, C);
    auto [sum, cells] = doubles(n, C);
    {
        nb::gil_scoped_release release;
        score_chains(chains, columns, before, n, n_learnt, C, prior.data(), log_cells, cells, t);
    }
    return nb::make_tuple(log_sum, sum);
}

nb::tuple py_exponent_loss(const In<float, 3>& factors, const In<uint32_t, 1>& labels, const Weights& weights,
                           const In<double, 1>& exponents, int64_t n_threads) {
    const size_t t = at_least_one(n_threads, "n_threads"), n = factors.shape(0), C = factors.shape(1);
    need(labels.shape(0) == n && exponents.shape(0) == factors.shape(2) && (!weights || weights->shape(0) == n),
         "factors, labels, weights and exponents do not fit together");
    need(beyond_largest(labels.data(), n) <= C, "labels hold a class beyond the factors");
    auto [gradient, cells] = doubles(factors.shape(2));
    double loss;
    {
        nb::gil_scoped_release release;
        loss = exponent_loss(factors.data(), n, C, factors.shape(2), labels.data(), weights ? weights->data() : nullptr,
                             exponents.data(), cells, t);
    }
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
    m.def("exponent_loss", &py_exponent_loss, "factors"_a, "labels"_a, "weights"_a.none(), "exponents"_a, "n_threads"_a);
}
