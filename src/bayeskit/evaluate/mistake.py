"""How often will it be wrong? The probability of a mistake, from the model's own densities.

For one column and two classes, the line falls into regions where one class or the other is decided:

    P(mistake) = Σ_c P(c) · ∫ over the regions of the other class  p(x | c) dx

Deciding for the class of larger P(c) p(x | c) everywhere makes it as small as it can be.

Formula: P(mistake) over the regions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.tolerance import PARALLEL

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Mistake:
    """P(mistake), what each true class adds to it, and the regions: (from, to, class), or (value, class) of a table."""

    probability: float
    by_class: dict[Any, float]
    regions: tuple[tuple[Any, ...], ...]


def mistake_probability(model: Any, boundaries: Sequence[float] | None = None) -> Mistake:
    """P(mistake) of a fitted naive Bayes model with one column and two classes.

    ``boundaries`` cut the line elsewhere than where the model would, for a Gaussian column; each part still goes to
    the class that is better there on the whole.

    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"x": [-2.0, 0.0, 0.0, 2.0]}, ["a", "a", "b", "b"])     # means −1, 1; variance 2
    >>> found = mistake_probability(model)
    >>> found.regions, round(found.probability, 6)                                       # Φ(−1/√2)
    (((-inf, 0.0, 'a'), (0.0, inf, 'b')), 0.23975)
    """
    params, classes = model.params_, np.asarray(model.classes_).tolist()
    if params.words:
        raise BayesError(f"column {next(iter(params.words))!r} is text: P(mistake) is of a table or a line of numbers")
    if len(classes) != 2 or len(params.used) != 1:
        raise BayesError(
            "P(mistake) is integrated over one column and two classes; the model has "
            f"{len(params.used)} and {len(classes)}. Use restrict([column]), or measure it on rows."
        )
    (name,) = params.used
    column = params.by_column[name]
    prior = logspace.exp(params.log_prior)
    if isinstance(column, CodedColumns):
        if boundaries is not None:
            raise BayesError("boundaries cut a line of numbers; this column is a table of values")
        return _of_table(column.tables[name], prior, classes)
    if not isinstance(column, GaussianColumns):
        raise BayesError(
            f'column {name!r} is {column.kind}: P(mistake) is of "gaussian" numbers, or of a table of values'
        )
    normal, i = column.gaussian, column.names.index(name)
    mean, variance = normal.mean[:, i], normal.variance[:, i]
    return _of_gaussians(prior, mean, np.sqrt(variance), classes, boundaries)


def _of_table(table: Any, prior: Floats, classes: list[Any]) -> Mistake:
    joint = prior[:, None] * table.probabilities[:, 1:-1]
    chosen = joint.argmax(axis=0)
    wrong = [float(joint[c, chosen != c].sum()) for c in (0, 1)]
    regions = tuple((value, classes[c]) for value, c in zip(table.values, chosen.tolist(), strict=True))
    return Mistake(sum(wrong), dict(zip(classes, wrong, strict=True)), regions)


def _of_gaussians(
    prior: Floats, mean: Floats, sd: Floats, classes: list[Any], given: Sequence[float] | None
) -> Mistake:
    from scipy import stats

    cuts = _crossings(prior, mean, sd) if given is None else sorted(float(cut) for cut in given)
    edges = np.array([-inf, *cuts, inf])
    below = stats.norm.cdf((edges[None] - mean[:, None]) / sd[:, None])
    mass = prior[:, None] * np.diff(below, axis=1)  # (classes, parts)
    chosen = mass.argmax(axis=0) if given is not None else _densest(prior, mean, sd, edges)
    regions: list[tuple[float, float, Any]] = []
    for low, high, c in zip(edges[:-1].tolist(), edges[1:].tolist(), chosen.tolist(), strict=True):
        if regions and regions[-1][2] == classes[c]:
            regions[-1] = (regions[-1][0], high, classes[c])
        else:
            regions.append((low, high, classes[c]))
    wrong = [float(mass[c, chosen != c].sum()) for c in (0, 1)]
    return Mistake(sum(wrong), dict(zip(classes, wrong, strict=True)), tuple(regions))


def _crossings(prior: Floats, mean: Floats, sd: Floats) -> list[float]:
    """Where P(c) p(x | c) of both classes are equal: the real roots of a quadratic."""
    if (prior <= 0).any():
        return []
    middle, (s0, s1) = float(mean.mean()), sd.tolist()
    m0, m1 = (mean - middle).tolist()
    a = 0.5 / s0**2 - 0.5 / s1**2
    b = m1 / s1**2 - m0 / s0**2
    c = 0.5 * (m0 / s0) ** 2 - 0.5 * (m1 / s1) ** 2 + float(logspace.log(s0 / s1) + logspace.log(prior[1] / prior[0]))
    if abs(a) < PARALLEL / min(s0, s1) ** 2:
        return [middle - c / b + 0.0] if b else []
    root = b * b - 4 * a * c
    if root <= 0:
        return []
    q = -0.5 * (b + np.copysign(np.sqrt(root), b))
    return sorted(float(middle + x) for x in {q / a, c / q if q else -q / a})


def _densest(prior: Floats, mean: Floats, sd: Floats, edges: Floats) -> npt.NDArray[np.int64]:
    """The class with the larger P(c) p(x | c) in the middle of each part."""
    width = float(sd.max())
    inner = np.clip(
        edges, edges[1:-1].min(initial=float(mean.min())) - width, edges[1:-1].max(initial=float(mean.max())) + width
    )
    x = (inner[:-1] + inner[1:]) / 2
    scores = logspace.log(prior)[:, None] - logspace.log(sd)[:, None] - 0.5 * ((x - mean[:, None]) / sd[:, None]) ** 2
    return np.asarray(scores.argmax(axis=0))
