"""``bayes compare``: compare models on the same rows of one table or of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayeskit.cli.options import AS_IT_IS, Data, DropUnlabelled, Json, Reading, Roles, Target, grouped, pairs
from bayeskit.cli.outputs import Plot, check_plot
from bayeskit.cli.outputs import plot as draw

MODELS = "naive,tan,aode,best,logistic,tree,knn,forest,boosting"
SHOWN = 60  # data sets in a table


@dataclass(frozen=True)
class Trials:
    """Options of the models to compare and the folds."""

    models: Annotated[
        str, typer.Option("--models", metavar="A,B,...", help="Names of models; the first is set against the others.")
    ] = MODELS
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Parts of the cross-validation.")] = 5
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=1, help="So many times, each with other folds.")
    ] = 1
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Each row by the model without it, instead of folds.")
    ] = False
    measure: Annotated[
        str,
        typer.Option(
            "--measure", metavar="accuracy|log_loss|brier|seconds", help="What stands in the table of data sets."
        ),
    ] = "accuracy"


@grouped
def command(
    data: Data,
    target: Target,
    trials: Trials,
    reading: Reading = AS_IT_IS,
    role: Roles = None,
    drop_unlabelled: DropUnlabelled = False,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Set models side by side: the same folds of each file for all.

    Each file is a data set of its own. Accuracy, log loss, Brier score and CPU
    seconds of fit and predict of a fold; over several files also wins, losses,
    Wilcoxon's and the Bayesian signed-rank test of the first model against each
    other. Models of scikit-learn get strings as indicators and missing cells as
    averages. Names: naive, student, cuts, calibrated, exponents, tan, aode, kdb,
    joint, gaussian, subclass, nbtree, best, fast, logistic, tree, knn,
    perceptron, forest, boosting.

    \b
    Examples:
      bayes compare birds.csv -t species
      bayes compare tables/*.csv -t class --models naive,tree --plot both.svg
    """
    from bayeskit.cli.console import Page
    from bayeskit.errors import BayesError
    from bayeskit.evaluate.compare import MEASURES

    page = Page(json)
    check_plot(plot, data)
    if trials.measure not in MEASURES:
        raise typer.BadParameter(f"{trials.measure!r} is none of {', '.join(MEASURES)}", param_hint="--measure")
    models = _models(trials.models, pairs("--role", role), drop_unlabelled)
    tables = _tables(data, target, reading)
    if not tables:
        raise BayesError("there is no file to compare on")
    comparison = _compared(models, tables, target, trials)
    _show(page, comparison, trials.measure)
    draw(page, plot, lambda: comparison.chart(measure=trials.measure))
    page.json(record(comparison))


def _models(names: str, roles: dict[str, str], drop_unlabelled: bool) -> dict[str, Any]:
    """Return the models by name, with the column settings."""
    import bayeskit

    models = {}
    for name in (part.strip() for part in names.split(",")):
        model = bayeskit.model_named(name)
        settings = model.get_params()
        for setting, value in {"roles": roles or None, "unlabelled": "drop" if drop_unlabelled else None}.items():
            for path in [path for path in settings if path.rpartition("__")[2] == setting]:
                model.set_params(**{path: value} if value is not None else {})
        if name == "exponents" and (roles or drop_unlabelled):
            naive = bayeskit.NaiveBayes(roles=roles or None, unlabelled="drop" if drop_unlabelled else "error")
            model.set_params(nb=naive)
        models[name] = model
    return models


def _tables(data: list[str], target: str, reading: Reading) -> dict[str, Any]:
    """Return the rows of each file by its name, in memory."""
    from pathlib import Path

    import pyarrow as pa

    from bayeskit.cli.inputs import open_data
    from bayeskit.data.reader import read_batch

    tables: dict[str, Any] = {}
    for path in data:
        for file in open_data([path], target, reading).files:
            source = open_data([path if path == "-" else file.place.name], target, reading)
            batch = read_batch(source)
            name = Path(source.name).name.partition(".")[0] or source.name
            tables[name if name not in tables else source.name] = pa.table({**batch.columns, target: batch.labels})
    return tables


def _compared(models: dict[str, Any], tables: dict[str, Any], target: str, trials: Trials) -> Any:
    """Compare the models, with a progress bar on a terminal."""
    import sys
    from collections import Counter

    from bayeskit.evaluate.compare import LEAVE_ONE_OUT, compare
    from bayeskit.progress import Bar

    folds = LEAVE_ONE_OUT if trials.leave_one_out else trials.folds
    begun: Counter[str] = Counter()
    with Bar(sys.stderr.isatty()) as bar:

        def tell(dataset: str, model: str) -> None:
            bar(dataset, begun[dataset], len(models))
            begun[dataset] += 1

        return compare(models, tables, target, folds=folds, repeats=trials.repeats, progress=tell)


def _show(page: Any, comparison: Any, measure: str) -> None:
    from bayeskit.cli.console import short
    from bayeskit.tables.sheet import Figure

    several = len(comparison.datasets) > 1
    over = (
        f"{len(comparison.datasets)} data sets"
        if several
        else f"{comparison.datasets[0]}, {comparison.n_rows[0]:,} rows"
    )
    page.line(f"{len(comparison.models)} models on {over}, {comparison.method}", style="bold")
    page.line()
    means = comparison.means
    page.table({n: [v if isinstance(v, str) else short(v) for v in means[n]] for n in means.column_names})
    if several:
        table = comparison.table(measure)
        rows = {name: table[name][:SHOWN] for name in table.column_names}
        page.line()
        page.table(
            {n: [Figure(f"{v:.4f}") if isinstance(v, float) else v for v in values] for n, values in rows.items()},
            title=measure.replace("_", " "),
            keys=2,
        )
        if len(comparison.datasets) > SHOWN:
            page.line(f"… and {len(comparison.datasets) - SHOWN:,} more: --json has them all", style="dim")
        page.line()
        for name in ("accuracy", "log_loss"):
            for duel in comparison.duels(name):
                page.line(duel.sentence)
    for refusal in comparison.refused:
        page.line(f"{refusal.model} did not take {refusal.dataset}: {refusal.why}")


def record(comparison: Any) -> dict[str, Any]:
    """Return the comparison as plain data."""
    from dataclasses import asdict

    from bayeskit.evaluate.compare import MEASURES

    several = len(comparison.datasets) > 1
    return {
        "models": list(comparison.models),
        "datasets": list(comparison.datasets),
        "rows": list(comparison.n_rows),
        "method": comparison.method,
        **{measure: comparison.scores(measure).tolist() for measure in MEASURES},
        "duels": [asdict(duel) for name in ("accuracy", "log_loss") for duel in comparison.duels(name)]
        if several
        else [],
        "refused": [asdict(refusal) for refusal in comparison.refused],
    }
