// The door of the token kernels: arrays are checked here once, results are handed over without a copy.
#include "tokens.hpp"

#include <mutex>

#include "arrays.hpp"
#include "document_scores.hpp"
#include "support/utf8.hpp"

void bind_tokens(nb::module_& m);

namespace {

template <class T>
nb::object array_of(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

template <class T>
nb::object array_of(Buffer<T>&& values) {
    auto* owned = new Buffer<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// Words or documents: bytes, and where each begins.
Texts texts_of(const Array& bytes, const Array& starts, const std::string& name) {
    const Cells<uint8_t, 1> data(bytes, name + ": data");
    const Cells<int64_t, 1> offsets(starts, name + ": offsets");
    const size_t n = offsets.size();
    if (n == 0 || offsets[0] < 0 || offsets[n - 1] > static_cast<int64_t>(data.size()))
        refuse(name + ": the offsets do not fit the " + std::to_string(data.size()) + " bytes");
    for (size_t i = 1; i < n; ++i)
        if (offsets[i] < offsets[i - 1]) refuse(name + ": offset " + std::to_string(i) + " is below the one before");
    return {data.data(), offsets.data(), n - 1};
}

template <class T>
T field(const nb::tuple& given, size_t i, const char* name) {
    T value;
    if (!nb::try_cast(given[i], value)) refuse_type(std::string(name) + " has another type in a cut");
    return value;
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

// What the interpreter knows of code points. A text in lower case has room for three times its bytes (normal_text.hpp).
UnicodeTables unicode_tables(const Array& of_kinds, const Array& of_lower, const Array& of_expansions) {
    const auto* kinds = flat<uint8_t>(of_kinds, "kinds", kCodePoints);
    const auto* lower = flat<uint32_t>(of_lower, "lower", kCodePoints);
    const Cells<uint32_t, 2> more(of_expansions, "expansions");
    if (more.shape(1) != 3) refuse("expansions are rows of three code points");
    for (size_t i = 0; i < more.size(); ++i)
        if (more[i] >= kCodePoints) refuse("an expansion is no code point");
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

// The fields of token_twins.Cut, and its arrays for as long as they are used.
struct CutArgument {
    Cut cut;

    explicit CutArgument(const nb::object& object) {
        nb::tuple given;
        if (!nb::try_cast(object, given) || nb::len(given) != 10) refuse("a cut has 10 fields");
        const auto pattern = field<int64_t>(given, 0, "pattern"), shortest = field<int64_t>(given, 1, "shortest"),
                   longest = field<int64_t>(given, 2, "longest"), bits = field<int64_t>(given, 4, "hash_bits");
        if (pattern < 0 || pattern > 4) refuse("there is no pattern " + std::to_string(pattern));
        if (shortest < 1 || longest < shortest) refuse("runs of tokens are from 1 on, the longest last");
        if (bits < 0 || bits > 28) refuse("hash_bits is " + std::to_string(bits) + ", not from 0 to 28");
        const auto stop_data = field<Array>(given, 5, "stop_data"),
                   stop_offsets = field<Array>(given, 6, "stop_offsets");
        const Texts stop = texts_of(stop_data, stop_offsets, "stop words");
        cut = {static_cast<Pattern>(pattern),
               static_cast<size_t>(shortest),
               static_cast<size_t>(longest),
               field<bool>(given, 3, "lowercase"),
               static_cast<int>(bits),
               nullptr,
               {}};
        const auto first = field<int64_t>(given, 8, "shortest_inside"),
                   last = field<int64_t>(given, 9, "longest_inside");
        if ((first || last) && (pattern > 2 || first < 2 || last < first || last > 16))
            refuse("runs of characters beside words are of 2 to 16, the longest last");
        cut.shortest_inside = static_cast<size_t>(first);
        cut.longest_inside = static_cast<size_t>(last);
        if (stop.n) cut.stop = std::make_shared<const WordTable>(index_words(stop));
        if (given[7].is_none()) return;
        const auto tables = field<nb::tuple>(given, 7, "tables");
        if (nb::len(tables) != 3) refuse("the Unicode tables are three");
        for (size_t i = 0; i < 3; ++i) tables_[i] = field<Array>(tables, i, "tables");
        cut.tables = unicode_tables(tables_[0], tables_[1], tables_[2]);
    }

private:
    Array tables_[3];
};

struct WordIndex {
    WordTable table;
    std::unique_ptr<const WordPairs> pairs_;  // made where they are first needed
    std::once_flag made_;

    const WordPairs* pairs() {
        std::call_once(made_, [&] { pairs_ = std::make_unique<const WordPairs>(table); });
        return pairs_.get();
    }
};

nb::tuple py_token_rows(const Array& data, const Array& offsets, const nb::object& cut, const WordIndex* known,
                        bool in_order, int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const CutArgument how(cut);
    const size_t t = threads(n_threads);
    Rows out;
    without_lock([&] { out = token_rows(texts, how.cut, known ? &known->table : nullptr, in_order, t); });
    return nb::make_tuple(array_of(std::move(out.words.data)), array_of(std::move(out.words.offsets)),
                          array_of(std::move(out.indptr)), array_of(std::move(out.ids)),
                          array_of(std::move(out.counts)), array_of(std::move(out.lengths)), out.replaced);
}

nb::tuple py_token_classes(const Array& data, const Array& offsets, const Array& labels, int64_t n_classes,
                           const nb::object& cut, int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const CutArgument how(cut);
    const size_t t = threads(n_threads);
    const Codes own = codes(labels, "labels", texts.n);
    if (n_classes < 0 || n_classes > INT32_MAX) refuse("n_classes is " + std::to_string(n_classes));
    ByClass out;
    without_lock([&] {
        check_labels(own, texts.n, static_cast<size_t>(n_classes));
        out = token_classes(texts, own, static_cast<size_t>(n_classes), how.cut, t);
    });
    return nb::make_tuple(array_of(std::move(out.words.data)), array_of(std::move(out.words.offsets)),
                          array_of(std::move(out.indptr)), array_of(std::move(out.classes)),
                          array_of(std::move(out.counts)), array_of(std::move(out.documents)),
                          array_of(std::move(out.lengths)), out.replaced);
}

nb::tuple py_union_words(const Array& a_data, const Array& a_offsets, const Array& b_data, const Array& b_offsets) {
    const Texts a = texts_of(a_data, a_offsets, "first words"), b = texts_of(b_data, b_offsets, "second words");
    Union out;
    without_lock([&] { out = union_words(a, b); });
    return nb::make_tuple(array_of(std::move(out.words.data)), array_of(std::move(out.words.offsets)),
                          array_of(std::move(out.first)), array_of(std::move(out.second)));
}

// Where the cells of n documents begin, and the last one ends.
const int64_t* starts_of(const Array& starts, size_t n, size_t n_cells) {
    const auto* indptr = flat<int64_t>(starts, "indptr", n + 1);
    if (indptr[0] < 0 || indptr[n] > static_cast<int64_t>(n_cells)) refuse("indptr does not fit the ids");
    for (size_t i = 0; i < n; ++i)
        if (indptr[i] > indptr[i + 1]) refuse("indptr falls at row " + std::to_string(i));
    return indptr;
}

void py_score_rows(const Array& starts, const Array& words, const Array& numbers, const Array& table,
                   const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const Cells<int32_t, 1> ids(words, "ids");
    const auto* indptr = starts_of(starts, n, ids.size());
    const auto* values = flat<double>(numbers, "values", ids.size());
    check_matrix(table, "table", std::nullopt, c);
    without_lock([&] {
        score_rows(indptr, ids.data(), values, ids.size(), static_cast<const double*>(table.data()), table.shape(0), c,
                   static_cast<double*>(scores.data()), n, t);
    });
}

PooledWords pooled_words(const Array& table, double g, const Array& log_prior, const Array& constant) {
    const Cells<double, 1> prior(log_prior, "log_prior");
    const size_t k = prior.size();
    const Cells<double, 2> rows(table, "table");
    if (k < 1 || k > UINT32_MAX || rows.shape(1) != 2 + 3 * k)
        refuse("table has " + std::to_string(rows.shape(1)) + " columns, not 2 and three for each of " +
               std::to_string(k) + " classes");
    return {rows.data(), rows.shape(0), k, g, prior.data(), flat<double>(constant, "constant", k)};
}

nb::object py_score_words(const Array& starts, const Array& words, const Array& numbers, const Array& table, double g,
                          const Array& log_prior, const Array& constant, int64_t n_threads) {
    const PooledWords pooled = pooled_words(table, g, log_prior, constant);
    const size_t t = threads(n_threads), n = length({starts}) ? length({starts}) - 1 : 0;
    const Cells<int32_t, 1> ids(words, "ids");
    const auto* indptr = starts_of(starts, n, ids.size());
    const auto* counts = flat<int32_t>(numbers, "counts", ids.size());
    const auto scores = make<double>("empty", "float64", n, pooled.n_classes);
    without_lock([&] { score_words(indptr, ids.data(), counts, ids.size(), pooled, scores.data, n, t); });
    return scores.array;
}

nb::object py_score_documents(const Array& data, const Array& offsets, const nb::object& cut, WordIndex& known,
                              const Array& table, double g, const Array& log_prior, const Array& constant,
                              int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const CutArgument how(cut);
    const PooledWords pooled = pooled_words(table, g, log_prior, constant);
    if (pooled.n_words != known.table.size())
        refuse("table has " + std::to_string(pooled.n_words) + " rows, not one for each of " +
               std::to_string(known.table.size()) + " words");
    const size_t t = threads(n_threads);
    const auto scores = make<double>("empty", "float64", texts.n, pooled.n_classes);
    without_lock([&] {
        const WordPairs* pairs = cuts_pairs(how.cut) ? known.pairs() : nullptr;
        score_documents(texts, how.cut, known.table, pairs, pooled, scores.data, t);
    });
    return scores.array;
}

}  // namespace

void bind_tokens(nb::module_& m) {
    nb::class_<WordIndex>(m, "WordIndex")
        .def("__init__",
             [](WordIndex* self, const Array& data, const Array& offsets) {
        new (self) WordIndex{index_words(texts_of(data, offsets, "words")), nullptr, {}};
    }, "data"_a, "offsets"_a)
        .def("find",
             [](const WordIndex& self, const Array& data, const Array& offsets) {
        return array_of(find_words(self.table, texts_of(data, offsets, "words")));
    }, "data"_a, "offsets"_a)
        .def("__len__", [](const WordIndex& self) { return self.table.size(); });
    m.def("text_alphabet", [](const Array& data) {
        const Cells<uint8_t, 1> bytes(data, "data");
        return text_alphabet(bytes.data(), bytes.size());
    }, "data"_a);
    m.def("token_rows", &py_token_rows, "data"_a, "offsets"_a, "cut"_a, "known"_a.none(), "in_order"_a, "n_threads"_a);
    m.def("token_classes", &py_token_classes, "data"_a, "offsets"_a, "labels"_a, "n_classes"_a, "cut"_a, "n_threads"_a);
    m.def("union_words", &py_union_words, "a_data"_a, "a_offsets"_a, "b_data"_a, "b_offsets"_a);
    m.def("score_rows", &py_score_rows, "indptr"_a, "ids"_a, "values"_a, "table"_a, "scores"_a.noconvert(),
          "n_threads"_a);
    m.def("score_words", &py_score_words, "indptr"_a, "ids"_a, "counts"_a, "table"_a, "g"_a, "log_prior"_a,
          "constant"_a, "n_threads"_a);
    m.def("score_documents", &py_score_documents, "data"_a, "offsets"_a, "cut"_a, "known"_a, "table"_a, "g"_a,
          "log_prior"_a, "constant"_a, "n_threads"_a);
}
