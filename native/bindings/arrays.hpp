// Arrays from Python, checked, and arrays made for it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bayeskit;

namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Writable = nb::ndarray<nb::device::cpu>;
using Arrays = std::vector<Array>;
using Code = nb::dlpack::dtype_code;

[[noreturn]] inline void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }
[[noreturn]] inline void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

inline std::string column_name(size_t j) { return "column " + std::to_string(j); }

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

template <class T, class A>
bool holds(const A& array) {
    return is(array,
              std::is_floating_point_v<T> ? Code::Float
              : std::is_signed_v<T>       ? Code::Int
                                          : Code::UInt,
              8 * sizeof(T));
}

template <class T>
std::string type_name() {
    const char* kind = std::is_floating_point_v<T> ? "float" : std::is_signed_v<T> ? "int" : "uint";
    return kind + std::to_string(8 * sizeof(T));
}

// Cells that stand where their type cannot be read are refused: a view of bytes, a field of packed records.
template <class A>
void check_aligned(const A& array, const std::string& name) {
    const size_t bytes = std::max<size_t>(array.dtype().bits / 8, 1);
    if (array.size() > 0 && reinterpret_cast<uintptr_t>(array.data()) % bytes) refuse(name + " is not aligned");
}

template <class A>
void check_layout(const A& array, const std::string& name) {
    if (!is_contiguous(array)) refuse(name + " is not contiguous");
    check_aligned(array, name);
}

inline size_t threads(int64_t n_threads) {
    if (n_threads < 1 || n_threads > static_cast<int64_t>(kMostThreads))
        refuse("n_threads is " + std::to_string(n_threads) + ", not from 1 to " + std::to_string(kMostThreads));
    return static_cast<size_t>(n_threads);
}

// Numbers of cells multiplied; beyond what an array can have they are refused, for they would wrap around.
inline size_t times(size_t a, size_t b, const char* name) {
    if (b && a > static_cast<size_t>(PTRDIFF_MAX) / b) refuse(std::string(name) + " are too large together");
    return a * b;
}

// What a kernel does runs without the interpreter's lock: so it may touch no Python object, nor hand one out.
template <class Work>
auto without_lock(const Work& work) {
    static_assert(!std::is_base_of_v<nb::handle, decltype(work())>, "a reference count would move without the lock");
    const nb::gil_scoped_release release;
    return work();
}

inline size_t classes(int64_t n_classes) {
    if (n_classes < 1) refuse("n_classes is " + std::to_string(n_classes) + ", not 1 or more");
    if (n_classes > UINT32_MAX) refuse("n_classes is " + std::to_string(n_classes) + ", beyond 32 bits");
    return static_cast<size_t>(n_classes);
}

inline void check_length(const Array& array, const std::string& name, size_t n) {
    if (array.ndim() != 1 || array.shape(0) != n)
        refuse(name + " has shape " + shape_of(array) + ", not (" + std::to_string(n) + ",)");
}

inline void check_number(const char* name, size_t found, size_t wanted) {
    if (found != wanted) refuse(std::to_string(wanted) + " columns, but " + name + " has " + std::to_string(found));
}

inline size_t length(const Arrays& columns) {
    if (columns.empty()) return 0;
    return columns[0].ndim() == 0 ? 0 : columns[0].shape(0);
}

inline Floats floats(const Array& array, const std::string& name, size_t n) {
    if (!is(array, Code::Float, 64)) refuse_type(name + " is not float64");
    check_length(array, name, n);
    check_aligned(array, name);
    return {static_cast<const double*>(array.data()), n > 1 ? array.stride(0) : 1};
}

inline Codes codes(const Array& array, const std::string& name, size_t n) {
    if (!is(array, Code::UInt, 8) && !is(array, Code::UInt, 16) && !is(array, Code::UInt, 32))
        refuse_type(name + " is not uint8, uint16 or uint32");
    check_length(array, name, n);
    check_layout(array, name);
    return {array.data(), array.dtype().bits / 8};
}

inline Integers integers(const Array& array, const std::string& name, size_t n) {
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
    check_aligned(array, name);
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
const T* flat(const Array& array, const std::string& name, size_t n) {
    if (!holds<T>(array)) refuse_type(name + " is not " + type_name<T>());
    check_length(array, name, n);
    check_layout(array, name);
    return static_cast<const T*>(array.data());
}

// An array of so many axes without gaps, of any length.
template <class T, size_t Axes>
class Cells {
public:
    Cells(const Array& array, const std::string& name) {
        if (!holds<T>(array)) refuse_type(name + " is not " + type_name<T>());
        if (array.ndim() != Axes)
            refuse(name + " has shape " + shape_of(array) + ", not one of axes: " + std::to_string(Axes));
        check_layout(array, name);
        data_ = static_cast<const T*>(array.data());
        size_ = array.size();
        for (size_t i = 0; i < Axes; ++i) shape_[i] = array.shape(i);
    }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    size_t shape(size_t i) const { return shape_[i]; }
    T operator[](size_t i) const { return data_[i]; }

private:
    const T* data_;
    size_t size_;
    std::array<size_t, Axes> shape_;
};

// (n, classes) or (size, classes), row after row without gaps; classes may be asked for by 0.
template <class A>
void check_matrix(const A& array, const std::string& name, std::optional<size_t> rows, size_t columns) {
    if (!is(array, Code::Float, 64)) refuse_type(name + " is not float64");
    const bool fits = array.ndim() == 2 && (!rows || array.shape(0) == *rows) &&
                      (columns ? array.shape(1) == columns : array.shape(1) > 0);
    if (!fits)
        refuse(name + " has shape " + shape_of(array) + ", not (" + (rows ? std::to_string(*rows) : "size") + ", " +
               (columns ? std::to_string(columns) : "classes) with one class or more: (1 or more") + ")");
    check_layout(array, name);
}

constexpr int64_t kMostCodes = int64_t{1} << 32;

inline std::vector<size_t> check_sizes(const std::vector<int64_t>& sizes, size_t k) {
    check_number("sizes", sizes.size(), k);
    std::vector<size_t> out;
    for (const int64_t size : sizes) {
        if (size < 0 || size > kMostCodes)
            refuse("size " + std::to_string(size) + " is negative, or more than codes can tell apart");
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

inline std::vector<MutableCodes> make_codes(const std::vector<int>& widths, size_t n, nb::list& arrays) {
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

}  // namespace
