"""ln P(table) under naive Bayes with a Dirichlet prior over every table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence
from bayeskit.estimate.smoothing import UNSEEN, as_smoothing
from bayeskit.remedy import Remedy

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes.classifier import NaiveBayes


def log_table_evidence(model: NaiveBayes) -> float:
    """The classes, and each column given the class; measured columns are refused."""
    tally, params = model.tally_, model.params_
    others = [name for name, kind in params.by_column.items() if not isinstance(kind, CodedColumns)]
    if others:
        kind = params.by_column[others[0]].kind
        raise BayesError(
            f"column {others[0]!r} is {kind}, and the probability of the data has a closed form for tables alone: "
            "cut its numbers with ",
            Remedy("numeric", "histogram"),
            " or take it as ",
            Remedy("roles", {others[0]: "categorical"}),
            culprit=others[0],
        )
    total = log_class_evidence(model.prior, tally.classes, tally.class_counts)
    for name, table in params.tables.items():
        setting = model.setting_for("smoothing", name, tally.schema)
        slots = np.flatnonzero(~np.isnan(table.pseudo))
        values = [(None, *table.values, UNSEEN)[slot] for slot in slots]
        counts = np.concatenate([tally.families[name].counts, np.zeros((len(tally.classes), 1))], axis=1)
        total += log_evidence(counts[:, slots], hyperparameters(as_smoothing(setting), values, setting))
    return total
