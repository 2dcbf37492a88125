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
from bayeskit.cli.options import Reading, choice, grouped, option, option_group, roles_of, set_options
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.errors import BayesError
from bayeskit.lazy import pa
from bayeskit.nearest import did_you_mean
from bayeskit.progress import Bar
from bayeskit.storage.files import MAGIC, NETWORK_ENDINGS, path_kind

MODELS = "naive,tan,aode,best,logistic,tree,knn,forest,boosting"


@option_group
class Trials:
    """Options of the models to compare and the folds."""

    models: str = option("--models -m", "A,B,...", "Names of models; the first is tested against the others.", MODELS)
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
    target: str | None = option("--target -t", "COLUMN", "Column with the class; fitted models know it."),
    trials: Trials,
    reading: Reading,
    role: list[str] | None = opt.ROLES,
    ignore: list[str] | None = opt.IGNORE,
    drop_unlabeled: bool = opt.DROP_UNLABELED,
    plot: str | None = PLOT,
    json: bool = opt.JSON,
) -> None:
    """Compare models on the same folds, or model files.

    Model files before the data are compared on all the rows: their scores, the
    difference of their log loss with its 95 % interval, and McNemar's test of their
    decisions. Without model files, each file is one data set: prints accuracy,
    log loss, Brier score and CPU seconds per fold; over several files also wins,
    losses, Wilcoxon's test and the Bayesian signed-rank test of the first model against
    each other. Models of scikit-learn get one-hot strings and mean-imputed cells.
    Names: naive, student, cuts, calibrated, exponents, tan, aode, kdb, joint, gaussian,
    subclass, nbtree, network, best, fast, logistic, tree, knn, perceptron, forest,
    boosting.

    \b
    Examples:
      bayes compare birds.csv -t species
      bayes compare tables/*.csv -t class --models naive,tree --plot both.svg
      bayes compare old.bayes new.bayes tomorrow.csv
    """
    from bayeskit.cli.console import Page

    page = Page(json)
    check_plot(plot, data)
    saved = [path for path in data if _is_model(path)]
    if saved:
        _refuse_fitting_options(trials, target, role, ignore, plot)
        rows = [path for path in data if path not in saved]
        compare_saved(page, saved, rows, reading, drop_unlabeled)
        return
    if target is None:
        raise typer.BadParameter("is needed: the column with the class", param_hint="--target")
    models = models_of(trials.models, roles_of(role, ignore), drop_unlabeled)
    tables = tables_of(data, target, reading)
    comparison = _compared(models, tables, target, trials)
    page.sheet(comparison.sheet_of(trials.measure))
    draw(page, plot, lambda: comparison.chart(measure=trials.measure))
    page.json(record(comparison))


def _is_model(path: str) -> bool:
    """Return True for a file that holds a model or a network."""
    if path == "-" or path_kind(path) != "file":
        return False
    if Path(path).suffix.lower() in NETWORK_ENDINGS:
        return True
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _refuse_fitting_options(trials: Trials, target: str | None, *others: Any) -> None:
    """Refuse the options that say how models are fitted or drawn."""
    names = ("--target", "--role", "--ignore", "--plot")
    given = [names[-1] for names, _ in set_options(trials)]
    given += [name for name, value in zip(names, (target, *others), strict=True) if value]
    if given:
        raise typer.BadParameter("is for models that are fitted here, and these are fitted", param_hint=given[0])


def compare_saved(page: Any, saved: list[str], data: list[str], reading: Reading, drop_unlabeled: bool) -> None:
    """Compare model files on the same labeled rows, the first with each of the others."""
    from bayeskit.cli import summary
    from bayeskit.cli.console import plural, short
    from bayeskit.cli.saved_models import load_classifier, open_labeled, refuse_sequences, target_of, unit_of
    from bayeskit.evaluate.cross_validation import evaluate_rows
    from bayeskit.evaluate.paired import compare_evaluations
    from bayeskit.explain.overview import percent

    if len(saved) < 2 or not data:
        given = "there is one model" if data else "there are no rows"
        raise BayesError(f"{given}: give at least two models and the rows to compare them on")
    evaluations = []
    for path in saved:
        refuse_sequences(model := load_classifier(path), path)
        while hasattr(model, "costs_"):  # score the probabilities, not the decisions by cost
            model = model.classifier_
        if drop_unlabeled and hasattr(model, "_with_labels"):
            model.unlabeled = "drop"
        source = open_labeled(model, data, target_of(model), None, reading)
        method = "auto" if hasattr(model, "leave_one_out") else "held-out"
        evaluations.append(evaluate_rows(model, source, method))
    first, *others = evaluations
    found = [compare_evaluations(first, other) for other in others]
    page.heading(f"{plural(found[0].rows, unit_of(model))} of {source.name}")
    columns = {
        "model": saved,
        "accuracy": [percent(one.accuracy) for one in evaluations],
        "log loss (nats)": [short(one.log_loss) for one in evaluations],
        "Brier score": [short(one.brier) for one in evaluations],
        "method": [one.method for one in evaluations],
    }
    page.table(columns)
    for path, pair in zip(saved[1:], found, strict=True):
        page.line()
        page.line(f"{path} minus {saved[0]}", style="bold")
        interval = f"95% interval {pair.low:+.4g} to {pair.high:+.4g}"
        page.line(f"log loss {pair.log_loss_difference:+.4g}, {interval}")
        page.line(pair.sentence)
        only = f"{pair.only_first:,} right only in the first, {pair.only_second:,} only in the second"
        page.line(f"{plural(pair.changed, 'decision')} changed: {only}")
        page.line(f"McNemar p = {pair.p_value:.3g}")
    records = [{"model": path, **summary.evaluation_record(one)} for path, one in zip(saved, evaluations, strict=True)]
    pairs = [{"first": saved[0], "second": path, **asdict(one)} for path, one in zip(saved[1:], found, strict=True)]
    page.json({"data": source.name, "models": records, "pairs": pairs})


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
