"""Probability of a mistake of a fitted model of one column."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError, with_article
from bayeskit.estimate.columns.coded import CodedColumns, Histogram
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.estimate.columns.kernel import KernelColumns
from bayeskit.estimate.columns.student import StudentColumns
from bayeskit.estimate.mistake import LineDensities, Mistake, NormalDensities, line_mistake, table_mistake
from bayeskit.estimate.smoothing import is_number
from bayeskit.typing import Floats

SPREADS_BEYOND = 8.0  # spreads beyond the outermost numbers, where the decision no longer changes


def mistake_probability(model: Any, boundaries: Sequence[float] | None = None) -> Mistake:
    """Compute the probability of a mistake of a fitted model of one column.

    Parameters
    ----------
    model : NaiveBayes or GaussianBayes
        Fitted on one column: a table of values, a histogram, a normal, a Student's t or a kernel density.
    boundaries : sequence of float, optional
        Cut the line here instead of where the model would decide. Each part goes to the class with the larger mass.

    Returns
    -------
    Mistake
        ``probability``, ``correct``, ``by_class`` and ``regions``.

    Raises
    ------
    BayesError
        If the model has several columns, or a column without a closed form.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"x": [-2.0, 0.0, 0.0, 2.0]}, ["a", "a", "b", "b"])     # means −1, 1; variance 2
    >>> found = mistake_probability(model)
    >>> found.regions, round(found.probability, 6), round(found.correct, 6)              # Φ(−1/√2)
    (((-inf, 0.0, 'a'), (0.0, inf, 'b')), 0.23975, 0.76025)
    """
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted  # loads slowly

        check_is_fitted(model)
    params: Any = getattr(model, "params_", None)
    if not hasattr(params, "normal") and not hasattr(params, "by_column"):
        who = with_article(type(model).__name__)
        raise BayesError(f"{who} has no density of one column by itself: P(mistake) is of NaiveBayes or GaussianBayes")
    cuts = None if boundaries is None else _check_boundaries(boundaries)
    classes, prior = np.asarray(model.classes_).tolist(), logspace.exp(params.log_prior)
    if hasattr(params, "normal"):  # multivariate, of one column
        _check_one_column([name for name in params.columns if name not in params.silent])
        i = int(np.flatnonzero(params.normal.spread.used)[0])
        mean, variance = params.normal.mean[:, i], np.array([c[i, i] for c in params.normal.covariance])
        return line_mistake(NormalDensities(mean, np.sqrt(variance)), prior, classes, cuts)
    if params.words:
        raise BayesError(f"column {next(iter(params.words))!r} is text: P(mistake) is of a table or a line of numbers")
    _check_one_column(params.used)
    (name,) = params.used
    column = params.by_column[name]
    if isinstance(column, CodedColumns):
        if boundaries is not None:
            raise BayesError("boundaries cut a line of numbers; this column is a table of values")
        table = column.tables[name]
        edges = table.cuts if isinstance(table, Histogram) else None
        return table_mistake(table.probabilities[:, 1:-1], prior, classes, table.values, edges)
    return line_mistake(_column_densities(column, name), prior, classes, cuts)


def _check_one_column(used: Sequence[str]) -> None:
    if len(used) != 1:
        raise BayesError(
            f"P(mistake) is integrated over one column; the model has {len(used)}. "
            "Use restrict([column]), or measure it on rows."
        )


def _column_densities(column: Any, name: str) -> NormalDensities | LineDensities:
    """Return the class densities of a numeric column."""
    if isinstance(column, GaussianColumns):
        i = column.names.index(name)
        return NormalDensities(column.gaussian.mean[:, i], np.sqrt(column.gaussian.variance[:, i]))

    def log_density(x: Floats) -> Floats:
        return np.asarray(column.scores(name, x).T)

    if isinstance(column, KernelColumns):
        density = column.densities[name]
        bells = [bells for bells in density.classes if bells is not None]
        if len(bells) < len(density.classes):
            raise BayesError(f"column {name!r} has a class without numbers: P(mistake) needs a density of each")
        low, high = min(float(b.points[0]) for b in bells), max(float(b.points[-1]) for b in bells)
        wide = SPREADS_BEYOND * max(float(b.bandwidth) for b in bells)
        return LineDensities(
            log_density,
            lambda edges: np.array([_kernel_share_below(b, edges) for b in bells]),
            (low - wide, high + wide),
        )
    if isinstance(column, StudentColumns):
        from scipy.special import stdtr

        parts = column.parameters(name)
        location, scale, freedom = (parts[key][:, None] for key in ("location", "scale", "freedom"))
        wide = SPREADS_BEYOND * float(scale.max())
        ends = float(location.min()) - wide, float(location.max()) + wide
        return LineDensities(
            log_density, lambda edges: np.asarray(stdtr(freedom, (edges[None] - location) / scale)), ends
        )
    raise BayesError(
        f"column {name!r} is {column.kind}: P(mistake) is of gaussian, student, kernel or histogram numbers, or of a "
        f"table of values; densities({name!r}) has it along a line"
    )


def _kernel_share_below(bells: Any, edges: Floats) -> Floats:
    """Return the share of a kernel density below each edge."""
    from scipy.special import ndtr

    shares = bells.counts / bells.counts.sum()
    return np.array([float(shares @ ndtr((edge - bells.points) / bells.bandwidth)) for edge in edges])


def _check_boundaries(given: Sequence[float]) -> list[float]:
    for i, cut in enumerate(given):
        if not is_number(cut) or not isfinite(cut):
            raise BayesError(f"boundaries[{i}] is {cut!r}: give finite numbers")
    return [float(cut) for cut in given]
