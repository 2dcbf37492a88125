"""Exported: a fitted model carried elsewhere, for models that can say their scoring form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.export.scoring_form import ScoringForm, Term
    from bayeskit.export.sql import ScoringQuery
    from bayeskit.export.sql_terms import WordTable


class Exported:
    """Writes itself as a query, as an ONNX file and as plain numbers. A model gives :meth:`_scoring_form`.

    It stands before the base of a model, which says why others have none of it.
    """

    if TYPE_CHECKING:

        def _scoring_form(self) -> ScoringForm: ...

    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        keys: str | Sequence[str] | None = None,
        columns: Mapping[str, str] | None = None,
        evidence: bool = False,
        words: str | WordTable | Mapping[str, str | WordTable] | None = None,
    ) -> ScoringQuery:
        """One query that gives the keys, ``predicted`` and ``p_<class>`` of every row of a table.

        ``table``: its name, as SQL writes it. ``dialect``: "duckdb", "postgres", "sqlite" or "spark". ``keys``: the
        columns that say which row it is. ``columns``: names in the table of columns that the model knows by others.
        ``evidence``: also ``evidence_<column>``, the log odds that each column gives the predicted class against the
        runner-up (``against``). ``words``: for texts, the table that has their words.

        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit({"sky": ["sun", "rain", "rain"]}, ["yes", "no", "no"])
        >>> query = model.to_sql("days", keys="day")
        >>> query.probabilities
        {'no': 'p_no', 'yes': 'p_yes'}
        >>> import duckdb
        >>> shop = duckdb.connect()
        >>> _ = shop.execute("CREATE TABLE days AS SELECT 1 AS day, 'sun' AS sky")
        >>> [round(p, 6) for p in shop.execute(query.query).fetchall()[0][2:]]
        [0.428571, 0.571429]
        """
        from bayeskit.export.sql import scoring_query
        from bayeskit.export.sql_terms import word_tables

        form = self._scoring_form()
        return scoring_query(form, table, dialect, keys, columns, evidence, word_tables(words, form.texts))

    def to_onnx(self, path: str | Path | None = None) -> bytes:
        """The model as ONNX, in double: an input for each column, ``label`` and ``probabilities`` as outputs.

        Written to ``path`` where one is given.
        """
        from bayeskit.export.onnx import onnx_model

        return onnx_model(self._scoring_form(), path)

    def to_json(self, path: str | Path | None = None) -> dict[str, Any]:
        """The numbers of the model as plain data, in the form of docs/export.md; written to ``path`` if given."""
        from bayeskit.export.json import json_model

        return json_model(self._scoring_form(), path)


def refuse_random_ties(model: Any) -> None:
    """A draw by the row's content is not to be had elsewhere."""
    if model.ties != "first":
        raise BayesError(f'ties={model.ties!r}: a query cannot draw. Set ties="first" first.', culprit=model.ties)


def whole_form(model: Any, base: Any, terms: Iterable[Term]) -> ScoringForm:
    """The form of a classifier with its settings: what is said of undecidable rows, and how warm scores are."""
    from bayeskit.export.scoring_form import ScoringForm

    by_name = {name: i for i, name in enumerate(model.schema_.used)}
    prior = logspace.exp(model.params_.log_prior) if model.undecidable == "prior" else None
    return ScoringForm(
        model.schema_.target.name,
        tuple(model.tally_.classes),
        np.asarray(base, dtype=np.float64),
        tuple(sorted(terms, key=lambda term: by_name.get(term.name, 0))),
        prior,
        model.undecidable == "error",
        float(model.temperature),
        type(model).__name__,
    )
