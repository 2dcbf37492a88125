// The Python module of the compiled kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_counting(nb::module_& m);
void bind_ensemble(nb::module_& m);
void bind_hidden_markov(nb::module_& m);
void bind_junction_tree(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_strings(nb::module_& m);
void bind_structure(nb::module_& m);
void bind_tagging(nb::module_& m);
void bind_tokens(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_word_evidence(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "The compiled kernels, described in bayeskit.kernels.";
    for (auto* bind : {bind_counting, bind_ensemble, bind_hidden_markov, bind_junction_tree, bind_scores, bind_strings,
                       bind_structure, bind_tagging, bind_tokens, bind_topics, bind_trees, bind_word_evidence})
        bind(m);
}
