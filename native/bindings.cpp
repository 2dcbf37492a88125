// The door: arrays from Python are checked here once, results are made here, and the kernels run without the lock
// of the interpreter.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <optional>

#include "kernels.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bayeskit;

namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Writable = nb::ndarray<nb::device::cpu>;
using Arrays = std::vector<Array>;
using Code = nb::dlpack::dtype_code;

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }
[[noreturn]] void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

std::string column_name(size_t j) { return "column " + std::to_string(j); }

template <class A>
std::string shape_of(const A& array) {
    std::string text = "(";
    for (size_t i = 0; i < array.ndim(); ++i) text += (i ? ", " : "") + std::to_string(array.shape(i));
    return text + (array.ndim() == 1 ? ",)" : ")");
}

template <class A>
bool is_contiguous(const A& array) {
    int64_t expected = 1;
    for (size_t i = array.ndim(); i-- > 0 && array.size() > 0;) {
        if (array.shape(i) > 1 && array.stride(i) != expected) return false;
        expected *= static_cast<int64_t>(array.shape(i));
    }
    return true;
}

template <class A>
bool is(const A& array, Code code, int bits) {
    return array.dtype().code == static_cast<uint8_t>(code) && array.dtype().bits == bits && array.dtype().lanes == 1;
}

size_t threads(int64_t n_threads) {
    if (n_threads < 1) refuse("n_threads is " + std::to_string(n_threads) + ", not 1 or more");
    return static_cast<size_t>(n_threads);
}

size_t classes(int64_t n_classes) {
    if (n_classes < 1) refuse("n_classes is " + std::to_string(n_classes) + ", not 1 or more");
    if (n_classes > UINT32_MAX) refuse("n_classes is " + std::to_string(n_classes) + ", beyond 32 bits");
    return static_cast<size_t>(n_classes);
}

void check_length(const Array& array, const std::string& name, size_t n) {
    if (array.ndim() != 1 || array.shape(0) != n)
        refuse(name + " has shape " + shape_of(array) + ", not (" + std::to_string(n) + ",)");
}

void check_number(const char* name, size_t found, size_t wanted) {
    if (found != wanted)
        refuse(std::to_string(wanted) + " columns, but " + name + " has " + std::to_string(found));
}

size_t length(const Arrays& columns) {
    if (columns.empty()) return 0;
    return columns[0].ndim() == 0 ? 0 : columns[0].shape(0);
}

Floats floats(const Array& array, const std::string& name, size_t n) {
    if (!is(array, Code::Float, 64)) refuse_type(name + " is not float64");
    check_length(array, name, n);
    return {static_cast<const double*>(array.data()), n > 1 ? array.stride(0) : 1};
}

Codes codes(const Array& array, const std::string& name, size_t n) {
    if (!is(array, Code::UInt, 8) && !is(array, Code::UInt, 16) && !is(array, Code::UInt, 32))
        refuse_type(name + " is not uint8, uint16 or uint32");
    check_length(array, name, n);
    if (!is_contiguous(array)) refuse(name + " is not contiguous");
    return {array.data(), array.dtype().bits / 8};
}

Integers integers(const Array& array, const std::string& name, size_t n) {
    Type type;
    if (is(array, Code::Bool, 8) || is(array, Code::UInt, 8)) type = Type::u8;
    else if (is(array, Code::UInt, 16)) type = Type::u16;
    else if (is(array, Code::UInt, 32)) type = Type::u32;
    else if (is(array, Code::UInt, 64)) type = Type::u64;
    else if (is(array, Code::Int, 8)) type = Type::i8;
    else if (is(array, Code::Int, 16)) type = Type::i16;
    else if (is(array, Code::Int, 32)) type = Type::i32;
    else if (is(array, Code::Int, 64)) type = Type::i64;
    else refuse_type(name + " is not an integer or bool column");
    check_length(array, name, n);
    return {array.data(), n > 1 ? array.stride(0) : 1, type};
}

template <class T, class Make>
std::vector<T> all(const Arrays& columns, size_t n, Make make) {
    std::vector<T> out;
    out.reserve(columns.size());
    for (size_t j = 0; j < columns.size(); ++j) out.push_back(make(columns[j], column_name(j), n));
    return out;
}

template <class T>
const T* flat(const Array& array, const std::string& name, size_t n, Code code) {
    if (!is(array, code, 8 * sizeof(T))) refuse_type(name + " has another type than expected");
    check_length(array, name, n);
    if (!is_contiguous(array)) refuse(name + " is not contiguous");
    return static_cast<const T*>(array.data());
}

// (n, classes) or (size, classes), row after row without gaps; classes may be asked for by 0.
template <class A>
void check_matrix(const A& array, const std::string& name, std::optional<size_t> rows, size_t columns) {
    if (!is(array, Code::Float, 64)) refuse_type(name + " is not float64");
    const bool fits = array.ndim() == 2 && (!rows || array.shape(0) == *rows) &&
                      (columns ? array.shape(1) == columns : array.shape(1) > 0);
    if (!fits)
        refuse(name + " has shape " + shape_of(array) + ", not (" + (rows ? std::to_string(*rows) : "size") + ", " +
               (columns ? std::to_string(columns) : "classes) with one class or more: (1 or more") + ")");
    if (!is_contiguous(array)) refuse(name + " is not contiguous");
}

std::vector<size_t> check_sizes(const std::vector<int64_t>& sizes, size_t k) {
    check_number("sizes", sizes.size(), k);
    std::vector<size_t> out;
    for (const int64_t size : sizes) {
        if (size < 0) refuse("size " + std::to_string(size) + " is negative");
        out.push_back(static_cast<size_t>(size));
    }
    return out;
}

// A new NumPy array and where its cells are.
template <class T>
struct Made {
    nb::object array;
    T* data;
};

template <class T, class... Shape>
Made<T> make(const char* how, const char* type, Shape... shape) {
    nb::object array = nb::module_::import_("numpy").attr(how)(nb::make_tuple(shape...), type);
    return {array, static_cast<T*>(nb::cast<Writable>(array).data())};
}

std::vector<MutableCodes> make_codes(const std::vector<int>& widths, size_t n, nb::list& arrays) {
    std::vector<MutableCodes> out;
    for (const int width : widths) {
        const auto made = make<void>("empty", width == 1 ? "uint8" : width == 2 ? "uint16" : "uint32", n);
        arrays.append(made.array);
        out.push_back({made.data, width});
    }
    return out;
}

template <class T>
std::vector<T*> make_tables(const char* type, const std::vector<size_t>& sizes, size_t n_classes, nb::list& arrays) {
    std::vector<T*> out;
    for (const size_t size : sizes) {
        const auto made = make<T>("zeros", type, n_classes, size);
        arrays.append(made.array);
        out.push_back(made.data);
    }
    return out;
}

nb::tuple py_int_ranges(const Arrays& columns, int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    if (n == 0 && !in.empty()) refuse("an empty column has no range");
    const auto low = make<int64_t>("empty", "int64", in.size()), high = make<int64_t>("empty", "int64", in.size());
    {
        nb::gil_scoped_release release;
        int_ranges(in, n, low.data, high.data, t);
    }
    return nb::make_tuple(low.array, high.array);
}

nb::list py_lookup_codes(const Arrays& columns, const Array& lo, const Arrays& tables, const Array& unseen,
                         int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    check_number("lo", lo.ndim() == 1 ? lo.shape(0) : 0, k);
    check_number("tables", tables.size(), k);
    check_number("unseen", unseen.ndim() == 1 ? unseen.shape(0) : 0, k);
    const auto* low = flat<int64_t>(lo, "lo", k, Code::Int);
    const auto* other = flat<uint32_t>(unseen, "unseen", k, Code::UInt);
    std::vector<Table> known;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        const size_t size = tables[j].ndim() == 1 ? tables[j].shape(0) : 0;
        known.push_back({flat<uint32_t>(tables[j], "table " + std::to_string(j), size, Code::UInt), size});
        uint32_t top = other[j];
        for (size_t i = 0; i < size; ++i) top = std::max(top, known[j].data[i]);
        widths.push_back(code_width(top));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    {
        nb::gil_scoped_release release;
        lookup_codes(in, n, low, known, other, out, t);
    }
    return arrays;
}

nb::list py_bin_codes(const Arrays& columns, const Arrays& cuts, int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    check_number("cuts", cuts.size(), k);
    std::vector<Cuts> at;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        const size_t size = cuts[j].ndim() == 1 ? cuts[j].shape(0) : 0;
        const auto* own = flat<double>(cuts[j], "the cuts of column " + std::to_string(j), size, Code::Float);
        for (size_t i = 0; i < size; ++i)
            if (own[i] != own[i] || (i && own[i - 1] > own[i]))
                refuse("the cuts of column " + std::to_string(j) + " are not sorted");
        at.push_back({own, size});
        widths.push_back(code_width(size + 1));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    {
        nb::gil_scoped_release release;
        bin_codes(in, n, at, out, t);
    }
    return arrays;
}

nb::list py_mdl_cuts(const Arrays& columns, const Array& labels, int64_t n_classes,
                     const std::optional<Array>& weights, int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    const auto* by = weights ? flat<double>(*weights, "weights", n, Code::Float) : nullptr;
    std::vector<std::vector<double>> found;
    {
        nb::gil_scoped_release release;
        found = mdl_cuts(in, n, own, c, by, t);
    }
    nb::list arrays;
    for (const auto& cuts : found) {
        const auto made = make<double>("empty", "float64", cuts.size());
        std::copy(cuts.begin(), cuts.end(), made.data);
        arrays.append(made.array);
    }
    return arrays;
}

nb::list py_count_codes(const Arrays& columns, const std::vector<int64_t>& sizes, const Array& labels,
                        int64_t n_classes, const std::optional<Array>& weights, int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    nb::list arrays;
    if (!weights) {
        const auto out = make_tables<int64_t>("int64", size, c, arrays);
        nb::gil_scoped_release release;
        count_codes(in, n, size, own, c, out, t);
    } else {
        const auto* by = flat<double>(*weights, "weights", n, Code::Float);
        const auto out = make_tables<double>("float64", size, c, arrays);
        nb::gil_scoped_release release;
        weigh_codes(in, n, size, own, c, by, out, t);
    }
    return arrays;
}

nb::list py_count_responsibilities(const Arrays& columns, const std::vector<int64_t>& sizes,
                                   const Array& responsibilities, int64_t n_threads) {
    check_matrix(responsibilities, "responsibilities", std::nullopt, 0);
    const size_t n = responsibilities.shape(0), c = responsibilities.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    nb::list arrays;
    const auto out = make_tables<double>("float64", size, c, arrays);
    {
        nb::gil_scoped_release release;
        count_responsibilities(in, n, size, static_cast<const double*>(responsibilities.data()), c, out, t);
    }
    return arrays;
}

struct MadeSums {
    Made<double> arrays[6];
    MomentSums data() const {
        return {arrays[0].data, arrays[1].data, arrays[2].data, arrays[3].data, arrays[4].data,
                arrays[5].data};
    }
    nb::tuple with(const nb::object& n, bool usable) const {
        return nb::make_tuple(n, arrays[0].array, arrays[1].array, arrays[2].array, arrays[3].array, arrays[5].array,
                              usable);
    }
};

MadeSums make_sums(size_t n_classes, size_t n_columns) {
    MadeSums made;
    for (auto& one : made.arrays) one = make<double>("zeros", "float64", n_classes, n_columns);
    return made;
}

nb::tuple py_moments(const Arrays& columns, const Array& labels, int64_t n_classes,
                     const std::optional<Array>& weights, int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    const auto sums = make_sums(c, in.size());
    bool usable;
    if (weights) {
        const auto* by = flat<double>(*weights, "weights", n, Code::Float);
        {
            nb::gil_scoped_release release;
            usable = weighted_moments(in, n, own, c, by, sums.data(), t);
        }
        return sums.with(sums.arrays[4].array, usable);
    }
    const auto count = make<int64_t>("zeros", "int64", c, in.size());
    {
        nb::gil_scoped_release release;
        usable = moments(in, n, own, c, count.data, sums.data(), t);
    }
    return sums.with(count.array, usable);
}

nb::tuple py_moments_responsibilities(const Arrays& columns, const Array& responsibilities, int64_t n_threads) {
    check_matrix(responsibilities, "responsibilities", std::nullopt, 0);
    const size_t n = responsibilities.shape(0), c = responsibilities.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto sums = make_sums(c, in.size());
    bool usable;
    {
        nb::gil_scoped_release release;
        usable = moments_responsibilities(in, n, static_cast<const double*>(responsibilities.data()), c, sums.data(), t);
    }
    return sums.with(sums.arrays[4].array, usable);
}

void py_score_codes(const Arrays& columns, const Arrays& tables, const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    check_number("tables", tables.size(), columns.size());
    std::vector<ScoreTable> known;
    for (size_t j = 0; j < tables.size(); ++j) {
        check_matrix(tables[j], "table " + std::to_string(j), std::nullopt, c);
        known.push_back({static_cast<const double*>(tables[j].data()), tables[j].shape(0)});
    }
    nb::gil_scoped_release release;
    score_codes(in, n, known, c, static_cast<double*>(scores.data()), t);
}

void py_score_gaussian(const Arrays& columns, const Array& mean, const Array& precision, const Array& constant,
                       const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const std::pair<const char*, const Array*> parameters[] = {
        {"mean", &mean}, {"precision", &precision}, {"constant", &constant}};
    for (const auto& [name, array] : parameters) {
        if (!is(*array, Code::Float, 64)) refuse_type(std::string(name) + " is not float64");
        if (array->ndim() != 2 || array->shape(0) != c || array->shape(1) != in.size() || !is_contiguous(*array))
            refuse(std::string(name) + " has shape " + shape_of(*array) + ", not (" + std::to_string(c) + ", " +
                   std::to_string(in.size()) + ") without gaps");
    }
    nb::gil_scoped_release release;
    score_gaussian(in, n, static_cast<const double*>(mean.data()), static_cast<const double*>(precision.data()),
                   static_cast<const double*>(constant.data()), c, static_cast<double*>(scores.data()), t);
}

nb::tuple py_normalise(const Array& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto probabilities = make<double>("empty", "float64", n, c), evidence = make<double>("empty", "float64", n);
    {
        nb::gil_scoped_release release;
        normalise(static_cast<const double*>(scores.data()), n, c, probabilities.data, evidence.data, t);
    }
    return nb::make_tuple(probabilities.array, evidence.array);
}

// A view of the cells of an array of Python objects, for as long as it lives.
class Objects {
public:
    explicit Objects(const nb::object& array) {
        if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) nb::raise_python_error();
        const bool fits = view_.ndim == 1 && view_.format && std::strcmp(view_.format, "O") == 0;
        if (!fits) {
            PyBuffer_Release(&view_);
            refuse_type("cells is no one-dimensional array of objects");
        }
    }
    ~Objects() { PyBuffer_Release(&view_); }
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;
    size_t size() const { return static_cast<size_t>(view_.shape[0]); }
    PyObject* operator[](size_t i) const {
        const char* at = static_cast<const char*>(view_.buf) + static_cast<ptrdiff_t>(i) * view_.strides[0];
        return *reinterpret_cast<PyObject* const*>(at);
    }

private:
    Py_buffer view_;
};

// Reads Python objects, so it keeps the interpreter's lock.
nb::object py_factor_strings(const nb::object& cells, size_t most_others) {
    const Objects objects(cells);
    const size_t n = objects.size();
    const auto indices = make<int32_t>("empty", "int32", n);
    StringIndex index;
    std::deque<PyObject*> others;   // anything but a string is told by its address, which is its key
    constexpr unsigned kOther = 8;  // no width of a character
    PyObject* last[1024] = {};      // the same object over and over is not hashed again
    int32_t known[1024];
    for (size_t i = 0; i < n; ++i) {
        PyObject* const cell = objects[i];
        const size_t at = (reinterpret_cast<uintptr_t>(cell) >> 4) & 1023;
        if (!cell) refuse("cells holds no object in row " + std::to_string(i));
        if (last[at] != cell) {
            last[at] = cell;
            if (PyUnicode_CheckExact(cell)) {
                const unsigned kind = static_cast<unsigned>(PyUnicode_KIND(cell));
                const size_t size = static_cast<size_t>(PyUnicode_GET_LENGTH(cell)) * kind;
                known[at] = index.find_or_add(static_cast<const char*>(PyUnicode_DATA(cell)), size, kind, i);
            } else {
                const size_t before = index.first().size();
                others.push_back(cell);
                known[at] = index.find_or_add(reinterpret_cast<const char*>(&others.back()), sizeof cell, kOther, i);
                if (index.first().size() == before) others.pop_back();
                if (others.size() > most_others) return nb::none();
            }
        }
        indices.data[i] = known[at];
    }
    const auto first = make<int64_t>("empty", "int64", index.first().size());
    std::copy(index.first().begin(), index.first().end(), first.data);
    return nb::make_tuple(indices.array, first.array);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled kernels; each is described, with an example, at its twin in bayeskit._twins.";
    m.def("int_ranges", &py_int_ranges, "columns"_a, "n_threads"_a);
    m.def("lookup_codes", &py_lookup_codes, "columns"_a, "lo"_a, "tables"_a, "unseen"_a, "n_threads"_a);
    m.def("factor_strings", &py_factor_strings, "cells"_a, "most_others"_a);
    m.def("count_codes", &py_count_codes, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "n_threads"_a);
    m.def("count_responsibilities", &py_count_responsibilities, "columns"_a, "sizes"_a, "responsibilities"_a,
          "n_threads"_a);
    m.def("moments", &py_moments, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("moments_responsibilities", &py_moments_responsibilities, "columns"_a, "responsibilities"_a, "n_threads"_a);
    m.def("bin_codes", &py_bin_codes, "columns"_a, "cuts"_a, "n_threads"_a);
    m.def("mdl_cuts", &py_mdl_cuts, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("score_codes", &py_score_codes, "columns"_a, "tables"_a, "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_gaussian", &py_score_gaussian, "columns"_a, "mean"_a, "precision"_a, "constant"_a,
          "scores"_a.noconvert(), "n_threads"_a);
    m.def("normalise", &py_normalise, "scores"_a, "n_threads"_a);
}
