"""``bayes fit``: fit a model to a file, score it and save it.

The options stand first, by kind of data, then the command, then the fit of a table. Documents and sequences are fitted
in ``cli/texts.py`` and ``cli/sequences.py``.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from bayeskit.cli import options as opt
from bayeskit.cli.hints import OPTIONS, with_options
from bayeskit.cli.inputs import check_writable, first_event, open_data, public_address, save_model, watched
from bayeskit.cli.options import (
    MODELS,
    Reading,
    arcs_of,
    choice,
    grouped,
    listed_names,
    option,
    option_group,
    pairs,
    roles_of,
    set_options,
    typed,
)
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.errors import AdviceWarning, BayesError
from bayeskit.inner_model import reader_of
from bayeskit.tolerance import NO_WORSE

if TYPE_CHECKING:
    from bayeskit.cli.console import Page
    from bayeskit.evaluate.evaluation import Evaluation

DEFAULT_OUTPUT = "model.bayes"
OF_COMPARE = dict.fromkeys(
    ("tree", "knn", "perceptron", "forest", "boosting"),
    "a model of scikit-learn, which bayes compare runs and no model file holds",
)


@option_group
class FitOptions:
    """Options for the target, the output file, the prior and the smoothing."""

    target: str | None = option("--target -t", "COLUMN", "Column with the class.")
    output: str = option("--output -o", "FILE", "Model file to write; - for stdout.", DEFAULT_OUTPUT)
    smoothing: str | None = option(
        "--smoothing",
        "NUMBER|auto|m:NUMBER",
        "Pseudo-count added to every count: 1 is Laplace, 0 none; m:3 shares 3 pseudo-counts out (m-estimate). "
        "Default: that of the model.",
    )
    prior: str | None = choice(
        "--prior", "Class prior; laplace adds one row to every class.", "empirical uniform laplace"
    )
    drop_unlabeled: bool = opt.DROP_UNLABELED
    scores: bool = option(
        "--scores/--no-scores", None, "Compute leave-one-out scores, which reads the data again.", True
    )

    plot: str | None = PLOT

    @property
    def unlabeled(self) -> str | None:
        """Return the setting for rows without a class, if given."""
        return "drop" if self.drop_unlabeled else None

    @property
    def class_prior(self) -> Any:
        """Return the prior as a Python value."""
        from bayeskit.estimate.smoothing import Laplace

        return Laplace() if self.prior == "laplace" else self.prior

    @property
    def amount(self) -> Any:
        """Return the smoothing as a number, "auto" or an m-estimate."""
        from bayeskit.estimate.smoothing import MEstimate

        if self.smoothing is None or self.smoothing == "auto":
            return self.smoothing
        try:
            if self.smoothing.startswith("m:"):
                return MEstimate(float(self.smoothing[2:]))
            return float(self.smoothing)
        except ValueError:
            refusal = f"{self.smoothing!r} is neither a number nor auto nor an m-estimate such as m:3"
            raise typer.BadParameter(refusal, param_hint="--smoothing") from None


@option_group
class TableOptions:
    """Options for tables."""

    kind: str | None = choice(
        "--model -m", f"Model: {', '.join(MODELS)}.", " ".join(MODELS), metavar="MODEL", elsewhere=OF_COMPARE
    )
    calibrate: str | None = choice(
        "--calibrate", "Calibrate the probabilities on left-out rows.", "isotonic sigmoid beta temperature"
    )
    numeric: list[str] | None = option(
        "--numeric",
        "[COLUMN=]KIND",
        "naive: density of numbers: auto (default; the best of gaussian, lognormal and histogram for each column), "
        "student, poisson, kernel. May be repeated.",
        autocompletion=lambda: ["auto", "gaussian", "student", "lognormal", "poisson", "kernel", "histogram"],
    )
    unseen: str | None = choice("--unseen", "How to treat values never seen in training.", "ignore smooth error")
    suggest: bool | None = option(
        "--suggest/--no-suggest",
        None,
        "naive: show what best reaches and costs, for up to 20,000 rows of 100 columns. Default: in a terminal.",
    )
    memory_limit: float | None = option(
        "--memory-limit",
        "GB",
        "tan, aode, kdb, joint, gaussian, best: fail if more is needed. Documents: fit on fewer.",
    )
    processes: int | None = option(
        "--processes",
        "N",
        "naive, tan, aode, kdb, joint, gaussian: count on N processes (parts of Parquet files, or whole files).",
        min=1,
    )
    push: bool = option(
        "--push", None, "Count inside the database, so that no row leaves it (DuckDB, PostgreSQL).", False
    )
    variance: str | None = choice(
        "--variance",
        "naive: variances shared by: nothing (class_feature), a column (feature), a class, or all.",
        "class_feature feature class all",
        metavar="SHARED",
    )
    ddof: int | None = option("--ddof", "0|1", "naive: 0 for maximum-likelihood variances, 1 for unbiased ones.")
    cuts: list[str] | None = option(
        "--cuts",
        "[COLUMN=]HOW",
        "Discretization: mdl, frequency:5, width:5, number of intervals, or points (18,65). May be repeated.",
    )
    domain: list[str] | None = option(
        "--domain", "COLUMN=A,B,...", "All values of a column in order; unseen ones are smoothed, too. May be repeated."
    )
    edges: str | None = option(
        "--edges", "ARCS", 'network: its arcs, such as "age -> ill, ill -> sign". Default: arcs learned from the rows.'
    )
    weight: str | None = opt.WEIGHT
    group: str | None = opt.GROUP
    role: list[str] | None = opt.ROLES
    ignore: list[str] | None = opt.IGNORE


@option_group
class DocumentOptions:
    """Options for documents; the recipe gives the defaults."""

    text: str | None = option("--text", "COLUMN", "Classify documents: column with the text.")
    recipe: str | None = option("--recipe", "NAME", "Documents: auto, best, fast, multinomial, ...")
    pattern: str | None = option(
        "--pattern", "PATTERN", "Documents: tokens: words, words1, char, ..., or a regular expression."
    )
    ngrams: str | None = option("--ngrams", "N|LOW-HIGH", "Documents: lengths of word n-grams, such as 1-2.")
    characters: str | None = option(
        "--characters", "LOW-HIGH|auto", "Documents: also character n-grams inside words, such as 3-5."
    )
    hash_bits: int | None = option(
        "--hash-bits", "BITS", "Documents: hash words to 2^BITS buckets to limit the memory."
    )
    keep_rows: bool = option(
        "--keep-rows", None, "Documents: keep them in the model file, for bayes forget --refit.", False
    )

    def settings(self, shared: FitOptions) -> dict[str, Any]:
        """Return the settings of a TextClassifier."""
        given: dict[str, Any] = {"recipe": self.recipe, "prior": shared.class_prior, "pattern": self.pattern}
        given |= {"hash_bits": self.hash_bits, "smoothing": shared.amount, "unlabeled": shared.unlabeled}
        given["keep_rows"] = self.keep_rows or None
        given |= {"ngrams": _runs(self.ngrams, "--ngrams"), "characters": self.characters}
        if self.characters != "auto":
            given["characters"] = _runs(self.characters, "--characters")
        return {name: value for name, value in given.items() if value is not None}


@option_group
class SentenceOptions:
    """Options for sentences."""

    tags: bool = option("--tags", None, "Fit a tagger on CoNLL-U or lines of word/TAG.", False)
    own_states: int | None = option(
        "--own-states", "N", "Tags: number of common words with a state of their own.", min=0
    )
    fine: bool = option("--fine/--no-fine", None, "Tags: use the finer tags of CoNLL-U.", True)


@option_group
class SequenceOptions:
    """Options for sequences."""

    sequence: str | None = option("--sequence", "COLUMN", "Column with the sequence of each row.")
    order: str | None = option(
        "--order", "COLUMN", "Sequences: column to order rows by. Default: the order of the file."
    )
    states: str | None = option("--states", "K|K-K", "Sequences: number of hidden states, or a range to choose from.")
    of: str | None = choice("--of", "Sequences: the target labels each row, or the whole sequence.", "rows sequences")
    context: int | None = option("--context", "N", "Classes of sequences: order of the Markov chain.", min=1)


@grouped
def command(
    data: list[str] = opt.DATA,
    *,
    shared: FitOptions,
    tables: TableOptions,
    documents: DocumentOptions,
    sentences: SentenceOptions,
    sequences: SequenceOptions,
    reading: Reading,
    json: bool = opt.JSON,
) -> None:
    """Fit a classifier to a file, score it and save it.

    Strings become categories and numbers stay numbers, unless --role says
    otherwise. Scores are leave-one-out: exact for naive, a little optimistic for
    best, absent for subclass; a note tells where a learned structure has seen the
    row. naive streams the rows; best is the most accurate and keeps all rows in
    memory.

    Documents: give --text, or a folder with one subfolder of files per class.
    Sentences: --tags fits a tagger; see bayes tag.
    Sequences: --sequence groups rows. --states finds hidden states. A target that
    varies within sequences is the state of each row; a target that is constant in
    each sequence is the class of the sequence.

    \b
    Examples:
      bayes fit birds.csv --target species --role year=ignore -o birds.bayes
      bayes fit parts/*.csv --target species
      bayes fit mail.csv --text body --target kind -o mail.bayes
      bayes fit newsgroups/ -o news.bayes
      bayes fit train.conllu --tags -o english.bayes
      bayes fit days.csv --sequence town --order day --states 2 -o weather.bayes
      bayes fit frames.csv --sequence word --states 4 --target said -o words.bayes
    """
    from bayeskit.cli.sequences import fit_sequences
    from bayeskit.cli.texts import fit_documents, fit_sentences

    if sequences.sequence is not None:
        rest = replace(shared, target=None, output=DEFAULT_OUTPUT, smoothing=None, prior=None, scores=True)
        for group in (documents, sentences, replace(tables, role=None, ignore=None, numeric=None, unseen=None), rest):
            _refuse(group, "does not go with --sequence")
        fit_sequences(data, shared, sequences, tables, reading, json)
        return
    _refuse(sequences, "is for sequences: name the column that says to which one a row belongs with --sequence")
    if sentences.tags:
        for options in (tables, documents, replace(shared, output=DEFAULT_OUTPUT)):
            _refuse(options, "does not go with --tags")
        fit_sentences(data, shared, sentences, reading, json)
        return
    _refuse(sentences, "is for tagged sentences: add --tags")
    is_folder = len(data) == 1 and Path(data[0]).is_dir()
    of_documents = documents.text is not None or (shared.target is None and is_folder)
    if of_documents:
        _refuse(replace(tables, memory_limit=None), "is for tables, and these are documents")
    else:
        _refuse(documents, "is for documents: name their column with --text, or give a folder of classes")
    if shared.target is None and not (of_documents and is_folder):
        raise typer.BadParameter("it is missing: name the column that holds the class", param_hint="--target")
    if of_documents:
        fit_documents(data, shared.target or "class", shared, documents, reading, tables.memory_limit, json)
    else:
        fit_table(data, str(shared.target), shared, tables, reading, json)


def _refuse(options: Any, why: str) -> None:
    """Raise an error for options that do not apply to the data."""
    for names, _ in set_options(options):
        raise typer.BadParameter(why, param_hint=names[0])


CALIBRATED = "These scores are those before calibration: bayes evaluate --folds 10 has those after it."


def fit_table(
    data: list[str], target: str, shared: FitOptions, options: TableOptions, reading: Reading, json: bool
) -> None:
    """Fit a classifier of rows, score it and save it."""
    from bayeskit.cli import summary
    from bayeskit.cli.console import Page, plural
    from bayeskit.engines.processes import Processes
    from bayeskit.engines.sql import count_in_database
    from bayeskit.explain.overview import class_records, column_records

    output, kind = shared.output, options.kind or "naive"
    if kind == "calibrated":
        kind, options = "naive", replace(options, kind=None, calibrate=options.calibrate or "isotonic")
    given = FitOptions(drop_unlabeled=shared.drop_unlabeled)  # options that every model accepts
    check_writable(output, is_model=True)
    check_plot(shared.plot, data)
    page = Page(json, output=output)
    source = open_data(data, target, reading)
    source = count_in_database(source) if options.push else source
    source = source if options.weight is None else source.with_weight(options.weight)
    engine = None if options.processes is None else Processes(options.processes, max_categories=None)
    if engine is not None and options.calibrate is not None:
        raise typer.BadParameter("does not go with --calibrate, which reads the rows again", param_hint="--processes")
    if options.group is not None and (kind not in ("best", "fast") or options.calibrate or engine or options.push):
        raise typer.BadParameter("goes with --model best or fast alone", param_hint="--group")
    if options.suggest and (kind != "naive" or options.calibrate is not None):
        raise typer.BadParameter("goes with --model naive alone", param_hint="--suggest")
    model = _model(kind, _settings(shared, options, source.kinds))
    if shared.plot is not None and not (hasattr(model, "column_importance") or hasattr(model, "describe_structure")):
        raise BayesError(f"--model {kind} has no picture: bayes evaluate and bayes explain have, with --plot")
    if options.calibrate is not None:
        from bayeskit.models.wrappers.calibrated import Calibrated

        model = Calibrated(model, cast(Any, options.calibrate))
    if kind in ("best", "fast") and options.calibrate is None:
        advice = _fit(model.set_params(progress=sys.stderr.isatty()), source, target, engine, options.group)
    else:
        with watched(source, "counting") as rows:
            advice = _fit(model, rows, target, engine)
    before = model.model_ if options.calibrate is not None else model  # the uncalibrated model is scored
    tally = reader_of(model).tally_
    evaluation = None
    if shared.scores and tally.n_rows > 1 and hasattr(before, "leave_one_out") and not options.push:
        with watched(source, "leaving each row out") as rows:
            evaluation = before.leave_one_out(rows, target)
    harm = None
    if evaluation is not None and options.calibrate is None and is_worse(evaluation):
        harm = find_harmful_column(model, source, evaluation)
    importance = summary.importance_of(model)
    written = save_model(
        model, output, first_event(model, source.name)
    )  # after all that can fail, and before printing: a pipe may be closed
    amount = f"rows of total weight {tally.n_rows:,.10g}" if tally.weighted else plural(tally.n_rows, "row")
    page.line(f"{source.name}: {amount}, {plural(len(tally.classes), 'class')} of {target}")
    page.line()
    summary.show_columns(page, tally)
    page.line()
    summary.show_classes(page, tally)
    if evaluation is not None:
        page.line()
        summary.show_measures(page, evaluation)
        if options.calibrate is not None:
            page.line(CALIBRATED)
        elif is_worse(evaluation):
            same = replace(options, kind=None if kind == "naive" else kind)
            counts = replace(given, smoothing=shared.smoothing, prior=shared.prior)
            again = None if "-" in data else _again(data, target, shared.output, same, counts, reading)
            page.line()
            show_worse(page, evaluation, harm, again)
    if hasattr(model, "left_out_"):
        page.line()
        summary.show_left_out(page, model)
    page.line()
    if importance is not None:
        summary.show_importance(page, importance)
        page.line()
    can_be_read_again = all(file.place.size is not None for file in getattr(source, "files", ())) and engine is None
    plain, best = kind == "naive" and options.calibrate is None, None
    if plain and len(tally.classes) > 1 and can_be_read_again and _best_takes(tally):
        rule = None if options.unseen == "smooth" else options.unseen  # other models do not support this rule
        stronger = TableOptions(
            "best", role=options.role, ignore=options.ignore, domain=options.domain, unseen=rule, weight=options.weight
        )
        page.command("stronger:", _again(data, target, output, stronger, given, reading))
        if (page.cuts and not json) if options.suggest is None else options.suggest:
            best = _try_best(_settings(given, stronger, source.kinds), source, target, tally)
            _show_best(page, best, evaluation)
    show_advice(page, advice)
    page.saved(output, written)
    draw(page, shared.plot, lambda: _picture(before))
    scores = None
    if evaluation is not None:
        scores = summary.evaluation_record(evaluation) | worse_record(evaluation, harm)
    page.json(
        {
            "data": source.name,
            "rows": tally.n_rows,
            "target": target,
            "columns": column_records(tally),
            "classes": class_records(tally),
            "leave_one_out": scores,
            **({"left_out": summary.left_out_record(model)} if hasattr(model, "left_out_") else {}),
            "column_importance": summary.importance_records(importance),
            **({} if best is None else {"best": best}),
            "advice": advice,
            "model": output,
            "bytes": written,
        }
    )


MOST_TRIED = 20_000, 100  # rows and columns
OF_BEST = {"accuracy": "accuracy", "log_loss": "log loss"}  # the names of its scores in the record


def _try_best(settings: dict[str, Any], source: Any, target: str, tally: Any) -> dict[str, Any]:
    """Fit ``best`` and return its scores and the CPU seconds of its fit, or the reason why it was not fitted."""
    if tally.n_rows > MOST_TRIED[0] or len(tally.schema.used) > MOST_TRIED[1]:
        return {"not_tried": f"the table has more than {MOST_TRIED[0]:,} rows or {MOST_TRIED[1]} columns"}
    model, start = _model("best", settings), time.process_time()
    try:
        with warnings.catch_warnings(action="ignore"):
            model.fit(source, target)
            seconds, scores = time.process_time() - start, model.left_out_
    except BayesError as refusal:
        return {"not_tried": str(refusal)}
    return {**{name: scores[column][0] for name, column in OF_BEST.items()}, "seconds": seconds}


def _show_best(page: Page, best: dict[str, Any], evaluation: Evaluation | None) -> None:
    """Show the scores of ``best`` beside those of the model, and its cost."""
    from bayeskit.cli.console import short
    from bayeskit.explain.overview import percent

    if "not_tried" in best:
        page.line(f"It was not tried: {best['not_tried']}.")
        return
    columns: dict[str, Any] = {"leave-one-out": ["accuracy", "log loss (nats)"]}
    if evaluation is not None:
        columns["model"] = [percent(evaluation.accuracy), short(evaluation.log_loss)]
    page.table({**columns, "best": [percent(best["accuracy"]), short(best["log_loss"])]})
    page.line(f"The fit of best takes {best['seconds']:.1f} s of CPU, and its file keeps the rows.")


def show_advice(page: Page, advice: Sequence[str]) -> None:
    """Show the advice as a list, one line for each column."""
    if advice:
        page.line("advice:")
        page.sentences(f"  {line.strip()}" for sentence in advice for line in sentence.split("\n"))
        page.line()


def _settings(shared: FitOptions, options: TableOptions, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a model by name; None where no option was given."""
    numeric, cuts = numeric_of(options.numeric), cuts_of(options.cuts)
    if options.kind in (None, "naive", "cuts") and cuts is not None and numeric != "histogram":
        if isinstance(numeric, str) or (isinstance(numeric, dict) and not isinstance(cuts, dict)):
            raise typer.BadParameter("goes with --numeric histogram", param_hint="--cuts")
        if any(kind != "histogram" for column, kind in (numeric or {}).items() if column in cuts):
            raise typer.BadParameter("goes with --numeric COLUMN=histogram", param_hint="--cuts")
        cut = dict.fromkeys(cuts, "histogram") if isinstance(cuts, dict) else "histogram"
        numeric = {**numeric, **cut} if isinstance(numeric, dict) and isinstance(cut, dict) else cut
    return {
        "smoothing": shared.amount,
        "prior": shared.class_prior,
        "unlabeled": shared.unlabeled,
        "numeric": numeric,
        "cuts": cuts,
        "unseen": options.unseen,
        "variance": options.variance,
        "ddof": options.ddof,
        "memory_limit": None if options.memory_limit is None else int(options.memory_limit * 1e9),
        "roles": roles_of(options.role, options.ignore) or None,
        "domains": domains_of(options.domain, kinds),
        "edges": None if options.edges is None else arcs_of("--edges", listed_names(options.edges)),
    }


def _picture(model: Any) -> Any:
    """Draw the column importance, or the structure over the columns."""
    return (model.column_importance() if hasattr(model, "column_importance") else model.describe_structure()).chart()


def _model(kind: str, given: dict[str, Any]) -> Any:
    """Return the model of a name with its settings; raise an error for unsupported settings."""
    import bayeskit

    if kind == "exponents":
        return bayeskit.DiscriminativeWeights(_model("naive", given))
    model = bayeskit.model_named(kind)
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings.keys() - model.get_params():
        if name not in ("unlabeled", "unseen", "roles") and (name, settings[name]) != ("prior", "empirical"):
            raise typer.BadParameter(f"--model {kind} has no such setting", param_hint=OPTIONS[name])
        del settings[name]
    model.set_params(**settings)
    model._check_settings()
    return model


def _best_takes(tally: Any) -> bool:
    """Return True if ``--model best`` supports these rows: no texts, and all rows fit in memory."""
    from bayeskit.models.ensemble.classifier import BayesClassifier

    try:
        BayesClassifier()._check_size(tally)
    except BayesError:
        return False
    return not tally.words


def _again(data: list[str], target: str, output: str, *groups: Any) -> list[str]:
    """Return a command with these options and the same file and output."""
    groups = (FitOptions(target=target), *groups, FitOptions(output=output))
    return ["bayes", "fit", *map(public_address, data), *(word for group in groups for word in typed(group))]


def _fit(model: Any, source: Any, target: str, engine: Any = None, group: str | None = None) -> list[str]:
    """Fit the model and return its advice."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if group is not None:
            import pyarrow as pa

            from bayeskit.cli.inputs import group_column
            from bayeskit.data.reader import read_batch

            groups, batch = group_column(source, group), read_batch(source)
            columns = {name: column for name, column in batch.columns.items() if name != group}
            model.fit(pa.table({**columns, target: batch.labels}), target, batch.weights, groups=groups)
        elif hasattr(model, "fit_source"):
            model.fit_source(source, engine=engine)
        else:
            model.fit(source, target)
    advice = []
    for warning in caught:
        if issubclass(warning.category, AdviceWarning):
            advice.append(with_options(warning.message))
        else:
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return advice


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


def numeric_of(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """Parse the setting ``numeric``: one kind for all columns, or a mapping by column.

    >>> numeric_of(["kernel"]), numeric_of(["age=kernel", "size=poisson"])
    ('kernel', {'age': 'kernel', 'size': 'poisson'})
    """
    if not given:
        return None
    if any("=" not in text for text in given) and len(given) > 1:
        raise typer.BadParameter("give one for all columns, or COLUMN=KIND of each", param_hint="--numeric")
    return pairs("--numeric", given) if "=" in given[0] else given[0]


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
            ways = "mdl, frequency, width, a number of intervals, or points such as 1,5"
            raise typer.BadParameter(f"{text!r} is not a way to cut: give {ways}", param_hint="--cuts") from None
        return text


COLUMNS = 100  # largest number of columns to leave out in turn
IMPOSSIBLE = -745.0  # ln of the smallest float, for impossible events


def is_worse(evaluation: Evaluation) -> bool:
    """Return True if the majority class has a better accuracy, or the class shares a better log loss."""
    return wrong_more_often(evaluation) or evaluation.log_loss > evaluation.baseline.log_loss * (1 + NO_WORSE)


def wrong_more_often(evaluation: Evaluation) -> bool:
    """Return True if the majority class has a better accuracy."""
    return evaluation.accuracy < evaluation.baseline.accuracy * (1 - NO_WORSE)


def find_harmful_column(model: Any, source: Any, evaluation: Evaluation) -> tuple[str, Evaluation] | None:
    """Return the column whose removal improves the first rows most, and the scores without it.

    None if that is less than half of the deficit. The models without a column use the same tally.
    """
    source, columns = model._with_labels(source), model.schema_.used
    if not hasattr(model, "restrict") or len(columns) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = {column: _loss(_without(model, column), source) for column in columns[:COLUMNS]}
        column = min(losses, key=lambda name: losses[name])
        without = _without(model, column).leave_one_out(source, model.schema_.target.name)
    harm = evaluation.log_loss - evaluation.baseline.log_loss
    gain = evaluation.log_loss - without.log_loss
    return (column, without) if gain > 0 and gain >= harm / 2 else None


def _without(model: Any, column: str) -> Any:
    return model.restrict([name for name in model.schema_.used if name != column])


def _loss(model: Any, source: Any) -> float:
    """Return the mean of −ln P(own class) of the first block of rows, each left out."""
    import numpy as np

    from bayeskit import logspace

    block = next(iter(model._encoder().blocks(source)))
    labels = np.asarray(block.labels, dtype=np.int64)
    log_p = logspace.log_normalize(model._tempered(model._left_out().scores(block)))[0][np.arange(len(labels)), labels]
    return float(-np.nan_to_num(log_p, nan=IMPOSSIBLE, neginf=IMPOSSIBLE).mean())


def show_worse(
    page: Page, evaluation: Evaluation, harm: tuple[str, Evaluation] | None, command: list[str] | None
) -> None:
    """Print a warning, the column that does most harm and the command without it."""
    from bayeskit.cli.console import short
    from bayeskit.explain.overview import percent

    majority = evaluation.baseline
    if wrong_more_often(evaluation):
        text = "WORSE THAN THE MAJORITY CLASS: always predicting the most frequent class has a higher accuracy, "
        text += f"{percent(majority.accuracy)} instead of {percent(evaluation.accuracy)}."
    else:
        text = "WORSE THAN THE CLASS FREQUENCIES: predicting them for every row has a lower log loss, "
        text += f"{short(majority.log_loss)} instead of {short(evaluation.log_loss)}."
    page.line(text, style="bold red")
    if harm is None:
        page.line("No single column is the cause. If columns depend on each other, fit a model that allows for it.")
        return
    column, without = harm
    scores = f"the accuracy is {percent(without.accuracy)}, the log loss {short(without.log_loss)}"
    page.line(f"Column {column!r} is the main cause: without it {scores}.")
    if command is not None:
        page.command("without it:", [*command, "--ignore", column])


def worse_record(evaluation: Evaluation, harm: tuple[str, Evaluation] | None) -> dict[str, Any]:
    """Return the warning as plain data."""
    worse: dict[str, Any] = {"worse_than_majority": is_worse(evaluation)}
    if harm is not None:
        column, without = harm
        scores = {"accuracy": without.accuracy, "log_loss": without.log_loss}
        worse["harmful_column"] = {"column": column, "without": scores}
    return worse


def _runs(text: str | None, option: str) -> tuple[int, int] | None:
    if text is None:
        return None
    low, sign, high = text.partition("-")
    try:
        return (int(low), int(high)) if sign else (1, int(low))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor LOW-HIGH, such as 1-2", param_hint=option) from None
