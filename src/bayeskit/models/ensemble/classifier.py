"""BayesClassifier: an ensemble fitted by counting, for raw mixed tables, without parameters to tune.

    s(y) = w_0 ln P(y) + Σ_i w_i f_i(y) + Σ_j v_j o_j(y) + b(y)
    P(y | x) = (n softmax(s)_y + 1) / (n + C)

f_i is the mean over the members of ln P(x_i | y, parents of i), estimated by back-off from longer to shorter contexts.
The o_j are the geometric and the arithmetic mean of class chains (contexts that grow by one column at a time), both
means of two forests whose leaves are counted on all rows, and a linear part. The exponents w and v are fitted to
left-out scores, and b is boosting of the remaining error and a boosted forest, if they gain. The last line caps the
probabilities: n rows do not justify more certainty.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.frames import BLOCK
from bayeskit.data.reader import read_table
from bayeskit.data.schema import Schema, Text
from bayeskit.data.text.tokens import count_documents
from bayeskit.errors import BadFile, BayesError, BayesWarning, SchemaMismatch, TooLarge, format_setting
from bayeskit.evaluate.cross_validation import labeled_table
from bayeskit.explain.evidence import average_increments
from bayeskit.explain.informative import LossImportance
from bayeskit.explain.structure import StructureDescription
from bayeskit.memory import memory_of_the_machine, memory_size
from bayeskit.models.base import rules
from bayeskit.models.base.available import available_if, unavailable, with_remark
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.classifier import TOGETHER, Classifier
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.ensemble.fitting import EnsembleFit, EnsembleSize, FitTables, LeftOutScores
from bayeskit.models.ensemble.parameters import (
    MOST_FITTED,
    EnsembleParameters,
    TableSize,
    from_leaves,
    log_scores,
    memory_needed,
    unknown,
)
from bayeskit.models.ensemble.structure import Structure, from_parts
from bayeskit.models.ensemble.texts import fit_texts, saved_texts, sources_of, texts_from
from bayeskit.models.ensemble.training_rows import TrainingRows, block_columns, plan_of, rows_of, training_rows
from bayeskit.models.ensemble.trees import number_of_trees
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.progress import Bar, check_progress
from bayeskit.storage.model_file import Saved, State
from bayeskit.tables import Sheet, SheetText, Table
from bayeskit.tally.coded_trees import Leaves
from bayeskit.tally.plan import Plan
from bayeskit.tally.rows import SAMPLE, StoredRows
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats, Ints

Progress = Callable[[str, int, int], object]
# Up to so many rows members and chains are always kept; above, only if left-out scores need them. Both this number and
# those of members and chains were chosen on training parts of the sets in docs/quality.md.
FEW_ROWS = 3_000
MEMBERS, CHAINS = 8, 16
# Above so many rows there are no members and chains, unless they are asked for.
MANY_ROWS = 100_000
# The same holds for more columns than this and than this share of the rows, and where weights are so uneven that the
# effective number of rows, (Σw)² / Σw², is below a share of the rows. Rows left out judge members too well there,
# because cuts and parents have seen the rows. Chosen on normal columns, and on training parts of "sonar" and "labor".
MANY_COLUMNS, SHARE_OF_ROWS, UNEVEN = 12, 1 / 3, 1 / 4
# Bytes that a fit may take.
MEMORY_LIMIT = 4e9
# The largest number of classes: labels fit in 16 bits.
MOST_CLASSES = 65_535
MOST_MEMBERS = 100_000
where_rows_are_kept = available_if(
    lambda model: model.keep_rows,
    "with keep_rows=False, its rows are gone, and nothing can be added to them. Fit again",
)


@dataclass(eq=False, repr=False)
class BayesClassifier(Classifier):
    """Ensemble classifier for raw mixed tables, with nothing to tune.

    The model keeps its rows, because the counts of all its contexts would take far more memory. Rows can be added and
    removed, and a saved file holds them. With ``keep_rows=False`` it keeps the counts of its tree leaves instead.

    Parameters
    ----------
    n_members : int, default=None
        Models of the columns that are averaged; None for 8.
    n_chains : int, default=None
        Class chains; None for 16.
    n_trees : int, default=None
        Trees of each of the two forests; None for 100, 50 above 5,000 rows, 25 above 20,000 rows, and fewer with very
        many classes.
    fast : bool or "auto", default="auto"
        True leaves out members and chains. "auto" does so above 100,000 rows, if memory is short, if there are more
        than 12 columns and more than a third as many as rows, if weights are very uneven, and from 3,000 rows on if
        left-out scores show that they are not needed, unless their number is given.
    keep_rows : bool, default=True
        False for a model, and a file, without rows: it is ``fast`` and cannot be updated.
    memory_limit : float, default=4e9
        Bytes that the fit may take; a larger fit raises before it starts.
    roles : str or mapping, default=None
        One role for all columns or a mapping from name or position: "categorical", "numeric", "text", "ignore", or
        parts of a date such as "month,weekday".
    domains : mapping, default=None
        Mapping from column to all its possible values; the target's name declares classes.
    schema : Schema, default=None
        The ``schema_`` of another model, instead of one inferred from the data.
    unseen : {"ignore", "error"}, default="ignore"
        A value never seen in training is left out or refused.
    ties : {"first", "random"}, default="first"
        The first class in sorted order, or one drawn by ``random_state`` and the content of the row.
    random_state : int, default=0
        The same seed gives the same model for any number of threads.
    n_threads : int, default=None
        None for all cores.
    progress : bool or callable, default=None
        True for a bar on stderr, or a function called as ``progress(stage, done, of)`` while fitting; stages are
        "columns", "chains", "trees", "line", "exponents" and "boosting".
    structure : Structure, default=None
        The ``structure_`` of another model: only the counts are learned. Models that share one can be merged.
    unlabeled : str, default="error"
        As for :class:`NaiveBayes`.

    Attributes
    ----------
    left_out_ : Table
        Accuracy and log loss of the training rows, each left out of the counts, beside those of naive Bayes and of the
        majority class; for more than 20,000 rows on a random sample of so many. Exponents are
        cross-fitted for it; it is slightly optimistic, because the structure has seen the row. Computed when first
        asked for.
    importance_ : Table
        Rise of the left-out log loss if a column is unknown to members, forests, linear part and boosting, largest
        first; ``chart()`` draws it. Class chains are unchanged. Computed on some rows when first asked for.
    feature_importances_ : ndarray of shape (n_features,)
        The same as shares, in the order of the columns.
    structure_ : Structure
        Cuts, parents, chains, trees, linear part, boosting and exponents, which stay fixed when rows are added, removed
        or merged.

    Raises
    ------
    TooLarge
        In a fit that may take more than ``memory_limit``.
    BayesError
        In a fit with all columns ignored, and on text columns with ``groups`` or ``keep_rows=False``.

    Examples
    --------
    >>> from bayeskit.datasets import load_penguins
    >>> birds = load_penguins().drop_columns(["year"])
    >>> model = BayesClassifier(n_members=4, fast=True).fit(birds.slice(0, 300), "species")
    >>> bird = {"island": "Dream", "bill_length_mm": 49.3, "bill_depth_mm": None,
    ...         "flipper_length_mm": 195, "body_mass_g": None, "sex": "male"}
    >>> model.predict(bird)[0]
    np.str_('Chinstrap')
    """

    n_members: int | None = None
    n_chains: int | None = None
    n_trees: int | None = None
    fast: bool | str = "auto"
    keep_rows: bool = True
    progress: Progress | bool | None = None
    structure: Structure | None = None
    memory_limit: float | None = field(default=MEMORY_LIMIT, kw_only=True)
    random_state: Any = field(default=0, kw_only=True)

    # Settings of models with a prior of rows, which it does not have.
    undecidable: ClassVar[Literal["prior", "nan", "error"]] = "prior"  # type: ignore[misc]
    temperature: ClassVar[float] = 1.0  # type: ignore[misc]

    _estimate = unavailable("it is made of rows and of what was learned from them")
    fit_tally = unavailable("it is made of rows and of what was learned from them")
    restrict = unavailable("it is made of rows and of what was learned from them")
    with_prior = unavailable("it is made of rows and of what was learned from them")
    predict_joint_log_proba = unavailable("it knows P(class | x) alone")
    score_samples = unavailable("it knows P(class | x) alone")
    log_likelihood = unavailable("it knows P(class | x) alone")
    column_importance = unavailable(TOGETHER)
    nomogram = unavailable(TOGETHER)
    sample = unavailable("it knows P(class | x) alone")
    leave_one_out = unavailable(
        "its structure and m have seen every row. left_out_ has the scores of the rows of "
        "the fit with these held, and bayeskit.cross_validate those to rely on"
    )
    _averages_orders: ClassVar[bool] = True
    # It reads texts.
    _textless = ""
    # A file holds the structure of the model itself.
    _unsaved: ClassVar[tuple[str, ...]] = ("structure",)

    _rules: ClassVar[rules.Rules] = {
        "n_members": rules.optional(rules.integer(1, MOST_MEMBERS)),
        "n_chains": rules.optional(rules.integer(0, MOST_MEMBERS)),
        "n_trees": rules.optional(rules.integer(0, MOST_MEMBERS)),
        "fast": rules.flag_or("auto"),
        "keep_rows": rules.flag,
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.unseen == "smooth":
            raise BayesError(
                f"{format_setting('unseen', 'smooth')} has no meaning here:", hint='it is "ignore" or "error"'
            )
        if not isinstance(self.memory_limit, (int, float, np.number)) or not self.memory_limit > 0:
            raise BayesError(f"memory_limit={self.memory_limit!r}: give a number of bytes")
        if self.structure is not None and not isinstance(self.structure, Structure):
            raise BayesError(f"structure= takes the structure_ of a model, not {type(self.structure).__name__}")
        check_progress(self.progress)

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`.
        groups : array-like of shape (n_rows,) or str, optional
            Which rows belong together, as several measurements of a person do, or the name of their column, which is
            not learned from. Rows of a group are left out together when the parts of the model are judged and weighed,
            for new rows of new groups. Members and chains, which cannot be judged so, are left out.

        Returns
        -------
        self
        """
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        if groups is None:
            return super().fit(X, y, sample_weight)
        if self.fast is False or any(s is not None for s in (self.n_members, self.n_chains, self.structure)):
            raise BayesError(
                "groups= leaves out members and chains, which are judged row by row:",
                hint="do not pass fast=False, n_members, n_chains or structure",
            )
        with warnings.catch_warnings():
            # The fit warns of rows without a label.
            warnings.simplefilter("ignore", BayesWarning)
            given = labeled_table(X, y, sample_weight, [self], groups)
        codes = cast(Ints, given.groups)
        # Rows of weight zero are not stored.
        self._groups = codes if given.weights is None else codes[given.weights > 0]
        try:
            return super().fit(read_table(X, groups).data if isinstance(groups, str) else X, y, sample_weight)
        finally:
            del self._groups

    partial_fit = where_rows_are_kept(
        with_remark(
            Classifier.partial_fit,
            "The structure stays fixed: rows are counted with the same cuts, parents, chains, trees, linear part,\n"
            "boosting and exponents. ``left_out_`` and ``importance_`` stay those of the fit.",
        )
    )
    forget = where_rows_are_kept(
        with_remark(
            Classifier.forget,
            "The structure, which these rows may have influenced, stays fixed without ``refit``, and so do\n"
            "``left_out_`` and ``importance_``; with ``refit=True`` the model equals a fit on the remaining rows.\n"
            "The model keeps its rows, so a row that was not learned is always refused.",
        )
    )
    merge = where_rows_are_kept(
        with_remark(
            Classifier.merge,
            "Both models need the same structure: fit the other with ``structure=first.structure_``.\n"
            "``left_out_`` and ``importance_`` are those of this model.",
        )
    )
    learn_source = where_rows_are_kept(Classifier.learn_source)
    forget_source = where_rows_are_kept(Classifier.forget_source)

    def _plan(self, schema: Schema) -> Plan:
        """Plan to keep the rows and the counts of naive Bayes."""
        return plan_of(schema)

    def _begin(self, tally: Tally) -> Self:
        held = self.structure
        if not self.keep_rows and held is not None and (len(held.cuts) or len(held.steps)):
            raise BayesError(
                f"keep_rows=False, and {held!r} scores members and chains, which need the rows:",
                hint="pass keep_rows=True, or the structure of a fit with fast=True",
            )
        groups = vars(self).get("_groups")
        if groups is not None and (texts := tally.schema.texts):
            raise BayesError(
                f"groups= and text column {texts[0]!r}: the documents of a group are not left out together.",
                hint='Pass roles= with "ignore" for it, or no groups',
            )
        if not self.keep_rows and (texts := tally.schema.texts):
            raise BayesError(
                f"keep_rows=False, and column {texts[0]!r} is a text, which is read with its rows alone:",
                hint='pass keep_rows=True, or roles= with "ignore" for it',
            )
        if held is None:
            texts_of = fit_texts(rows_of(tally), tally.schema, tally.classes, self.n_threads)
        else:
            texts_of = dict(held.texts)
        rows = _with_groups(training_rows(tally, texts_of), groups)
        if held is None:
            rows = rows.drop_uninformative()
        extent = self._extent(TableSize.of_rows(rows), self.structure)
        if groups is not None:
            extent = EnsembleSize(0, 0, extent.trees, True)
        rng = np.random.default_rng(seed_of(self.random_state))
        if self.structure is not None:
            rows = self._in_order(rows, self.structure)
        with Bar(self.progress) as tell:
            fit = EnsembleFit(rows, extent, rng, self._threads(), tell, self.structure, texts_of)
            params = fit.run()
        asked, importance, structure, n_threads = fit.asked, fit.importance, params.structure, self.n_threads
        scores = LeftOutScores(rows, asked)
        ours, majority, cross_fit = scores.of(fit.log_proba), scores.of_majority(), fit.cross_fit

        # The default argument keeps the tally of the fit when the model is updated.
        def rows_of_fit(tally: Tally = tally) -> TrainingRows:
            return BayesClassifier._in_order(_with_groups(training_rows(tally, texts_of), groups), structure)

        def left_out(tally: Tally = tally) -> Table:
            naive = NaiveBayes(schema=tally.schema, n_threads=n_threads).fit_tally(tally)
            rows = rows_of_fit()
            beside = LeftOutScores(rows, asked).of_naive_bayes(_naive_left_out(naive)[rows.position[asked]])
            first = ours if cross_fit is None else LeftOutScores(rows, asked).of(cross_fit.log_proba())
            accuracy, loss = zip(first, beside, majority, strict=True)
            models = ["BayesClassifier", "NaiveBayes", "majority"]
            return Table({"model": models, "accuracy": list(accuracy), "log loss": list(loss)})

        def column_importance() -> LossImportance:
            rows = rows_of_fit()
            rises = dict(zip(structure.by_source(), importance.of_columns(rows), strict=True))
            return LossImportance.of(rises | dict.fromkeys(structure.silent, 0.0))

        self._figures = FitTables(left_out, column_importance)
        if not self.keep_rows:
            self._figures.compute()
            weight = float(tally.class_counts.sum()) / rows.n if rows.n else 1.0
            params = replace(params, structure=replace(params.structure, weight=weight))
            tally, leaves = without_rows(tally, params, fit.leaf_counts)
            # From what is kept, so that a file gives the same model to the last bit.
            params = from_leaves(leaves, tally.class_counts, tally.classes, params.structure, self._threads())
        return self._settle(tally, params)

    @property
    def left_out_(self) -> Table:
        """Accuracy and log loss of the training rows left out, computed when first asked for."""
        self._check_is_fitted()
        return self._figures.left_out

    @property
    def importance_(self) -> LossImportance:
        """Rise of the left-out log loss without each column, largest first, computed when first asked for."""
        self._check_is_fitted()
        return self._figures.importance

    @property
    def feature_importances_(self) -> Floats:
        """``importance_`` as shares, in the order of the columns; 0 for negative ones and ignored columns."""
        rises = self.importance_.by_column
        shares = np.array([max(rises.get(name, 0.0), 0.0) for name in self.schema_.inputs])
        return shares / (shares.sum() or 1.0)

    def _move(self, tally: Tally) -> Self:
        """Count other rows in the contexts of the same structure."""
        self._figures.compute()
        return self._recount(tally, self.structure_)

    @property
    def fixed_(self) -> tuple[str, ...]:
        """The parts of ``structure_``, which stay fixed when rows are added, removed or merged."""
        self._check_is_fitted()
        return self.structure_.parts

    def _check_refit(self, refit: bool) -> None:
        # Its rows are kept wherever it can forget.
        self._check_is_fitted()

    def _drop_rows(self, left: Tally, refit: bool) -> Self:
        """Count the remaining rows; names that only the others had leave the structure, which ``refit`` fits again."""
        if refit and self.structure_.grouped:
            raise BayesError(
                "the model was fitted with groups=, which it does not keep; nothing was changed.",
                hint="Fit a new model without these rows",
            )
        if refit and self.structure is None:
            return self._begin(left)
        if self.structure_.texts:
            raise BayesError(
                "its text models have learned the words of these rows and cannot forget them; nothing was changed.",
                hint="Pass refit=True to fit the remaining rows again",
            )
        self._figures.compute()
        return self._recount(left, self.structure_, forget_names=True)

    def _merged(self, other: Any) -> Self:
        tally = self.tally_ + other.tally_
        structure = self.structure_.unite(other.structure_)
        if structure is None:
            raise SchemaMismatch(
                "the two sides have different structures, so their counts cannot be added:",
                hint="fit the other with BayesClassifier(structure=first.structure_), or one model on the rows of both",
            )
        made = clone(self)
        vars(made)["_figures"] = self._figures.compute()
        return made._recount(tally, structure, forget_names=True)

    @staticmethod
    def _in_order(rows: TrainingRows, structure: Structure) -> TrainingRows:
        """Put the columns of rows in the order of the structure."""
        known = (*structure.columns, *structure.silent)
        if set(rows.codes) != set(known):
            raise SchemaMismatch(
                f"the structure is one of the columns {', '.join(known)}, and there are {', '.join(rows.codes)}"
            )
        rows = rows.select(structure.columns)
        for name, how in rows.codes.items():
            if (how.values is None) != (structure.codes[name].values is None):
                raise SchemaMismatch(f"column {name!r} is numeric on one side only: pass schema= as well")
        return rows

    def _recount(self, tally: Tally, structure: Structure, forget_names: bool = False) -> Self:
        """Count the rows of a tally in the contexts of a given structure; blank the names that no row has if asked."""
        rows = training_rows(tally, structure.texts)
        structure = structure.forget_names(rows.codes, rows.classes) if forget_names else structure
        self._extent(TableSize.of_rows(rows), structure)
        with Bar(self.progress) as tell:
            params = EnsembleFit.count(self._in_order(rows, structure), structure, self._threads(), tell)
        return self._settle(tally, params)

    def _settle(self, tally: Tally, params: EnsembleParameters) -> Self:
        self.structure_ = params.structure
        return self._become(params, tally, tally.classes)

    def _check_size(self, tally: Tally) -> None:
        """Refuse a table that is too large, given its counts."""
        self._extent(TableSize.of_counts(tally), self.structure)

    def _extent(self, size: TableSize, held: Structure | None, limit: float | None = None) -> EnsembleSize:
        """Choose the size of the ensemble; refuse one that takes more memory than allowed."""
        limit = limit or self.memory_limit or MEMORY_LIMIT
        if size.n_classes > MOST_CLASSES:
            raise TooLarge(f"{size.n_classes:,} classes are more than the {MOST_CLASSES:,} that are supported")
        extent = self._requested_size(size) if held is None else EnsembleSize.of(held)
        needed = memory_needed(size, extent.members, extent.chains, extent.trees, self._threads())
        if needed > limit and extent.light is None:
            extent = EnsembleSize(0, 0, extent.trees, True)
            needed = memory_needed(size, 0, 0, extent.trees, self._threads())
        if needed > limit:
            fewer = "ask for fewer n_members, " if extent.members > 1 else ""
            raise TooLarge(
                f"learning {size} may take {memory_size(needed)}, more than memory_limit={memory_size(limit)}.",
                hint=f"Raise it, {fewer}{SAMPLE}",
            )
        return extent

    def _requested_size(self, size: TableSize) -> EnsembleSize:
        """Choose members, chains and trees by the settings and the number of rows."""
        trees = number_of_trees(size.n_rows, size.n_classes) if self.n_trees is None else int(self.n_trees)
        free = self.n_members is None and self.n_chains is None and self.fast == "auto"
        many = size.n_rows > MANY_ROWS or size.n_columns > max(MANY_COLUMNS, SHARE_OF_ROWS * size.n_effective)
        if self.fast is True or not self.keep_rows or (free and (many or size.n_effective < UNEVEN * size.n_rows)):
            return EnsembleSize(0, 0, trees, True)
        members = MEMBERS if self.n_members is None else int(self.n_members)
        chains = CHAINS if self.n_chains is None else int(self.n_chains)
        return EnsembleSize(members, chains, trees, None if free and size.n_rows > FEW_ROWS else False)

    # -- persistence -----------------------------------------------------------------------------------

    def _state_to_save(self) -> State:
        """Return structure and scores for a file."""
        header, arrays = self.structure_.to_parts(with_trees=self.keep_rows)
        header |= {name: self.left_out_[name] for name in ("accuracy", "log loss")}
        rises = self.importance_.by_column
        return State(header | {"importance": [rises[name] for name in self.structure_.by_source()]}, arrays)

    def _to_saved(self) -> Saved:
        """Return the content of the model file, with the text models."""
        return replace(super()._to_saved(), parts=saved_texts(self.structure_.texts))

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """Return the fitted model of the content of a file."""
        model: Any = cls._with_settings(saved.settings)
        return model._restore(replace(saved, parts={}).counted(), saved.state, saved.parts)

    def _restore(self, tally: Tally, state: State | None, parts: Mapping[str, Saved] = MappingProxyType({})) -> Self:
        """Restore a model from a file; its rows are counted again."""
        if state is None:
            raise BadFile("a BayesClassifier holds a structure beside its counts, and there is none")
        self._check_settings()
        texts = texts_from(parts, state.header.get("texts", {}), tally.schema)
        structure, left_out, importance = from_parts(tally, state.header, state.arrays, texts)
        self._figures = FitTables(left_out, importance)
        leaves = tally.statistics.get(Leaves.kind)
        if self.keep_rows != (leaves is None):
            raise BadFile("a BayesClassifier holds its rows, or the counts of its leaves, as its settings say")
        if isinstance(leaves, Leaves):
            params = from_leaves(leaves, tally.class_counts, tally.classes, structure, self._threads())
            return self._settle(tally, params)
        self._extent(TableSize.of_rows(training_rows(tally, texts)), structure, memory_of_the_machine())
        return self._recount(tally, structure)

    # -- prediction -----------------------------------------------------------------------------------

    def report(self) -> SheetText:
        """Return the left-out scores, beside naive Bayes and the most frequent class, for printing.

        Returns
        -------
        SheetText
        """
        self._check_is_fitted()
        optimistic = (
            "The scores of BayesClassifier are a little optimistic: its structure has seen the row that is left out. "
            "Cross-validate for a figure to rely on."
        )
        some = f" ({MOST_FITTED:,} of them where it had more)" if self.tally_.n_rows > MOST_FITTED else ""
        head = f"Rows of the fit{some}, each left out of the counts in turn"
        return SheetText(Sheet(head, (self.left_out_.grid, optimistic, f"It is made of {self._in_words()}.")))

    def _log_joint(self, params: EnsembleParameters, block: Block) -> Floats:
        """Compute ln P(class | x) of each row (n_rows, n_classes), capped."""
        return log_scores(params, block_columns(block, params.codes, params.structure.texts), self._threads())

    def _log_terms(self, params: EnsembleParameters, block: Block) -> dict[str, Floats]:
        """Compute the mean change of ln P(class | x) as each column becomes known (n_rows, n_classes)."""
        texts = params.structure.texts
        columns, blank = block_columns(block, params.codes, texts), unknown(params, block.n_rows)
        sources = sources_of(texts)

        def score(known: frozenset[str]) -> Floats:
            is_known = [sources.get(name, name) in known for name in params.codes]
            cells = [column if there else gap for column, gap, there in zip(columns, blank, is_known, strict=True)]
            return log_scores(params, cells, self._threads())

        return average_increments(params.log_start, score, self.schema_.used)

    def describe_structure(self) -> StructureDescription:
        """Describe the members: intervals, most frequent parents and exponent of each column.

        Without members, the table has the importance of each column.

        Returns
        -------
        StructureDescription
        """
        self._check_is_fitted()
        held, names = self.structure_, list(self.structure_.columns)
        if not held.cuts:
            return StructureDescription(self._in_words(), self.importance_)
        made = held.by_source()
        shown = [name for column in self.schema_.used for name in made.get(column, ())]
        rows: dict[str, list[Any]] = {"column": shown, "exponent": [], "intervals": [], "parents in members": []}
        for name, i in ((name, names.index(name)) for name in shown):
            sizes = sorted({len(cuts[name]) + 1 for cuts in held.cuts if name in cuts})
            rows["intervals"].append("–".join(map(str, sizes[:1] + sizes[-1:] if len(sizes) > 1 else sizes)) or None)
            given = Counter(names[p] for p in held.parents[:, i].ravel() if p >= 0)
            rows["parents in members"].append(", ".join(f"{p} {n}" for p, n in given.most_common(3)) or None)
            rows["exponent"].append(float(held.column_exponents[i]))
        return StructureDescription(self._in_words(), Table(rows))

    def _in_words(self) -> str:
        """List the parts of the model in words."""
        held, parts = self.structure_, []
        if held.cuts:
            parts.append(f"{len(held.cuts)} members with cuts and parents of their own, each column to its exponent")
        if len(held.steps):
            parts.append(f"{len(held.steps)} class chains")
        if held.n_trees:
            parts.append(f"two forests of {held.n_trees // 2} trees")
        if held.line is not None:
            parts.append("a line")
        if held.boosting is not None:
            parts.append(f"{len(held.boosting)} small boosted trees")
        light = "" if held.cuts else " (without members and chains)"
        unread = f"; columns of many values that tell nothing are left out: {', '.join(held.silent)}"
        words = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) + light
        return words + (unread if held.silent else "")

    def _column_table(self, column: str) -> Table:
        """Tabulate the exponent of a column."""
        exponents = dict(zip(self.params_.codes, self.structure_.column_exponents.tolist(), strict=True))
        if not (names := self.structure_.by_source().get(column)):
            raise BayesError(f"column {column!r} is ignored: there is nothing to show")
        return Table({"column": names, "exponent": [exponents[name] for name in names]})


def _with_groups(rows: TrainingRows, groups: Ints | None) -> TrainingRows:
    """Add the groups (n_rows,) of the rows of a tally to these rows."""
    return rows if groups is None else replace(rows, groups=groups[rows.position])


def _naive_left_out(naive: NaiveBayes) -> Floats:
    """Compute left-out ln P(x, class) by naive Bayes (n_rows, n_classes)."""
    rows = rows_of(naive.tally_)
    left_out, scores = naive._left_out(), []
    for first in range(0, len(rows.labels), BLOCK):
        part = rows.take(np.arange(first, min(first + BLOCK, len(rows.labels))))
        texts = {name: part.cells[name] for name in naive.schema_.texts}
        others = {name: cells for name, cells in part.cells.items() if name not in texts}
        codes = {name: cells for name, cells in others.items() if cells.dtype.kind != "f"}
        floats = {name: np.ascontiguousarray(cells) for name, cells in others.items() if name not in codes}
        tokens = {
            name: count_documents(
                documents,
                cast(Text, naive.schema_.columns[name]).tokenizer,
                naive.tally_.words[name].words,
                naive._threads(),
                in_order=False,
            )
            for name, documents in texts.items()
        }
        weights = part.weights
        block = Block(len(part.labels), first, codes, floats, part.labels, weights=weights, texts=texts, tokens=tokens)
        scores.append(left_out.scores(block))
    return np.concatenate(scores)


def without_rows(tally: Tally, params: EnsembleParameters, counts: Any) -> tuple[Tally, Leaves]:
    """Replace the rows of a tally by the counts of the tree leaves, which are returned too."""
    others = {kind: statistic for kind, statistic in tally.statistics.items() if kind != StoredRows.kind}
    trees = params.structure.trees
    if trees is None:
        raise BayesError("a structure without trees says nothing without its rows: fit it with keep_rows=True")
    counts = counts * params.structure.weight
    counts = np.rint(counts).astype(tally.space.dtype) if np.issubdtype(tally.space.dtype, np.integer) else counts
    leaves = Leaves(trees, counts)
    return replace(tally, statistics=others).with_statistic(leaves), leaves
