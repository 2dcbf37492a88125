// Doors of the kernels of hidden Markov models.
#include "states.hpp"

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"

namespace {

using Given = std::optional<Array>;
using GivenNormals = std::optional<std::tuple<Arrays, Array, Array, Array, Array>>;

// What all of them take, checked; it holds what the kernels point to.
class Door {
public:
    Door(const Array& logs, const Given& codes_, const Given& labels_, const Given& allowed,
         const GivenNormals& numbers, const Array& starts, const Array& log_start, const Array& log_transition,
         const Given& before, const Given& after) {
        const Cells<double, 2> table(logs, "logs");
        const Cells<double, 2> moves(log_transition, "log_transition");
        const Cells<int64_t, 1> begins(starts, "starts");
        k = table.shape(1);
        if (k < 1 || k > 65536) refuse("logs have " + std::to_string(k) + " states, not from 1 to 65536");
        if (moves.shape(0) != k || moves.shape(1) != k) refuse("log_transition is not (states, states)");
        n = codes_ ? length_of(*codes_) : table.shape(0);
        if (numbers) read_numbers(*numbers, table.shape(0), codes_.has_value());
        if (codes_) codes_of_ = codes(*codes_, "codes", n);
        if (labels_.has_value() != allowed.has_value()) refuse("labels and what they allow come together");
        if (labels_) {
            labels_of_ = codes(*labels_, "labels", n);
            const Cells<uint8_t, 2> open(*allowed, "allowed");
            if (open.shape(1) != k) refuse("allowed is not (labels, states)");
            check_codes(*labels_of_, open.shape(0), "labels");
            allowed_ = open.data();
        }
        if (codes_) check_codes(*codes_of_, table.shape(0), "codes");
        bool fits = begins.size() > 0 && begins[0] == 0 && begins[begins.size() - 1] == static_cast<int64_t>(n);
        for (size_t i = 1; fits && i < begins.size(); ++i) fits = begins[i - 1] <= begins[i];
        if (!fits) refuse("starts do not fit the " + std::to_string(n) + " rows");
        n_sequences = begins.size() - 1;
        rows = {
            n,        table.data(), table.shape(0), codes_ ? &*codes_of_ : nullptr, labels_ ? &*labels_of_ : nullptr,
            allowed_, n_sequences,  begins.data(),  numbers ? &normals_ : nullptr};
        chain = {k, flat<double>(log_start, "log_start", k), moves.data(),
                 before ? flat<double>(*before, "before", k) : nullptr,
                 after ? flat<double>(*after, "after", k) : nullptr};
    }
    Door(const Door&) = delete;

    int path_width() const { return k <= 256 ? 1 : 2; }
    Made<void> make_path(size_t n_paths) const {
        const char* type = path_width() == 1 ? "uint8" : "uint16";
        return n_paths ? make<void>("zeros", type, n_paths, n) : make<void>("zeros", type, n);
    }
    int64_t check_last(int64_t last) const {
        if (last < -1 || last >= static_cast<int64_t>(k)) refuse("last is no state");
        return last;
    }

    size_t n, k, n_sequences;
    Observed rows;
    HiddenChain chain;

private:
    void read_numbers(const std::tuple<Arrays, Array, Array, Array, Array>& given, size_t n_logs, bool coded) {
        const auto& [columns, mean, precision, constant, centre] = given;
        if (coded || n_logs) refuse("rows of numbers have no symbols and no logs beside them");
        if (columns.empty()) refuse("there is no column of numbers");
        n = length(columns);
        const auto table = [&](const Array& array, const char* name) {
            const Cells<double, 2> cells(array, name);
            if (cells.shape(0) != k || cells.shape(1) != columns.size())
                refuse(std::string(name) + " is not (states, columns)");
            return cells.data();
        };
        normals_ = {all<Floats>(columns, n, floats), table(mean, "mean"), table(precision, "precision"),
                    table(constant, "constant"), flat<double>(centre, "centre", columns.size())};
    }
    static size_t length_of(const Array& array) { return array.ndim() ? array.shape(0) : 0; }
    void check_codes(const Codes& column, size_t size, const char* name) const {
        const bool fits = with_type(column, [&](const auto* cells) {
            return std::all_of(cells, cells + n, [&](size_t cell) { return cell < size; });
        });
        if (!fits) refuse(std::string(name) + " reach beyond the " + std::to_string(size) + " there are");
    }
    std::optional<Codes> codes_of_, labels_of_;
    const uint8_t* allowed_ = nullptr;
    NormalColumns normals_;
};

nb::tuple py_filter_states(const Array& logs, const Given& codes, const Given& labels, const Given& allowed,
                           const GivenNormals& normals, const Array& starts, const Array& log_start,
                           const Array& log_transition, const Given& before, bool every, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Door in(logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, std::nullopt);
    const auto log_likelihoods = make<double>("zeros", "float64", in.n_sequences);
    const auto impossible = make<int64_t>("zeros", "int64", in.n_sequences);
    const auto filtered = make<double>("zeros", "float64", every ? in.n : in.n_sequences, in.k);
    without_lock(
        [&] { filter_states(in.rows, in.chain, every, filtered.data, log_likelihoods.data, impossible.data, t); });
    return nb::make_tuple(log_likelihoods.array, impossible.array, filtered.array);
}

nb::tuple py_count_states(const Array& logs, const Given& codes, const Given& labels, const Given& allowed,
                          const GivenNormals& normals, const Array& starts, const Array& log_start,
                          const Array& log_transition, const Given& before, const Given& after, bool by_row,
                          int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Door in(logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, after);
    if (!by_row && !codes && !normals) refuse("symbols are counted by their codes, or numbers are summed");
    const bool summed = !by_row && normals;
    const auto log_likelihoods = make<double>("zeros", "float64", in.n_sequences);
    const auto impossible = make<int64_t>("zeros", "int64", in.n_sequences);
    const auto first = make<double>("zeros", "float64", in.k);
    const auto transitions = make<double>("zeros", "float64", in.k, in.k);
    const auto shares = summed ? make<double>("zeros", "float64", 3, in.k, in.rows.normals->columns.size())
                               : make<double>("zeros", "float64", by_row ? in.n : in.rows.n_logs, in.k);
    const auto follows = make<double>("zeros", "float64", in.k);
    without_lock([&] {
        count_states(in.rows, in.chain,
                     {first.data, transitions.data, by_row || summed ? nullptr : shares.data,
                      by_row ? shares.data : nullptr, summed ? shares.data : nullptr, follows.data},
                     log_likelihoods.data, impossible.data, t);
    });
    return nb::make_tuple(log_likelihoods.array, impossible.array, first.array, transitions.array, shares.array,
                          follows.array);
}

nb::tuple py_best_states(const Array& logs, const Given& codes, const Given& labels, const Given& allowed,
                         const GivenNormals& normals, const Array& starts, const Array& log_start,
                         const Array& log_transition, const Given& before, int64_t last, bool keep, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Door in(logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, std::nullopt);
    in.check_last(last);
    const auto path = keep ? in.make_path(0) : Made<void>{nb::none(), nullptr};
    const auto scores = make<double>("zeros", "float64", in.n_sequences);
    const auto ends = make<double>("zeros", "float64", in.k);
    int64_t came_from = -1;
    without_lock([&] {
        best_states(in.rows, in.chain, last, {{path.data, in.path_width()}, scores.data, ends.data, &came_from}, t);
    });
    return nb::make_tuple(path.array, scores.array, ends.array, came_from);
}

nb::tuple py_draw_states(const Array& logs, const Given& codes, const Given& labels, const Given& allowed,
                         const GivenNormals& normals, const Array& starts, const Array& log_start,
                         const Array& log_transition, const Given& before, int64_t last, const Array& uniforms,
                         int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Door in(logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, std::nullopt);
    in.check_last(last);
    const auto* chances = flat<double>(uniforms, "uniforms", in.n + 1);
    const auto path = in.make_path(0);
    const auto log_likelihoods = make<double>("zeros", "float64", in.n_sequences);
    int64_t came_from = -1;
    without_lock([&] {
        draw_states(in.rows, in.chain, last, chances,
                    {{path.data, in.path_width()}, log_likelihoods.data, nullptr, &came_from}, t);
    });
    return nb::make_tuple(path.array, log_likelihoods.array, came_from);
}

nb::tuple py_k_best_states(const Array& logs, const Given& codes, const Given& labels, const Given& allowed,
                           const GivenNormals& normals, const Array& starts, const Array& log_start,
                           const Array& log_transition, int64_t k, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Door in(logs, codes, labels, allowed, normals, starts, log_start, log_transition, std::nullopt, std::nullopt);
    if (k < 1 || k > 65536 || static_cast<size_t>(k) * in.k > UINT32_MAX)
        refuse("k is " + std::to_string(k) + ", not from 1 to 65536");
    const auto wanted = static_cast<size_t>(k);
    times(times(in.n, in.k, "rows and states"), wanted * 4, "rows, states and k");
    const auto paths = in.make_path(wanted);
    const auto scores = make<double>("zeros", "float64", in.n_sequences, wanted);
    without_lock([&] { k_best_states(in.rows, in.chain, wanted, {paths.data, in.path_width()}, scores.data, t); });
    return nb::make_tuple(paths.array, scores.array);
}

nb::tuple py_weigh_numbers(const Arrays& columns, const Array& centre, const Array& shares, int64_t n_threads) {
    const size_t t = threads(n_threads);
    check_matrix(shares, "shares", std::nullopt, 0);
    const size_t n = shares.shape(0), k = shares.shape(1);
    const auto in = all<Floats>(columns, n, floats);
    const auto* centres = flat<double>(centre, "centre", in.size());
    const auto weight = make<double>("zeros", "float64", k, in.size());
    const auto first = make<double>("zeros", "float64", k, in.size());
    const auto second = make<double>("zeros", "float64", k, in.size());
    without_lock([&] {
        weigh_numbers(in, n, centres, static_cast<const double*>(shares.data()), k, weight.data, first.data,
                      second.data, t);
    });
    return nb::make_tuple(weight.array, first.array, second.array);
}

NormalRow normal_row(const Array& mean, const Array& precision, const Array& constant) {
    const Cells<double, 2> means(mean, "mean"), widths(precision, "precision"), peaks(constant, "constant");
    const size_t k = means.shape(0), d = means.shape(1);
    if (k < 1 || k > 65536) refuse("mean has " + std::to_string(k) + " states, not from 1 to 65536");
    for (const auto* table : {&widths, &peaks})
        if (table->shape(0) != k || table->shape(1) != d) refuse("mean, precision and constant differ in shape");
    return NormalRow({std::vector<Floats>(d), means.data(), widths.data(), peaks.data(), nullptr}, k);
}

nb::tuple py_score(const NormalRow& self, const std::vector<double>& cells) {
    if (cells.size() != self.n_columns) refuse("a row has " + std::to_string(self.n_columns) + " cells");
    const auto made = make<double>("empty", "float64", 2, self.n_states);
    const double top = self.score(cells.data(), made.data, made.data + self.n_states);
    return nb::make_tuple(made.array, top);
}

}  // namespace

void bind_states(nb::module_& m) {
    nb::class_<NormalRow>(m, "NormalRow")
        .def("__init__",
             [](NormalRow* self, const Array& mean, const Array& precision, const Array& constant) {
        new (self) NormalRow(normal_row(mean, precision, constant));
    }, "mean"_a, "precision"_a, "constant"_a)
        .def("score", &py_score, "cells"_a);
    m.def("filter_states", &py_filter_states, "logs"_a, "codes"_a.none(), "labels"_a.none(), "allowed"_a.none(),
          "normals"_a.none(), "starts"_a, "log_start"_a, "log_transition"_a, "before"_a.none(), "every"_a,
          "n_threads"_a);
    m.def("count_states", &py_count_states, "logs"_a, "codes"_a.none(), "labels"_a.none(), "allowed"_a.none(),
          "normals"_a.none(), "starts"_a, "log_start"_a, "log_transition"_a, "before"_a.none(), "after"_a.none(),
          "by_row"_a, "n_threads"_a);
    m.def("weigh_numbers", &py_weigh_numbers, "columns"_a, "centre"_a, "shares"_a, "n_threads"_a);
    m.def("best_states", &py_best_states, "logs"_a, "codes"_a.none(), "labels"_a.none(), "allowed"_a.none(),
          "normals"_a.none(), "starts"_a, "log_start"_a, "log_transition"_a, "before"_a.none(), "last"_a, "keep"_a,
          "n_threads"_a);
    m.def("draw_states", &py_draw_states, "logs"_a, "codes"_a.none(), "labels"_a.none(), "allowed"_a.none(),
          "normals"_a.none(), "starts"_a, "log_start"_a, "log_transition"_a, "before"_a.none(), "last"_a, "uniforms"_a,
          "n_threads"_a);
    m.def("k_best_states", &py_k_best_states, "logs"_a, "codes"_a.none(), "labels"_a.none(), "allowed"_a.none(),
          "normals"_a.none(), "starts"_a, "log_start"_a, "log_transition"_a, "k"_a, "n_threads"_a);
}
