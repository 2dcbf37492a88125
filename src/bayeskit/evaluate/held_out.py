"""Scores on rows that a model has not learnt: it predicts them as it is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.capabilities import DropsUnlabelled, HasJoint, LeavesColumnsOut, can, reader_of
from bayeskit.data.encoder import encode_labels
from bayeskit.data.source import OneBatch, Source, for_schema, naming_the_file
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, UndecidableWarning
from bayeskit.evaluate.evaluation import Evaluation, finished
from bayeskit.evaluate.metrics import Scoreboard, brier
from bayeskit.typing import Floats


def held_out(model: Any, source: Source) -> Evaluation:
    """The record of labelled rows, predicted by a fitted model that does not know them.

    A row of a class that the model has never seen counts as wrong, and apart. The baseline is the majority class
    of the model's own rows.

    >>> from bayeskit import NaiveBayes, datasets
    >>> from bayeskit.data.source import open_source
    >>> days = datasets.load_worked_example("tennis")
    >>> model = NaiveBayes().fit(days.slice(0, 10), "play")
    >>> found = held_out(model, open_source(days.slice(10), "play"))
    >>> found.method, found.n_rows, found.accuracy
    ('held-out rows', 4, 0.75)
    """
    reads = reader_of(model)
    known = tuple(model.classes_.tolist())
    vocabulary = Vocabulary(known)
    values = {name: words.values for name, words in reads.encoder().vocabularies.items()}
    labels, scores, chosen, weighing = [], [], [], []
    is_weighed = False
    source = model.with_labels(source) if can(model, DropsUnlabelled) else source
    source = reads.with_all_columns(source) if can(reads, LeavesColumnsOut) else source
    for batch in for_schema(source, reads.schema_, values, known).batches():
        if batch.labels is None:
            raise BayesError("rows without labels cannot be scored: name the column that holds the class")
        with naming_the_file(source):
            labels.append(encode_labels(batch.labels, vocabulary, batch.start, grow=True).astype(np.intp))
        weighing.append(np.ones(batch.n_rows) if batch.weights is None else batch.weights)
        is_weighed |= batch.weights is not None
        rows = OneBatch(source.kinds, batch, getattr(source, "here", None))
        joint = model is reads and can(model, HasJoint)  # a model may know P(class | x) alone
        scores.append(model.tempered(model.predict_joint_log_proba(rows)) if joint else model.predict_log_proba(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndecidableWarning)  # the record tells of such rows
            chosen.append(model.predict(rows).tolist())
    if not labels:
        raise BayesError("there are no rows to score")
    log_posterior, evidence = logspace.log_normalise(np.concatenate(scores))
    impossible = np.isneginf(evidence)
    log_posterior[impossible] = logspace.log_normalise(reads.params_.log_prior[None])[0]
    true = [vocabulary.values[code] for code in np.concatenate(labels).tolist()]
    said = [label for part in chosen for label in part]
    shares = reads.tally_.class_counts / reads.tally_.class_counts.sum()
    target = reads.schema_.target.name
    weights = np.concatenate(weighing) if is_weighed else None
    undecidable = int(impossible.sum())
    return judged("held-out rows", target, known, shares, true, log_posterior, said, undecidable, weights)


def judged(
    method: str,
    target: str,
    known: Sequence[Value],
    shares: Floats,
    true: Sequence[Value],
    log_posterior: Floats,
    said: Sequence[Value],
    n_undecidable: int = 0,
    weights: Floats | None = None,
) -> Evaluation:
    """The record of answers beside the truth: classes that were said, and ln P (rows, known classes) of each.

    ``shares`` are those of the known classes in training, by which the majority is said. A truth that is no known class
    counts as wrong, and apart.
    """
    classes = tuple(sort_values(dict.fromkeys([*known, *true])))
    learnt, codes = positions(known, classes), positions(true, classes)
    log_proba = np.full((len(log_posterior), len(classes)), -np.inf)
    log_proba[:, learnt] = log_posterior
    lost = ~np.isin(codes, learnt)
    proba = logspace.exp(log_proba)
    each = np.arange(len(codes))
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    log_true = np.where(lost, 0.0, log_proba[each, codes])
    board.add(codes, positions(said, classes), log_true, brier(proba, codes), weights, lost)
    share = np.zeros(len(classes))
    share[learnt] = shares
    of_majority = np.tile(share, (len(codes), 1))
    share_true = np.where(lost, 0.0, logspace.log(of_majority)[each, codes])
    baseline.add(codes, of_majority.argmax(axis=1), share_true, brier(of_majority, codes), weights, lost)
    return finished(method, target, classes, board, baseline, proba, n_undecidable, truth=codes, weights=weights)
