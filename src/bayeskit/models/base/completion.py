"""What an editor offers after ``model.``: settings, what was learnt, and the methods that are for whoever uses a model.

Files of the package ask more of each other than they promise to others; those names are left out of ``dir``.
docs/api.md lists what is left.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from bayeskit.models.base.available import Conditional

BETWEEN_FILES = {  # what a model answers to other files
    "absent_by_recipe",
    "among",
    "become_counted",
    "believed",
    "blocks_learnt",
    "changed_settings",
    "check_settings",
    "check_size",
    "check_unlabelled",
    "choose",
    "class_tallies",
    "codes",
    "column_points",
    "column_scores",
    "column_table",
    "complete_schema",
    "count_blocks",
    "counted",
    "decided",
    "draw",
    "drops_unlabelled",
    "encoder",
    "factor",
    "fit_over",
    "fit_parts",
    "fit_recipe",
    "fitted_parts",
    "has_told",
    "held_state",
    "held_while_left_out",
    "inferred_schema",
    "is_its_counts",
    "label_codes",
    "learn_plan",
    "left_out",
    "log_likelihoods",
    "log_prior",
    "log_terms",
    "model_kind",
    "of_saved",
    "one_row",
    "parent_log_weights",
    "parent_scores",
    "part_names",
    "read",
    "read_sequences",
    "reads_by",
    "recount",
    "restore",
    "restore_parts",
    "restricted",
    "rule",
    "scoring_form",
    "setting_for",
    "settings_to_save",
    "smoothing_is_chosen",
    "tally_to_save",
    "tempered",
    "to_saved",
    "unwritten",
    "with_all_columns",
    "with_cuts",
    "with_labels",
    "with_settings",
    "with_words",
    "written_factors",
    "written_settings",
}


def is_offered(model: Any, name: str, settings: Container[str]) -> bool:
    """Whether a name of a model is one for a person.

    >>> from bayeskit import NaiveBayes
    >>> [is_offered(NaiveBayes(), name, {"smoothing"}) for name in ("smoothing", "fit", "encoder", "absent")]
    [True, True, False, False]
    """
    if name.startswith("_") or name in settings:
        return True
    member = next((vars(owner)[name] for owner in type(model).__mro__ if name in vars(owner)), None)
    if isinstance(member, Conditional) and not hasattr(model, name):
        return False
    if name in vars(model):
        return name.endswith("_") or not hasattr(type(model), name)
    return name not in BETWEEN_FILES and (callable(member) or hasattr(member, "__get__"))
