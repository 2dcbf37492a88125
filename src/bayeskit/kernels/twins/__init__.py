"""The kernels in NumPy, one file for each of native/ and named alike: oracle of the compiled ones in the tests,
stand-in where there is no compiler.

A *code column* is a contiguous array of uint8, uint16 or uint32: 0 is a missing cell, 1..V are values.
Labels are class codes 0..C-1 in the same types. Number columns may be strided views. All columns of one
call have the same length. ``n_threads`` is checked and otherwise not used here.
"""

from bayeskit.kernels.twins.aode import score_aode as score_aode
from bayeskit.kernels.twins.aode import score_parents as score_parents
from bayeskit.kernels.twins.backoff import learn_backoff as learn_backoff
from bayeskit.kernels.twins.backoff import score_backoff as score_backoff
from bayeskit.kernels.twins.bins import bin_codes as bin_codes
from bayeskit.kernels.twins.boosting import add_leaves as add_leaves
from bayeskit.kernels.twins.boosting import boost_trees as boost_trees
from bayeskit.kernels.twins.chains import count_chains as count_chains
from bayeskit.kernels.twins.chains import learn_chains as learn_chains
from bayeskit.kernels.twins.chains import score_chains as score_chains
from bayeskit.kernels.twins.counting import count_codes as count_codes
from bayeskit.kernels.twins.counting import count_responsibilities as count_responsibilities
from bayeskit.kernels.twins.cuts import mdl_cuts as mdl_cuts
from bayeskit.kernels.twins.document_scores import score_documents as score_documents
from bayeskit.kernels.twins.document_scores import score_words as score_words
from bayeskit.kernels.twins.exponents import exponent_loss as exponent_loss
from bayeskit.kernels.twins.frequency_cuts import frequency_cuts as frequency_cuts
from bayeskit.kernels.twins.hidden_states import NormalRow as NormalRow
from bayeskit.kernels.twins.hidden_states import count_states as count_states
from bayeskit.kernels.twins.hidden_states import filter_states as filter_states
from bayeskit.kernels.twins.hidden_states import weigh_numbers as weigh_numbers
from bayeskit.kernels.twins.integers import int_ranges as int_ranges
from bayeskit.kernels.twins.integers import lookup_codes as lookup_codes
from bayeskit.kernels.twins.joints import context_codes as context_codes
from bayeskit.kernels.twins.joints import count_pairs as count_pairs
from bayeskit.kernels.twins.joints import factor_codes as factor_codes
from bayeskit.kernels.twins.junction import propagate as propagate
from bayeskit.kernels.twins.k_means import k_means as k_means
from bayeskit.kernels.twins.left_out import score_gaussian_left_out as score_gaussian_left_out
from bayeskit.kernels.twins.line import line_loss as line_loss
from bayeskit.kernels.twins.line import score_line as score_line
from bayeskit.kernels.twins.moments import moments as moments
from bayeskit.kernels.twins.moments import moments_responsibilities as moments_responsibilities
from bayeskit.kernels.twins.ridge_logistic import fit_ridge_logistic as fit_ridge_logistic
from bayeskit.kernels.twins.scoring import best_classes as best_classes
from bayeskit.kernels.twins.scoring import judge as judge
from bayeskit.kernels.twins.scoring import normalise as normalise
from bayeskit.kernels.twins.scoring import score_codes as score_codes
from bayeskit.kernels.twins.scoring import score_codes_left_out as score_codes_left_out
from bayeskit.kernels.twins.scoring import score_gaussian as score_gaussian
from bayeskit.kernels.twins.state_paths import best_states as best_states
from bayeskit.kernels.twins.state_paths import draw_states as draw_states
from bayeskit.kernels.twins.state_paths import k_best_states as k_best_states
from bayeskit.kernels.twins.strings import factor_strings as factor_strings
from bayeskit.kernels.twins.tagging import best_tags as best_tags
from bayeskit.kernels.twins.tagging import tree_candidates as tree_candidates
from bayeskit.kernels.twins.tokens import text_alphabet as text_alphabet
from bayeskit.kernels.twins.tokens import token_classes as token_classes
from bayeskit.kernels.twins.tokens import token_rows as token_rows
from bayeskit.kernels.twins.topics import fold_in_topics as fold_in_topics
from bayeskit.kernels.twins.topics import left_to_right as left_to_right
from bayeskit.kernels.twins.topics import sample_topics as sample_topics
from bayeskit.kernels.twins.topics import topic_histograms as topic_histograms
from bayeskit.kernels.twins.tree_counts import count_leaves as count_leaves
from bayeskit.kernels.twins.tree_counts import leave_out_leaves as leave_out_leaves
from bayeskit.kernels.twins.tree_counts import score_leaves as score_leaves
from bayeskit.kernels.twins.tree_counts import smooth_leaves as smooth_leaves
from bayeskit.kernels.twins.tree_counts import total_leaves as total_leaves
from bayeskit.kernels.twins.tree_growth import grow_trees as grow_trees
from bayeskit.kernels.twins.word_evidence import left_out_evidence as left_out_evidence
from bayeskit.kernels.twins.word_evidence import left_out_scores as left_out_scores
from bayeskit.kernels.twins.word_evidence import softmax_loss as softmax_loss
from bayeskit.kernels.twins.word_lists import WordIndex as WordIndex
from bayeskit.kernels.twins.word_lists import score_rows as score_rows
from bayeskit.kernels.twins.word_lists import union_words as union_words
