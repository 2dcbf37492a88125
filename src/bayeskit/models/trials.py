"""Several models of the same rows, which are read, coded and counted once for all that can share it.

`BayesClassifier` counts what naive Bayes counts, beside its rows: naive Bayes, its Student form and its exponents are
made of that. TAN cuts the numbers of the same codes, and AODE and naive Bayes of cuts are made of TAN's pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from bayeskit.data.block import Block
from bayeskit.data.encoder import EncodedRows, Encoder
from bayeskit.data.reader import read_block
from bayeskit.data.source import Source, open_source
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.models.base.estimator import clone
from bayeskit.models.discriminative_weights import DiscriminativeWeights
from bayeskit.models.semi_naive.tan import TAN
from bayeskit.tally.tally import Tally

COUNTED_BY = {"naive": "best", "student": "naive", "exponents": "naive", "tan": "naive", "aode": "tan", "cuts": "tan"}
"""Models that are made of what another has counted or coded."""
BY_SETTINGS = ("naive", "tan")  # which settings that another has not may ask to count otherwise
OF_NUMBERS, OF_CODES = ("naive", "student", "exponents"), ("tan", "aode", "cuts")


class Trials:
    """Models by name, fitted on some rows and asked about others; ``donors`` names those that share their counts."""

    def __init__(self, rows: Any, weighed: Mapping[str, Any], asked: Any, donors: Mapping[str, str]) -> None:
        self.rows, self.weighed, self.asked, self.donors = rows, weighed, asked, donors
        self.fitted: dict[str, Any] = {}
        self._cut: Encoder | None = None

    def fit(self, name: str, model: Any) -> Any:
        """A copy of the model that has learnt the rows, of what another has counted where there is one."""
        fitted, donor = clone(model), self.fitted.get(self.donors.get(name, ""))
        coded = isinstance(fitted, (DiscriminativeWeights, TAN)) and donor is not None
        codes = self._codes if coded else None
        if donor is None or (codes is None and isinstance(fitted, TAN)):
            fitted.fit(*self.rows, **self.weighed)
        elif isinstance(fitted, DiscriminativeWeights):
            fitted._fit_over(donor, self._learnt if codes is None else EncodedRows(self._learnt, codes[0]))
        elif codes is not None:
            fitted.fit_tally(self._pairs(fitted, codes[0]))
        else:
            fitted.fit_tally(donor.tally_)
        self.fitted[name] = fitted
        return fitted

    def rows_asked(self, name: str) -> Any:
        """The rows that a fitted model is asked about, in codes where it shares them."""
        if self.donors and name in OF_NUMBERS and self._codes is not None:
            return EncodedRows(open_source(self.asked), self._codes[1])
        if self._cut is not None and name in OF_CODES:
            return EncodedRows(open_source(self.asked), self._cut_asked)
        return self.asked

    @cached_property
    def _learnt(self) -> Source:
        X, labels = self.rows
        return open_source(X, labels, self.weighed.get("sample_weight"))

    @cached_property
    def _codes(self) -> tuple[Block, Block] | None:
        """(rows learnt, rows asked about) in the codes of naive Bayes; not of texts, which are read part by part."""
        naive = self.fitted["naive"]
        if naive.schema_.texts():
            return None
        encoder = naive._encoder()
        return read_block(encoder, self._learnt), read_block(encoder, open_source(self.asked))

    def _pairs(self, tan: TAN, learnt: Block) -> Tally:
        """What TAN counts, with cuts of its own."""
        naive = self.fitted["naive"]
        schema = tan._complete_schema(naive.schema_, self._learnt)
        self._cut = Encoder(schema, dict(naive.params_.vocabularies), Vocabulary(naive.tally_.classes))
        return tan._count_blocks([self._cut.cut(learnt)], self._cut, tan._learn_plan(schema, self._learnt))

    @cached_property
    def _cut_asked(self) -> Block:
        assert self._cut is not None
        assert self._codes is not None
        return self._cut.cut(self._codes[1])
