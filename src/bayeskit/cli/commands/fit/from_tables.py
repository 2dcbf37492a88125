"""Fit a table: options, column settings, scores and the comparison with the majority class."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.cli.commands.fit.shared import Shared
from bayeskit.cli.console import Page, short
from bayeskit.cli.options import Reading, Roles, Weight, among, pairs, typed
from bayeskit.cli.outputs import check_plot, plot
from bayeskit.errors import BayesError
from bayeskit.inner_model import reader_of
from bayeskit.tolerance import NO_WORSE

if TYPE_CHECKING:
    from bayeskit.evaluate.evaluation import Evaluation


TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def domains_of(given: Sequence[str] | None, kinds: Mapping[str, str]) -> dict[str, list[Any]] | None:
    """Parse ``COLUMN=a,b,c`` texts to the setting ``domains``, with values in the type of their column.

    >>> domains_of(["level=low,medium,high", "color=0,1,2", 'town="Rome, old",Ostia'], {"color": "integer"})
    {'level': ['low', 'medium', 'high'], 'color': [0, 1, 2], 'town': ['Rome, old', 'Ostia']}
    """
    domains = {}
    for name, text in pairs("--domain", given).items():
        values = next(csv.reader([text], skipinitialspace=True), [])
        if not values or not all(values):
            raise typer.BadParameter(f"{name}={text} names no values: write {name}=a,b,c", param_hint="--domain")
        domains[name] = [_of_kind(value, kinds.get(name, "string"), name) for value in values]
    return domains or None


def _of_kind(value: str, kind: str, name: str) -> Any:
    from bayeskit.data.vocabulary import canonical

    try:
        if kind == "boolean":
            return TRUTH[value.lower()]
        if kind in ("integer", "float"):
            return canonical(float(value))
    except (KeyError, ValueError):
        wanted = "true or false" if kind == "boolean" else "a number"
        raise typer.BadParameter(f"column {name!r} has no value {value!r}: {wanted}", param_hint="--domain") from None
    return value


def cuts_of(given: Sequence[str] | None) -> Any:
    """Parse the setting ``cuts``: one for all columns, or a mapping by column.

    >>> cuts_of(["mdl"]), cuts_of(["5"]), cuts_of(["frequency:4"]), cuts_of(["age=18,65", "size=width:3"])
    ('mdl', 5, ('frequency', 4), {'age': [18.0, 65.0], 'size': ('width', 3)})
    """
    if not given:
        return None
    for_all = [text for text in given if "=" not in text]
    if for_all and len(given) > 1:
        raise typer.BadParameter("give one for all columns, or COLUMN=… of each", param_hint="--cuts")
    if for_all:
        return _cut(for_all[0])
    return {name: _cut(text) for name, text in pairs("--cuts", given).items()}


def _cut(text: str) -> Any:
    """Parse a method, a number of intervals, a method with a number, or points."""
    way, sign, number = text.partition(":")
    try:
        if sign:
            return (way, int(number))
        if "," in text or "." in text:
            return [float(part) for part in text.split(",") if part.strip()]
        return int(text)
    except ValueError:
        if sign or not text.isalpha():
            refusal = (
                f"{text!r} is no way to cut: give mdl, frequency, width, a number of intervals, or points such as 1,5"
            )
            raise typer.BadParameter(refusal, param_hint="--cuts") from None
        return text


COLUMNS = 100  # largest number of columns to leave out in turn
IMPOSSIBLE = -745.0  # ln of the smallest float, for impossible events


@dataclass(frozen=True)
class Culprit:
    """Column, and the leave-one-out scores of the model without it."""

    column: str
    without: Evaluation


def is_worse(evaluation: Evaluation) -> bool:
    """Return True if the majority class has a better accuracy, or the class shares a better log loss."""
    return wrong_more_often(evaluation) or evaluation.log_loss > evaluation.baseline.log_loss * (1 + NO_WORSE)


def wrong_more_often(evaluation: Evaluation) -> bool:
    """Return True if the majority class has a better accuracy."""
    return evaluation.accuracy < evaluation.baseline.accuracy * (1 - NO_WORSE)


def culprit(model: Any, source: Any, evaluation: Evaluation) -> Culprit | None:
    """Return the column whose removal improves the first rows most, if that is at least half of the deficit.

    Nothing is counted again: the models without a column use the same tally.
    """
    columns = model.schema_.used
    if not hasattr(model, "restrict") or len(columns) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = {column: _loss(_without(model, column), source) for column in columns[:COLUMNS]}
        column = min(losses, key=lambda name: losses[name])
        without = _without(model, column).leave_one_out(source, model.schema_.target.name)
    harm = evaluation.log_loss - evaluation.baseline.log_loss
    mended = evaluation.log_loss - without.log_loss
    return Culprit(column, without) if mended > 0 and mended >= harm / 2 else None


def _without(model: Any, column: str) -> Any:
    return model.restrict([name for name in model.schema_.used if name != column])


def _loss(model: Any, source: Any) -> float:
    """Return the mean of −ln P(own class) of the first block of rows, each left out."""
    import numpy as np

    from bayeskit import logspace

    block = next(iter(model._encoder().blocks(source)))
    labels = np.asarray(block.labels, dtype=np.int64)
    log_p = logspace.log_normalise(model._tempered(model._left_out().scores(block)))[0][np.arange(len(labels)), labels]
    return float(-np.nan_to_num(log_p, nan=IMPOSSIBLE, neginf=IMPOSSIBLE).mean())


def show_worse(page: Page, evaluation: Evaluation, harm: Culprit | None, command: list[str] | None) -> None:
    """Print a warning, the column that does most harm and the command without it."""
    from bayeskit.explain.overview import percent

    majority = evaluation.baseline
    if wrong_more_often(evaluation):
        text = "THIS MODEL IS WORSE THAN NONE: always saying the commonest class is right more often, "
        text += f"{percent(majority.accuracy)} instead of {percent(evaluation.accuracy)}."
    else:
        text = "THE PROBABILITIES ARE WORSE THAN NONE: the shares of the classes alone have a log loss of "
        text += f"{short(majority.log_loss)} instead of {short(evaluation.log_loss)}."
    page.line(text, style="bold red")
    if harm is None:
        page.line("No single column does it: where columns repeat each other, a stronger model knows of that.")
        return
    page.line(
        f"Column {harm.column!r} does most of the harm: without it the accuracy is {percent(harm.without.accuracy)}, "
        f"the log loss {short(harm.without.log_loss)}."
    )
    if command is not None:
        page.command("without it:", [*command, "--role", f"{harm.column}=ignore"])


def worse_record(evaluation: Evaluation, harm: Culprit | None) -> dict[str, Any]:
    """Return the warning as plain data."""
    worse: dict[str, Any] = {"worse_than_majority": is_worse(evaluation)}
    if harm is not None:
        scores = {"accuracy": harm.without.accuracy, "log_loss": harm.without.log_loss}
        worse["culprit"] = {"column": harm.column, "without": scores}
    return worse


MODELS = {  # what --model may say, and the class that is fitted
    "naive": "NaiveBayes",
    "tan": "TAN",
    "aode": "AODE",
    "kdb": "KDB",
    "joint": "FullJointBayes",
    "gaussian": "GaussianBayes",
    "subclass": "SubclassBayes",
    "nbtree": "NBTree",
    "best": "BayesClassifier",
    "exponents": "DiscriminativeWeights",
}

CALIBRATED = "These scores are those before calibration: bayes evaluate --folds 10 has those after it."


@dataclass(frozen=True)
class TableOptions:
    """Options for tables."""

    kind: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help=f"The model: {', '.join(MODELS)}.",
            autocompletion=among(*MODELS),
        ),
    ] = None
    calibrate: Annotated[
        str | None,
        typer.Option(
            "--calibrate",
            metavar="isotonic|sigmoid|beta|temperature",
            help="Correct probabilities by what rows left out turned out to be.",
            autocompletion=among("isotonic", "sigmoid", "beta", "temperature"),
        ),
    ] = None
    numeric: Annotated[
        str | None,
        typer.Option(
            "--numeric",
            metavar="[COLUMN=]KIND",
            autocompletion=among("auto", "gaussian", "student", "lognormal", "poisson", "kernel", "histogram"),
            help="naive: numbers as gaussian (unless said), student, lognormal, poisson, kernel, histogram; auto.",
        ),
    ] = None
    unseen: Annotated[
        str | None,
        typer.Option(
            "--unseen",
            metavar="ignore|smooth|error",
            help="What a value never seen in training does.",
            autocompletion=among("ignore", "smooth", "error"),
        ),
    ] = None
    memory_limit: Annotated[
        float | None,
        typer.Option(
            "--memory-limit",
            metavar="GB",
            help="tan, aode, kdb, joint, gaussian, best: refuse what would take more. Of documents: fit on fewer.",
        ),
    ] = None
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            help="Count on N processes: Parquet in parts of a file, others file by file. naive, tan, aode, kdb, joint, "
            "gaussian.",
        ),
    ] = None
    push: Annotated[
        bool,
        typer.Option("--push", help="Count inside the database, so that no row leaves it: DuckDB and PostgreSQL."),
    ] = False
    variance: Annotated[
        str | None,
        typer.Option(
            "--variance",
            metavar="SHARED",
            autocompletion=among("class_feature", "feature", "class", "all"),
            help="naive: which variances are one: none (class_feature), those of a column (feature), of a class, all.",
        ),
    ] = None
    ddof: Annotated[
        int | None,
        typer.Option("--ddof", metavar="0|1", help="naive: variances by maximum likelihood, or unbiased (1)."),
    ] = None
    cuts: Annotated[
        list[str] | None,
        typer.Option(
            "--cuts",
            metavar="[COLUMN=]HOW",
            help="How numbers are cut: mdl, frequency:5, width:5, intervals (5), or points (18,65). May be repeated.",
        ),
    ] = None
    domain: Annotated[
        list[str] | None,
        typer.Option(
            "--domain",
            metavar="COLUMN=A,B,...",
            help="All values of a column, in their order; they count in smoothing. May be repeated.",
        ),
    ] = None
    weight: Weight = None
    role: Roles = None


def fit_table(
    data: list[str], target: str, shared: Shared, options: TableOptions, reading: Reading, json: bool
) -> None:
    """Fit a classifier of rows, score it and save it."""
    from bayeskit.cli import summary
    from bayeskit.cli.commands.fit.from_tables import culprit, is_worse, show_worse, worse_record
    from bayeskit.cli.console import Page, plural, size_of
    from bayeskit.cli.inputs import check_writable, open_data, save_model, watched
    from bayeskit.engines.processes import Processes
    from bayeskit.engines.sql import count_in_database
    from bayeskit.explain.overview import column_records

    output, kind = shared.output, options.kind or "naive"
    given = Shared(drop_unlabelled=shared.drop_unlabelled)  # options that every model accepts
    check_writable(output, is_model=True)
    check_plot(shared.plot, data)
    page = Page(json, sys.stderr if output == "-" else None)
    source = open_data(data, target, reading)
    source = count_in_database(source) if options.push else source
    source = source if options.weight is None else source.with_weight(options.weight)
    engine = None if options.processes is None else Processes(options.processes, max_categories=None)
    roles = pairs("--role", options.role)
    settings = {
        "smoothing": shared.amount,
        "prior": shared.class_prior,
        "numeric": _kinds_of(options.numeric),
        "unseen": options.unseen,
    }
    settings["unlabelled"] = shared.unlabelled
    settings["memory_limit"] = None if options.memory_limit is None else int(options.memory_limit * 1e9)
    settings["roles"] = roles or None
    settings |= {"variance": options.variance, "ddof": options.ddof, "cuts": cuts_of(options.cuts)}
    settings["domains"] = domains_of(options.domain, source.kinds)
    if kind == "naive":
        settings["numeric"] = _cut_numbers(settings["numeric"], settings["cuts"])
    if engine is not None and options.calibrate is not None:
        raise typer.BadParameter("does not go with --calibrate, which reads the rows again", param_hint="--processes")
    model = _model(kind, settings)
    if shared.plot is not None and not (hasattr(model, "column_importance") or hasattr(model, "describe_structure")):
        raise BayesError(f"--model {kind} has no picture: bayes evaluate and bayes explain have, with --plot")
    model = _calibrated(model, options.calibrate)
    if kind == "best" and options.calibrate is None:
        advice = _fit(model.set_params(progress=sys.stderr.isatty()), source, target, engine)
    else:
        with watched(source, "counting") as rows:
            advice = _fit(model, rows, target, engine)
    before = model.model_ if options.calibrate is not None else model  # the uncalibrated model is scored
    tally = reader_of(model).tally_
    evaluation = None
    if shared.scores and tally.n_rows > 1 and hasattr(before, "leave_one_out") and not options.push:
        with watched(source, "leaving each row out") as rows:
            evaluation = before.leave_one_out(rows, target)
    written = save_model(model, output)  # before printing: a closed pipe must not lose the model
    columns = column_records(tally)
    page.line(f"{source.name}: {plural(tally.n_rows, 'row')}, {plural(len(tally.classes), 'class')} of {target}")
    page.line()
    summary.show_columns(page, columns)
    page.line()
    summary.show_classes(page, tally)
    harm = None
    if evaluation is not None:
        page.line()
        summary.show_measures(page, evaluation)
        if options.calibrate is not None:
            page.line(CALIBRATED)
        elif is_worse(evaluation):
            harm = culprit(model, source, evaluation)
            same = replace(options, kind=None if kind == "naive" else kind)
            counts = replace(given, smoothing=shared.smoothing, prior=shared.prior)
            again = None if "-" in data else _again(data, target, shared.output, same, counts, reading)
            page.line()
            show_worse(page, evaluation, harm, again)
    if hasattr(model, "left_out_"):
        page.line()
        summary.show_left_out(page, model)
    page.line()
    if hasattr(model, "column_importance"):
        summary.show_telling(page, model)
        page.line()
    can_be_read_again = all(file.place.size is not None for file in getattr(source, "files", ())) and engine is None
    plain = kind == "naive" and options.calibrate is None
    if plain and len(tally.classes) > 1 and can_be_read_again and _best_takes(tally):
        rule = None if options.unseen == "smooth" else options.unseen  # other models do not support this rule
        stronger = TableOptions("best", role=options.role, domain=options.domain, unseen=rule, weight=options.weight)
        page.command("stronger:", _again(data, target, output, stronger, given, reading))
    for sentence in advice:
        page.line(f"advice: {sentence}")
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
    plot(page, shared.plot, lambda: _picture(before))
    page.json(
        {
            "data": source.name,
            "rows": tally.n_rows,
            "target": target,
            "columns": columns,
            "classes": dict(zip(map(str, tally.classes), tally.class_counts.tolist(), strict=True)),
            "leave_one_out": None
            if evaluation is None
            else summary.evaluation_record(evaluation) | worse_record(evaluation, harm),
            **({"left_out": summary.left_out_record(model)} if hasattr(model, "left_out_") else {}),
            "column_importance": summary.telling_records(model),
            "advice": advice,
            "model": output,
            "bytes": written,
        }
    )


def _kinds_of(numeric: str | None) -> Any:
    """Parse one kind for all numeric columns, or ``COLUMN=KIND`` for one column."""
    column, of_one, kind = (numeric or "").rpartition("=")
    return {column: kind} if of_one else numeric


def _cut_numbers(numeric: Any, cuts: Any) -> Any:
    """Set numeric columns with cuts to histograms in naive Bayes."""
    if cuts is None or numeric == "histogram":
        return numeric
    if numeric is not None:
        raise typer.BadParameter(f"goes with --numeric histogram, not {numeric}", param_hint="--cuts")
    return dict.fromkeys(cuts, "histogram") if isinstance(cuts, dict) else "histogram"


def _picture(model: Any) -> Any:
    """Draw the column importance, or the structure over the columns."""
    return (model.column_importance() if hasattr(model, "column_importance") else model.describe_structure()).chart()


def _model(kind: str, given: dict[str, Any]) -> Any:
    """Return the model of a name with its settings; raise an error for unsupported settings."""
    import bayeskit

    if kind not in MODELS:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(MODELS)}", param_hint="--model")
    if kind == "exponents":
        return bayeskit.DiscriminativeWeights(_model("naive", given))
    model = getattr(bayeskit, MODELS[kind])()
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings.keys() - model.get_params():
        if name in ("smoothing", "numeric", "memory_limit", "variance", "ddof", "cuts", "domains") or (
            name == "prior" and settings[name] != "empirical"
        ):
            raise typer.BadParameter(f"--model {kind} has no such setting", param_hint=_option(name))
        del settings[name]
    model.set_params(**settings)
    model._check_settings()
    return model


def _option(setting: str) -> str:
    """Return the option of a setting."""
    return "--domain" if setting == "domains" else f"--{setting.replace('_', '-')}"


def _calibrated(model: Any, method: str | None) -> Any:
    """Return the model, calibrated if requested."""
    from bayeskit.models.wrappers.calibrated import METHODS, Calibrated

    if method is None:
        return model
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is none of {', '.join(METHODS)}", param_hint="--calibrate")
    return Calibrated(model, method)


def _best_takes(tally: Any) -> bool:
    """Return True if ``--model best`` supports these rows: no texts, and all rows fit in memory."""
    from bayeskit.errors import BayesError
    from bayeskit.models.ensemble.classifier import BayesClassifier

    try:
        BayesClassifier()._check_size(tally)
    except BayesError:
        return False
    return not tally.words


def _again(data: list[str], target: str, output: str, *groups: Any) -> list[str]:
    """Return a command with these options and the same file and output."""
    from bayeskit.cli.inputs import shown

    words = [
        "bayes",
        "fit",
        *map(shown, data),
        *typed(Shared(target=target)),
        *(word for group in groups for word in typed(group)),
    ]
    return [*words, *typed(Shared(output=output))]


def _fit(model: Any, source: Any, target: str, engine: Any = None) -> list[str]:
    """Fit the model and return its advice."""
    import warnings

    from bayeskit.cli.hints import with_options
    from bayeskit.errors import AdviceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if hasattr(model, "fit_source"):
            model.fit_source(source, engine=engine)
        else:
            model.fit(source, target)
    for warning in caught:
        if not issubclass(warning.category, AdviceWarning):
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return [with_options(w.message) for w in caught if issubclass(w.category, AdviceWarning)]
