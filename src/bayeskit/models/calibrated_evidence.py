"""Why a calibrated model puts a row in its class: what each column adds before the curve, seen through it.

A curve bends a sum, so no column has a part of its own in what comes out. As for every model that is no product, a
column's contribution is the change of the odds when it joins the columns before it, in schema order, here of the
calibrated odds: the contributions telescope to them exactly. Where a temperature alone is learnt and nothing is capped,
that is each contribution of the classifier divided by it.

Formula: evidence through a calibration curve
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.explain.evidence import telescoped
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.calibrated import Calibrated


class CalibratedParams:
    """The estimates of a classifier, with the calibrated prior in the place of its own."""

    def __init__(self, params: Any, log_prior: Floats) -> None:
        self._params, self.log_prior, self.log_start = params, log_prior, log_prior

    def __getattr__(self, name: str) -> Any:
        return getattr(self._params, name)


class CalibratedEvidence:
    """What an explanation asks of a model: a classifier with log terms, seen through its curves."""

    def __init__(self, calibrated: Calibrated) -> None:
        self.calibrated, self.inner = calibrated, calibrated.model_
        self.undecidable: str = self.inner.undecidable
        params = self.inner.params_
        start = np.asarray(getattr(params, "log_start", params.log_prior), dtype=np.float64)
        self.params_ = CalibratedParams(params, self._through(start[None])[0])

    @property
    def tally_(self) -> Tally:
        """What was counted."""
        tally: Tally = self.inner.tally_
        return tally

    def _encoder(self) -> Encoder:
        """The classifier's."""
        encoder: Encoder = self.inner._encoder()
        return encoder

    def _tempered(self, scores: Floats) -> Floats:
        """Scores are calibrated already."""
        return scores

    def log_joint(self, params: CalibratedParams, block: Block) -> Floats:
        """ln P(class | x), calibrated (rows, classes); −∞ where a row is impossible under every class."""
        return self._through(self._scores(block))

    def _log_terms(self, params: CalibratedParams, block: Block) -> Mapping[str, Floats]:
        """What each column adds to the calibrated scores when it joins those before it."""
        plain = self.inner.params_
        so_far = np.asarray(getattr(plain, "log_start", plain.log_prior), dtype=np.float64)[None]
        steps = []
        for name, term in self.inner._log_terms(plain, block).items():
            so_far = so_far + term
            steps.append((name, self._through(so_far)))
        if steps:
            steps[-1] = (steps[-1][0], self.log_joint(params, block))  # as it is predicted, to the last digit
        return telescoped(params.log_prior, steps)

    def _choose(self, scores: Floats, block: Block) -> Ints:
        """As :meth:`Calibrated.predict`."""
        return self.calibrated.most_probable(logspace.exp(scores), self._scores(block))

    def _scores(self, block: Block) -> Floats:
        return np.asarray(self.inner.log_joint(self.inner.params_, block))

    def _through(self, scores: Floats) -> Floats:
        """Scores (rows, classes) of the classifier through the curves; rows that are impossible stay so."""
        log_p, evidence = logspace.log_normalise(self.inner._tempered(scores))
        impossible = np.isneginf(evidence)
        log_p[impossible] = 0.0
        through = np.asarray(logspace.log(self.calibrated.calibrated(log_p)))
        through[impossible] = -np.inf
        return through
