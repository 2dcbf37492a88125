// The door of the token kernels: arrays are checked here once, results are handed over without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernels.hpp"
#include "tokens.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bayeskit;

namespace {

template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Scores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

Texts texts_of(const Flat<uint8_t>& data, const Flat<int64_t>& offsets, const char* name) {
    const size_t n = offsets.shape(0);
    const int64_t* at = offsets.data();
    if (n == 0 || at[0] < 0 || at[n - 1] > static_cast<int64_t>(data.shape(0)))
        refuse(std::string(name) + ": the offsets do not fit the " + std::to_string(data.shape(0)) + " bytes");
    for (size_t i = 1; i < n; ++i)
        if (at[i] < at[i - 1]) refuse(std::string(name) + ": offset " + std::to_string(i) + " is below the one before");
    return {data.data(), at, n - 1};
}

size_t threads(int64_t n_threads) {
    if (n_threads < 1) refuse("n_threads is " + std::to_string(n_threads) + ", not 1 or more");
    return static_cast<size_t>(n_threads);
}

// The fields of _token_twins.Cut, and its arrays for as long as they are used.
struct CutArgument {
    Cut cut;
    Flat<uint8_t> kinds;
    Flat<uint32_t> lower;
    nb::ndarray<const uint32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> more;

    explicit CutArgument(const nb::tuple& given) {
        if (nb::len(given) != 8) refuse("a cut has 8 fields");
        const int64_t pattern = nb::cast<int64_t>(given[0]), shortest = nb::cast<int64_t>(given[1]),
                      longest = nb::cast<int64_t>(given[2]), bits = nb::cast<int64_t>(given[4]);
        if (pattern < 0 || pattern > 4) refuse("there is no pattern " + std::to_string(pattern));
        if (shortest < 1 || longest < shortest) refuse("runs of tokens are from 1 on, the longest last");
        if (bits < 0 || bits > 28) refuse("hash_bits is " + std::to_string(bits) + ", not from 0 to 28");
        cut.pattern = static_cast<Pattern>(pattern);
        cut.shortest = static_cast<size_t>(shortest);
        cut.longest = static_cast<size_t>(longest);
        cut.lowercase = nb::cast<bool>(given[3]);
        cut.hash_bits = static_cast<int>(bits);
        const auto stop_data = nb::cast<Flat<uint8_t>>(given[5]);
        const auto stop_offsets = nb::cast<Flat<int64_t>>(given[6]);
        const Texts stop = texts_of(stop_data, stop_offsets, "stop words");
        if (stop.n) cut.stop = std::make_shared<const WordTable>(index_words(stop));
        if (given[7].is_none()) return;
        const auto tables = nb::cast<nb::tuple>(given[7]);
        kinds = nb::cast<decltype(kinds)>(tables[0]);
        lower = nb::cast<decltype(lower)>(tables[1]);
        more = nb::cast<decltype(more)>(tables[2]);
        if (kinds.shape(0) != kCodePoints || lower.shape(0) != kCodePoints) refuse("a Unicode table has the wrong size");
        for (size_t i = 0; i < kCodePoints; ++i)
            if (lower.data()[i] >= kCodePoints + more.shape(0)) refuse("a lower case points outside the expansions");
        for (size_t i = 0; i < 3 * more.shape(0); ++i)
            if (more.data()[i] >= kCodePoints) refuse("an expansion is no code point");
        cut.tables = {kinds.data(), lower.data(), more.data(), more.shape(0)};
    }
};

struct WordIndex {
    WordTable table;
};

nb::tuple py_token_rows(const Flat<uint8_t>& data, const Flat<int64_t>& offsets, const nb::tuple& cut,
                        const WordIndex* known, bool in_order, int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const CutArgument how(cut);
    const size_t t = threads(n_threads);
    Rows out;
    {
        nb::gil_scoped_release release;
        out = token_rows(texts, how.cut, known ? &known->table : nullptr, in_order, t);
    }
    return nb::make_tuple(array_of(std::move(out.words.data)), array_of(std::move(out.words.offsets)),
                          array_of(std::move(out.indptr)), array_of(std::move(out.ids)), array_of(std::move(out.counts)),
                          array_of(std::move(out.lengths)), out.replaced);
}

nb::tuple py_token_classes(const Flat<uint8_t>& data, const Flat<int64_t>& offsets, const Labels& labels,
                           int64_t n_classes, const nb::tuple& cut, int64_t n_threads) {
    const Texts texts = texts_of(data, offsets, "documents");
    const CutArgument how(cut);
    const size_t t = threads(n_threads);
    const int bits = labels.dtype().bits;
    if (labels.dtype().code != static_cast<uint8_t>(nb::dlpack::dtype_code::UInt) || bits > 32)
        throw nb::type_error("labels are not uint8, uint16 or uint32");
    if (labels.shape(0) != texts.n) refuse("one label a document");
    if (n_classes < 0 || n_classes > INT32_MAX) refuse("n_classes is " + std::to_string(n_classes));
    const Codes codes{labels.data(), bits / 8};
    ByClass out;
    {
        nb::gil_scoped_release release;
        check_labels(codes, texts.n, static_cast<size_t>(n_classes));
        out = token_classes(texts, codes, static_cast<size_t>(n_classes), how.cut, t);
    }
    return nb::make_tuple(array_of(std::move(out.words.data)), array_of(std::move(out.words.offsets)),
                          array_of(std::move(out.indptr)), array_of(std::move(out.classes)),
                          array_of(std::move(out.counts)), array_of(std::move(out.documents)),
                          array_of(std::move(out.lengths)), out.replaced);
}

nb::tuple py_union_words(const Flat<uint8_t>& a_data, const Flat<int64_t>& a_offsets, const Flat<uint8_t>& b_data,
                         const Flat<int64_t>& b_offsets) {
    const Texts a = texts_of(a_data, a_offsets, "first words"), b = texts_of(b_data, b_offsets, "second words");
    Union out;
    {
        nb::gil_scoped_release release;
        out = union_words(a, b);
    }
    return nb::make_tuple(array_of(std::move(out.words.data)), array_of(std::move(out.words.offsets)),
                          array_of(std::move(out.first)), array_of(std::move(out.second)));
}

void py_score_rows(const Flat<int64_t>& indptr, const Flat<int32_t>& ids, const Flat<double>& values,
                   const Matrix& table, const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads), n_cells = ids.shape(0);
    if (indptr.shape(0) != n + 1 || indptr.data()[0] < 0 || indptr.data()[n] > static_cast<int64_t>(n_cells))
        refuse("indptr does not fit the scores and ids");
    for (size_t i = 0; i < n; ++i)
        if (indptr.data()[i] > indptr.data()[i + 1]) refuse("indptr falls at row " + std::to_string(i));
    if (values.shape(0) != n_cells) refuse("one value for each of the ids");
    if (table.shape(1) != c) refuse("the table has " + std::to_string(table.shape(1)) + " classes, the scores " + std::to_string(c));
    nb::gil_scoped_release release;
    score_rows(indptr.data(), ids.data(), values.data(), n_cells, table.data(), table.shape(0), c, scores.data(), n, t);
}

}  // namespace

void bind_tokens(nb::module_& m) {
    nb::class_<WordIndex>(m, "WordIndex")
        .def("__init__",
             [](WordIndex* self, const Flat<uint8_t>& data, const Flat<int64_t>& offsets) {
                 new (self) WordIndex{index_words(texts_of(data, offsets, "words"))};
             },
             "data"_a, "offsets"_a)
        .def("find",
             [](const WordIndex& self, const Flat<uint8_t>& data, const Flat<int64_t>& offsets) {
                 return array_of(find_words(self.table, texts_of(data, offsets, "words")));
             },
             "data"_a, "offsets"_a)
        .def("__len__", [](const WordIndex& self) { return self.table.size(); });
    m.def("text_alphabet", [](const Flat<uint8_t>& data) { return text_alphabet(data.data(), data.shape(0)); }, "data"_a);
    m.def("token_rows", &py_token_rows, "data"_a, "offsets"_a, "cut"_a, "known"_a.none(), "in_order"_a, "n_threads"_a);
    m.def("token_classes", &py_token_classes, "data"_a, "offsets"_a, "labels"_a, "n_classes"_a, "cut"_a, "n_threads"_a);
    m.def("union_words", &py_union_words, "a_data"_a, "a_offsets"_a, "b_data"_a, "b_offsets"_a);
    m.def("score_rows", &py_score_rows, "indptr"_a, "ids"_a, "values"_a, "table"_a, "scores"_a.noconvert(), "n_threads"_a);
}
