// Python functions of hidden Markov models and of tags of words.
#include "arrays.hpp"
#include "hidden_markov.hpp"

namespace {

using GivenCodes = std::optional<Array>;
using Allowed = std::optional<ByteMatrix>;
using Normals = std::tuple<Arrays, Matrix, Matrix, Matrix, Vector>;

// The arguments that all functions take, checked.
class Arguments {
public:
    Arguments(const Matrix& table, const GivenCodes& codes_, const GivenCodes& labels_, const Allowed& allowed,
              const std::optional<Normals>& numbers, const Int64s& begins, const Vector& log_start,
              const Matrix& log_transition) {
        k = table.shape(1);
        if (k < 1 || k > 65536) refuse("logs have " + std::to_string(k) + " states, not from 1 to 65536");
        n = codes_ ? length(*codes_) : table.shape(0);
        if (numbers) read_numbers(*numbers, table.shape(0), codes_.has_value());
        if (codes_) codes_of_ = codes(*codes_, "codes", n);
        if (labels_.has_value() != allowed.has_value()) refuse("labels and what they allow come together");
        if (labels_) {
            labels_of_ = codes(*labels_, "labels", n);
            check_codes(*labels_of_, allowed->shape(0), "labels");
            allowed_ = shaped(*allowed, "allowed", allowed->shape(0), k);
        }
        if (codes_) check_codes(*codes_of_, table.shape(0), "codes");
        check_offsets(begins, "starts", n, true);
        n_sequences = begins.size() - 1;
        rows = {
            n,        table.data(), table.shape(0), codes_ ? &*codes_of_ : nullptr, labels_ ? &*labels_of_ : nullptr,
            allowed_, n_sequences,  begins.data(),  numbers ? &normals_ : nullptr};
        chain = {k, shaped(log_start, "log_start", k), shaped(log_transition, "log_transition", k, k), nullptr,
                 nullptr};
    }
    Arguments(const Arguments&) = delete;

    // What is known of the states before the first row and after the last.
    void set_ends(const OptionalVector& before, const OptionalVector& after = std::nullopt) {
        chain.before = shaped(before, "before", k);
        chain.after = shaped(after, "after", k);
    }

    int path_width() const { return k <= 256 ? 1 : 2; }
    Made<void> make_path(size_t n_paths) const {
        const char* type = path_width() == 1 ? "uint8" : "uint16";
        return n_paths ? make<void>("zeros", type, n_paths, n) : make<void>("zeros", type, n);
    }
    void check_last(int64_t last) const { check_between(last, "last", -1, static_cast<int64_t>(k) - 1); }

    size_t n, k, n_sequences;
    Observed rows;
    HiddenChain chain;

private:
    void read_numbers(const Normals& given, size_t n_logs, bool coded) {
        const auto& [columns, mean, precision, constant, center] = given;
        const size_t d = columns.size();
        if (coded || n_logs) refuse("rows of numbers have no symbols and no logs beside them");
        if (columns.empty()) refuse("there is no column of numbers");
        n = length(columns);
        normals_ = {all<Floats>(columns, n, floats), shaped(mean, "mean", k, d), shaped(precision, "precision", k, d),
                    shaped(constant, "constant", k, d), shaped(center, "center", d)};
    }
    void check_codes(const Codes& column, size_t size, const char* name) const {
        if (n && largest(column, n) >= size)
            refuse(std::string(name) + " reach beyond the " + std::to_string(size) + " there are");
    }
    std::optional<Codes> codes_of_, labels_of_;
    const uint8_t* allowed_ = nullptr;
    NormalColumns normals_;
};

nb::tuple py_filter_states(Arguments& in, const OptionalVector& before, bool every, int64_t n_threads) {
    const size_t t = threads(n_threads);
    in.set_ends(before);
    const auto log_likelihoods = zeros<double>(in.n_sequences);
    const auto impossible = zeros<int64_t>(in.n_sequences);
    const auto filtered = zeros<double>(every ? in.n : in.n_sequences, in.k);
    without_lock(
        [&] { filter_states(in.rows, in.chain, every, filtered.data, log_likelihoods.data, impossible.data, t); });
    return nb::make_tuple(log_likelihoods.array, impossible.array, filtered.array);
}

nb::tuple py_count_states(Arguments& in, const OptionalVector& before, const OptionalVector& after, bool by_row,
                          int64_t n_threads) {
    const size_t t = threads(n_threads);
    in.set_ends(before, after);
    need(by_row || in.rows.codes || in.rows.normals, "symbols are counted by their codes, or numbers are summed");
    const bool summed = !by_row && in.rows.normals;
    const auto log_likelihoods = zeros<double>(in.n_sequences);
    const auto impossible = zeros<int64_t>(in.n_sequences);
    const auto first = zeros<double>(in.k);
    const auto transitions = zeros<double>(in.k, in.k);
    const auto shares = summed ? zeros<double>(3, in.k, in.rows.normals->columns.size())
                               : zeros<double>(by_row ? in.n : in.rows.n_logs, in.k);
    const auto follows = zeros<double>(in.k);
    without_lock([&] {
        count_states(in.rows, in.chain,
                     {first.data, transitions.data, by_row || summed ? nullptr : shares.data,
                      by_row ? shares.data : nullptr, summed ? shares.data : nullptr, follows.data},
                     log_likelihoods.data, impossible.data, t);
    });
    return nb::make_tuple(log_likelihoods.array, impossible.array, first.array, transitions.array, shares.array,
                          follows.array);
}

nb::tuple py_best_states(Arguments& in, const OptionalVector& before, int64_t last, bool keep, int64_t n_threads) {
    const size_t t = threads(n_threads);
    in.set_ends(before);
    in.check_last(last);
    const auto path = keep ? in.make_path(0) : Made<void>{nb::none(), nullptr};
    const auto scores = zeros<double>(in.n_sequences);
    const auto ends = zeros<double>(in.k);
    int64_t came_from = -1;
    without_lock([&] {
        best_states(in.rows, in.chain, last, {{path.data, in.path_width()}, scores.data, ends.data, &came_from}, t);
    });
    return nb::make_tuple(path.array, scores.array, ends.array, came_from);
}

nb::tuple py_draw_states(Arguments& in, const OptionalVector& before, int64_t last, const Vector& uniforms,
                         int64_t n_threads) {
    const size_t t = threads(n_threads);
    in.set_ends(before);
    in.check_last(last);
    const auto* chances = shaped(uniforms, "uniforms", in.n + 1);
    const auto path = in.make_path(0);
    const auto log_likelihoods = zeros<double>(in.n_sequences);
    int64_t came_from = -1;
    without_lock([&] {
        draw_states(in.rows, in.chain, last, chances,
                    {{path.data, in.path_width()}, log_likelihoods.data, nullptr, &came_from}, t);
    });
    return nb::make_tuple(path.array, log_likelihoods.array, came_from);
}

nb::tuple py_k_best_states(Arguments& in, int64_t k, int64_t n_threads) {
    const size_t t = threads(n_threads);
    if (k < 1 || k > 65536 || static_cast<size_t>(k) * in.k > UINT32_MAX)
        refuse("k is " + std::to_string(k) + ", not from 1 to 65536");
    const auto wanted = static_cast<size_t>(k);
    times(times(in.n, in.k, "rows and states"), wanted * 4, "rows, states and k");
    const auto paths = in.make_path(wanted);
    const auto scores = zeros<double>(in.n_sequences, wanted);
    without_lock([&] { k_best_states(in.rows, in.chain, wanted, {paths.data, in.path_width()}, scores.data, t); });
    return nb::make_tuple(paths.array, scores.array);
}

nb::tuple py_weigh_numbers(const Arrays& columns, const Vector& center, const Matrix& shares, int64_t n_threads) {
    const size_t t = threads(n_threads), n = shares.shape(0), k = count_classes(shares, "shares");
    const auto in = all<Floats>(columns, n, floats);
    const size_t d = in.size();
    shaped(center, "center", d);
    const auto weight = zeros<double>(k, d), first = zeros<double>(k, d), second = zeros<double>(k, d);
    without_lock(
        [&] { weigh_numbers(in, n, center.data(), shares.data(), k, weight.data, first.data, second.data, t); });
    return nb::make_tuple(weight.array, first.array, second.array);
}

NormalRow normal_row(const Matrix& mean, const Matrix& precision, const Matrix& constant) {
    const auto [k, d] = mean.shape();
    if (k < 1 || k > 65536) refuse("mean has " + std::to_string(k) + " states, not from 1 to 65536");
    return NormalRow({std::vector<Floats>(d), mean.data(), shaped(precision, "precision", k, d),
                      shaped(constant, "constant", k, d), nullptr},
                     k);
}

nb::tuple py_score(const NormalRow& self, const std::vector<double>& cells) {
    if (cells.size() != self.n_columns) refuse("a row has " + std::to_string(self.n_columns) + " cells");
    const auto made = empty<double>(2, self.n_states);
    const double top = self.score(cells.data(), made.data, made.data + self.n_states);
    return nb::make_tuple(made.array, top);
}

// Define a function of the shared arguments and some more.
template <class... More, class... Names>
void define(nb::module_& m, const char* name, nb::tuple (*call)(Arguments&, More...), const Names&... more_names) {
    m.def(name,
          [call](const Matrix& logs, const GivenCodes& codes, const GivenCodes& labels, const Allowed& allowed,
                 const std::optional<Normals>& normals, const Int64s& starts, const Vector& log_start,
                 const Matrix& log_transition, More... more) {
        Arguments in(logs, codes, labels, allowed, normals, starts, log_start, log_transition);
        return call(in, more...);
    },
          "logs"_a, "codes"_a.none(), "labels"_a.none(), "allowed"_a.none(), "normals"_a.none(), "starts"_a,
          "log_start"_a, "log_transition"_a, more_names..., "n_threads"_a);
}

nb::tuple py_tree_candidates(const Int32s& depth, const Vector& weight, const Int64s& indptr, const Int32s& states,
                             const Vector& counts, const Vector& base, double within) {
    const size_t n = depth.size();
    shaped(weight, "weight", n);
    shaped(indptr, "indptr", n + 1);
    shaped(counts, "counts", states.size());
    for (size_t i = 0; i < n; ++i)
        if (depth[i] < 0 || (i == 0 ? depth[i] > 0 : depth[i] > depth[i - 1] + 1))
            refuse("depth is no depth-first order");
    check_offsets(indptr, "indptr", states.size(), true);
    check_indices(states, "states", base.size());
    std::vector<int64_t> ends;
    std::vector<int32_t> kept;
    std::vector<double> scores;
    without_lock([&] {
        tree_candidates({n, depth.data(), weight.data(), indptr.data(), states.data(), counts.data()}, base.data(),
                        base.size(), within, ends, kept, scores);
    });
    return nb::make_tuple(copy_to_array(ends), copy_to_array(kept), copy_to_array(scores));
}

nb::tuple py_best_tags(const Int64s& first, const Int64s& last, const Int64s& starts, const Int32s& states,
                       const Vector& scores, const Matrix& pairs, const Cells<int32_t, 2>& contexts,
                       const Int64s& indptr, const Int32s& successors, const Vector& logs, int64_t n_threads) {
    const size_t t = threads(n_threads), n = first.size(), width = pairs.shape(0);
    shaped(last, "last", n);
    shaped(scores, "scores", states.size());
    shaped(logs, "logs", successors.size());
    shaped(pairs, "pairs", width, width);
    shaped(contexts, "contexts", width, width);
    if (!width) refuse("pairs has no states");
    check_offsets(starts, "starts", n, true);
    check_offsets(indptr, "indptr", successors.size(), true);
    check_indices(states, "states", width - 1);
    for (size_t i = 1; i < indptr.size(); ++i)
        if (const int64_t size = indptr[i] - indptr[i - 1]; size > 0 && (size & (size - 1)))
            refuse("the slots of a pair of states are no power of two");
    for (size_t i = 0; i < n; ++i)
        if (first[i] < 0 || first[i] >= last[i] || last[i] > static_cast<int64_t>(states.size()))
            refuse("a word has no candidates, or some beyond the list");
    for (size_t i = 0; i < contexts.size(); ++i)
        if (contexts[i] < -1 || contexts[i] >= static_cast<int64_t>(indptr.size()) - 1)
            refuse("contexts reach beyond indptr");
    const auto path = zeros<int32_t>(n);
    const auto totals = zeros<double>(starts.size() - 1);
    without_lock([&] {
        best_tags({n, starts.size() - 1, first.data(), last.data(), starts.data(), states.data(), scores.data()},
                  {width - 1, pairs.data(), contexts.data(), indptr.data(), successors.data(), logs.data()}, path.data,
                  totals.data, t);
    });
    return nb::make_tuple(path.array, totals.array);
}

}  // namespace

void bind_sequences(nb::module_& m) {
    nb::class_<NormalRow>(m, "NormalRow")
        .def("__init__",
             [](NormalRow* self, const Matrix& mean, const Matrix& precision, const Matrix& constant) {
        new (self) NormalRow(normal_row(mean, precision, constant));
    }, "mean"_a, "precision"_a, "constant"_a)
        .def("score", &py_score, "cells"_a);
    define(m, "filter_states", py_filter_states, "before"_a.none(), "every"_a);
    define(m, "count_states", py_count_states, "before"_a.none(), "after"_a.none(), "by_row"_a);
    define(m, "best_states", py_best_states, "before"_a.none(), "last"_a, "keep"_a);
    define(m, "draw_states", py_draw_states, "before"_a.none(), "last"_a, "uniforms"_a);
    define(m, "k_best_states", py_k_best_states, "k"_a);
    m.def("weigh_numbers", &py_weigh_numbers, "columns"_a, "center"_a, "shares"_a, "n_threads"_a);
    m.def("tree_candidates", &py_tree_candidates, "depth"_a, "weight"_a, "indptr"_a, "states"_a, "counts"_a, "base"_a,
          "within"_a);
    m.def("best_tags", &py_best_tags, "first"_a, "last"_a, "starts"_a, "states"_a, "scores"_a, "pairs"_a, "contexts"_a,
          "indptr"_a, "successors"_a, "logs"_a, "n_threads"_a);
}
