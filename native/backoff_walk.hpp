// New rows walk the contexts that a family has learnt.
#pragma once

#include "ensemble.hpp"

namespace bayeskit {

// P(x | class) of some rows, from the shortest context to the longest known one. All rows go one level further
// together: what one waits for from memory, others need not wait for.
template <bool Watched, class Code>
class Walk {
public:
    Walk(size_t most, size_t n_classes)
        : C_(n_classes), p_(most * n_classes), scale_(n_classes, 0.0), node_(most), going_(most) {}

    // Multiplies what a family says of rows `first` on into product (rows, classes); a value never seen is left out.
    void multiply(const FamilyView& family, const Code* child, const std::vector<const Code*>& parents, size_t first,
                  size_t rows, double* product) {
        size_t n_going = 0;
        for (size_t r = 0; r < rows; ++r)
            if (child[first + r] < family.size) {
                going_[n_going++] = static_cast<uint32_t>(r);
                node_[r] = 0;
            }
        const size_t n_known = n_going;
        if (n_known == 0) return;
        known_.assign(going_.begin(), going_.begin() + static_cast<ptrdiff_t>(n_known));
        std::fill(p_.begin(), p_.begin() + static_cast<ptrdiff_t>(rows * C_), 1.0 / static_cast<double>(family.size));
        for (size_t d = 0; n_going && family.n_entries[0] > 0; ++d) {  // or a root of too few rows
            for (size_t i = 0; i < n_going; ++i)
                refine(family, node_[going_[i]], family.m[d], child[first + going_[i]], p_.data() + going_[i] * C_);
            if (d == family.n_parents) break;
            size_t left = 0;
            for (size_t i = 0; i < n_going; ++i) {
                const uint32_t r = going_[i];
                const int32_t node =
                    family.contexts.child<Watched>(node_[r], static_cast<uint32_t>(parents[d][first + r]));
                if (node < 0 || family.n_entries[node] == 0) continue;
                node_[r] = node;
                going_[left++] = r;
            }
            n_going = left;
        }
        for (const uint32_t r : known_)
            for (size_t k = 0; k < C_; ++k) product[r * C_ + k] *= p_[r * C_ + k];
    }

private:
    void refine(const FamilyView& family, int32_t node, double m, uint32_t x, double* p) {
        const CountsView& all = family.contexts.counts;
        const auto [begin, end] = all.pairs<Watched>(node);
        if (Watched && begin == end) refuse_part();  // values are counted where classes are
        for (int32_t i = begin; i < end; ++i) {  // n + m is m where a class does not occur
            const uint16_t k = check_label<Watched>(all.label[i], C_);
            scale_[k] = 1 / (all.count[i] + m);
            p[k] *= m * scale_[k];
        }
        const int32_t first = family.first_entry[node];
        check_part<Watched>(first, family.n_entries[node], family.n_all_entries);
        const int32_t place = place_of(family.entry + first, family.n_entries[node], x);
        if (place < 0) return;
        const auto [from, to] = family.counts.pairs<Watched>(first + place);
        for (int32_t i = from; i < to; ++i) {  // a class of the value is one of the context
            const uint16_t k = check_label<Watched>(family.counts.label[i], C_);
            p[k] += family.counts.count[i] * scale_[k];
        }
    }

    const size_t C_;
    std::vector<double> p_, scale_;
    std::vector<int32_t> node_;
    std::vector<uint32_t> going_, known_;
};

}  // namespace bayeskit
