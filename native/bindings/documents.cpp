// Python functions of documents: tokens, words and their evidence. Lists of words are returned without a copy.
#include <mutex>

#include "arrays.hpp"
#include "document_scores.hpp"
#include "simd/word_loops.hpp"
#include "support/utf8.hpp"

namespace {

// Words or documents: bytes, and where each begins.
Texts texts_of(const Bytes& data, const Int64s& offsets, const std::string& name) {
    check_offsets(offsets, "the offsets of " + name, data.size());
    return {data.data(), offsets.data(), offsets.size() - 1};
}

// Bytes of what stands in lower case for a code point, in UTF-8: one code point, or a row of up to three.
uint32_t lower_bytes(const uint32_t* expansions, uint32_t lower) {
    uint8_t room[4];
    if (lower < kCodePoints) return encode(lower, room);
    const uint32_t* several = expansions + 3 * static_cast<size_t>(lower - kCodePoints);
    uint32_t n = 0;
    for (int i = 0; i < 3 && several[i]; ++i) n += encode(several[i], room);
    return n;
}

// What the interpreter knows of code points. A text in lower case has room for three times its bytes (tokenizer.hpp).
UnicodeTables unicode_tables(const Bytes& of_kinds, const Uint32s& of_lower, const Cells<uint32_t, 2>& more) {
    const auto* kinds = shaped(of_kinds, "kinds", kCodePoints);
    const auto* lower = shaped(of_lower, "lower", kCodePoints);
    shaped(more, "expansions", more.shape(0), 3);
    check_indices(more, "expansions", kCodePoints);
    const auto check_point = [&](uint32_t point) {
        uint8_t room[4];
        if (lower[point] >= kCodePoints + more.shape(0)) refuse("a lower case points outside the expansions");
        const uint32_t bytes = point == kReplacement ? 1 : encode(point, room);  // it stands for one that is ill-formed
        if (lower_bytes(more.data(), lower[point]) > 3 * bytes) refuse("a lower case is too long for its code point");
    };
    check_point(kReplacement);
    constexpr uint32_t kStretch = 1024;  // few have one with an expansion; one code point for another always fits
    for (uint32_t first = 0; first < kCodePoints; first += kStretch) {
        uint32_t top = 0;
        for (uint32_t i = 0; i < kStretch; ++i) top = std::max(top, lower[first + i]);
        for (uint32_t i = 0; top >= kCodePoints && i < kStretch; ++i)
            if (lower[first + i] >= kCodePoints) check_point(first + i);
    }
    return {kinds, lower, more.data(), more.shape(0)};
}

// The fields of the Cut of kernels/: pattern, shortest, longest, lowercase, hash_bits, stop_data, stop_offsets, tables,
// shortest_inside, longest_inside.
using GivenTables = std::optional<std::tuple<Bytes, Uint32s, Cells<uint32_t, 2>>>;
using GivenCut = std::tuple<int64_t, int64_t, int64_t, bool, int64_t, Bytes, Int64s, GivenTables, int64_t, int64_t>;

Cut cut_of(const GivenCut& given) {
    const auto& [pattern, shortest, longest, lowercase, bits, stop_data, stop_offsets, tables, first, last] = given;
    if (pattern < 0 || pattern > 4) refuse("there is no pattern " + std::to_string(pattern));
    if (shortest < 1 || longest < shortest) refuse("runs of tokens are from 1 on, the longest last");
    check_between(bits, "hash_bits", 0, 28);
    if ((first || last) && (pattern > 2 || first < 2 || last < first || last > 16))
        refuse("runs of characters beside words are of 2 to 16, the longest last");
    const Texts stop = texts_of(stop_data, stop_offsets, "stop words");
    Cut cut{static_cast<Pattern>(pattern),
            static_cast<size_t>(shortest),
            static_cast<size_t>(longest),
            lowercase,
            static_cast<int>(bits),
            stop.n ? std::make_shared<const WordTable>(index_words(stop)) : nullptr,
            {},
            static_cast<size_t>(first),
            static_cast<size_t>(last)};
    if (tables) cut.tables = std::apply(unicode_tables, *tables);
    return cut;
}

struct WordIndex {
    WordTable table;
    std::unique_ptr<const WordPairs> pairs_;  // made where they are first needed
    std::once_flag made_;

    const WordPairs* pairs() {
        std::call_once(made_, [&] { pairs_ = std::make_unique<const WordPairs>(table); });
        return pairs_.get();
    }
};

nb::tuple py_token_rows(const Bytes& data, const Int64s& offsets, const GivenCut& given_cut, const WordIndex* known,
                        bool in_order, int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const Cut cut = cut_of(given_cut);
    const size_t t = threads(n_threads);
    Rows out = without_lock([&] { return token_rows(texts, cut, known ? &known->table : nullptr, in_order, t); });
    return nb::make_tuple(move_to_array(std::move(out.words.data)), move_to_array(std::move(out.words.offsets)),
                          move_to_array(std::move(out.indptr)), move_to_array(std::move(out.ids)),
                          move_to_array(std::move(out.counts)), move_to_array(std::move(out.lengths)), out.replaced);
}

nb::tuple py_token_classes(const Bytes& data, const Int64s& offsets, const Array& labels, int64_t n_classes,
                           const GivenCut& given_cut, int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const Cut cut = cut_of(given_cut);
    const size_t t = threads(n_threads);
    const Codes own = codes(labels, "labels", texts.n);
    const size_t c = check_between(n_classes, "n_classes", 0, INT32_MAX);
    ByClass out = without_lock([&] {
        check_labels(own, texts.n, c);
        return token_classes(texts, own, c, cut, t);
    });
    return nb::make_tuple(move_to_array(std::move(out.words.data)), move_to_array(std::move(out.words.offsets)),
                          move_to_array(std::move(out.indptr)), move_to_array(std::move(out.classes)),
                          move_to_array(std::move(out.counts)), move_to_array(std::move(out.documents)),
                          move_to_array(std::move(out.lengths)), out.replaced);
}

nb::tuple py_union_words(const Bytes& a_data, const Int64s& a_offsets, const Bytes& b_data, const Int64s& b_offsets) {
    const Texts a = texts_of(a_data, a_offsets, "first words"), b = texts_of(b_data, b_offsets, "second words");
    Union out = without_lock([&] { return union_words(a, b); });
    return nb::make_tuple(move_to_array(std::move(out.words.data)), move_to_array(std::move(out.words.offsets)),
                          move_to_array(std::move(out.first)), move_to_array(std::move(out.second)));
}

nb::object py_hash_texts(const Bytes& data, const Int64s& offsets) {
    const Texts texts = texts_of(data, offsets, "documents");
    return move_to_array(without_lock([&] { return hash_texts(texts); }));
}

void py_score_rows(const Int64s& indptr, const Int32s& ids, const Vector& values, const Matrix& table,
                   const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto* starts = shaped(indptr, "indptr", n + 1);
    check_offsets(indptr, "indptr", ids.size());
    shaped(values, "values", ids.size());
    shaped(table, "table", table.shape(0), c);
    without_lock([&] {
        check_indices(ids, "ids", table.shape(0));
        score_rows(starts, ids.data(), values.data(), ids.size(), table.data(), c, scores.data(), n, t);
    });
}

PooledWords pooled_words(const Matrix& table, double g, const Vector& log_prior, const Vector& constant) {
    const size_t k = log_prior.size();
    if (k < 1 || k > UINT32_MAX) refuse("log_prior has no classes");
    shaped(table, "table", table.shape(0), 2 + 3 * k);
    return {table.data(), table.shape(0), k, g, log_prior.data(), shaped(constant, "constant", k)};
}

nb::object py_score_words(const Int64s& indptr, const Int32s& ids, const Int32s& counts, const Matrix& table, double g,
                          const Vector& log_prior, const Vector& constant, int64_t n_threads) {
    const PooledWords pooled = pooled_words(table, g, log_prior, constant);
    const size_t t = threads(n_threads);
    check_offsets(indptr, "indptr", ids.size());
    shaped(counts, "counts", ids.size());
    const size_t n = indptr.size() - 1;
    const auto scores = empty<double>(n, pooled.n_classes);
    without_lock([&] {
        check_indices(ids, "ids", pooled.n_words);
        score_words(indptr.data(), ids.data(), counts.data(), ids.size(), pooled, scores.data, n, t);
    });
    return scores.array;
}

nb::object py_score_documents(const Bytes& data, const Int64s& offsets, const GivenCut& given_cut, WordIndex& known,
                              const Matrix& table, double g, const Vector& log_prior, const Vector& constant,
                              int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const Cut cut = cut_of(given_cut);
    const PooledWords pooled = pooled_words(table, g, log_prior, constant);
    if (pooled.n_words != known.table.size())
        refuse("table has " + std::to_string(pooled.n_words) + " rows, not one for each of " +
               std::to_string(known.table.size()) + " words");
    const size_t t = threads(n_threads);
    const auto scores = empty<double>(texts.n, pooled.n_classes);
    without_lock([&] {
        const WordPairs* pairs = cuts_pairs(cut) ? known.pairs() : nullptr;
        score_documents(texts, cut, known.table, pairs, pooled, scores.data, t);
    });
    return scores.array;
}

constexpr int64_t kMostRounds = 1000;

// Documents of counted words and their classes, and the masses of words by class.
Documents documents_of(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                       const Uint32s& labels, const Matrix& class_mass, const Bytes& bands) {
    const size_t n = labels.size(), n_cells = words.size(), n_words = class_mass.shape(0);
    const Documents made{n,
                         shaped(start, "start", n + 1),
                         words.data(),
                         shaped(counts, "counts", n_cells),
                         shaped(mass, "mass", n_cells),
                         labels.data(),
                         n_words,
                         count_classes(class_mass, "class_mass"),
                         class_mass.data(),
                         shaped(bands, "bands", n_words)};
    check_offsets(start, "start", n_cells);
    check_indices(words, "words", n_words);
    check_indices(bands, "bands", 8);
    check_labels({made.labels, 4}, n, made.n_classes);
    for (size_t i = 0; i < n_cells; ++i) need(counts[i] > 0, "a word is counted 0 times");
    return made;
}

nb::object py_left_out_evidence(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                                const Uint32s& labels, const Matrix& class_mass, const Bytes& bands, double a,
                                bool both, int64_t n_threads) {
    const Documents in = documents_of(start, words, counts, mass, labels, class_mass, bands);
    const size_t t = threads(n_threads);
    const auto out = empty<double>(in.n, both ? size_t{18} : size_t{9}, in.n_classes);
    without_lock([&] { left_out_evidence(in, a, both, out.data, t); });
    return out.array;
}

nb::object py_left_out_scores(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                              const Uint32s& labels, const Matrix& class_mass, const Bytes& bands,
                              const Matrix& weights, double a, int64_t n_threads) {
    const Documents in = documents_of(start, words, counts, mass, labels, class_mass, bands);
    const size_t t = threads(n_threads);
    const auto* by = shaped(weights, "weights", in.n_classes > 2 ? 2 : 1, 9);
    const auto out = empty<double>(in.n, in.n_classes);
    without_lock([&] { left_out_scores(in, by, a, out.data, t); });
    return out.array;
}

nb::tuple py_softmax_loss(const Cells<double, 3>& features, const Vector& scale, const Vector& importance,
                          const Vector& weights, const Vector& bias, const Uint32s& labels, int64_t n_threads) {
    const auto [n, f, k] = features.shape();
    const size_t t = threads(n_threads);
    if (k == 0) refuse("features has no class");
    const auto *by = shaped(scale, "scale", n), *times = shaped(importance, "importance", n);
    const auto *w = shaped(weights, "weights", f), *b = shaped(bias, "bias", k);
    const auto* own = shaped(labels, "labels", n);
    check_labels({own, 4}, n, k);
    const auto slopes = zeros<double>(f), bias_slopes = zeros<double>(k);
    const double loss = without_lock([&, n = n, f = f, k = k] {
        return softmax_loss(features.data(), n, f, k, by, times, w, b, own, slopes.data, bias_slopes.data, t);
    });
    return nb::make_tuple(loss, slopes.array, bias_slopes.array);
}

nb::tuple py_fit_ridge_logistic(const Int64s& start, const Uint32s& words, const Cells<float, 1>& values,
                                const Cells<float, 2>& offsets, const Uint32s& labels, const Cells<float, 1>& costs,
                                int64_t n_classes, const Int64s& visited, const Cells<float, 2>& table,
                                const Cells<float, 2>& beta, uint64_t seed, double stop, int64_t most_rounds) {
    const size_t n = labels.size(), k = check_between(n_classes, "n_classes", 2, UINT16_MAX), width = width_of(k);
    const size_t rounds_allowed = check_between(most_rounds, "most_rounds", 0, kMostRounds);
    if (table.shape(0) == 0) refuse("table has no row of the constant");
    const size_t n_words = table.shape(0) - 1;
    shaped(table, "table", n_words + 1, width);
    shaped(beta, "beta", n, width);
    const auto* starts = shaped(start, "start", n + 1);
    const RidgeDocuments d{n,
                           n_words,
                           starts,
                           words.data(),
                           shaped(values, "values", words.size()),
                           shaped(offsets, "offsets", n, width),
                           shaped(costs, "costs", n),
                           labels.data()};
    check_offsets(start, "start", words.size());
    check_indices(words, "words", n_words);
    check_indices(visited, "visited", n);
    check_labels({d.labels, 4}, n, k);
    const auto fitted = empty<float>(n_words + 1, width), made = empty<float>(n, width);
    std::copy(table.data(), table.data() + table.size(), fitted.data);
    std::copy(beta.data(), beta.data() + beta.size(), made.data);
    const size_t rounds = without_lock([&] {
        return fit_ridge_logistic(d, k, {visited.data(), visited.data() + visited.size()}, seed, stop, rounds_allowed,
                                  fitted.data, made.data);
    });
    return nb::make_tuple(fitted.array, made.array, rounds);
}

}  // namespace

void bind_documents(nb::module_& m) {
    nb::class_<WordIndex>(m, "WordIndex")
        .def("__init__",
             [](WordIndex* self, const Bytes& data, const Int64s& offsets) {
        new (self) WordIndex{index_words(texts_of(data, offsets, "words")), nullptr, {}};
    }, "data"_a, "offsets"_a)
        .def("find",
             [](const WordIndex& self, const Bytes& data, const Int64s& offsets) {
        return move_to_array(find_words(self.table, texts_of(data, offsets, "words")));
    }, "data"_a, "offsets"_a)
        .def("__len__", [](const WordIndex& self) { return self.table.size(); });
    m.def("text_alphabet", [](const Bytes& data) { return text_alphabet(data.data(), data.size()); }, "data"_a);
    m.def("token_rows", &py_token_rows, "data"_a, "offsets"_a, "cut"_a, "known"_a.none(), "in_order"_a, "n_threads"_a);
    m.def("token_classes", &py_token_classes, "data"_a, "offsets"_a, "labels"_a, "n_classes"_a, "cut"_a, "n_threads"_a);
    m.def("union_words", &py_union_words, "a_data"_a, "a_offsets"_a, "b_data"_a, "b_offsets"_a);
    m.def("hash_texts", &py_hash_texts, "data"_a, "offsets"_a);
    m.def("score_rows", &py_score_rows, "indptr"_a, "ids"_a, "values"_a, "table"_a, "scores"_a, "n_threads"_a);
    m.def("score_words", &py_score_words, "indptr"_a, "ids"_a, "counts"_a, "table"_a, "g"_a, "log_prior"_a,
          "constant"_a, "n_threads"_a);
    m.def("score_documents", &py_score_documents, "data"_a, "offsets"_a, "cut"_a, "known"_a, "table"_a, "g"_a,
          "log_prior"_a, "constant"_a, "n_threads"_a);
    m.def("left_out_evidence", &py_left_out_evidence, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "a"_a, "both"_a, "n_threads"_a);
    m.def("left_out_scores", &py_left_out_scores, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "weights"_a, "a"_a, "n_threads"_a);
    m.def("softmax_loss", &py_softmax_loss, "features"_a, "scale"_a, "importance"_a, "weights"_a, "bias"_a, "labels"_a,
          "n_threads"_a);
    m.def("fit_ridge_logistic", &py_fit_ridge_logistic, "start"_a, "words"_a, "values"_a, "offsets"_a, "labels"_a,
          "costs"_a, "n_classes"_a, "visited"_a, "table"_a, "beta"_a, "seed"_a, "stop"_a, "most_rounds"_a);
}
