"""Multivariate Gaussian Bayes: given the class, the numbers are normal together, with their correlations.

    P(c | x) ∝ P(c) · N(x; mean_c, Σ_c)

With a covariance for each class this is quadratic discriminant analysis, with one for all linear discriminant analysis,
with a diagonal one Gaussian naive Bayes. Missing cells drop out: the normal of the columns that are there.

Formula: multivariate normals: full, tied, diagonal, shrunk
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError, BayesWarning, TooLarge, format_setting
from bayeskit.estimate.covariance import CovarianceRule, Normal, log_density, normal
from bayeskit.estimate.leave_one_out import NormalsLeftOut
from bayeskit.estimate.prior import check_prior, class_prior
from bayeskit.estimate.variance import as_variance_floor
from bayeskit.explain.evidence import class_position
from bayeskit.memory import memory_size
from bayeskit.models.base import Classifier, rules
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.left_out import best_temperature, left_out_loss, weighty_blocks
from bayeskit.tables import Table, class_header
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

LIMIT = 2 * 10**9  # bytes of products


@dataclass(frozen=True)
class GaussianParameters:
    """Parameters of a multivariate Gaussian model."""

    log_prior: Floats
    columns: tuple[str, ...]
    normal: Normal

    vocabularies: ClassVar[Mapping[str, Vocabulary]] = {}  # no column is coded

    @cached_property
    def unused(self) -> frozenset[str]:
        """Return the columns that carry no information about the class."""
        return frozenset(n for n, used in zip(self.columns, self.normal.spread.used, strict=True) if not used)


@dataclass(eq=False, repr=False)
class GaussianBayes(Classifier):
    """A multivariate normal for each class, over columns of numbers with missing cells.

    Parameters
    ----------
    covariance : {"full", "tied", "diagonal", "shrunk"}, default="full"
        One covariance per class (quadratic discriminant analysis), one for all classes (linear discriminant analysis),
        no correlations (Gaussian naive Bayes), or one per class, shrunk to the diagonal.
    shrinkage : float or "auto", default=None
        Shrinkage of covariances to the diagonal, from 0 (none) to 1 ("diagonal"); "auto" computes it from the counts
        (oracle approximating shrinkage). None is "auto" for "shrunk" and 0 otherwise. :meth:`tune` chooses it.
    prior : str, mapping or smoothing rule, default="empirical"
        "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    ddof : {0, 1}, default=1
        1 for unbiased covariances, 0 for maximum likelihood.
    variance_floor : float or VarianceFloor, default=0.01
        As for :class:`NaiveBayes`.
    memory_limit : float, default=None
        Bytes that the products of all pairs of columns may take; None for 2 GB.
    roles, schema, undecidable, ties, random_state, n_threads, temperature, unlabeled
        As for :class:`NaiveBayes`.

    Attributes
    ----------
    means_ : ndarray of shape (n_classes, n_columns)
    covariances_ : ndarray of shape (n_classes, n_columns, n_columns)
        NaN for unused columns.

    Notes
    -----
    A singular covariance (fewer rows of a class than columns, or a column that is determined by others) is shrunk to
    the diagonal by as little as makes it regular, with a warning.

    Examples
    --------
    >>> x = {"a": [0.0, 1.0, 2.0, 3.0] * 2, "b": [0.1, 0.9, 2.1, 2.9, 3.1, 1.9, 1.1, -0.1]}
    >>> y = ["rising"] * 4 + ["falling"] * 4
    >>> model = GaussianBayes(covariance="tied").fit(x, y)
    >>> GaussianBayes().fit(x, y).predict({"a": [0.0, 0.0], "b": [0.2, 2.8]}).tolist()
    ['rising', 'falling']
    >>> print(model.table("a"))
    class    count  mean  variance
    falling      4   1.5   1.66667
    rising       4   1.5   1.66667
    """

    covariance: Literal["full", "tied", "diagonal", "shrunk"] = "full"
    shrinkage: Any = None
    prior: Any = "empirical"
    ddof: int = 1
    variance_floor: Any = 0.01

    params_: GaussianParameters = field(init=False)

    # Settings of coded columns, which it does not have.
    domains: ClassVar[Any] = None  # type: ignore[misc]
    unseen: ClassVar[Literal["ignore", "smooth", "error"]] = "ignore"  # type: ignore[misc]

    _rules: ClassVar[rules.Rules] = {
        "variance_floor": lambda _, value: as_variance_floor(value),
        "covariance": rules.words("full", "tied", "diagonal", "shrunk"),
        "ddof": rules.degrees,
        "shrinkage": rules.optional(rules.number('give a number from 0 to 1, "auto", or None', 0, 1, word="auto")),
        "prior": check_prior,
    }

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """Numbers alone, also those that come as objects; and no more of them than have room."""
        if self.roles is None and self.schema is None:
            where = schema.locate(list(source.kinds), source.named)
            loose = [name for name in schema.used if source.kinds[where[name]] in ("object", "null")]
            schema = schema.replace({name: Numeric() for name in loose})
        others = [name for name in schema.used if name not in schema.measured]
        if others:
            more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
            raise BayesError(
                f"GaussianBayes is for numbers, and column {others[0]!r} is {schema.columns[others[0]].name}{more}",
                hint=f"leave {'them' if more else 'it'} out with "
                f"{format_setting('roles', dict.fromkeys(others, 'ignore'))}, or take NaiveBayes, which mixes kinds of "
                "columns",
            )
        size, limit = 48 * len(schema.used) ** 2, float(self.memory_limit or LIMIT)
        if size > limit:
            raise TooLarge(
                f"{len(schema.used):,} columns have {len(schema.used) ** 2:,} products, {memory_size(size)} for every "
                f"class, and {memory_size(limit)} is the limit",
                hint="choose fewer columns, raise memory_limit=, or take NaiveBayes",
            )
        return schema

    def _plan(self, schema: Schema) -> Plan:
        return Plan(moments=schema.measured, products=schema.measured)

    def _estimate(self, tally: Tally) -> GaussianParameters:
        if tally.products is None:
            hint = "fit on rows, or take the tally of another GaussianBayes"
            raise BayesError("GaussianBayes needs the products of columns, which this tally has not", hint=hint)
        prior = class_prior(self.prior, tally.classes, tally.class_counts)
        floor = as_variance_floor(self.variance_floor)
        class_normals = normal(
            tally.moments, tally.products, tally.class_counts, self._rule, self.ddof, self._amount, floor
        )
        self._tell_singular(tally, class_normals)
        return GaussianParameters(logspace.log(prior), tally.moment_columns, class_normals)

    @property
    def _rule(self) -> CovarianceRule:
        """Return the covariance type before shrinkage."""
        return "full" if self.covariance == "shrunk" else self.covariance

    @property
    def _amount(self) -> float | None:
        """The shrinkage that is given, None where the counts choose it."""
        if self.shrinkage is None:
            return None if self.covariance == "shrunk" else 0.0
        return None if isinstance(self.shrinkage, str) else float(self.shrinkage)

    def _tell_singular(self, tally: Tally, class_normals: Normal) -> None:
        singular = np.flatnonzero((class_normals.spread.lifted > 0) & (tally.class_counts > 0))
        if not len(singular):
            return
        if self._rule == "tied":
            what = f"all classes together ({tally.n_rows:g} rows)"
        else:
            c = int(singular[0])
            more = f" and of {len(singular) - 1} more" if len(singular) > 1 else ""
            what = f"class {tally.classes[c]!r} ({tally.class_counts[c]:g} rows){more}"
        wiser = '"tied", "shrunk" or "diagonal"' if self.covariance == "full" else '"shrunk" or "diagonal"'
        warnings.warn(
            BayesWarning(
                f"the covariance of {what} is singular over {int(class_normals.spread.used.sum())} columns, and was "
                "pulled to the diagonal until it is not.",
                hint=f"Take covariance={wiser}, or leave out columns that follow from others.",
            ),
            stacklevel=4,
        )

    def _log_joint(self, params: GaussianParameters, block: Block) -> Floats:
        return params.log_prior + log_density(_matrix(params, block), params.normal)

    def _log_terms(self, params: GaussianParameters, block: Block) -> dict[str, Floats]:
        """Return ln p(x_j | earlier columns, class) of each column, shape (n_rows, n_classes), in schema order."""
        terms = log_density(_matrix(params, block), params.normal, by_column=True)
        at = {name: i for i, name in enumerate(params.columns)}
        return {name: np.ascontiguousarray(terms[:, :, at[name]]) for name in self.schema_.used}

    def _left_out(self) -> NormalsLeftOut:
        """Return the leave-one-out scorer."""
        floor = as_variance_floor(self.variance_floor)
        return NormalsLeftOut(self.tally_, self.params_.normal, self.prior, self._rule, self.ddof, floor)

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the ``shrinkage``, then the ``temperature``, that have the least leave-one-out log loss.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        X = in_order(X)
        start = clone(self).set_params(temperature=1.0).fit(X, y, sample_weight)
        source = self._labeled(X, y, sample_weight)
        blocks = list(weighty_blocks(start, source))

        def loss(amount: float) -> float:
            with warnings.catch_warnings(action="ignore", category=BayesWarning):
                left_out = clone(start).set_params(shrinkage=amount).fit_tally(start.tally_)._left_out()
            return left_out_loss((block, left_out.scores(block)) for block in blocks)

        if self.covariance != "diagonal":
            self.shrinkage = float(min(AMOUNTS, key=loss))
        self.fit_tally(start.tally_)
        self.temperature = best_temperature(self, source)
        return self

    @property
    def means_(self) -> Floats:
        """Return the class means, shape (n_classes, n_columns)."""
        return self.params_.normal.mean

    @property
    def covariances_(self) -> Floats:
        """Return the covariances, shape (n_classes, n_columns, n_columns); NaN for dropped columns."""
        return self.params_.normal.covariance

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, means and covariances."""
        c, k = len(self.tally_.classes), int(self.params_.normal.spread.used.sum())
        matrices = {"tied": 1, "full": c, "diagonal": c}[self._rule]
        return c - 1 + c * k + matrices * (k if self._rule == "diagonal" else k * (k + 1) // 2)

    def _column_table(self, column: str) -> Table:
        """Mean and variance of each class."""
        i, model = self.params_.columns.index(column), self.params_.normal
        counts, variances = self.tally_.moments.n[:, i].tolist(), model.covariance[:, i, i].tolist()
        columns = {"count": counts, "mean": model.mean[:, i].tolist(), "variance": variances}
        return Table({class_header(self.schema_.target.name, columns): list(self.tally_.classes), **columns})

    def correlations(self, label: Any) -> Table:
        """Return the correlation matrix of one class.

        Parameters
        ----------
        label : class label

        Returns
        -------
        Table
        """
        c, params = class_position(label, self.tally_.classes), self.params_
        correlation = params.normal.spread.correlation[c]
        return Table(
            {"": list(params.columns), **{n: correlation[:, j].tolist() for j, n in enumerate(params.columns)}}
        )

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, Array]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        random_state : int or generator, optional
            By default the setting ``random_state``.

        Returns
        -------
        (Table, ndarray of shape (n,))
            Rows and their classes. Unused columns are drawn as missing.
        """
        import pyarrow as pa

        labels, rng = self._draw_classes(n, random_state)
        params, spread = self.params_, self.params_.normal.spread
        drawn = rng.standard_normal((n, len(params.columns)))
        for c in range(len(self.classes_)):
            factor, rows = np.linalg.cholesky(spread.correlation[c]), labels == c
            drawn[rows] = params.normal.mean[c] + spread.deviation[c] * (drawn[rows] @ factor.T)
        drawn[:, ~spread.used] = np.nan
        at = {name: i for i, name in enumerate(params.columns)}
        columns = {name: pa.array(drawn[:, at[name]], from_pandas=True) for name in self.schema_.used}
        return Table(columns), self.classes_[labels]


AMOUNTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def _matrix(params: GaussianParameters, block: Block) -> Floats:
    """The cells of a block (n_rows, n_columns), NaN where missing."""
    return np.column_stack([block.floats[name] for name in params.columns])
