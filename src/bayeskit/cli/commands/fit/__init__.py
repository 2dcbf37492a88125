"""``bayes fit``: learn a classifier from a file, score it honestly and keep it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bayeskit.capabilities import LeavesOut, SpeaksByColumn, can
from bayeskit.cli.options import Data, Delimiter, Empty, Encoding, Json, Roles, Types, pairs

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

DEFAULT = "model.bayes"


def command(
    data: Data,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column that holds the class.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--model", "-m", metavar="|".join(MODELS), help="What is learnt.")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes; - for stdout.")
    ] = DEFAULT,
    text: Annotated[
        str | None, typer.Option("--text", metavar="COLUMN", help="Classify documents: the column that holds the text.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of documents: auto, fast, multinomial, complement, ...")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Of documents: words, words1, char, ..., or an expression.")
    ] = None,
    ngrams: Annotated[
        str | None, typer.Option(metavar="N|LOW-HIGH", help="Of documents: count runs of words, such as 1-2.")
    ] = None,
    hash_bits: Annotated[
        int | None, typer.Option(metavar="BITS", help="Of documents: bound the memory to 2^BITS words.")
    ] = None,
    smoothing: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto", help="Added to every count; 1 is Laplace, 0 is none; else as the model does."
        ),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(metavar="empirical|uniform", help="What classes are worth beforehand.")
    ] = None,
    numeric: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="naive: numbers as gaussian (unless said), student, poisson, kernel or histogram."
        ),
    ] = None,
    unseen: Annotated[
        str | None, typer.Option(metavar="ignore|smooth|error", help="What a value never seen in training does.")
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(metavar="GB", help="tan, aode, kdb, joint, gaussian, best: refuse what would take more."),
    ] = None,
    role: Roles = None,
    column_type: Types = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    empty: Empty = None,
    scores: Annotated[
        bool, typer.Option("--scores/--no-scores", help="Leave-one-out scores take a second read of the data.")
    ] = True,
    json: Json = False,
) -> None:
    """Learn a classifier from a file, score it and keep it.

    Every column but the target is learnt from: text as categories, numbers as
    numbers. Each row is scored by the model without it: exactly for naive; where
    something has seen the row all the same, such as a learnt tree, that is said;
    scores of best are a little optimistic, and subclass has none.
    naive reads the rows one by one, whatever their number; best is the strongest
    and keeps all rows in memory.
    With --text, or on a folder with one sub-folder of files for each class,
    the words of documents are learnt from.

    \b
    Examples:
      bayes fit birds.csv --target species --role year=ignore -o birds.bayes
      bayes fit mail.csv --text body --target kind -o mail.bayes
      bayes fit newsgroups/ -o news.bayes
    """
    from bayeskit.cli import summary
    from bayeskit.cli.commands.fit.documents import amount, fit_text, settings_of
    from bayeskit.cli.commands.fit.worse import culprit, is_worse, show_worse, worse_record
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import check_writable, open_data, save_model, watched
    from bayeskit.cli.wording import plural, size_of, suggesting

    reading = (column_type, delimiter, encoding, empty)
    for_tables: dict[str, Any] = {"--model": kind, "--numeric": numeric, "--unseen": unseen, "--role": role}
    for_tables["--memory-limit"] = memory_limit
    for_texts = {"--recipe": recipe, "--pattern": pattern, "--ngrams": ngrams, "--hash-bits": hash_bits}
    if text is not None or (target is None and Path(data).is_dir()):
        _refuse(for_tables, "is for tables, and these are documents")
        if target is None and not Path(data).is_dir():
            raise _lacking_target()
        settings = settings_of(recipe, smoothing, prior, pattern, ngrams, hash_bits)
        fit_text(data, text, target or "class", output, settings, scores, json, reading)
        return
    _refuse(for_texts, "is for documents: name their column with --text, or give a folder of classes")
    if target is None:
        raise _lacking_target()
    check_writable(output, is_model=True)
    page = Page(json, sys.stderr if output == "-" else None)
    source = open_data(data, target, *reading)
    given = {"smoothing": amount(smoothing), "prior": prior, "numeric": numeric, "unseen": unseen}
    given["memory_limit"] = None if memory_limit is None else int(memory_limit * 1e9)
    kind = kind or "naive"
    roles = pairs("--role", role)
    model = _model(kind, given | {"roles": roles or None})
    with suggesting(roles, source.head):
        if kind == "best":
            advice = _fit(model.set_params(progress=sys.stderr.isatty()), source)
        else:
            with watched(source, "counting") as rows:
                advice = _fit(model, rows)
    found = None
    if scores and model.tally_.n_rows > 1 and can(model, LeavesOut):
        with watched(source, "leaving each row out") as rows:
            found = model.leave_one_out(rows, target)
    written = save_model(model, output)  # before anything is printed: a closed pipe loses no model
    tally = model.tally_
    columns = summary.column_records(tally)
    page.line(f"{source.name}: {plural(tally.n_rows, 'row')}, {plural(len(tally.classes), 'class')} of {target}")
    page.line()
    summary.show_columns(page, columns)
    page.line()
    summary.show_classes(page, tally)
    harm = None
    if found is not None:
        page.line()
        summary.show_measures(page, found)
        if is_worse(found):
            harm = culprit(model, source, found)
            options: dict[str, Any] = {
                "-m": None if kind == "naive" else kind,
                "--smoothing": smoothing,
                "--prior": prior,
            }
            options |= {"--numeric": numeric, "--unseen": unseen, "--memory-limit": memory_limit, "--role": role}
            again = None if data == "-" else _again(data, target, options, reading, output)
            page.line()
            show_worse(page, found, harm, again)
    if kind == "best":
        page.line()
        summary.show_left_out(page, model)
    page.line()
    if can(model, SpeaksByColumn):
        summary.show_telling(page, model)
        page.line()
    if kind == "naive" and len(tally.classes) > 1 and not tally.words and source.files[0].place.size is not None:
        rule = None if unseen == "smooth" else unseen  # best has no such rule
        page.command(
            "stronger:", _again(data, target, {"-m": "best", "--role": role, "--unseen": rule}, reading, output)
        )
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
            "leave_one_out": None if found is None else summary.evaluation_record(found) | worse_record(found, harm),
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


def _again(data: str, target: str, options: dict[str, Any], reading: tuple[Any, ...], output: str) -> list[str]:
    """The same command with these options: what was said of the file and of the output stays."""
    types, delimiter, encoding, empty = reading
    words = ["bayes", "fit", data, "-t", target]
    of_file = {"--type": types, "--empty": empty, "--delimiter": delimiter, "--encoding": encoding}
    for option, value in (options | of_file).items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        words += [word for one in values for word in (option, str(one))]
    return words if output == DEFAULT else [*words, "-o", output]


def _lacking_target() -> typer.BadParameter:
    return typer.BadParameter("it is missing: name the column that holds the class", param_hint="--target")


def _refuse(options: dict[str, Any], why: str) -> None:
    """Options that do not go with the data."""
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(why, param_hint=option)


def _fit(model: Any, source: Any) -> list[str]:
    """Fit, and the advice that came with it."""
    import warnings

    from bayeskit.cli.remedies import in_options
    from bayeskit.errors import AdviceWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit_source(source)
    for warning in told:
        if not issubclass(warning.category, AdviceWarning):
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return [in_options(w.message) for w in told if issubclass(w.category, AdviceWarning)]
