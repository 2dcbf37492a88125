// Python functions of the ensemble; what they learn is returned as flat arrays.
#include "ensemble.hpp"

#include <cmath>
#include <functional>

#include "arrays.hpp"

namespace {

using CodeBlock = nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // of uint8, uint16 or uint32

Codes column_codes(const CodeBlock& array, size_t offset) {
    const int width = array.dtype().bits / 8;
    return {static_cast<const char*>(array.data()) + offset * static_cast<size_t>(width), width};
}

// Codes (members, columns, rows) and the families of the asked columns, column after column.
struct Families {
    std::vector<Family> all;
    size_t n_members, n_columns, n, n_levels;

    Families(const CodeBlock& codes, const Cells<int64_t, 2>& sizes, const Cells<int32_t, 3>& parents,
             const Int64s& columns, bool learning, size_t n_threads) {
        if (!holds_codes(codes)) refuse_type("codes is not uint8, uint16 or uint32");
        if (!is_aligned(codes)) refuse("codes is not aligned");
        const size_t T = codes.shape(0), A = codes.shape(1);
        n_members = T, n_columns = columns.size(), n = codes.shape(2), n_levels = parents.shape(2) + 1;
        need(T > 0, "codes has no members");
        need(n <= INT32_MAX, "codes has more rows than can be counted at once");
        shaped(sizes, "sizes", T, A);
        shaped(parents, "parents", T, A, n_levels - 1);
        for (size_t i = 0; i < T * A; ++i) check_between(sizes[i], "a size", 1, kMostCodes);
        std::vector<char> fits(T * A);
        parallel_for(T * A, n_threads, [&](size_t i) {
            fits[i] = int64_t{largest(column_codes(codes, i * n), n)} < sizes[i] + (learning ? 0 : 1);
        });
        for (size_t i = 0; i < T * A; ++i)
            if (!fits[i]) refuse(column_name(i % A) + " has a code beyond its size");
        check_indices(columns, "columns", A);
        for (size_t c = 0; c < columns.size(); ++c)
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
};

Rows rows_of(const Uint32s& labels, int64_t n_classes, const OptionalVector& weights, const Int64s& asked) {
    const size_t n = labels.size();
    const Rows rows{
        n, labels.data(), classes(n_classes, UINT16_MAX), shaped(weights, "weights", n), asked.data(), asked.size()};
    need(n <= INT32_MAX && asked.size() <= INT32_MAX, "labels has more rows than can be counted at once");
    check_labels({labels.data(), 4}, n, rows.n_classes);
    check_indices(asked, "asked", n);
    return rows;
}

// A part of each, side by side; where those of each begin, and the end.
template <class All, class Part>
nb::object joined(const All& all, Part part) {
    size_t size = 0;
    for (const auto& one : all) size += std::invoke(part, one).size();
    const auto made = empty<typename std::decay_t<std::invoke_result_t<Part, decltype(all[0])>>::value_type>(size);
    auto* to = made.data;
    for (const auto& one : all) to = std::copy(std::invoke(part, one).begin(), std::invoke(part, one).end(), to);
    return made.array;
}
template <class All, class Part>
nb::object starts_of(const All& all, Part part) {
    const auto made = zeros<int64_t>(all.size() + 1);
    for (size_t i = 0; i < all.size(); ++i)
        made.data[i + 1] = made.data[i] + static_cast<int64_t>(std::invoke(part, all[i]).size());
    return made.array;
}

nb::tuple joined_trees(const std::vector<const Trie*>& trees) {
    std::vector<const SparseCounts*> counts;
    for (const Trie* tree : trees) counts.push_back(&tree->counts);
    return nb::make_tuple(starts_of(trees, &Trie::value), starts_of(counts, &SparseCounts::label),
                          joined(trees, &Trie::first_child), joined(trees, &Trie::n_children),
                          joined(trees, &Trie::value), joined(counts, &SparseCounts::start),
                          joined(counts, &SparseCounts::label), joined(counts, &SparseCounts::count));
}

// The same arrays, as they come back.
using FlatTrees = std::tuple<Int64s, Int64s, Int32s, Int32s, Uint32s, Int32s, Cells<uint16_t, 1>, Cells<float, 1>>;
using LearnedFamilies =
    std::tuple<Matrix, FlatTrees, Int64s, Int64s, Int32s, Int32s, Uint32s, Int32s, Cells<uint16_t, 1>, Cells<float, 1>>;
using LearnedChains = std::tuple<Int64s, Int32s, Vector, Matrix, FlatTrees>;

// Where the places of each of n trees begin, and the end of the last.
void check_starts(const Int64s& starts, size_t n, size_t end, const char* otherwise) {
    bool fits = starts.size() == n + 1 && starts[0] == 0 && starts[n] == static_cast<int64_t>(end);
    for (size_t f = 0; fits && f < n; ++f) fits = starts[f] <= starts[f + 1] && starts[f + 1] - starts[f] <= INT32_MAX;
    need(fits, otherwise);
}

uint32_t length_of(const Int64s& starts, size_t f) { return static_cast<uint32_t>(starts[f + 1] - starts[f]); }

// Indices within a tree are checked while it is walked (ensemble.hpp): a few rows need little of it.
std::vector<TrieView> views_of(const FlatTrees& given, size_t n) {
    const auto& [nodes, pairs, first, children, value, start, label, count] = given;
    const char* otherwise = "the arrays of the trees do not fit together";
    check_starts(nodes, n, value.size(), otherwise);
    check_starts(pairs, n, label.size(), otherwise);
    need(first.size() == value.size() && children.size() == value.size() && start.size() == value.size() + n &&
             label.size() == count.size(),
         otherwise);
    std::vector<TrieView> views;
    for (size_t f = 0; f < n; ++f) {
        const int64_t at = nodes[f], pair = pairs[f];
        need(at < nodes[f + 1], "a tree has no root");
        views.push_back({first.data() + at,
                         children.data() + at,
                         value.data() + at,
                         length_of(nodes, f),
                         {start.data() + at + f, label.data() + pair, count.data() + pair, length_of(pairs, f)}});
    }
    return views;
}

nb::tuple py_learn_backoff(const CodeBlock& codes, const Cells<int64_t, 2>& sizes, const Cells<int32_t, 3>& parents,
                           const Int64s& columns, const Uint32s& labels, int64_t n_classes,
                           const OptionalVector& weights, const Int64s& asked, int64_t n_threads,
                           const std::optional<Matrix>& given_m) {
    const size_t t = threads(n_threads);
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const Families families(codes, sizes, parents, columns, true, t);
    need(families.n == rows.n, "codes has another number of rows than labels");
    const size_t levels = families.n_levels, n_families = families.all.size();
    const double* held = given_m ? shaped(*given_m, "m", n_families, levels) : nullptr;
    for (size_t f = 0; held && f < n_families; ++f)
        for (size_t d = 0; d <= families.all[f].parents.size(); ++d)
            need(held[f * levels + d] > 0 && std::isfinite(held[f * levels + d]),
                 "m holds what is no finite number above zero");
    const auto factors = zeros<double>(rows.n_asked, rows.n_classes, families.n_columns);
    std::vector<Learned> learned;
    without_lock(
        [&] { learn_families(rows, families.all, families.n_members, held, levels, learned, factors.data, t); });
    const auto m = zeros<double>(n_families, levels);
    std::vector<const Trie*> trees;
    std::vector<const SparseCounts*> counts;
    for (const Learned& one : learned) {
        std::copy(one.m.begin(), one.m.end(), m.data + trees.size() * levels);
        trees.push_back(&one.contexts);
        counts.push_back(&one.counts);
    }
    return nb::make_tuple(
        factors.array, nb::make_tuple(m.array, joined_trees(trees), starts_of(learned, &Learned::entry),
                                      starts_of(counts, &SparseCounts::label), joined(learned, &Learned::first_entry),
                                      joined(learned, &Learned::n_entries), joined(learned, &Learned::entry),
                                      joined(counts, &SparseCounts::start), joined(counts, &SparseCounts::label),
                                      joined(counts, &SparseCounts::count)));
}

nb::object py_score_backoff(const CodeBlock& codes, const Cells<int64_t, 2>& sizes, const Cells<int32_t, 3>& parents,
                            const Int64s& columns, int64_t n_classes, const LearnedFamilies& learned,
                            int64_t n_threads) {
    const size_t t = threads(n_threads), C = classes(n_classes, UINT16_MAX);
    const Families families(codes, sizes, parents, columns, false, t);
    const size_t n = families.all.size();
    const auto& [m, flat_trees, entries, pairs, first, number, entry, start, label, count] = learned;
    const auto& nodes = std::get<0>(flat_trees);
    const auto trees = views_of(flat_trees, n);
    const char* otherwise = "the arrays of what was learned do not fit together";
    check_starts(entries, n, entry.size(), otherwise);
    check_starts(pairs, n, label.size(), otherwise);
    need(m.shape(0) == n && m.shape(1) == families.n_levels && first.size() == number.size() &&
             static_cast<int64_t>(first.size()) == nodes[n] && start.size() == entry.size() + n &&
             label.size() == count.size(),
         otherwise);
    std::vector<FamilyView> views;
    std::vector<Codes> children;
    std::vector<std::vector<Codes>> above;
    for (size_t f = 0; f < n; ++f) {
        const Family& family = families.all[f];
        const int64_t node = nodes[f], e = entries[f], pair = pairs[f];
        views.push_back({family.size,
                         family.parents.size(),
                         m.data() + f * m.shape(1),
                         trees[f],
                         first.data() + node,
                         number.data() + node,
                         entry.data() + e,
                         length_of(entries, f),
                         {start.data() + e + f, label.data() + pair, count.data() + pair, length_of(pairs, f)}});
        children.push_back(family.child);
        above.push_back(family.parents);
    }
    const auto factors = zeros<double>(families.n, C, families.n_columns);
    without_lock([&] { score_families(views, children, above, families.n, families.n_members, C, factors.data, t); });
    return factors.array;
}

std::vector<Column> columns_of(const Arrays& arrays, const Int64s& sizes, size_t n) {
    shaped(sizes, "sizes", arrays.size());
    std::vector<Column> columns;
    for (size_t i = 0; i < arrays.size(); ++i) {
        const Array& array = arrays[i];
        const std::string name = column_name(i);
        if (holds_codes(array)) {
            columns.push_back({true, codes(array, name, n), {}, check_between(sizes[i], "a size", 1, kMostCodes), 0});
            continue;
        }
        const Floats numbers = floats(array, name, n);
        if (numbers.stride != 1) refuse(name + " is not contiguous");
        columns.push_back({false, {}, numbers, 0, 0});
    }
    return columns;
}

// The columns of learned rows: their codes are within their sizes, and what is counted by value has room for all
// values.
std::vector<Column> learned_columns_of(const Arrays& arrays, const Int64s& sizes, size_t n) {
    std::vector<Column> columns = columns_of(arrays, sizes, n);
    for (size_t i = 0; i < columns.size(); ++i) {
        Column& column = columns[i];
        if (column.coded) column.n_codes = n ? size_t{largest(column.codes, n)} + 1 : 0;
        if (column.n_codes > column.size) refuse(column_name(i) + " has a code beyond its size");
    }
    return columns;
}

// Sums of ln h and h over the chains, in their order whatever the threads, and the chains as flat arrays.
nb::tuple said_and_learned(const std::vector<Chain>& chains, const std::vector<std::vector<double>>& h, size_t n_asked,
                           size_t C) {
    const auto log_sum = zeros<double>(n_asked, C), sum = zeros<double>(n_asked, C);
    std::vector<Step> steps;
    std::vector<const Trie*> trees;
    for (size_t b = 0; b < chains.size(); ++b) {
        for (size_t i = 0; i < h[b].size(); ++i) {
            if (h[b][i] <= 0) continue;
            log_sum.data[i] += std::log(h[b][i]);
            sum.data[i] += h[b][i];
        }
        steps.insert(steps.end(), chains[b].steps.begin(), chains[b].steps.end());
        trees.push_back(&chains[b].contexts);
    }
    const auto column = empty<int32_t>(steps.size());
    const auto m = empty<double>(steps.size()), cuts = empty<double>(steps.size(), kMostCuts);
    for (size_t s = 0; s < steps.size(); ++s) {
        column.data[s] = steps[s].column;
        m.data[s] = steps[s].m;
        std::copy_n(steps[s].cuts, kMostCuts, cuts.data + s * kMostCuts);
    }
    return nb::make_tuple(
        log_sum.array, sum.array,
        nb::make_tuple(starts_of(chains, &Chain::steps), column.array, m.array, cuts.array, joined_trees(trees)));
}

nb::tuple py_learn_chains(const Arrays& arrays, const Int64s& sizes, const Uint32s& labels, int64_t n_classes,
                          const OptionalVector& weights, const Int64s& asked, const ByteMatrix& parts,
                          const Cells<int32_t, 3>& candidates, const Cells<double, 4>& cuts, const Vector& prior,
                          int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto columns = learned_columns_of(arrays, sizes, rows.n);
    const size_t B = candidates.shape(0), D = candidates.shape(1), q = candidates.shape(2), C = rows.n_classes;
    shaped(prior, "prior", C);
    shaped(parts, "parts", B, rows.n);
    shaped(cuts, "cuts", B, D, q, kMostCuts);
    check_indices(candidates, "candidates", columns.size());
    std::vector<Chain> chains(B);
    std::vector<std::vector<double>> h(B, std::vector<double>(rows.n_asked * C));
    without_lock([&] {
        parallel_for(B, t, [&](size_t b) {
            chains[b] = learn_chain(rows, columns, parts.data() + b * rows.n,
                                    {candidates.data() + b * D * q, cuts.data() + b * D * q * kMostCuts, D, q},
                                    prior.data(), h[b].data());
        });
    });
    return said_and_learned(chains, h, rows.n_asked, C);
}

// The steps of chains: where those of each start, and of each its column, m and cuts.
std::vector<std::vector<Step>> steps_of(const Int64s& start, const Int32s& column, const Vector& m, const Matrix& cuts,
                                        size_t n_columns) {
    const size_t size = m.size();
    need(start.size() > 0 && column.size() == size && cuts.shape(0) == size && cuts.shape(1) == kMostCuts,
         "the arrays of the chains do not fit together");
    const size_t n = start.size() - 1;
    check_starts(start, n, size, "the arrays of the chains do not fit together");
    check_indices(column, "the columns of steps", n_columns);
    std::vector<std::vector<Step>> steps(n);
    for (size_t b = 0; b < n; ++b) {
        for (auto s = static_cast<size_t>(start[b]); s < static_cast<size_t>(start[b + 1]); ++s) {
            need(m[s] > 0 && std::isfinite(m[s]), "a step has an m that is no finite number above zero");
            Step step{column[s], m[s], {}};
            std::copy_n(cuts.data() + s * kMostCuts, kMostCuts, step.cuts);
            steps[b].push_back(step);
        }
    }
    return steps;
}

nb::tuple py_count_chains(const Arrays& arrays, const Int64s& sizes, const Uint32s& labels, int64_t n_classes,
                          const OptionalVector& weights, const Int64s& asked, const Int64s& start, const Int32s& column,
                          const Vector& m, const Matrix& cuts, const Vector& given_prior, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Rows rows = rows_of(labels, n_classes, weights, asked);
    const auto columns = learned_columns_of(arrays, sizes, rows.n);
    const double* prior = shaped(given_prior, "prior", rows.n_classes);
    const auto steps = steps_of(start, column, m, cuts, columns.size());
    std::vector<Chain> chains(steps.size());
    std::vector<std::vector<double>> h(steps.size(), std::vector<double>(rows.n_asked * rows.n_classes));
    without_lock([&] {
        parallel_for(steps.size(), t, [&](size_t b) {
            chains[b].steps = steps[b];
            count_chain(rows, columns, nullptr, prior, chains[b], h[b].data());
        });
    });
    return said_and_learned(chains, h, rows.n_asked, rows.n_classes);
}

nb::tuple py_score_chains(const Arrays& arrays, const Int64s& sizes, const Arrays& learned_arrays, double n_learned,
                          const Vector& prior, const LearnedChains& learned, int64_t n_threads) {
    const size_t t = threads(n_threads), C = prior.size(), n = length(arrays), n_before = length(learned_arrays);
    need(C > 0, "prior has no classes");
    need(n_before <= INT32_MAX, "learned_columns has more rows than can be counted at once");
    const auto columns = columns_of(arrays, sizes, n), before = columns_of(learned_arrays, sizes, n_before);
    for (size_t i = 0; i < columns.size(); ++i)
        if (columns[i].coded != before[i].coded) refuse(column_name(i) + " was learned as another kind");
    const auto& [start, column, m, cuts, flat_trees] = learned;
    auto steps = steps_of(start, column, m, cuts, columns.size());
    const auto trees = views_of(flat_trees, steps.size());
    std::vector<ChainView> chains;
    for (size_t b = 0; b < steps.size(); ++b) chains.push_back({std::move(steps[b]), trees[b]});
    const auto log_sum = zeros<double>(n, C), sum = zeros<double>(n, C);
    without_lock([&] {
        score_chains(chains, columns, {before, static_cast<uint32_t>(n_before)}, n, n_learned, C, prior.data(),
                     log_sum.data, sum.data, t);
    });
    return nb::make_tuple(log_sum.array, sum.array);
}

nb::tuple py_exponent_loss(const Cells<float, 3>& factors, const Uint32s& labels, const OptionalVector& weights,
                           const Vector& exponents, int64_t n_threads) {
    const size_t t = threads(n_threads), n = factors.shape(0), C = factors.shape(1), T = factors.shape(2);
    const auto* by = shaped(weights, "weights", n);
    check_labels({shaped(labels, "labels", n), 4}, n, C);
    shaped(exponents, "exponents", T);
    need(C > 0, "factors has no classes");
    const auto gradient = zeros<double>(T);
    const double loss = without_lock(
        [&] { return exponent_loss(factors.data(), n, C, T, labels.data(), by, exponents.data(), gradient.data, t); });
    return nb::make_tuple(loss, gradient.array);
}

}  // namespace

void bind_ensemble(nb::module_& m) {
    m.def("learn_backoff", &py_learn_backoff, "codes"_a, "sizes"_a, "parents"_a, "columns"_a, "labels"_a, "n_classes"_a,
          "weights"_a.none(), "asked"_a, "n_threads"_a, "m"_a.none() = nb::none());
    m.def("score_backoff", &py_score_backoff, "codes"_a, "sizes"_a, "parents"_a, "columns"_a, "n_classes"_a,
          "learned"_a, "n_threads"_a);
    m.def("learn_chains", &py_learn_chains, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "asked"_a, "parts"_a, "candidates"_a, "cuts"_a, "prior"_a, "n_threads"_a);
    m.def("count_chains", &py_count_chains, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "asked"_a, "start"_a, "column"_a, "m"_a, "cuts"_a, "prior"_a, "n_threads"_a);
    m.def("score_chains", &py_score_chains, "columns"_a, "sizes"_a, "learned_columns"_a, "n_learned"_a, "prior"_a,
          "learned"_a, "n_threads"_a);
    m.def("exponent_loss", &py_exponent_loss, "factors"_a, "labels"_a, "weights"_a.none(), "exponents"_a,
          "n_threads"_a);
}
