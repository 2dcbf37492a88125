"""Subclass Bayes: each class is a mixture of clusters, and naive Bayes holds inside each of them.

    P(c | x) ∝ P(c) · Σ_s P(s | c) · Π_j P(x_j | s)

A class that is two things at once (XOR) is not a product, but each of the two is. The clusters are found by EM, their
number by how well the classes of held-out rows are predicted.

Formula: mixtures inside a class
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.reader import in_order, read_block
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, engine_of
from bayeskit.data.vocabulary import Value, Vocabulary, canonical
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.columns.moments import GaussianColumns
from bayeskit.estimate.mixtures import Cells, by_class, numbers_to_try, score_test_rows, smallest_gaps, widen_variances
from bayeskit.estimate.prior import check_prior, class_prior
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.explain.evidence import format_cell, score_increments
from bayeskit.explain.structure import StructureDescription
from bayeskit.models._structured import names_of
from bayeskit.models.base import rules
from bayeskit.models.base.available import unavailable
from bayeskit.models.base.class_parts import name_of, of_classes, parts_of
from bayeskit.models.base.classifier import TOGETHER, Classifier, refuse_no_counts, warn_classes
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.naive_bayes import NaiveBayes, NaiveParameters
from bayeskit.progress import Bar, check_progress
from bayeskit.storage.model_file import State
from bayeskit.tables import Table, class_header
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class SubclassParameters:
    """Parameters of SubclassBayes: naive Bayes over subclasses and the class of each subclass."""

    log_prior: Floats  # of the classes
    naive: NaiveParameters  # of the subclasses
    owner: Array  # the class of each subclass

    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Return the vocabulary of each coded column."""
        return self.naive.vocabularies

    @property
    def unused(self) -> frozenset[str]:
        """Return the columns that carry no information about the class."""
        return self.naive.unused


@dataclass(eq=False, repr=False)
class SubclassBayes(Classifier):
    """Mixture of naive Bayes subclasses within each class, fitted by EM.

    Parameters
    ----------
    n_subclasses : "auto", int or mapping, default="auto"
        "auto" (the number with the best held-out log loss, for each class), one number for all classes, or a mapping
        from class to number.
    max_subclasses : int, default=8
        Largest number that "auto" tries for a class.
    smoothing, prior, variance, ddof, cuts, missing
        As for :class:`NaiveBayes`.
    numeric : {"gaussian", "histogram"}, default="gaussian"
        Distribution of numeric columns.
    folds : int, default=3
        Folds of the held-out rows.
    restarts : int, default=3
        Starts of EM; the most likely result is kept.
    max_rounds : int, default=100
        Largest number of rounds of EM.
    progress : bool or callable, default=None
        True for a bar on stderr, or a function called as ``progress(stage, done, of)`` while fitting.
    variance_floor : float or VarianceFloor, default=0.01
        As for :class:`NaiveBayes`, of the variance within the subclasses.
    random_state : int or generator, default=0
        The same seed and the same rows give the same model for any number of threads.
    roles, domains, schema, unseen, undecidable, ties, n_threads, temperature, memory_limit, unlabeled
        As for :class:`NaiveBayes`.

    Attributes
    ----------
    subclasses_ : Table
        Share and characteristics of each subclass.
    n_subclasses_ : dict
        Number of subclasses of each class.
    held_out_ : dict
        Mean ln P(class | row) of held-out rows, by class and number of subclasses.

    Notes
    -----
    There is no ``partial_fit``, ``forget``, ``merge`` or ``leave_one_out``, because other rows make other clusters; use
    ``cross_validate``.

    No subclass is narrower than a thousandth of its class's variance, nor than gap² / 2π for the smallest gap between
    two numbers of the column, unless the class is. Otherwise one subclass for each whole number would have unbounded
    likelihood.

    Examples
    --------
    >>> xor = {"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8}
    >>> y = ["same", "other", "other", "same"] * 8
    >>> model = SubclassBayes(roles="categorical").fit(xor, y)
    >>> model.score(xor, y), NaiveBayes(roles="categorical").fit(xor, y).score(xor, y)
    (1.0, 0.5)
    >>> model.n_subclasses_
    {'other': 2, 'same': 2}
    """

    n_subclasses: Any = "auto"
    max_subclasses: int = 8
    smoothing: Any = 1.0
    prior: Any = "empirical"
    numeric: Literal["gaussian", "histogram"] = "gaussian"
    variance: Literal["class_feature", "feature", "class", "all"] = "class_feature"
    ddof: int = 1
    cuts: Any = 10
    missing: Literal["ignore", "value"] = "ignore"
    folds: int = 3
    restarts: int = 3
    max_rounds: int = 100
    random_state: Any = field(default=0, kw_only=True)
    progress: Progress | bool | None = None
    variance_floor: Any = 0.01

    _estimate = _plan = unavailable("its clusters are found before anything is counted")
    partial_fit = forget = merge = unavailable("other rows make other clusters. Fit again.")
    learn_source = forget_source = restrict = unavailable("other rows make other clusters. Fit again.")
    leave_one_out = unavailable("other rows make other clusters. Score it by bayeskit.cross_validate.")
    column_importance = nomogram = unavailable(TOGETHER)

    _rules: ClassVar[rules.Rules] = {
        "numeric": rules.words("gaussian", "histogram"),
        "variance": rules.words("class_feature", "feature", "class", "all"),
        "max_subclasses": rules.integer(1),
        "folds": rules.integer(2),
        "restarts": rules.integer(1),
        "max_rounds": rules.integer(1),
        "n_subclasses": rules.by_column(rules.integer(1, word="auto")),
        "prior": check_prior,
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        check_progress(self.progress)
        self._naive()._check_settings()

    def _naive(self) -> NaiveBayes:
        """Naive Bayes with these settings, for subclasses."""
        shared = ["smoothing", "numeric", "variance", "ddof", "variance_floor", "cuts", "missing", "unseen"]
        shared += ["undecidable", "n_threads"]
        return NaiveBayes(**{name: getattr(self, name) for name in shared})

    def _fitted_naive(self) -> NaiveBayes:
        """Return the fitted naive Bayes model of the subclasses."""
        naive = self._naive()
        naive.params_, naive.tally_, naive.schema_ = self.params_.naive, self.subclass_tally_, self.schema_
        return naive

    # -- fitting -------------------------------------------------------------------------------------

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        return self._naive()._complete_schema(schema, source)

    def _fit_checked(self, source: Source) -> Self:
        """Fit on the rows of a source, which are kept in memory while EM iterates."""
        if engine_of(source) is not None:
            raise BayesError.needs_rows("SubclassBayes", "goes over the rows many times", ", or take NaiveBayes")
        source = in_order(source)
        schema = self._schema_for(source)
        naive = self._naive()
        counted = self._collect(source, schema, naive._plan(schema))
        block = self._read_counted(source, counted)
        gaps = smallest_gaps(block)
        with Bar(self.progress) as tell:
            cells = Cells.of(naive, naive.variance, block, counted, gaps)
            columns = [*block.codes.values(), *block.floats.values()]
            shares, names = self._clusters(cells, np.asarray(block.labels, dtype=np.int64), columns, counted, tell)
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        soft = replace(block, labels=None, weights=None, responsibilities=shares * weights[:, None])
        # A class that is declared and has no rows is one part without any, which its name alone keeps.
        domain = names if (counted.class_counts == 0).any() else None
        parts = replace(counted.schema, target=replace(counted.schema.target, domain=domain))
        values = {name: Vocabulary(family.values) for name, family in counted.families.items()}
        encoder = Encoder(parts, values, Vocabulary(names), n_threads=self._threads())
        tally = self._count_blocks([soft], encoder, naive._plan(schema)).with_schema(parts)
        return self._fit_parts(tally, gaps)

    def _clusters(
        self, cells: Cells, labels: Array, columns: list[Array], counted: Tally, tell: Progress
    ) -> tuple[Floats, tuple[str, ...]]:
        """(shares of each row (n_rows, n_subclasses), names of the subclasses): the largest of each class first."""
        classes = [label for label, n in zip(counted.classes, counted.class_counts, strict=True) if n > 0]
        labels = np.searchsorted(np.flatnonzero(counted.class_counts > 0), labels)
        seeds = np.random.SeedSequence(seed_of(self.random_state)).spawn(len(classes))
        rngs = [np.random.default_rng(seed) for seed in seeds]
        tell("classes", 0, len(classes))
        # A row that is held out while its copy stays is not held out at all.
        distinct, joined = cells.join_copies(labels, columns)
        numbers = self._numbers(joined.relative(), labels[distinct], classes, rngs, tell)
        names: list[str] = []
        by_part: list[Floats] = []
        for c, (label, k, rng) in enumerate(zip(classes, numbers, rngs, strict=True)):
            rows = np.flatnonzero(labels == c)
            of_class = joined.take(np.flatnonzero(labels[distinct] == c))
            mixture = of_class.mixture(min(k, of_class.n_rows), rng, self.restarts, self.max_rounds)
            shares = mixture.shares if of_class.n_rows == len(rows) else cells.take(rows).shares(mixture.parts)
            for s, part in enumerate(np.argsort(-(of_class.weights @ mixture.shares), kind="stable"), 1):
                names.append(name_of(label, s))
                by_part.append(np.zeros(len(labels)))
                by_part[-1][rows] = shares[:, part]
        tell("classes", len(classes), len(classes))
        for label in set(counted.classes) - set(classes):
            names.append(name_of(label, 1))
            by_part.append(np.zeros(len(labels)))
        by_name = np.argsort(np.array(names, dtype=object))  # as a tally sorts its classes
        return np.column_stack([by_part[i] for i in by_name]), tuple(names[i] for i in by_name)

    def _numbers(
        self, cells: Cells, labels: Array, classes: list[Value], rngs: list[np.random.Generator], tell: Progress
    ) -> list[int]:
        """Choose the number of subclasses of each class: as given, or by held-out log loss."""
        given = self.n_subclasses
        by_class = {canonical(key): k for key, k in given.items()} if isinstance(given, Mapping) else {}
        sizes = np.bincount(labels, minlength=len(classes))
        tried = []
        for label, size in zip(classes, sizes.tolist(), strict=True):
            number = by_class.get(canonical(label), "auto") if isinstance(given, Mapping) else given
            is_given = not isinstance(number, str)
            tried.append((int(number),) if is_given else numbers_to_try(self.max_subclasses, size, self.folds))
        self.held_out_: dict[Value, dict[int, float]] = {}
        if all(len(numbers) == 1 for numbers in tried):
            return [numbers[0] for numbers in tried]

        def prior(counts: Floats) -> Floats:
            return class_prior(self.prior, classes, counts)

        def report(c: int, done: int, of: int) -> object:
            return tell(f"subclasses of {classes[c]}", done, of)

        numbers, held_out = score_test_rows(cells, labels, tried, rngs, self.folds, prior, report).best()
        self.held_out_ = {label: w for label, w, of in zip(classes, held_out, tried, strict=True) if len(of) > 1}
        return numbers

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit, and set the ``temperature`` with the least log loss, cross-validated in ``folds`` parts.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self
        """
        from bayeskit.evaluate.cross_validation import cross_validate

        X = in_order(X)
        plain = clone(self).set_params(temperature=1.0, progress=None)
        scores = logspace.log(cross_validate(plain, X, y, self.folds, sample_weight).probabilities)
        self.fit(X, y, sample_weight)
        block = read_block(self._encoder(), self._labeled(X, y, sample_weight))
        labels = np.asarray(block.labels, dtype=np.int64)
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        rows = np.flatnonzero((weights > 0) & (labels < len(self.classes_)))
        rows = rows[np.isfinite(scores[rows, labels[rows]])]  # a class that only one fold shows is lost for every T
        if len(rows) and scores.shape[1] > 1:
            self.temperature = 1 / fit_temperature(scores[rows], labels[rows], weights[rows])
        return self

    def _model_tally(self) -> Tally:
        """The counts of the subclasses."""
        return self.subclass_tally_

    def _fit_tally(self, tally: Tally) -> Self:
        """Learn from the counts of subclasses."""
        return self._fit_parts(tally, {})

    def _state_to_save(self) -> State | None:
        """The gaps between numbers, which are not counts."""
        return State({"gaps": self.gaps_}, []) if self.gaps_ else None

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Restore a fitted model from a file."""
        self._check_settings()
        gaps = {} if state is None else state.header["gaps"]
        if not all(isinstance(gap, float) and 0 < gap < np.inf for gap in gaps.values()):
            raise BadFile("the gaps between the numbers of a column are above zero, and these are not")
        return self._fit_parts(tally, gaps)

    def _fit_parts(self, tally: Tally, gaps: dict[str, float]) -> Self:
        """Fit to the counts of subclasses and the smallest gap between the numbers of each column."""
        refuse_no_counts(tally)
        owner, _, classes = parts_of(tally, "SubclassBayes", "subclasses")
        params = self._estimate_parts(tally, gaps)  # may refuse; the model is still as it was
        self._become(params, of_classes(tally, owner, classes), classes)
        self.subclass_tally_, self.gaps_ = tally, gaps
        warn_classes(self)
        return self

    def _estimate_parts(self, tally: Tally, gaps: dict[str, float]) -> SubclassParameters:
        owner, _, classes = parts_of(tally, "SubclassBayes", "subclasses")
        naive = self._naive()
        counts = tally.class_counts.astype(np.float64)
        rows = np.bincount(owner, counts, minlength=len(classes))
        prior = class_prior(self.prior, classes, rows)
        params = naive._estimate(tally)
        within = logspace.log(np.where(rows[owner] > 0, counts / np.where(rows > 0, rows, 1.0)[owner], 1.0))
        log_prior = logspace.log(prior)
        params = replace(params, log_prior=log_prior[owner] + within)
        if (normal := params.of_kind(GaussianColumns)) is not None:
            wider = widen_variances(normal, by_class(tally, owner, len(classes)), gaps)
            params = replace(params, kinds=tuple(wider if kind is normal else kind for kind in params.kinds))
        return SubclassParameters(log_prior, params, owner)

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        made: Self = clone(self).set_params(**settings)
        made._check_settings()
        return made._fit_parts(self.subclass_tally_, self.gaps_)

    # -- prediction -----------------------------------------------------------------------------------

    def _log_joint(self, params: SubclassParameters, block: Block) -> Floats:
        return _summed(self._naive()._log_joint(params.naive, block), params.owner, len(params.log_prior))

    def _log_terms(self, params: SubclassParameters, block: Block) -> dict[str, Floats]:
        """Return the score change (n_rows, n_classes) of adding each column to the earlier ones, in schema order."""
        naive, n_classes = self._naive(), len(params.log_prior)
        naive.schema_ = self.schema_
        terms = naive._log_terms(params.naive, block)
        joined = accumulate(terms.values(), np.add, initial=np.tile(params.naive.log_prior, (block.n_rows, 1)))
        scores = (_summed(of_parts, params.owner, n_classes) for of_parts in islice(joined, 1, None))
        return score_increments(params.log_prior, zip(terms, scores, strict=True))

    def subclass_proba(self, X: Any) -> Floats:
        """Return P(subclass | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_subclasses)
            In the order of ``subclasses_``.
        """
        naive = self._naive()
        order = self._order()
        scores = [naive._log_joint(self.params_.naive, block) for block, _ in self._score(X)]
        return np.concatenate([logspace.normalize(part)[0] for part in scores])[:, order]

    def _order(self) -> Array:
        """The subclasses by class and number."""
        owner, numbers, _ = parts_of(self.subclass_tally_, "SubclassBayes", "subclasses")
        return np.lexsort((numbers, owner))

    @property
    def n_subclasses_(self) -> dict[Value, int]:
        """Return the number of subclasses of each class."""
        counts = np.bincount(self.params_.owner, minlength=len(self.tally_.classes))
        return dict(zip(self.tally_.classes, counts.tolist(), strict=True))

    @property
    def subclasses_(self) -> Table:
        """The subclasses of each class, the largest first: their share of it, and what sets them apart in it."""
        owner, numbers, classes = parts_of(self.subclass_tally_, "SubclassBayes", "subclasses")
        order, counts = self._order(), self.subclass_tally_.class_counts
        share = counts / np.bincount(owner, counts)[owner]
        columns = {
            "subclass": numbers[order].tolist(),
            "count": [round(float(counts[i]), 3) for i in order],
            "share": [float(share[i]) for i in order],
            "what sets it apart": [self._characteristics(int(i)) for i in order],
        }
        header = class_header(self.schema_.target.name, columns)
        return Table({header: [classes[owner[i]] for i in order], **columns}, keys=2)

    def describe_structure(self) -> StructureDescription:
        """Describe the subclasses of each class.

        Returns
        -------
        StructureDescription
        """
        return StructureDescription("each class is a mixture of subclasses, naive Bayes in each", self.subclasses_)

    def _characteristics(self, s: int) -> str:
        """The columns in which a subclass differs most from the rest of its class."""
        naive, tally = self.params_.naive, self.subclass_tally_
        rest = np.flatnonzero((self.params_.owner == self.params_.owner[s]) & (np.arange(len(tally.classes)) != s))
        if not len(rest):
            return "all of the class"
        weight = tally.class_counts[rest] / tally.class_counts[rest].sum()
        differences: list[tuple[float, str]] = []
        for name, table in naive.tables.items():
            if table.used and table.values:
                shares = np.nan_to_num(table.probabilities[s, 1 : len(table.values) + 1])
                others = weight @ np.nan_to_num(table.probabilities[rest, 1 : len(table.values) + 1])
                at = int(np.argmax(shares - others))
                value = names_of(table.values, self.schema_, name)[at]
                differences.append((float(shares[at] - others[at]), f"{name} {format_cell(value)} ({shares[at]:.0%})"))
        normal = naive.of_kind(GaussianColumns)
        for j, name in enumerate(normal.names if normal is not None else ()):
            if normal.gaussian.used[j]:
                mean, others = normal.gaussian.mean[s, j], float(weight @ normal.gaussian.mean[rest, j])
                spread = float(np.sqrt(normal.gaussian.variance[s, j]))
                far = abs(mean - others) / (abs(mean - others) + spread)
                differences.append((far, f"{name} near {mean:.4g}"))
        differences.sort(key=lambda pair: -pair[0])
        return ", ".join(text for size, text in differences[:3] if size > 0.1) or "nothing much"

    def _column_table(self, column: str) -> Table:
        """Return the fitted parameters of one column for each subclass."""
        naive = self._fitted_naive()
        owner, numbers, classes = parts_of(self.subclass_tally_, "SubclassBayes", "subclasses")
        subclass_names = tuple(f"{classes[c]} {number}" for c, number in zip(owner, numbers, strict=True))
        naive.tally_ = self.subclass_tally_.with_classes(np.arange(len(subclass_names)), subclass_names)
        return naive._column_table(column)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, shares of the subclasses, and naive Bayes in each."""
        return self._fitted_naive().n_parameters_

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, Array]:
        """Draw rows from the model: a subclass by its prior, then each column independently.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        random_state : int or generator, optional
            By default the setting ``random_state``.

        Returns
        -------
        (Table, ndarray of shape (n,))
            Rows and their classes.
        """
        naive = self._fitted_naive()
        naive.classes_ = np.arange(len(self.params_.owner))
        chosen = self.random_state if random_state is None else random_state
        drawn, subclass = naive.sample(n, chosen)
        return drawn, self.classes_[self.params_.owner[subclass]]


def _summed(scores: Floats, owner: Array, n_classes: int) -> Floats:
    """ln Σ exp over the subclasses of each class (n_rows, n_classes); −∞ for a class without any."""
    class_scores = np.full((len(scores), n_classes), -np.inf)
    for c in range(n_classes):
        if (owner == c).any():
            class_scores[:, c] = logspace.log_sum_exp(np.ascontiguousarray(scores[:, owner == c]))
    return class_scores
