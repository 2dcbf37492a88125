"""``bayes compare``: compare models on the same rows of one table or of many."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from bayeskit.cli import options as opt
from bayeskit.cli.inputs import open_data
from bayeskit.cli.options import Reading, choice, grouped, option, option_group, roles_of
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.lazy import pa
from bayeskit.nearest import did_you_mean
from bayeskit.progress import Bar

MODELS = "naive,tan,aode,best,logistic,tree,knn,forest,boosting"


@option_group
class Trials:
    """Options of the models to compare and the folds."""

    models: str = option("--models", "A,B,...", "Names of models; the first is tested against the others.", MODELS)
    folds: int = option("--folds", "N", "Number of folds.", 5, min=2)
    repeats: int = option("--repeats", "N", "Number of repetitions with other folds.", 1, min=1)
    leave_one_out: bool = option("--leave-one-out", None, "Leave one row out instead of folds.", False)
    group: str | None = opt.GROUP
    measure: str = choice(
        "--measure", "Measure in the table of data sets.", "accuracy log_loss brier seconds", "accuracy"
    )


@grouped
def command(
    data: list[str] = opt.DATA,
    *,
    target: str = opt.TARGET,
    trials: Trials,
    reading: Reading,
    role: list[str] | None = opt.ROLES,
    ignore: list[str] | None = opt.IGNORE,
    drop_unlabeled: bool = opt.DROP_UNLABELED,
    plot: str | None = PLOT,
    json: bool = opt.JSON,
) -> None:
    """Compare models on the same folds of each file.

    Each file is one data set. Prints accuracy, log loss, Brier score and CPU
    seconds per fold; over several files also wins, losses, Wilcoxon's test and the
    Bayesian signed-rank test of the first model against each other. Models of
    scikit-learn get one-hot strings and mean-imputed cells. Names: naive, student,
    cuts, calibrated, exponents, tan, aode, kdb, joint, gaussian, subclass, nbtree,
    network, best, fast, logistic, tree, knn, perceptron, forest, boosting.

    \b
    Examples:
      bayes compare birds.csv -t species
      bayes compare tables/*.csv -t class --models naive,tree --plot both.svg
    """
    from bayeskit.cli.console import Page

    page = Page(json)
    check_plot(plot, data)
    models = models_of(trials.models, roles_of(role, ignore), drop_unlabeled)
    tables = tables_of(data, target, reading)
    comparison = _compared(models, tables, target, trials)
    page.sheet(comparison.sheet_of(trials.measure))
    draw(page, plot, lambda: comparison.chart(measure=trials.measure))
    page.json(record(comparison))


def models_of(names: str, roles: dict[str, str], drop_unlabeled: bool) -> dict[str, Any]:
    """Return the models by name, with the column settings."""
    import bayeskit

    given: dict[str, Any] = ({"roles": roles} if roles else {}) | ({"unlabeled": "drop"} if drop_unlabeled else {})
    models = {}
    for name in (part.strip() for part in names.split(",")):
        if name not in (known := bayeskit.model_names()):
            what = f"{name!r} is none of {', '.join(known)}{did_you_mean(name, known)}"
            raise typer.BadParameter(what, param_hint="--models")
        model = bayeskit.model_named(name)
        if name == "exponents" and given:
            model.set_params(nb=bayeskit.NaiveBayes(**given))
        for setting, value in given.items():
            paths = [path for path in model.get_params() if path.rpartition("__")[2] == setting]
            model.set_params(**dict.fromkeys(paths, value))
        models[name] = model
    return models


def tables_of(data: list[str], target: str, reading: Reading) -> dict[str, Any]:
    """Return the rows of each file by its name, in memory."""
    from bayeskit.data.reader import read_batch

    tables: dict[str, Any] = {}
    for path in data:
        given = open_data([path], target, reading)
        files = getattr(given, "files", ())  # a database has none
        several = len(files) > 1
        for source in [open_data([file.place.name], target, reading) for file in files] if several else [given]:
            batch = read_batch(source)
            name = Path(source.name).name.partition(".")[0] or source.name
            tables[name if name not in tables else source.name] = pa.table({**batch.columns, target: batch.labels})
    return tables


def _compared(models: dict[str, Any], tables: dict[str, Any], target: str, trials: Trials) -> Any:
    """Compare the models, with a progress bar on a terminal."""
    from bayeskit.evaluate.compare import LEAVE_ONE_OUT, compare

    folds = LEAVE_ONE_OUT if trials.leave_one_out else trials.folds
    begun: Counter[str] = Counter()
    with Bar(sys.stderr.isatty()) as bar:

        def tell(dataset: str, model: str) -> None:
            bar(dataset, begun[dataset], len(models))
            begun[dataset] += 1

        return compare(models, tables, target, folds=folds, repeats=trials.repeats, progress=tell, groups=trials.group)


def record(comparison: Any) -> dict[str, Any]:
    """Return the comparison as plain data."""
    from bayeskit.evaluate.compare import MEASURES

    duels = (
        [duel for name in ("accuracy", "log_loss") for duel in comparison.duels(name)]
        if len(comparison.datasets) > 1
        else []
    )
    return {
        "models": list(comparison.models),
        "datasets": list(comparison.datasets),
        "rows": list(comparison.n_rows),
        "method": comparison.method,
        **{measure: comparison.scores(measure).tolist() for measure in MEASURES},
        "duels": [asdict(duel) for duel in duels],
        "refused": [asdict(refusal) for refusal in comparison.refused],
    }
