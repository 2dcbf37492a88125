// The Python module of the compiled kernels.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_counting(nb::module_& m);
void bind_documents(nb::module_& m);
void bind_ensemble(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_sequences(nb::module_& m);
void bind_strings(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_trees(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "The compiled kernels, described in bayeskit.kernels.";
    for (auto* bind : {bind_counting, bind_documents, bind_ensemble, bind_networks, bind_scores, bind_sequences,
                       bind_strings, bind_topics, bind_trees})
        bind(m);
}
