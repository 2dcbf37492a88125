"""How many states there are: by BIC, by ICL, or by the likelihood of held-out sequences.

    BIC = −2 ln P(rows) + p ln n          ICL = −2 ln P(rows, best path) + p ln n

p the free parameters, n the rows; lower is better. Held-out: ln P a row of sequences that were not learnt, in five
parts.

Formula: BIC and ICL of hidden states
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.sequences import Sequences
from bayeskit.data.table import Table
from bayeskit.errors import BayesError, TooLarge
from bayeskit.estimate.state_moves import MOST_COPIES
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.settings import seed_of

CRITERIA = ("bic", "icl", "held-out")
FOLDS = 5


def numbers_of(setting: Any) -> list[int] | None:
    """Several numbers of states to choose from; None where there is one, or none is given."""
    if setting is None:
        return None
    if isinstance(setting, (int, np.integer)) and not isinstance(setting, bool):
        if setting < 1:
            raise BayesError(f"n_states={setting!r}: there is at least one state", culprit=setting)
        if setting > MOST_COPIES:
            raise TooLarge(f"n_states={setting:,}: more than {MOST_COPIES:,} states are not walked", culprit=setting)
        return None
    try:
        numbers = sorted({int(number) for number in setting if not isinstance(number, bool) and int(number) == number})
    except (TypeError, ValueError):
        numbers = []
    if not numbers or not 1 <= numbers[0] <= numbers[-1] <= MOST_COPIES:
        raise BayesError(f"n_states={setting!r}: give a whole number, or several to choose from", culprit=setting)
    return numbers


def chosen(model: Any, sequences: Sequences, numbers: list[int], choose_by: str) -> tuple[Any, Table]:
    """(The model with the best number of states, what speaks for each)."""
    if choose_by == "held-out" and len(sequences) < 2:
        raise BayesError('one sequence cannot be held out from itself: choose_by="bic" or "icl", or give several')
    fits: list[Any] = []
    rows: dict[str, list[Any]] = {"n_states": [*numbers]}
    rows |= {name: [] for name in ("log likelihood", "parameters", "bic", "icl", "held-out")}
    for number in numbers:
        fit = clone(model).set_params(n_states=number, progress=model.progress).fit(sequences)
        fits.append(fit)
        total, best = fit.score(sequences), fit.path_scores(sequences)
        parameters = fit.n_parameters()
        penalty = parameters * float(logspace.log(float(sequences.n_rows)))
        for name, value in zip(
            ("log likelihood", "parameters", "bic", "icl"),
            (total, parameters, penalty - 2 * total, penalty - 2 * float(best.sum())),
            strict=True,
        ):
            rows[name].append(value)
        rows["held-out"].append(_held_out(fit, sequences) if choose_by == "held-out" else None)
    if choose_by != "held-out":
        del rows["held-out"]
    score = np.array(rows[choose_by], dtype=np.float64)
    return fits[int(score.argmax() if choose_by == "held-out" else score.argmin())], Table(rows)


def _held_out(model: Any, sequences: Sequences) -> float:
    """ln P a row of sequences that a model with as many states has not learnt."""
    n = min(FOLDS, len(sequences))
    fold = np.random.default_rng(seed_of(model.random_state)).permutation(len(sequences)) % n
    total = 0.0
    for part in range(n):
        if not sequences.take(fold != part).n_rows:
            continue
        other = clone(model).set_params(schema=model.schema_).fit(sequences.take(fold != part))
        total += other.score(sequences.take(fold == part))
    return total / sequences.n_rows
