"""What `to_sql` gives: the query, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayeskit.data.vocabulary import Value


@dataclass(frozen=True)
class ScoringQuery:
    """A query that scores every row of a table.

    query: the SQL. dialect: of which database. keys: the columns that say which row it is.
    predicted: the column with the class. probabilities: for each class the column with P(class | row).
    evidence: for each column of the model the column with its log odds of the predicted class against ``against``, the
    runner-up; empty unless asked for. A row that the model refuses, such as one with an infinite number, has NULL in
    all of them.
    """

    query: str
    dialect: str
    keys: tuple[str, ...]
    predicted: str
    probabilities: Mapping[Value, str]
    evidence: Mapping[str, str]
    against: str | None = None

    def __str__(self) -> str:
        return self.query

    def __repr__(self) -> str:
        return f"<ScoringQuery in {self.dialect}: {len(self.query):,} characters, .query>"
