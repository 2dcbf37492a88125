"""`choose` beside `best` on every set of BAYESKIT_DATA/tabular: accuracy, log loss and CPU seconds by turns.

python benchmarks/choosing.py              folds as in quality.py; one thread each; a few minutes
python benchmarks/choosing.py prices       what each model of a choice cost, beside the price that was said beforehand
python benchmarks/choosing.py threshold    how clear a lead must be, and of how many rows, inside first training parts

What was measured of a set is kept in build/choosing, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from quality import folds, load

import bayeskit as bk
from bayeskit.evaluate.cross_validation import posterior_over, stratified_folds
from bayeskit.models.choice import FAVOURITE, candidates, is_clear, lead
from bayeskit.threads import one_blas_thread
from bayeskit.tolerance import LEAST_PROBABILITY

CACHE = Path(__file__).parent.parent / "build" / "choosing"
THRESHOLDS = (0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 9.0)
JURIES = (0, 50)


def scores(model: Any, X: Any, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log loss of a fitted model."""
    p = model.predict_proba(X)
    return float((p.argmax(axis=1) == truth).mean()), float(
        -np.log(np.maximum(p[np.arange(len(truth)), truth], LEAST_PROBABILITY)).mean()
    )


def kept(part: str, name: str, make: Callable[[], Any]) -> Any:
    """What was measured of a set, from build/choosing where it is: a run can be stopped and taken up again."""
    file = CACHE / part / f"{name}.json"
    if not file.exists():
        found = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
        print(part, name, flush=True)
    return json.loads(file.read_text())


def sides(folder: Path, name: str) -> dict[str, Any]:
    """Of each fold of a set: accuracy, log loss and CPU seconds of `choose` and of `best` alone, and who was chosen.

    Where `best` is chosen, the last fit of the choice is `best` alone, to the bit: its seconds are taken from there,
    and it is not fitted once more.
    """
    X, y, _ = load(folder, name)
    classes = sorted(y.unique())
    truth = np.array([classes.index(label) for label in y])
    settings = {"domains": {"class": classes}, "n_threads": 1}
    figures, chosen, prices = [], [], []
    for train, test in folds(y):
        with timed_fits(bk.BayesClassifier) as fits:
            start = time.process_time()
            choice = bk.choose(X.iloc[train], y.iloc[train], seconds=600, **settings)
            middle = time.process_time()
        auto = scores(choice.model, X.iloc[test], truth[test])
        asked = time.process_time() - middle
        if choice.winner == FAVOURITE:
            of_best, alone = auto, fits[-1] + asked
        else:
            start_of_best = time.process_time()
            best = bk.BayesClassifier(**settings).fit(X.iloc[train], y.iloc[train])
            of_best = scores(best, X.iloc[test], truth[test])
            alone = time.process_time() - start_of_best
        figures.append([*auto, middle - start + asked, *of_best, alone])
        chosen.append(choice.winner)
        prices += [(c.name, c.price, c.seconds) for c in choice.candidates if c.seconds is not None]
    return {"figures": figures, "chosen": chosen, "prices": prices}


@contextmanager
def timed_fits(kind: Any) -> Iterator[list[float]]:
    """The CPU seconds of every fit of a kind of model, one after the other."""
    plain, seconds = kind.fit, []

    def fit(self: Any, *given: Any, **settings: Any) -> Any:
        start = time.process_time()
        fitted = plain(self, *given, **settings)
        seconds.append(time.process_time() - start)
        return fitted

    kind.fit = fit
    try:
        yield seconds
    finally:
        kind.fit = plain


def beside_best(folder: Path, names: list[str], with_prices: bool) -> None:
    """Print a line for each set, and the means."""
    rows, chosen, prices = [], Counter(), []
    for name in names:
        found = kept("beside", name, lambda name=name: sides(folder, name))
        rows.append(np.array(found["figures"]).mean(axis=0))
        chosen.update(found["chosen"])
        prices += found["prices"]
        print(f"{name:24}", *(f"{v:8.4f}" for v in rows[-1]), *sorted(set(found["chosen"])))
    means = np.array(rows)
    print("accuracy: auto", means[:, 0].mean().round(4), "best", means[:, 3].mean().round(4))
    print("log loss: auto", means[:, 1].mean().round(4), "best", means[:, 4].mean().round(4))
    ratios = means[:, 2] / means[:, 5]
    cpu = f"sums {means[:, 2].sum():.1f} and {means[:, 5].sum():.1f} s of one fold each"
    print(f"CPU: {cpu}, ratio {means[:, 2].sum() / means[:, 5].sum():.3f}; mean of ratios {ratios.mean():.3f}")
    print("chosen:", dict(chosen))
    for kind in dict.fromkeys(p[0] for p in prices) if with_prices else ():
        ratio = np.array([p[1] / p[2] for p in prices if p[0] == kind])
        print(kind, "price / seconds of the trial: quartiles", np.quantile(ratio, [0, 0.25, 0.5, 0.75, 1]).round(2))


def deals(folder: Path, name: str) -> list[dict[str, Any]]:
    """Models learn three fifths of the first training part of a set, another fifth judges, and the last says what a
    choice is worth; the fifths are dealt out in as many ways as the set has folds. No test row is read."""
    X, y, _ = load(folder, name)
    classes = sorted(y.unique())
    truth = np.array([classes.index(label) for label in y])
    train, times = folds(y)[0][0], len(folds(y))
    parts = [train[test] for _, test in stratified_folds(truth[train], 5)]
    dealt = []
    for k in range(times):
        judging, final = parts[k], parts[(k + 1) % 5]
        learnt = np.concatenate([part for i, part in enumerate(parts) if i not in (k, (k + 1) % 5)])
        said = {}
        for kind, model in candidates(domains={"class": classes}, n_threads=1).items():
            model.fit(X.iloc[learnt], y.iloc[learnt])
            said[kind] = [posterior_over(model, X.iloc[part], tuple(classes))[0] for part in (judging, final)]
        of_deal: dict[str, Any] = {"rows": len(judging), "models": {}}
        floor = np.log(LEAST_PROBABILITY)
        log_true = {
            kind: [np.maximum(p[np.arange(len(r)), truth[r]], floor) for p, r in zip(ps, (judging, final), strict=True)]
            for kind, ps in said.items()
        }
        for kind, (judged, last) in log_true.items():
            gain, error, _ = lead(judged - log_true[FAVOURITE][0], np.ones(len(judging)))
            of_deal["models"][kind] = {
                "gain": gain,
                "error": error,
                "log_loss": float(-last.mean()),
                "accuracy": float((said[kind][1].argmax(axis=1) == truth[final]).mean()),
            }
        dealt.append(of_deal)
    return dealt


def inside_training(folder: Path, names: list[str]) -> None:
    """What a rule is worth: the mean over the deals of a set, then over the sets."""
    dealt = [kept("threshold", name, lambda name=name: deals(folder, name)) for name in names]
    for threshold in THRESHOLDS:
        for jury in JURIES:
            losses, rights, beaten = [], [], 0
            for of_set in dealt:
                taken = []
                for deal in of_set:
                    models, rows = deal["models"], deal["rows"]
                    best = max(models, key=lambda kind: models[kind]["gain"])
                    ahead = is_clear(models[best]["gain"], models[best]["error"], rows, threshold)
                    wins = best != FAVOURITE and rows >= jury and ahead
                    taken.append(models[best if wins else FAVOURITE])
                    beaten += wins
                losses.append(np.mean([one["log_loss"] for one in taken]))
                rights.append(np.mean([one["accuracy"] for one in taken]))
            what = f"{threshold:4} standard errors of {jury:2} rows at least"
            print(f"{what}: log loss {np.mean(losses):.5f}, accuracy {np.mean(rights):.5f}, beaten {beaten} times")


def main(asked: list[str]) -> None:
    """What was asked for, small sets first."""
    warnings.simplefilter("ignore")
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    names = list(json.loads((folder / "schemas.json").read_text()))
    names.sort(key=lambda name: (folder / f"{name}.csv.gz").stat().st_size)
    with one_blas_thread():  # CPU seconds of threads that wait are no work
        if asked == ["threshold"]:
            inside_training(folder, names)
        else:
            beside_best(folder, names, asked == ["prices"])


if __name__ == "__main__":
    main(sys.argv[1:])
