"""The compiled kernels: pure functions on arrays, deterministic for any number of threads.

This is the only module that imports the compiled core (``native/``). Types and argument names are in ``_core.pyi``;
tests compare every kernel with a short NumPy reference (``tests/kernels/reference/``). Kernels check types, shapes,
alignment and every index, and raise ``ValueError`` or ``TypeError`` before they write anything.

A *code column* is a contiguous array (n_rows,) of uint8, uint16 or uint32: 0 is a missing cell, 1..V are values.
Labels are class codes 0..C-1 in the same types. Number columns are float64 and may be strided; NaN is missing. Weights
are float64 (n_rows,) or None. ``n_threads`` never changes a result. ``BAYESKIT_KERNELS=portable`` in the environment
turns off instructions that only newer processors have; results are the same bits.

>>> import numpy as np
>>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
>>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
[[0, 1, 1], [0, 1, 0]]

Codes and counts
----------------
int_ranges
    Smallest and largest value of each integer column, (n_columns,) each.
lookup_codes
    ``table[x - lo]`` for each integer, ``unseen`` for an x outside the table.
hash_numbers
    Σ factor_j · (bits ^ bits >> 32) of the numbers of each row modulo 2^64, (n_rows,); both zeros are one, as all NaN.
bin_codes
    1 + the number of cuts below each number; 0 for NaN.
factor_codes
    Number the distinct rows of codes in the order of their first appearance; also return where that is.
factor_strings
    The same for an object array: strings by value, other objects by identity; None if there are too many of those.
context_codes
    ``node * child_size + child``: walk from node 0 by the parents' codes as far as ``steps`` knows them.
count_codes, count_responsibilities
    Counts, or sums of weights or of class probabilities (n_rows, n_classes), by class and code: (n_classes, size).
    With ``sets`` of columns, one table of the combinations of codes for each set: (n_classes, product of sizes).
count_pairs
    Counts of each pair of columns a < b by class: (n_classes, cells), pairs in order, (size a, size b) each.
mdl_cuts
    Cut points by minimum description length (Fayyad and Irani 1993): split N rows of k classes where
    N₁Ent(S₁) + N₂Ent(S₂) is least, while N·Gain > ln(N − 1) + ln(3^k − 2) − (k Ent(S) − k₁Ent(S₁) − k₂Ent(S₂)).
frequency_cuts
    Cut points at ranks i·n/k, half way to the next larger number.

Moments
-------
moments, moments_responsibilities
    (n, Σx high, Σx low, Σx² high, Σx² low, n low, usable), (n_classes, n_columns) each, as double-double sums of about
    32 digits. NaN cells are left out. Not usable if any |x| > 1e150.
weigh_numbers
    Σs, Σs(x − center) and Σs(x − center)² for shares (n_rows, n_states): (n_states, n_columns) each.

Scores
------
score_codes, score_gaussian
    Add ``table[code]``, or constant − precision (x − mean)²/2, to scores (n_rows, n_classes) in place.
score_codes_left_out
    As ``score_codes`` with one table for each label: ``table[label, code]``.
score_missing
    Add ln Σ Π ``table[context of the parents, code]`` over the values of missing cells, parents before children:
    variable elimination. A family has one table, or one for each case of a left-out row (see ``native/kernels.hpp``).
score_gaussian_left_out
    As ``score_gaussian``, each row without itself in its own class: with rest = 1 − rate (x − mean)² that class adds
    own_constant − own_precision (x − mean)²/(2 rest) − ln(rest)/2. Rows with rest < ``least`` are marked and unchanged.
score_parents, score_aode
    Scores with each column as the parent of all others, (n_rows, n_columns, n_classes), and ln of their weighted mean.
normalize
    Softmax of log scores, and ln of each row's sum. A row of −inf gives NaN and −inf.
best_classes
    The first class within ``tolerance * max(1, |best|)`` of the best score.
judge
    ``normalize`` and ``best_classes``, ln P(label) and the Brier score Σ(p − [label])² of each row.

Losses
------
exponent_loss
    Log loss Σ w (ln Σ_k exp s_k − s_y) of s = factors · exponents, and its gradient; factors (rows, classes, terms).
line_loss, score_line
    The same of a linear model on one-hot codes and numbers, and its scores.
softmax_loss
    −Σ importance · ln softmax(scale · Σ_f weight_f feature_f + bias)[label], and its gradients.
fit_ridge_logistic
    Minimize ∥W∥²/2 − Σ cost_i ln softmax_{y_i}(offset_i + W x_i) by dual coordinate descent over documents.

Text
----
Documents and word lists are bytes with offsets: string i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8.

text_alphabet
    0 for ASCII, 1 for other text, 2 if it has a capital sigma (whose lower case depends on what follows).
token_rows, token_classes
    Count words by document or by class, as described by ``bayeskit.data.text.tokens.Cut``.
hash_texts
    A 64-bit hash of the bytes of each document.
WordIndex, union_words
    A hash index of a word list (``find`` gives positions, −1 if absent); the union of two sorted lists.
score_rows
    Add Σ_k values[k] · table[ids[k]] to the scores of each document.
score_words, score_documents
    constant + u^−g Σ[(1 + ln n) A + ln(n) T] + Σ(1 + ln n) B / length, from counts or straight from the text; u is the
    number of different words, and a document without known words has ``log_prior``.
left_out_evidence, left_out_scores
    Features of each document without itself, (documents, features, classes), and their weighted sum. Features are
    Σ(1 + ln count) λ for each band of words and Σ ln(count) λ, with λ = ln(n_cw/s_c + a) and, if ``both``,
    λ = −ln((n_w − n_cw)/(1 − s_c) + a), centered over the classes.

Sequences
---------
``logs`` (n_rows, n_states) is ln P(row | state); with ``codes`` it is (n_symbols, n_states). Label l of a row allows
the states marked in ``allowed[l]``. Sequence i has rows ``starts[i]:starts[i + 1]``.

filter_states
    Forward algorithm: ln P of each sequence, its first impossible row or −1, ln P(state | rows so far).
count_states
    Forward–backward algorithm: expected starts, transitions and emissions, or P(state) of each row.
best_states, k_best_states
    Viterbi algorithm: the best path, or the k best, with ln P(path, rows).
draw_states
    A path drawn from P(path | rows) by ``uniforms`` (n_rows + 1,).
NormalRow
    Scores one row of numbers at a time under normal densities (n_states, n_columns).
best_tags, tree_candidates
    Viterbi algorithm over trigrams of tags; the candidate tags of each suffix in a tree of suffixes,
    P = (c + m P_parent)/(n + m), without those far below the best.

Ensemble
--------
learn_backoff, score_backoff
    P(x | class, parents): p_d = (n(x, y, u_1…u_d) + m_d p_{d−1})/(n(y, u_1…u_d) + m_d) where n(u_1…u_d) ≥ 5, m_d chosen
    by leave-one-out.
learn_chains, count_chains, score_chains
    Chains that refine P(class) by one column at a time, g' = (n(y, c) + m g)/(n(c) + m), and h = (n g + 1)/(n + C).
grow_trees
    Random trees grown by entropy until leaves are pure: (start, nodes, subset, sets).
count_leaves, total_leaves, smooth_leaves, leave_out_leaves, score_leaves
    Counts at the nodes of trees, their sums below each node, and P(class | node) by back-off to the node above.
boost_trees, add_leaves
    Boosting of given scores with early stopping on held-out folds; the sum of leaf values over all trees.

Formula: P(class ∣ node of a tree) = (n(class, node) + m P(class ∣ the node above)) / (n(node) + m)

Formula: what a boosted tree adds to a class = −0.1 G / (H + 1), G and H the first two slopes of the log loss

Topics and networks
-------------------
sample_topics
    Collapsed Gibbs sampling (Griffiths and Steyvers 2004) of the topic of each token.
fold_in_topics, left_to_right
    Topic shares of new documents; ln P(document) by the algorithm of Wallach et al. (2009).
topic_histograms
    The number of documents with c tokens of topic k.
propagate
    Posteriors, ln P(evidence) and whether no digits were lost, by messages over a tree of tables.
learn_structure
    Search for the arcs of a network, (n_nodes, n_nodes) as [parent, child], with the best score. Columns are uint16
    codes from 0 without missing cells. ``arcs`` holds 0 for a forbidden arc, 1 for an allowed and 2 for a required one;
    ``proceed(done, score)`` is called now and then and ends the search by returning False. Also returns the score, the
    number of families counted and whether the search was finished.

Formula: P(topic k of a token ∣ all others) ∝ (n_dk + α_k) (n_wk + β) / (n_k + V β)

Formula: messages over a junction tree
"""

from bayeskit.errors import BayesError

try:
    from bayeskit._core import *  # noqa: F403
except ImportError as problem:
    raise BayesError(
        f"the compiled core of bayeskit is not installed here ({problem})",
        hint="install a wheel, pip install bayeskit, or build it from source, make, with a C++20 compiler; "
        "every worker of a cluster needs it",
    ) from problem
