// Arrays from Python and arrays made for Python.
//
// The types of the arguments check element type, number of axes, contiguity and alignment; nothing is converted or
// copied. The functions here check shapes, and the bindings check every index.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>

#include "kernels.hpp"
#include "support/buffer.hpp"
#include "support/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace bayeskit;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Arrays = std::vector<Array>;
using Code = nb::dlpack::dtype_code;

// A contiguous array of T, which may be const.
template <class T, size_t Axes>
class Block : public nb::ndarray<T, nb::ndim<Axes>, nb::c_contig, nb::device::cpu> {
public:
    using Base = nb::ndarray<T, nb::ndim<Axes>, nb::c_contig, nb::device::cpu>;
    Block() = default;
    explicit Block(Base&& array) : Base(std::move(array)), size_(Base::size()) {
        for (size_t i = 0; i < Axes; ++i) shape_[i] = Base::shape(i);
    }
    size_t size() const { return size_; }
    size_t shape(size_t i) const { return shape_[i]; }
    const std::array<size_t, Axes>& shape() const { return shape_; }
    T& operator[](size_t i) const { return this->data()[i]; }

private:
    size_t size_ = 0;
    std::array<size_t, Axes> shape_{};
};

template <class T, size_t Axes>
using Cells = Block<const T, Axes>;
using Vector = Cells<double, 1>;
using Matrix = Cells<double, 2>;
using Bytes = Cells<uint8_t, 1>;
using ByteMatrix = Cells<uint8_t, 2>;
using Int32s = Cells<int32_t, 1>;
using Int64s = Cells<int64_t, 1>;
using Uint32s = Cells<uint32_t, 1>;
using OptionalVector = std::optional<Vector>;
using Scores = Block<double, 2>;  // written to

template <class A>
bool is_aligned(const A& array) {
    const size_t bytes = std::max<size_t>(array.dtype().bits / 8, 1);
    return array.size() == 0 || reinterpret_cast<uintptr_t>(array.data()) % bytes == 0;
}

template <class T, size_t Axes>
struct nb::detail::type_caster<Block<T, Axes>> {
    using Type = Block<T, Axes>;
    using Base = typename Type::Base;
    NB_TYPE_CASTER(Type, make_caster<Base>::Name)

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Base> base;
        if (!base.from_python(source, flags & ~static_cast<uint32_t>(cast_flags::convert), cleanup)) return false;
        value = Type(std::move(base.value));
        return is_aligned(value);
    }
};

namespace {

[[noreturn]] inline void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }
[[noreturn]] inline void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

inline void need(bool holds, const char* otherwise) {
    if (!holds) refuse(otherwise);
}

inline std::string column_name(size_t j) { return "column " + std::to_string(j); }
inline std::string table_name(size_t j) { return "table " + std::to_string(j); }

template <class Shape>
std::string shape_text(const Shape& shape) {
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

// The cells of an array that has to have this shape.
template <class T, size_t Axes, class... Shape>
T* shaped(const Block<T, Axes>& block, const std::string& name, Shape... shape) {
    static_assert(sizeof...(shape) == Axes);
    const std::array<size_t, Axes> wanted{static_cast<size_t>(shape)...};
    if (block.shape() != wanted)
        refuse(name + " has shape " + shape_text(block.shape()) + ", not " + shape_text(wanted));
    return block.data();
}

template <class T>
const T* shaped(const std::optional<Cells<T, 1>>& block, const std::string& name, size_t n) {
    return block ? shaped(*block, name, n) : nullptr;
}

// The number of columns of a table with a column for each class.
template <class T>
size_t count_classes(const Block<T, 2>& block, const char* name) {
    if (!block.shape(1)) refuse(std::string(name) + " has shape " + shape_text(block.shape()) + ", without a class");
    return block.shape(1);
}

// Offsets rise within the `size` cells; those of parts from the first cell to the last.
inline void check_offsets(const Int64s& offsets, const std::string& name, size_t size, bool are_parts = false) {
    const size_t n = offsets.size();
    const auto end = static_cast<int64_t>(size);
    bool fits = n > 0 && offsets[0] >= 0 && offsets[n - 1] <= end;
    if (fits && are_parts) fits = offsets[0] == 0 && offsets[n - 1] == end;
    for (size_t i = 1; fits && i < n; ++i) fits = offsets[i - 1] <= offsets[i];
    if (!fits) refuse(name + " do not fit the " + std::to_string(size) + " cells");
}

// Indices are from 0 to `bound` - 1; a negative one is a large one without its sign.
template <class T>
void check_indices(const T* indices, size_t n, const char* name, size_t bound) {
    std::make_unsigned_t<T> top = 0;
    for (size_t i = 0; i < n; ++i) top = std::max(top, static_cast<std::make_unsigned_t<T>>(indices[i]));
    const auto is_beyond = [bound](T index) { return static_cast<uint64_t>(index) >= bound; };
    if (n && is_beyond(static_cast<T>(top)))
        refuse(std::string(name) + " hold " + std::to_string(*std::find_if(indices, indices + n, is_beyond)) +
               ", not from 0 to below " + std::to_string(bound));
}
template <class T, size_t Axes>
void check_indices(const Block<const T, Axes>& indices, const char* name, size_t bound) {
    check_indices(indices.data(), indices.size(), name, bound);
}

inline size_t check_between(int64_t number, const char* name, int64_t least, int64_t most) {
    if (number < least || number > most)
        refuse(std::string(name) + " is " + std::to_string(number) + ", not from " + std::to_string(least) + " to " +
               std::to_string(most));
    return static_cast<size_t>(number);
}

inline size_t threads(int64_t n_threads) {
    return check_between(n_threads, "n_threads", 1, static_cast<int64_t>(kMostThreads));
}
inline size_t classes(int64_t n_classes, int64_t most = UINT32_MAX) {
    return check_between(n_classes, "n_classes", 1, most);
}

// Multiply numbers of cells; a product beyond what an array can have would wrap around and is refused.
inline size_t times(size_t a, size_t b, const char* name) {
    if (b && a > static_cast<size_t>(PTRDIFF_MAX) / b) refuse(std::string(name) + " are too large together");
    return a * b;
}

// A kernel runs without the interpreter's lock, so it may touch no Python object and return none.
template <class Work>
auto without_lock(const Work& work) {
    static_assert(!std::is_base_of_v<nb::handle, decltype(work())>, "a reference count would move without the lock");
    const nb::gil_scoped_release release;
    return work();
}

template <class A>
bool is(const A& array, Code code, int bits) {
    return array.dtype().code == static_cast<uint8_t>(code) && array.dtype().bits == bits && array.dtype().lanes == 1;
}

template <class A>
bool holds_codes(const A& array) {
    return is(array, Code::UInt, 8) || is(array, Code::UInt, 16) || is(array, Code::UInt, 32);
}

inline void check_column(const Array& array, const std::string& name, size_t n) {
    if (array.ndim() != 1 || array.shape(0) != n) refuse(name + " is not one of " + std::to_string(n) + " rows");
    if (!is_aligned(array)) refuse(name + " is not aligned");
}

inline void check_number(const char* name, size_t found, size_t wanted) {
    if (found != wanted) refuse(std::to_string(wanted) + " columns, but " + name + " has " + std::to_string(found));
}

inline size_t length(const Array& column) { return column.ndim() ? column.shape(0) : 0; }
inline size_t length(const Arrays& columns) { return columns.empty() ? 0 : length(columns[0]); }

inline ptrdiff_t step(const Array& array, size_t n) { return n > 1 ? array.stride(0) : 1; }

inline Floats floats(const Array& array, const std::string& name, size_t n) {
    if (!is(array, Code::Float, 64)) refuse_type(name + " is not float64");
    check_column(array, name, n);
    return {static_cast<const double*>(array.data()), step(array, n)};
}

inline Codes codes(const Array& array, const std::string& name, size_t n) {
    if (!holds_codes(array)) refuse_type(name + " is not uint8, uint16 or uint32");
    check_column(array, name, n);
    if (step(array, n) != 1) refuse(name + " is not contiguous");
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
    check_column(array, name, n);
    return {array.data(), step(array, n), type};
}

template <class T, class Make>
std::vector<T> all(const Arrays& columns, size_t n, Make make) {
    std::vector<T> out;
    out.reserve(columns.size());
    for (size_t j = 0; j < columns.size(); ++j) out.push_back(make(columns[j], column_name(j), n));
    return out;
}

constexpr int64_t kMostCodes = int64_t{1} << 32;

inline std::vector<size_t> check_sizes(const std::vector<int64_t>& sizes, size_t k) {
    check_number("sizes", sizes.size(), k);
    std::vector<size_t> out;
    for (const int64_t size : sizes) out.push_back(check_between(size, "a size", 0, kMostCodes));
    return out;
}

// A new NumPy array and its cells.
template <class T>
struct Made {
    nb::object array;
    T* data;
};

template <class T>
constexpr const char* type_name() {
    if constexpr (std::is_same_v<T, bool>) return "bool";
    else if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 8 ? "float64" : "float32";
    else if constexpr (std::is_signed_v<T>) return sizeof(T) == 8 ? "int64" : "int32";
    else return sizeof(T) == 8 ? "uint64" : sizeof(T) == 4 ? "uint32" : sizeof(T) == 2 ? "uint16" : "uint8";
}

template <class T, class... Shape>
Made<T> make(const char* how, const char* type, Shape... shape) {
    nb::object array = nb::module_::import_("numpy").attr(how)(nb::make_tuple(shape...), type);
    return {array, static_cast<T*>(nb::cast<nb::ndarray<nb::device::cpu>>(array).data())};
}

template <class T, class... Shape>
Made<T> empty(Shape... shape) {
    return make<T>("empty", type_name<T>(), shape...);
}

template <class T, class... Shape>
Made<T> zeros(Shape... shape) {
    return make<T>("zeros", type_name<T>(), shape...);
}

template <class T>
nb::object copy_to_array(const std::vector<T>& values) {
    const auto made = empty<T>(values.size());
    std::copy(values.begin(), values.end(), made.data);
    return made.array;
}

// A NumPy array that takes over the memory of a vector or buffer.
template <class Owner>
nb::object move_to_array(Owner&& values) {
    static_assert(!std::is_reference_v<Owner>);
    using T = std::remove_reference_t<decltype(values[0])>;
    auto* owned = new Owner(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Owner*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
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
std::vector<T*> make_tables(const std::vector<size_t>& sizes, size_t n_classes, nb::list& arrays) {
    std::vector<T*> out;
    for (const size_t size : sizes) {
        const auto made = zeros<T>(n_classes, size);
        arrays.append(made.array);
        out.push_back(made.data);
    }
    return out;
}

}  // namespace
