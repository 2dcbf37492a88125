// Forward filtering, posteriors and the expected counts of the Baum-Welch E-step.
#include "forward_backward.hpp"

#include <cmath>

#include "support/parallel.hpp"

namespace bayeskit {

void filter_states(const Observed& rows, const HiddenChain& chain, bool every, double* filtered,
                   double* log_likelihoods, int64_t* impossible, size_t n_threads) {
    const ChainTables tables(chain);
    const Care care = tables.care(Care::watched);
    const SymbolTables symbols(rows, chain.n_states, care);
    const SequenceParts parts(rows);
    const size_t k = chain.n_states, width = tables.width;
    parallel_for(parts.size(), n_threads, [&](size_t part) {
        Walker walker(rows, tables, symbols, care, parts.longest);
        Aligned<double> logs(width);
        for (size_t s = parts.begin(part); s < parts.end(part); ++s) {
            const Span span = span_of(rows, chain, s);
            double* last = every ? nullptr : filtered + s * k;
            if (span.begin == span.end) {
                log_likelihoods[s] = 0, impossible[s] = -1;
                if (last) std::copy_n(span.before ? span.before : chain.log_start, k, last);
                continue;
            }
            const auto show = [&](const double* row, double* to) {
                const double whole = log_sum(row, k);
                for (size_t i = 0; i < k; ++i) to[i] = row[i] - whole;
            };
            const auto stretches = [&](bool plain) {
                return [&, plain](size_t stretch) {
                    const size_t n = span.length(stretch), first = span.first(stretch);
                    for (size_t t = every ? 0 : n - 1; t < n; ++t) {
                        if (!every && first + t + 1 != span.end) continue;
                        const double* row = plain ? walker.row(t) : walker.log_row(t);
                        if (plain) loops().logarithms(row, width, logs.data());
                        show(plain ? logs.data() : row, every ? filtered + (first + t) * k : last);
                    }
                };
            };
            Likelihood found{};
            if (!walker.forward(span, found, stretches(true))) found = walker.log_forward(span, stretches(false));
            log_likelihoods[s] = found.log, impossible[s] = found.impossible;
            if (found.impossible < 0) continue;
            const size_t from = every ? static_cast<size_t>(found.impossible) * k : s * k;
            std::fill(filtered + from, filtered + (every ? span.end * k : from + k), std::nan(""));
        }
    });
}

void count_states(const Observed& rows, const HiddenChain& chain, const StateCounts& out, double* log_likelihoods,
                  int64_t* impossible, size_t n_threads) {
    const ChainTables tables(chain);
    // A part of a sequence says in logarithms how it goes on, and these are exact.
    const Care care = tables.care(chain.before || chain.after ? Care::watched : Care::floored);
    const SymbolTables symbols(rows, chain.n_states, care);
    const SequenceParts parts(rows);
    const size_t k = chain.n_states, width = tables.width, n_symbols = out.symbols ? rows.n_logs : 0;
    const size_t d = out.numbers ? rows.normals->columns.size() : 0;
    std::vector<Sums> sums(parts.size(), Sums(tables, n_symbols, d));
    parallel_for(parts.size(), n_threads, [&](size_t part) {
        Walker walker(rows, tables, symbols, care, parts.longest);
        const size_t first = parts.begin(part), n = parts.end(part) - first;
        std::vector<uint8_t> faded(n, 0);
        const auto nothing = [](size_t) {};
        for (bool whole = false; !whole;) {  // a second time where numbers have faded on the way back
            whole = true;
            sums[part].clear();
            for (size_t s = first; s < first + n; ++s) {
                const Span span = span_of(rows, chain, s);
                Likelihood found{0, -1};
                if (span.begin < span.end) {
                    if (!faded[s - first] && walker.forward(span, found, nothing)) {
                        if (!walker.backward(span, out, sums[part])) faded[s - first] = 1, whole = false;
                    } else {
                        found = walker.log_forward(span, nothing);
                        if (found.impossible < 0) walker.log_backward(span, out, sums[part]);
                        else if (out.posteriors)
                            std::fill(out.posteriors + span.begin * k, out.posteriors + span.end * k, std::nan(""));
                    }
                }
                log_likelihoods[s] = found.log, impossible[s] = found.impossible;
            }
        }
    });
    std::fill_n(out.starts, k, 0.0);
    std::fill_n(out.transitions, k * k, 0.0);
    if (out.symbols) std::fill_n(out.symbols, n_symbols * k, 0.0);
    if (out.numbers) std::fill_n(out.numbers, 3 * k * d, 0.0);
    for (const Sums& part : sums) {
        for (size_t i = 0; i < k; ++i) out.starts[i] += part.starts[i];
        for (size_t i = 0; i < k; ++i)
            for (size_t j = 0; j < k; ++j) {
                const size_t at = i * width + j;
                out.transitions[i * k + j] += part.products[at] * tables.from[at] + part.pairs[at];
            }
        for (size_t s = 0; s < n_symbols; ++s)
            for (size_t i = 0; i < k; ++i) out.symbols[s * k + i] += part.symbols[s * width + i];
        for (size_t i = 0; i < k; ++i)
            for (size_t j = 0; j < d; ++j) {
                const auto whole = [](const double* four) { return (four[0] + four[1]) + (four[2] + four[3]); };
                const double* row = &part.numbers[i * (1 + 2 * d) * 4];
                out.numbers[i * d + j] += whole(row) - whole(&part.gaps[(i * d + j) * 4]);
                out.numbers[(k + i) * d + j] += whole(row + 4 * (1 + j));
                out.numbers[(2 * k + i) * d + j] += whole(row + 4 * (1 + d + j));
            }
    }
}

void weigh_numbers(const std::vector<Floats>& columns, size_t n, const double* center, const double* shares,
                   size_t n_states, double* weight, double* first, double* second, size_t n_threads) {
    const size_t d = columns.size(), width = padded(1 + 2 * d), gap_width = padded(d);
    constexpr size_t kMost = 32, kLeast = size_t{1} << 12;
    const size_t part = (std::max(kLeast, (n + kMost - 1) / kMost) + kTile - 1) / kTile * kTile;
    const size_t n_parts = (n + part - 1) / part;
    std::vector<Aligned<double>> sums(n_parts), gaps(n_parts);
    parallel_for(n_parts, n_threads, [&](size_t p) {
        sums[p].assign(n_states * width, 0.0);
        gaps[p].assign(n_states * gap_width, 0.0);
        Aligned<double> rows(kTile * width, 0.0), absent(kTile * gap_width, 0.0), cells(kTile);
        const size_t end = std::min(n, (p + 1) * part);
        for (size_t at = p * part; at < end; at += kTile) {
            const size_t m = std::min(kTile, end - at);
            bool missing = false;
            for (size_t t = 0; t < m; ++t) rows[t * width] = 1.0;
            for (size_t j = 0; j < d; ++j) {
                gather_column(columns[j], at, m, cells.data());
                for (size_t t = 0; t < m; ++t) {
                    const double away = cells[t] - center[j];
                    const bool gone = std::isnan(away);
                    missing |= gone;
                    absent[t * gap_width + j] = gone ? 1.0 : 0.0;
                    rows[t * width + 1 + j] = gone ? 0.0 : away;
                    rows[t * width + 1 + d + j] = gone ? 0.0 : away * away;
                }
            }
            const double* left = shares + at * n_states;
            state_loops().add_products(left, n_states, n_states, rows.data(), width, m, sums[p].data());
            if (missing)
                state_loops().add_products(left, n_states, n_states, absent.data(), gap_width, m, gaps[p].data());
        }
    });
    std::fill_n(weight, n_states * d, 0.0);
    std::fill_n(first, n_states * d, 0.0);
    std::fill_n(second, n_states * d, 0.0);
    for (size_t p = 0; p < n_parts; ++p)
        for (size_t i = 0; i < n_states; ++i)
            for (size_t j = 0; j < d; ++j) {
                const double* row = &sums[p][i * width];
                weight[i * d + j] += row[0] - gaps[p][i * gap_width + j];
                first[i * d + j] += row[1 + j];
                second[i * d + j] += row[1 + d + j];
            }
}

NormalRow::NormalRow(const NormalColumns& columns, size_t n_states)
    : n_states(n_states), n_columns(columns.columns.size()),
      rows_(std::make_shared<const NormalRows>(&columns, n_states)) {}

double NormalRow::score(const double* cells, double* likelihoods, double* logs) const {
    const size_t row = n_states + 3;  // the loops write whole registers
    Buffer<double> memory;
    memory.resize(2 * row + rows_->room());
    double *own = memory.data(), *e = own + row, *room = e + row, top = 0;
    std::vector<NumberColumn> columns(n_columns);
    for (size_t j = 0; j < n_columns; ++j) columns[j] = {cells + j, 1};
    state_loops().normal_logs(columns.data(), 1, rows_->tables(), room, own);
    state_loops().likelihoods(own, 1, n_states, false, e, &top);
    std::copy_n(e, n_states, likelihoods);
    std::copy_n(own, n_states, logs);
    return top;
}

}  // namespace bayeskit
