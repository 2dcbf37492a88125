// The Python module of the compiled kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_counting(nb::module_& m);
void bind_ensemble(nb::module_& m);
void bind_junction_tree(nb::module_& m);
void bind_ridge_logistic(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_hidden_markov(nb::module_& m);
void bind_strings(nb::module_& m);
void bind_tagging(nb::module_& m);
void bind_tokens(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_trees(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "The compiled kernels, described in bayeskit.kernels.";
    bind_counting(m);
    bind_ensemble(m);
    bind_junction_tree(m);
    bind_ridge_logistic(m);
    bind_scores(m);
    bind_hidden_markov(m);
    bind_strings(m);
    bind_tagging(m);
    bind_tokens(m);
    bind_topics(m);
    bind_trees(m);
}
