"""Good arguments for every kernel, drawn at random: what hostile ones are made from."""

from . import document_arguments, ensemble_arguments, sequence_arguments, table_arguments
from .draw import Arguments, Draw

GOOD = dict(
    sorted((table_arguments.GOOD | document_arguments.GOOD | sequence_arguments.GOOD | ensemble_arguments.GOOD).items())
)
ALONE = {
    "NormalRow",
    "WordIndex",
    "factor_codes",
    "factor_strings",
    "hash_texts",
    "fit_ridge_logistic",
    "learn_structure",
    "text_alphabet",
    "topic_histograms",
    "tree_candidates",
    "union_words",
}  # on one thread


def good_arguments(name: str, seed: int) -> Arguments:
    """What this kernel takes, with shapes that fit together."""
    draw = Draw(seed)
    made = GOOD[name](draw)
    return made if name in ALONE else made | {"n_threads": draw.threads}
