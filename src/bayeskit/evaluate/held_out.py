"""Scores on rows that a model has not learnt: it predicts them as it is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.capabilities import DropsUnlabelled, HasJoint, LeavesColumnsOut, can, reader_of
from bayeskit.data.encoder import encode_labels
from bayeskit.data.source import OneBatch, Source, for_schema, naming_the_file
from bayeskit.data.vocabulary import Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, UndecidableWarning
from bayeskit.evaluate.evaluation import Evaluation, finished
from bayeskit.evaluate.metrics import Scoreboard, brier


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
    labels, scores, chosen = [], [], []
    source = model.with_labels(source) if can(model, DropsUnlabelled) else source
    source = reads.with_all_columns(source) if can(reads, LeavesColumnsOut) else source
    for batch in for_schema(source, reads.schema_, values, known).batches():
        if batch.labels is None:
            raise BayesError("rows without labels cannot be scored: name the column that holds the class")
        with naming_the_file(source):
            labels.append(encode_labels(batch.labels, vocabulary, batch.start, grow=True).astype(np.intp))
        rows = OneBatch(source.kinds, batch, getattr(source, "here", None))
        joint = model is reads and can(model, HasJoint)  # a model may know P(class | x) alone
        scores.append(model.tempered(model.predict_joint_log_proba(rows)) if joint else model.predict_log_proba(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndecidableWarning)  # the record tells of such rows
            chosen.append(model.predict(rows).tolist())
    if not labels:
        raise BayesError("there are no rows to score")
    classes = tuple(sort_values(vocabulary.values))
    learnt = positions(known, classes)
    log_posterior, evidence = logspace.log_normalise(np.concatenate(scores))
    impossible = np.isneginf(evidence)
    log_posterior[impossible] = logspace.log_normalise(reads.params_.log_prior[None])[0]
    log_proba = np.full((len(log_posterior), len(classes)), -np.inf)
    log_proba[:, learnt] = log_posterior
    true = positions(vocabulary.values, classes)[np.concatenate(labels)]
    lost = ~np.isin(true, learnt)
    proba = logspace.exp(log_proba)
    taken = positions([label for part in chosen for label in part], classes)
    each = np.arange(len(true))
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    log_true = np.where(lost, 0.0, log_proba[each, true])
    board.add(true, taken, log_true, brier(proba, true), None, lost)
    share = np.zeros(len(classes))
    share[learnt] = reads.tally_.class_counts / reads.tally_.class_counts.sum()
    shares = np.tile(share, (len(true), 1))
    share_true = np.where(lost, 0.0, logspace.log(shares)[each, true])
    baseline.add(true, shares.argmax(axis=1), share_true, brier(shares, true), None, lost)
    target = reads.schema_.target.name
    return finished("held-out rows", target, classes, board, baseline, proba, int(impossible.sum()), truth=true)
