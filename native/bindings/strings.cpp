// Indices of equal strings. The kernel reads Python objects, so it is written here.
#include <cstring>
#include <deque>

#include "arrays.hpp"
#include "support/word_table.hpp"

namespace {

// Indices of strings in the order of their first appearance. The bytes must outlive the index.
class StringIndex {
public:
    StringIndex() : slots_(64, 0) {}

    // `kind` tells strings of equal bytes but other encodings apart.
    int32_t find_or_add(const char* data, size_t size, unsigned kind, size_t row) {
        const uint64_t hash = hash_long(reinterpret_cast<const uint8_t*>(data), size) ^ kind;
        for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at] == 0) {
                entries_.push_back({hash, data, size, kind});
                first_.push_back(static_cast<int64_t>(row));
                slots_[at] = static_cast<uint32_t>(entries_.size());
                if (2 * entries_.size() > slots_.size()) grow();
                return static_cast<int32_t>(entries_.size() - 1);
            }
            const Entry& entry = entries_[slots_[at] - 1];
            if (entry.hash == hash && entry.size == size && entry.kind == kind &&
                std::memcmp(entry.data, data, size) == 0)
                return static_cast<int32_t>(slots_[at] - 1);
        }
    }

    const std::vector<int64_t>& first() const { return first_; }

private:
    struct Entry {
        uint64_t hash;
        const char* data;
        size_t size;
        unsigned kind;
    };

    void grow() {
        slots_.assign(2 * slots_.size(), 0);
        for (size_t i = 0; i < entries_.size(); ++i) {
            size_t at = entries_[i].hash & (slots_.size() - 1);
            while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = static_cast<uint32_t>(i + 1);
        }
    }

    std::vector<uint32_t> slots_;  // 1 + the number of an entry; 0 where free
    std::vector<Entry> entries_;
    std::vector<int64_t> first_;
};

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
        PyObject* object;  // it may stand anywhere: the field of a packed record
        std::memcpy(&object, at, sizeof object);
        return object;
    }

private:
    Py_buffer view_;
};

// Reads Python objects, so it keeps the interpreter's lock.
nb::object py_factor_strings(const nb::object& cells, size_t most_others) {
    const Objects objects(cells);
    const size_t n = objects.size();
    if (n > INT32_MAX) refuse("cells has more rows than 32-bit indices can tell apart");
    const auto indices = empty<int32_t>(n);
    StringIndex index;
    std::deque<PyObject*> others;   // anything but a string is identified by its address
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
    return nb::make_tuple(indices.array, copy_to_array(index.first()));
}

}  // namespace

void bind_strings(nb::module_& m) { m.def("factor_strings", &py_factor_strings, "cells"_a, "most_others"_a); }
