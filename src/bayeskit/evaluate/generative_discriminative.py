"""Compare generative and discriminative learning by training size.

Naive Bayes reaches its asymptotic error with few rows. Logistic regression needs more rows and has a lower or equal
asymptotic error (Ng and Jordan, 2002).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import fit_on, labeled_table, log_probabilities
from bayeskit.evaluate.learning_curve import doubling_sizes
from bayeskit.evaluate.metrics import log_loss
from bayeskit.typing import Array, Ints

Record = dict[str, Any]
CASES = {
    "assumptions hold": "independent columns, one variance a column",
    "variances differ": "independent columns, a variance for each class",
    "columns depend": "pairs of columns repeat each other",
}


def generative_vs_discriminative(
    X: Any,
    y: Any,
    sizes: Iterable[int] | None = None,
    repeats: int = 10,
    test_size: float = 0.3,
    models: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> list[Record]:
    """Compare naive Bayes and logistic regression by training size, on held-out rows.

    Training sets are stratified and nested within a repeat, so that all sizes and models see the same rows.

    Parameters
    ----------
    X : table
    y : str or array-like of shape (n_rows,)
    sizes : sequence of int, optional
        Numbers of training rows; by default doublings from 4 rows per class.
    repeats : int
    test_size : float
    models : mapping of str to classifier, optional
    random_state : int

    Returns
    -------
    list of dict
        With ``model``, ``rows``, ``error``, ``error_se`` (over the repeats), ``log_loss`` and ``repeats``.

    Examples
    --------
    >>> from bayeskit import datasets
    >>> penguins = datasets.load_penguins().drop_columns(["year"])
    >>> records = generative_vs_discriminative(penguins, "species", sizes=[12], repeats=1)
    >>> [(record["model"], record["rows"]) for record in records]
    [('naive Bayes', 12), ('logistic regression', 12)]
    """
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    given = labeled_table(X, y)
    table, labels = given.table, np.array(given.table.listed_labels().tolist())
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2 or counts.min() < 4:
        raise BayesError(f"the comparison needs two classes of at least 4 rows each; counts are {counts.tolist()}")
    chosen = dict(models) if models is not None else default_models()
    losses: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for repeat in range(repeats):
        learn, test = train_test_split(
            np.arange(len(labels)), test_size=test_size, stratify=labels, random_state=random_state + repeat
        )
        order = _interleave(labels[learn], np.random.default_rng(random_state + repeat))
        for n in _sizes(sizes, len(learn), len(classes)):
            rows = learn[order[:n]]
            part, rest = table.take(rows), table.take(test)
            for name, model in chosen.items():
                fitted = fit_on(clone(model), given, rows, f"among the first {n}", part)
                losses.setdefault((name, n), []).append(_evaluate(fitted, rest, labels[test]))
    return [_record(name, n, pairs) for (name, n), pairs in sorted(losses.items(), key=lambda item: item[0][1])]


def simulated_grid(
    sizes: Iterable[int] = (16, 64, 256, 1024), n_columns: int = 8, repeats: int = 10, random_state: int = 0
) -> list[Record]:
    """Run the three simulated cases: Gaussian naive Bayes, shared variances, logistic regression.

    The records are those of :func:`generative_vs_discriminative` with ``case`` first (one of ``CASES``).
    """
    from sklearn.base import clone

    losses: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for case in CASES:
        for repeat in range(repeats):
            rng = np.random.default_rng([random_state, repeat, list(CASES).index(case)])
            test, test_labels = _simulate(case, 4000, n_columns, rng)
            for n in sizes:
                rows, labels = _simulate(case, n, n_columns, rng)
                for name, model in default_models(shared=True).items():
                    fitted = clone(model).fit(rows, labels)
                    losses.setdefault((case, name, n), []).append(_evaluate(fitted, test, test_labels))
    return [{"case": case} | _record(name, n, pairs) for (case, name, n), pairs in losses.items()]


def default_models(shared: bool = False) -> dict[str, Any]:
    """Return naive Bayes and logistic regression; ``shared`` adds naive Bayes with pooled variances."""
    import bayeskit  # by their public names: the models stand above this module

    models = {"naive Bayes": bayeskit.NaiveBayes()}
    if shared:
        models["naive Bayes, shared variance"] = bayeskit.NaiveBayes(variance="feature")
    return models | {"logistic regression": bayeskit.LogisticRegression()}


def _simulate(case: str, n: int, n_columns: int, rng: np.random.Generator) -> tuple[Any, Ints]:
    labels = np.arange(n) % 2
    rows = rng.normal(size=(n, n_columns))
    if case == "variances differ":
        rows *= np.where(labels == 1, 2.0, 0.7)[:, None]
    elif case == "columns depend":
        half = n_columns // 2
        rows[:, half : 2 * half] = rows[:, :half] + 0.3 * rows[:, half : 2 * half]
        rows[:, :half] += 0.35 * (2 * labels - 1)[:, None]
        return rows, labels
    return rows + 0.35 * (2 * labels - 1)[:, None], labels


def _interleave(labels: Array, rng: np.random.Generator) -> Ints:
    """Order rows so that every prefix has about the class shares of all rows."""
    at = np.empty(len(labels))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        at[rng.permutation(rows)] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(at, kind="stable")


def _sizes(sizes: Iterable[int] | None, most: int, n_classes: int) -> list[int]:
    if sizes is None:
        return doubling_sizes(4 * n_classes, most)
    wanted = sorted({int(n) for n in sizes})
    if not wanted or wanted[0] < 2 * n_classes or wanted[-1] > most:
        raise BayesError(f"sizes={wanted}: from {2 * n_classes} rows up to the {most} there are to learn from")
    return wanted


def _evaluate(model: Any, X: Any, labels: Array) -> tuple[float, float]:
    """Return (error, log loss); classes that were not in training have probability 1e-15."""
    is_true = labels[:, None] == np.asarray(model.classes_)
    log_true = np.where(is_true, log_probabilities(model, X), 0.0).sum(axis=1)
    log_true[~is_true.any(axis=1)] = -np.inf
    return float((model.predict(X) != labels).mean()), log_loss(log_true)


def _record(name: str, n: int, pairs: list[tuple[float, float]]) -> Record:
    errors, losses = np.array(pairs).T
    spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else float("nan")
    return {
        "model": name,
        "rows": n,
        "error": float(errors.mean()),
        "error_se": spread,
        "log_loss": float(losses.mean()),
        "repeats": len(pairs),
    }
