"""By how much the log loss of rows left out rises where a column is not known, everything else held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.models.ensemble.ensemble_structure import Structure
from bayeskit.models.ensemble.forests import LeftOutForests, count_leaves, total_leaves
from bayeskit.models.ensemble.learnt_rows import LearntRows
from bayeskit.models.ensemble.parameters import capped, prior_of, put_means
from bayeskit.typing import Bytes, Floats, Ints, Singles

WALKS = 2_500  # rows that the importance of all columns is measured on, one column each


@dataclass(frozen=True)
class ColumnImportance:
    """Some of the rows that were left out, and what was said of them: enough to ask again without a column."""

    structure: Structure
    which: Ints  # of the learnt rows
    terms: Singles  # (rows, classes, terms)
    scores: Floats  # (rows, classes)
    left_out: LeftOutForests | None  # without the totals of the nodes, which all rows are counted for
    n_threads: int

    @classmethod
    def of(
        cls,
        structure: Structure,
        asked: Ints,
        terms: Singles,
        scores: Floats,
        left_out: LeftOutForests | None,
        n_threads: int,
    ) -> ColumnImportance:
        """With as many of the asked rows as are walked for every column."""
        step = max(-(-len(asked) * len(structure.codes) // WALKS), 1)
        some = None
        if left_out is not None:
            some = replace(left_out.every(step), totals=np.zeros((0, scores.shape[1])))
        return cls(structure, asked[::step], terms[::step].copy(), scores[::step].copy(), some, n_threads)

    def of_columns(self, rows: LearntRows) -> list[float]:
        """Of each column, by how much rows left out are worse where its factor, trees, line and boosting lack it."""
        structure, left_out, scores = self.structure, self.left_out, self.scores
        at, exponents, trees = structure.terms, structure.exponents, structure.trees
        some, own = self.terms.astype(np.float64), rows.labels[self.which]
        weights = None if rows.weights is None else rows.weights[self.which]
        each, forests, known = np.arange(len(own)), at.of_forests, np.zeros_like(scores)
        cells = {name: cells[self.which] for name, cells in rows.cells.items()}
        if left_out is not None and trees is not None:
            codes = trees.codes(rows.cells, trees.tables(rows.codes), self.n_threads)
            counts = count_leaves(trees, codes, rows, self.n_threads)
            left_out = replace(left_out, totals=total_leaves(trees, counts, self.n_threads))
            known = self._as_of_new_rows(rows, cells, left_out.codes)
        with_it, rises = capped(scores, rows.n)[each, own], []
        for i, name in enumerate(rows.codes):
            lost = exponents[i] * some[:, :, i] if at.columns else np.zeros_like(scores)
            if left_out is not None:
                lacking = left_out.every(1, name)
                if at.forests:
                    told = some[:, :, forests].copy()
                    put_means(told, slice(0, at.forests), lacking.means(self.n_threads), structure.temperatures[2:])
                    lost = lost + (some[:, :, forests] - told) @ exponents[forests]
                gone = {name: np.full(len(own), np.nan)} if rows.codes[name].values is None else {}
                lost = lost + known - self._as_of_new_rows(rows, {**cells, **gone}, lacking.codes)
            worse = with_it - capped(scores - lost, rows.n)[each, own]
            rises.append(float(np.average(worse, weights=weights)))
        return rises

    def _as_of_new_rows(self, rows: LearntRows, cells: dict[str, Any], codes: Bytes) -> Floats:
        """What line and boosting add to the scores of rows, left out or not (rows, classes)."""
        structure, told = self.structure, np.zeros((len(codes), len(rows.classes)))
        if structure.line is not None and structure.trees is not None:
            log_prior = logspace.log(prior_of(rows))
            shares = structure.line.log_shares(cells, codes, structure.trees, rows.classes, log_prior, self.n_threads)
            told += structure.exponents[-2] * shares
        if structure.boosting is not None:
            told += structure.boosting.scores(codes, rows.classes, self.n_threads)
        return told
