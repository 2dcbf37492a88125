"""The report of a model on its data: one HTML file with scores, pictures, tables, the page of the model and a card."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.errors import AdviceWarning, BayesError
from bayeskit.report.html import document, escape
from bayeskit.report.page import ModelPage
from bayeskit.report.payload import classifier_payload, unused_columns
from bayeskit.storage.files import write_file
from bayeskit.tables import Table

MOST_COLUMNS = 6  # informative columns that are shown with their tables or densities
FOLDS = 5
MEASURES = {"accuracy": "accuracy", "log loss (nats)": "log_loss", "Brier score": "brier"}


def write_report(model: Any, X: Any, y: Any, path: str | Path | None = None, *, rows: int = 0) -> ModelPage:
    """Write a report of a classifier: data, honest scores, calibration, informative columns, form and model card.

    The report is one HTML file that needs no network. It holds aggregated figures only, unless ``rows`` asks for
    examples. Pictures need the extra ``charts``; without it the report has the tables alone.

    Parameters
    ----------
    model : classifier
        It is fitted on the data if it is not fitted yet.
    X : table
        Rows, as for ``fit``.
    y : array-like or str
        Class labels, or the name of their column in X.
    path : str or Path, optional
        File to write.
    rows : int, default=0
        Number of first rows to show as examples, with their explanations.

    Returns
    -------
    ModelPage
        A notebook shows it; ``html`` is the document.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets, write_report
    >>> birds = datasets.load_penguins().drop_columns(["year"])
    >>> report = write_report(NaiveBayes(), birds, "species")
    >>> "holds aggregated figures only" in report.html
    True
    """
    from bayeskit.data.reader import read_table
    from bayeskit.evaluate.cross_validation import check_probabilities, fit_wrapped

    if rows < 0:
        raise BayesError(f"rows is {rows}: give a number of 0 or more")
    advice: list[str] = []
    with _advice_in(advice):
        if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
            raise BayesError(f"a report needs a classifier with probabilities, and {type(model).__name__} is none")
        check_probabilities(model)
        if not hasattr(model, "classes_"):
            fit_wrapped(model, X, y, None)
        table = read_table(X, y)
        naive = _naive_beside(model, X, y)
        evaluation, scores = _evaluate(model, naive, X, y)
    payloads: dict[str, Any] = {}
    examples = table.take(np.arange(min(rows, table.n_rows))) if rows else None
    sections = [
        _section("Data", lambda: _data(model, advice)),
        _section("Scores", lambda: _show_scores(evaluation, scores)),
        _section("Calibration", lambda: _record(evaluation.reliability()), "half"),
        _section("Learning curve", lambda: _record(_learning_curve(model, X, y)), "half"),
        _section("Most informative columns", lambda: _show_informative(model, naive)),
        _section(
            "Dependent columns", lambda: _record(_method(_able(model, naive, "diagnose"), "diagnose")(X, y)), "half"
        ),
        _section("Structure", lambda: _record(_method(model, "describe_structure")()), "half"),
        _section("Words of the classes", lambda: _record(_method(model, "telling_words")()), "half"),
        _section("Examples", lambda: _show_examples(model, examples)) if examples is not None else "",
        _section("Try the model", lambda: _form(model, payloads), "bare"),
        _section("Model card", lambda: _show_card(model, evaluation)),
    ]
    report = [
        _heading(model, table.n_rows, examples),
        _tiles(evaluation),
        f'<div class="report">{"".join(sections)}</div>',
    ]
    page = ModelPage(document(f"Report of {_target(model)}", report, payloads))
    if path is not None:
        write_file(path, page.html.encode())
    return page


@contextmanager
def _advice_in(sentences: list[str]) -> Iterator[None]:
    """Collect advice about the columns instead of warning; pass other warnings on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if issubclass(warning.category, AdviceWarning):
            sentences.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _target(model: Any) -> str:
    return str(model.schema_.target.name) if hasattr(model, "schema_") else "the class"


def _method(model: Any, name: str) -> Any:
    """Return a method of a model; raise BayesError if it is missing, which leaves its section out."""
    if not hasattr(model, name):
        raise BayesError("")
    return getattr(model, name)


def _section(title: str, content: Callable[[], str], look: str = "") -> str:
    """Return a section; what the model or the data does not allow is left out, with the reason if there is one."""
    try:
        body = content()
    except BayesError as problem:
        if not problem.message:
            return ""
        body = f'<p class="note">Left out: {escape(problem.message)}.</p>'
    return f'<section class="card {look}"><h2>{escape(title)}</h2>{body}</section>' if body else ""


def _heading(model: Any, n_rows: int, examples: Any) -> str:
    held = "It holds aggregated figures only, and no row of the data."
    if examples is not None:
        held = "It holds aggregated figures and the rows under <i>Examples</i>."
    lead = f"{type(model).__name__} on {n_rows:,} rows with {len(model.classes_):,} classes. {held}"
    return f'<h1>Report of <bdi>{escape(_target(model))}</bdi></h1><p class="lead">{lead}</p>'


def _tiles(evaluation: Any) -> str:
    """Show the most important figures in large type."""
    from bayeskit.explain.overview import percent

    figures = {
        "accuracy": (percent(evaluation.accuracy), f"majority class {percent(evaluation.baseline.accuracy)}"),
        "log loss (nats)": (f"{evaluation.log_loss:.3f}", f"majority class {evaluation.baseline.log_loss:.3f}"),
        "calibration error": (percent(evaluation.calibration_error), "predicted minus observed, on average"),
    }
    tiles = (
        f"<div><dt>{k}</dt><dd>{value} <small>{remark}</small></dd></div>" for k, (value, remark) in figures.items()
    )
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


def _data(model: Any, advice: list[str]) -> str:
    from bayeskit.explain.overview import classes_grid, columns_grid

    if not hasattr(model, "tally_"):
        raise BayesError("the model keeps no counts of its columns")
    notes = "".join(f"<li>{escape(sentence)}</li>" for sentence in advice)
    listed = f"<h3>Advice</h3><ul>{notes}</ul>" if notes else ""
    return _scroll(columns_grid(model.tally_).html) + _scroll(classes_grid(model.tally_).html) + listed


def _naive_beside(model: Any, X: Any, y: Any) -> Any:
    """Return naive Bayes of the same rows, None beside naive Bayes and models of documents."""
    from bayeskit.models.naive_bayes import NaiveBayes

    if type(model) is NaiveBayes or hasattr(model, "recipe"):
        return None
    return NaiveBayes(roles=getattr(model, "roles", None)).fit(X, y)


def _able(model: Any, naive: Any, name: str) -> Any:
    """Return the model, or naive Bayes where the model has no such method."""
    return model if naive is None or hasattr(model, name) else naive


def _evaluate(model: Any, naive: Any, X: Any, y: Any) -> tuple[Any, Table]:
    """Evaluate the model, beside naive Bayes where the same method serves it and the majority class."""
    from bayeskit.evaluate.cross_validation import cross_validate
    from bayeskit.models.base.estimator import clone

    try:
        evaluation = model.evaluate(X, y)
    except (AttributeError, BayesError):  # no leave-one-out of this model
        evaluation = cross_validate(clone(model), X, y, folds=FOLDS)
    scored = {type(model).__name__: evaluation}
    if evaluation.method != "held-out" and naive is not None:
        exact = evaluation.method == "leave-one-out"
        scored["NaiveBayes"] = naive.leave_one_out(X, y) if exact else cross_validate(clone(naive), X, y, folds=FOLDS)
    scored["majority class"] = evaluation.baseline
    rows = {name: [getattr(result, attribute) for result in scored.values()] for name, attribute in MEASURES.items()}
    return evaluation, Table({evaluation.method: list(scored), **rows})


def _show_scores(evaluation: Any, scores: Table) -> str:
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in evaluation.notes)
    figures = _scroll(scores.grid.html) + notes + _scroll(evaluation.by_class.grid.html)
    return f'<div class="tables"><div>{figures}</div><div>{_record(evaluation)}</div></div>'


def _learning_curve(model: Any, X: Any, y: Any) -> Any:
    from bayeskit.evaluate.learning_curve import learning_curve
    from bayeskit.models.base.estimator import clone

    return learning_curve(clone(model), X, y)


def _show_informative(model: Any, naive: Any) -> str:
    """Show the columns by their importance, with densities of numbers and tables of values."""
    counted = _able(model, naive, "column_importance")
    importance = _method(counted, "column_importance")()
    parts = [f"<div>{_record(getattr(model, 'importance_', importance))}</div>"]
    unused = unused_columns(counted)
    for name in [column.column for column in importance.columns if column.column not in unused][:MOST_COLUMNS]:
        try:
            shown = _record(counted.densities(name))
        except (AttributeError, BayesError):  # a categorical column
            shown = _scroll(counted.table(name)._repr_html_())
        parts.append(f"<div><h3><bdi>{escape(name)}</bdi></h3>{shown}</div>")
    if counted is not model:
        parts.append('<p class="note">Tables and densities are those of naive Bayes on the same rows.</p>')
    return f'<div class="tables">{"".join(parts)}</div>'


def _form(model: Any, payloads: dict[str, Any]) -> str:
    """Return the form of the page of the model, and put its data among the payloads."""
    payloads["payload-1"] = classifier_payload(model)
    return (
        '<noscript><p class="note">The form needs JavaScript.</p></noscript>'
        '<div data-bayeskit="classifier" data-payload="payload-1"></div>'
    )


def _show_examples(model: Any, examples: Any) -> str:
    shown = "".join(f"<div>{record._repr_html_()}</div>" for record in _method(model, "explain")(examples))
    return f'<div class="tables">{shown}</div>'


def _show_card(model: Any, evaluation: Any) -> str:
    """Show what the model is, how it was scored, and how to use it."""
    from bayeskit import __version__

    changed = model._changed_settings() if hasattr(model, "_changed_settings") else [repr(model)]  # of scikit-learn
    settings = ", ".join(changed) or "defaults"
    uses = ["import bayeskit", 'model = bayeskit.load("model.bayes")', "model.predict_proba(rows)"]
    changes = {"partial_fit": "learn more rows", "forget": "remove rows"}
    uses += [f"model.{name}(rows, labels)  # {what}" for name, what in changes.items() if hasattr(model, name)]
    facts = {
        "model": type(model).__name__,
        "settings": settings,
        "learned from": _learned(model),
        "scored by": f"{evaluation.method} on {evaluation.n_rows:,} rows",
        "calibration": evaluation.reliability().sentence,
        "made with": f"bayeskit {__version__}",
    }
    listed = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    code = "\n".join(map(escape, uses))
    return f'<dl class="facts">{listed}</dl>' + _scroll(f"<pre>{code}</pre>")


def _learned(model: Any) -> str:
    """Describe the counts of a model: rows, columns and classes."""
    from bayeskit.explain.overview import round_count

    facts: list[tuple[float, str, str]] = [(len(model.classes_), "class", "classes")]
    if hasattr(model, "tally_"):
        n_columns = len(model.schema_.used)
        facts = [
            (round_count(float(model.tally_.class_counts.sum())), "row", "rows"),
            (n_columns, "column", "columns"),
            *facts,
        ]
    return ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in facts)


def _record(record: Any) -> str:
    """Return the picture of a record where charts can be drawn, and its sentences or table below it."""
    sheet = record.sheet.html if hasattr(record, "sheet") else record._repr_html_()
    folded = f'<details><summary>Numbers</summary><div class="scroll" tabindex="0">{sheet}</div></details>'
    try:
        from bayeskit.charts.drawing import draw
        from bayeskit.charts.style import picture

        svg = picture(draw(record))
    except (ImportError, BayesError, ValueError):  # Vega refuses some names that hold escapes
        return _scroll(sheet)
    code = base64.b64encode(_widen(svg).encode()).decode()
    title = record.sheet.title if hasattr(record, "sheet") else type(record).__name__
    return f'<p><img class="picture" alt="{escape(title)}" src="data:image/svg+xml;base64,{code}"></p>{folded}'


def _widen(svg: str) -> str:
    """Leave room on both sides of a picture, for fonts wider than those of its layout."""
    head, end, rest = svg.partition(">")
    width = float(re.findall(r'\bwidth="([\d.]+)', head)[0])
    left, wide = f"{-0.06 * width:.0f}", f"{1.24 * width:.0f}"
    head = re.sub(
        r'viewBox="0 0 [\d.]+', f'viewBox="{left} 0 {wide}', re.sub(r'\bwidth="[\d.]+', f'width="{wide}', head)
    )
    return head + end + rest


def _scroll(content: str) -> str:
    return f'<div class="scroll" tabindex="0">{content}</div>'
