"""``bayes fit`` on the rows of a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from bayeskit.capabilities import LeavesOut, SpeaksByColumn, can
from bayeskit.cli.commands.fit.shared import Shared
from bayeskit.cli.options import Reading, Roles, Weight, among, pairs, typed

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
}


@dataclass(frozen=True)
class TableOptions:
    """What is learnt of a table."""

    kind: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="|".join(MODELS), help="What is learnt.", autocompletion=among(*MODELS)),
    ] = None
    numeric: Annotated[
        str | None,
        typer.Option(
            "--numeric",
            metavar="KIND",
            autocompletion=among("gaussian", "student", "poisson", "kernel", "histogram"),
            help="naive: numbers as gaussian (unless said), student, poisson, kernel or histogram.",
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
            "--memory-limit", metavar="GB", help="tan, aode, kdb, joint, gaussian, best: refuse what would take more."
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
    weight: Weight = None
    role: Roles = None


def fit_table(
    data: list[str], target: str, shared: Shared, options: TableOptions, reading: Reading, json: bool
) -> None:
    """Learn a classifier of rows, score it and keep it."""
    from bayeskit.cli import summary
    from bayeskit.cli.commands.fit.worse import culprit, is_worse, show_worse, worse_record
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import check_writable, open_data, save_model, watched
    from bayeskit.cli.wording import plural, size_of
    from bayeskit.engines.databases import counted_there
    from bayeskit.engines.processes import Processes
    from bayeskit.explain.overview import column_records

    output, kind = shared.output, options.kind or "naive"
    given = Shared(drop_unlabelled=shared.drop_unlabelled)  # what any other model takes as well
    check_writable(output, is_model=True)
    page = Page(json, sys.stderr if output == "-" else None)
    source = open_data(data, target, reading)
    source = counted_there(source) if options.push else source
    source = source if options.weight is None else source.with_weight(options.weight)
    engine = None if options.processes is None else Processes(options.processes, max_categories=None)
    roles = pairs("--role", options.role)
    settings = {"smoothing": shared.amount, "prior": shared.prior, "numeric": options.numeric, "unseen": options.unseen}
    settings["unlabelled"] = shared.unlabelled
    settings["memory_limit"] = None if options.memory_limit is None else int(options.memory_limit * 1e9)
    model = _model(kind, settings | {"roles": roles or None})
    if kind == "best":
        advice = _fit(model.set_params(progress=sys.stderr.isatty()), source, engine)
    else:
        with watched(source, "counting") as rows:
            advice = _fit(model, rows, engine)
    evaluation = None
    if shared.scores and model.tally_.n_rows > 1 and can(model, LeavesOut) and not options.push:
        with watched(source, "leaving each row out") as rows:
            evaluation = model.leave_one_out(rows, target)
    written = save_model(model, output)  # before anything is printed: a closed pipe loses no model
    tally = model.tally_
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
        if is_worse(evaluation):
            harm = culprit(model, source, evaluation)
            same = replace(options, kind=None if kind == "naive" else kind)
            counts = replace(given, smoothing=shared.smoothing, prior=shared.prior)
            again = None if "-" in data else _again(data, target, shared.output, same, counts, reading)
            page.line()
            show_worse(page, evaluation, harm, again)
    if kind == "best":
        page.line()
        summary.show_left_out(page, model)
    page.line()
    if can(model, SpeaksByColumn):
        summary.show_telling(page, model)
        page.line()
    can_be_read_again = all(file.place.size is not None for file in getattr(source, "files", ())) and engine is None
    if kind == "naive" and len(tally.classes) > 1 and can_be_read_again and _best_takes(tally):
        rule = None if options.unseen == "smooth" else options.unseen  # best has no such rule
        stronger = TableOptions("best", role=options.role, unseen=rule, weight=options.weight)
        page.command("stronger:", _again(data, target, output, stronger, given, reading))
    for sentence in advice:
        page.line(f"advice: {sentence}")
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
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
            **({"left_out": summary.left_out_record(model)} if kind == "best" else {}),
            "telling": summary.telling_records(model),
            "advice": advice,
            "model": output,
            "bytes": written,
        }
    )


def _model(kind: str, given: dict[str, Any]) -> Any:
    """The model of a name, with what was said of it; a setting that it does not have is refused."""
    import bayeskit

    if kind not in MODELS:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(MODELS)}", param_hint="--model")
    model = getattr(bayeskit, MODELS[kind])()
    said = {name: value for name, value in given.items() if value is not None}
    for name in said.keys() - model.get_params():
        if name in ("smoothing", "numeric", "memory_limit") or (name == "prior" and said[name] != "empirical"):
            raise typer.BadParameter(f"--model {kind} has no such setting", param_hint=f"--{name.replace('_', '-')}")
        del said[name]
    model.set_params(**said)
    model.check_settings()
    return model


def _best_takes(tally: Any) -> bool:
    """Whether ``--model best`` would learn these rows: it reads no texts, and holds all rows in memory."""
    from bayeskit.errors import BayesError
    from bayeskit.models.ensemble.classifier import BayesClassifier

    try:
        BayesClassifier().check_size(tally)
    except BayesError:
        return False
    return not tally.words


def _again(data: list[str], target: str, output: str, *groups: Any) -> list[str]:
    """A command with these options: what was said of the file and of the output stays."""
    from bayeskit.cli.inputs import shown

    words = [
        "bayes",
        "fit",
        *map(shown, data),
        *typed(Shared(target=target)),
        *(word for group in groups for word in typed(group)),
    ]
    return [*words, *typed(Shared(output=output))]


def _fit(model: Any, source: Any, engine: Any = None) -> list[str]:
    """Fit, and the advice that came with it."""
    import warnings

    from bayeskit.cli.remedies import in_options
    from bayeskit.errors import AdviceWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit_source(source, engine=engine)
    for warning in told:
        if not issubclass(warning.category, AdviceWarning):
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return [in_options(w.message) for w in told if issubclass(w.category, AdviceWarning)]
