"""Which model for these rows? Several are tried on four fifths of them, and judged by the log loss of the last fifth.

Tried are naive Bayes (Gaussian, Student, cuts), its form with exponents, TAN, AODE and the ensemble, each where its
price is below a stated number of seconds; the price is a formula of rows, columns and classes, and no row is read for
it. Models that can be made of the same counts share them. The ensemble is the strongest on most tables, and a fifth of
the rows is a small jury: so it is the favourite, and another takes its place where it is better by more than chance, by
three standard errors of the difference, since there are six who may be lucky; of few rows by as many more as Student's
distribution asks for. Where the ensemble is too dear, the least log loss wins. The winner is fitted again on all rows.

Formula: the price of a model, and when the favourite is beaten
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from bayeskit import logspace
from bayeskit.data.reader import WholeTable
from bayeskit.data.sheet import Figure, Grid, Items, Readable, Sheet
from bayeskit.data.source import open_source
from bayeskit.data.table import Table
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.evaluate.cross_validation import Index, LabelledTable, labelled_table, posterior_over, stratified_folds
from bayeskit.models.base.estimator import Estimator, clone
from bayeskit.models.base.settings import seed_of
from bayeskit.models.calibrated import Calibrated
from bayeskit.models.discriminative_weights import DiscriminativeWeights
from bayeskit.models.ensemble.classifier import BayesClassifier
from bayeskit.models.naive_bayes.classifier import NaiveBayes
from bayeskit.models.semi_naive.aode import AODE
from bayeskit.models.semi_naive.tan import TAN
from bayeskit.models.trials import BY_SETTINGS, COUNTED_BY, Trials
from bayeskit.tolerance import GONE, LEAST_PROBABILITY
from bayeskit.typing import Floats

SECONDS = 60.0
FAVOURITE = "best"
CLEARLY = 3.0  # standard errors by which the favourite is beaten, where many rows judge
PARTS = 5  # of the rows, one of which is held out
MICRO, NANO = 10**6, 10**9  # parts of a second in which prices are told


@dataclass(frozen=True)
class Candidate:
    """A model that was looked at: its ``price`` in seconds beforehand, what it reached on the rows held out, how long
    fit and predict took there, and ``why`` it won or did not; None where it was not tried."""

    name: str
    price: float
    log_loss: float | None
    accuracy: float | None
    seconds: float | None
    why: str


@dataclass(frozen=True, repr=False)
class Choice(Readable, Drawable):
    """The model that was chosen, fitted on all rows, and what it was chosen from. Frozen.

    ``winner``: its name; ``model``; ``candidates``, the winner first, then by log loss, then those not tried;
    ``held_out``: rows that judged; ``limit``: seconds a model may take; ``seconds`` in all, the last fit included;
    ``notes``: what the file holds and what the winner cannot do.
    """

    winner: str
    model: Any = field(compare=False)
    candidates: tuple[Candidate, ...]
    held_out: int
    n_rows: int
    limit: float
    seconds: float = field(compare=False)
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """What was tried."""
        columns = ("name", "log_loss", "accuracy", "seconds", "price", "why")
        heads = ("model", "log loss", "accuracy", "seconds", "price", "why")
        return Table({h: [getattr(c, n) for c in self.candidates] for h, n in zip(heads, columns, strict=True)})

    @property
    def sheet(self) -> Sheet:
        """Readable in 80 columns."""
        rows: dict[str, list[Any]] = {
            "model": [c.name for c in self.candidates],
            "log loss": [_figure(c.log_loss, ".4f") for c in self.candidates],
            "accuracy": [_figure(c.accuracy, ".4f") for c in self.candidates],
            "seconds": [_figure(c.seconds, ".2f") for c in self.candidates],
            "": [c.why for c in self.candidates],
        }
        judges = f"on {self.held_out:,} of {self.n_rows:,} rows held out"
        head = f"{self.winner}, of {len(self.candidates)} models {judges}"
        return Sheet(head, ("", Grid(rows), "", Items(self.notes)))


def choose(
    X: Any,
    y: Any,
    seconds: float = SECONDS,
    sample_weight: Any = None,
    random_state: int = 0,
    models: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Choice:
    """The model that predicts these rows best, fitted on all of them, with a table of what it was chosen from.

    Parameters
    ----------
    seconds: no model is tried whose price is above.
    models: a mapping from name to model, tried instead of the usual ones; "best" among them is the favourite.
    settings: of all models that have them: ``roles``, ``domains``, ``unseen``, ``unlabelled``, ``n_threads``, …

    >>> from bayeskit import datasets
    >>> birds = datasets.load_penguins().drop_columns(["year"])
    >>> choice = choose(birds, "species", seconds=0.05)         # not enough for the ensemble
    >>> choice.winner, choice.held_out, [c.name for c in choice.candidates if c.log_loss is None]
    ('exponents', 69, ['best'])
    """
    start = time.process_time()
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)) or not seconds >= 0:
        raise BayesError(f"seconds={seconds!r}: give a number of seconds")
    tried = {name: clone(model) for name, model in models.items()} if models is not None else candidates(**settings)
    if not tried:
        raise BayesError("there is no model to choose from")
    given = labelled_table(X, y, sample_weight, settings.get("unlabelled") == "drop")
    if given.weights is not None and not given.weights.all():
        given = given.part(np.flatnonzero(given.weights))  # rows of weight 0 neither teach nor judge
    n_classes = len(np.unique(given.codes))
    if n_classes < 2 or given.n_rows < PARTS:
        what = "every row has weight zero" if not n_classes else "there is one class" if n_classes == 1 else ""
        few = f"there are {given.n_rows} rows"
        raise BayesError(f"a choice needs two classes and {PARTS} rows at least, and {what or few}")
    size = _Size.of(given)
    train, test = stratified_folds(given.codes, PARTS, (seed_of(random_state) or 0) % 2**32)[0]
    table = given.table if models is not None else given.table.as_columns()  # of frames, read once for all
    donors = {} if models is not None else _donors(settings)
    trials = Trials(*_rows(table, given, train, models is None), table.take(test), donors)
    judged: list[_Judged] = []
    others: list[Candidate] = []
    order = list(tried)
    for name in sorted(order, key=lambda name: name != FAVOURITE):  # which counts for others, too
        price = size.price(name)
        if models is None and name in ("student", "cuts") and not _has_numbers(trials.fitted):
            others.append(Candidate(name, price, None, None, None, "not tried: as naive, without numbers"))
            continue
        if price > float(seconds):
            others.append(Candidate(name, price, None, None, None, f"not tried: about {price:.3g} s"))
            continue
        try:
            judged.append(_Judged.of(name, tried[name], given, test, trials))
        except (BayesError, MemoryError) as problem:
            others.append(Candidate(name, price, None, None, None, f"refused: {' '.join(str(problem).split())}"))
    judged.sort(key=lambda one: order.index(one.name))
    others.sort(key=lambda one: order.index(one.name))
    if not judged:
        raise BayesError(f"no model can be tried: {others[0].name} {others[0].why}")
    winner = _winner(judged)
    model = clone(tried[winner.name])
    rows, weighed = _rows(table, given, None, isinstance(model, Estimator))
    model.fit(*rows, **weighed)
    ranked = [winner, *sorted((one for one in judged if one is not winner), key=lambda one: one.log_loss)]
    told = tuple(one.told(winner, size.price(one.name)) for one in ranked)
    spent = time.process_time() - start
    notes = _notes(winner.name, model)
    return Choice(winner.name, model, (*told, *others), len(test), given.n_rows, float(seconds), spent, notes)


def _rows(table: WholeTable, given: LabelledTable, rows: Index | None, named: bool) -> tuple[Any, dict[str, Any]]:
    """((rows, labels), weights) as ``fit`` takes them: of a model that reads sources with the name of the target."""
    some = np.arange(given.n_rows) if rows is None else rows
    data, weighed = table.data if rows is None else table.take(rows), given.weighed(some)
    if not named or not table.has_columns:
        return (data, given.labels(some)), weighed
    source = open_source(data, given.labels(some), weighed.get("sample_weight"))
    return (replace(cast(Any, source), target=table.target), table.target), {}


def candidates(**settings: Any) -> dict[str, Any]:
    """The models that are tried, by name, with the settings that each of them has."""
    made: dict[str, Any] = {
        "naive": NaiveBayes(),
        "student": NaiveBayes(numeric="student"),
        "exponents": DiscriminativeWeights(NaiveBayes()),
        "tan": TAN(),
        "aode": AODE(),
        "cuts": NaiveBayes(numeric="histogram", cuts="mdl"),
        FAVOURITE: BayesClassifier(),
    }
    known = {name for model in made.values() for name in model.get_params(deep=True)}
    for name in settings:
        if name not in known:
            raise BayesError(f"no model has a setting {name!r}", culprit=name)
    for model in made.values():
        has = model.get_params(deep=True)
        own = {path: v for name, v in settings.items() for path in (name, f"nb__{name}") if path in has}
        model.set_params(**own)
    return made


@dataclass(frozen=True)
class _Size:
    """Rows, columns and classes of a table, which say what a model will cost."""

    rows: int
    columns: int
    classes: int

    @classmethod
    def of(cls, given: LabelledTable) -> _Size:
        data = given.table.data
        shape = getattr(data, "shape", None)
        columns = len(data) if isinstance(data, dict) else shape[1] if shape is not None and len(shape) > 1 else 1
        return cls(given.n_rows, int(columns), len(given.classes))

    def price(self, name: str) -> float:
        """CPU seconds of trying a model and of fitting it on all rows: rough, and rather too high than too low
        (``python benchmarks/choosing.py prices`` sets them beside what was spent)."""
        cells = self.rows * self.columns
        alone = 0.01 + 0.4 * cells / MICRO
        each = {
            "exponents": 2 * alone + 2e-4 * self.columns * self.classes,
            "tan": alone + 5 * cells * self.columns / NANO + 3e-5 * self.columns**2,
            "aode": alone + (5 + self.classes) * cells * self.columns / NANO + 3e-5 * self.columns**2,
            FAVOURITE: 0.15 + 20 * cells / MICRO,
        }
        return each.get(name, alone)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A model on the rows held out."""

    name: str
    log_true: Floats
    weights: Floats
    accuracy: float
    seconds: float

    @classmethod
    def of(
        cls,
        name: str,
        model: Any,
        given: LabelledTable,
        test: Index,
        trials: Trials,
    ) -> _Judged:
        """Of a model that learns the rows of the trials, and is asked about those held out."""
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)  # the last fit says what there is to say
            fitted = trials.fit(name, model)
            log_posterior, _ = posterior_over(fitted, trials.rows_asked(name), given.classes)
        truth = given.codes[test]
        log_true = np.maximum(log_posterior[np.arange(len(test)), truth], logspace.log(LEAST_PROBABILITY))
        weights = np.ones(len(test)) if given.weights is None else given.weights[test]
        right = log_posterior.argmax(axis=1) == truth
        accuracy = float(np.average(right, weights=weights))
        return cls(name, log_true, weights, accuracy, time.process_time() - start)

    @property
    def log_loss(self) -> float:
        return float(-np.average(self.log_true, weights=self.weights))

    def ahead_of(self, other: _Judged) -> tuple[float, float, float]:
        """(by how many nats it is better on average, the standard error of that, how many rows that comes from)"""
        return lead(self.log_true - other.log_true, self.weights)

    def told(self, winner: _Judged, price: float) -> Candidate:
        """What became of it."""
        if self is winner:
            why = "chosen"
        else:
            mean, error, _ = winner.ahead_of(self)
            why = f"{mean:.2g} behind" if mean >= 0 else f"{-mean:.2g} ahead, by chance (± {error:.1g})"
        return Candidate(self.name, price, self.log_loss, self.accuracy, self.seconds, why)


def _donors(settings: Mapping[str, Any]) -> Mapping[str, str]:
    """Which models are made of what another counts; not by settings that the other does not have."""
    plain = settings.keys() <= BayesClassifier().get_params(deep=False).keys()
    return {name: donor for name, donor in COUNTED_BY.items() if plain or name not in BY_SETTINGS}


def _has_numbers(fitted: Mapping[str, Any]) -> bool:
    """Whether there are columns of numbers, as far as is known."""
    naive = fitted.get("naive")
    return naive is None or bool(naive.schema_.measured())


def _winner(judged: list[_Judged]) -> _Judged:
    """The favourite, unless another is clearly better; without it the least log loss."""
    best = min(judged, key=lambda one: one.log_loss)
    favourite = next((one for one in judged if one.name == FAVOURITE), None)
    if favourite is None or favourite is best:
        return best
    return best if is_clear(*best.ahead_of(favourite)) else favourite


def lead(gains: Floats, weights: Floats) -> tuple[float, float, float]:
    """(the mean of the gains, its standard error, the number of rows that rows of these weights are worth)

    >>> [round(v, 4) for v in lead(np.array([1.0, 2.0, 3.0]), np.ones(3))]
    [2.0, 0.5774, 3.0]
    """
    mean, share = float(np.average(gains, weights=weights)), weights / weights.sum()
    rows = float(1 / (share**2).sum())
    spread = float((share**2 * (gains - mean) ** 2).sum())
    return mean, float(np.sqrt(spread * rows / (rows - 1))) if rows > 1 + GONE else float("inf"), rows


def is_clear(mean: float, error: float, rows: float, clearly: float = CLEARLY) -> bool:
    """Whether a lead is beyond what chance does as rarely as a normal variable is ``clearly`` deviations off.

    >>> is_clear(3.1, 1.0, 1000), is_clear(3.1, 1.0, 10), is_clear(4.2, 1.0, 10)
    (True, False, True)
    """
    from scipy.special import ndtr, stdtrit

    return 0 < error < float("inf") and mean > -float(stdtrit(rows - 1, float(ndtr(-clearly)))) * error


def _notes(name: str, model: Any) -> tuple[str, ...]:
    """What the file holds, and what the winner cannot do."""
    notes = []
    inner = model.model_ if isinstance(model, Calibrated) else model
    if isinstance(inner, BayesClassifier):
        notes.append("The file holds the rows themselves: mind who may see it.")
        notes.append(
            "It learns and forgets with its structure held, and merges with models of the same structure alone."
        )
    else:
        lacking = [
            word
            for kind, word in (("learn_source", "learn"), ("forget_source", "forget"), ("merge", "merge"))
            if not hasattr(model, kind)
        ]
        if lacking:
            notes.append(f"{name} cannot {' or '.join(lacking)}: for rows that come and go, fit again or take naive.")
        if isinstance(inner, TAN | AODE) or getattr(inner, "numeric", "") == "histogram":
            notes.append("Its cuts are held when rows come: fit again where they change.")
    return tuple(notes)


def _figure(value: float | None, form: str) -> Figure:
    return Figure("–" if value is None else format(value, form))
