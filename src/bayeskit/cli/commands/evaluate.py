"""``bayes evaluate``: score a model on its training rows or on others."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import typer

from bayeskit.cli import options as opt
from bayeskit.cli.notes import Strictness
from bayeskit.cli.options import Reading, grouped, option
from bayeskit.cli.outputs import PLOT, check_plot, draw, joined
from bayeskit.inner_model import reader_of


@grouped
def command(
    model: str = opt.MODEL,
    data: list[str] = opt.DATA,
    *,
    folds: int | None = option("--folds", "N", "Also cross-validate with N folds (rows in memory).", min=2),
    leave_one_out: bool = option(
        "--leave-one-out", None, "The model learned the rows: predict each by the model without it.", False
    ),
    held_out: bool = option("--held-out", None, "The rows are new to the model: no leave-one-out.", False),
    text: str | None = opt.TEXT,
    reading: Reading,
    drop_unlabeled: bool = opt.DROP_UNLABELED,
    weight: str | None = opt.WEIGHT,
    group: str | None = opt.GROUP,
    fail_if: list[str] = option(
        "--fail-if", "LIMIT", "Exit with 1 if a score is beyond a limit, such as 'log_loss > 0.3'; may be repeated.", []
    ),
    plot: str | None = PLOT,
    json: bool = opt.JSON,
) -> None:
    """Evaluate a model on its training rows or on new rows.

    Training rows, recognized by their content in any order, are scored by exact
    leave-one-out: each is predicted by the model without it. Other rows are scored as
    they are; a warning tells where some of them were learned. The scores stand beside
    those of the majority class and are followed by the calibration, the scores of each
    class and the confusion matrix.

    \b
    Examples:
      bayes evaluate birds.bayes birds.csv --folds 10
      bayes evaluate birds.bayes tomorrow.csv --plot scores.svg
      bayes evaluate birds.bayes tomorrow.csv --fail-if 'accuracy < 0.9'
    """
    from bayeskit.cli import summary
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import watched
    from bayeskit.cli.saved_models import family_function, load_classifier, open_labeled, target_of, unit_of

    if leave_one_out and held_out:
        raise typer.BadParameter("is the opposite of --leave-one-out: give one of them", param_hint="--held-out")
    method = "leave-one-out" if leave_one_out else "held-out" if held_out else "auto"
    if group is not None and folds is None:
        raise typer.BadParameter("keeps rows in one fold: add --folds", param_hint="--group")
    limits = [_parse_limit(text) for text in fail_if]
    page = Page(json)
    check_plot(plot, (model, *data))
    fitted = load_classifier(model)
    while hasattr(fitted, "costs_"):  # score the probabilities, not the decisions by cost
        fitted = fitted.classifier_
    target = target_of(fitted)
    show_trust = None
    if evaluate_model := family_function(fitted, "evaluate_model"):
        if text is not None or drop_unlabeled or weight is not None or group is not None:
            hint = "--text" if text else "--weight" if weight else "--group" if group else "--drop-unlabeled"
            raise typer.BadParameter("is not for models of sequences", param_hint=hint)
        source, evaluations = evaluate_model(fitted, data, reading, folds, held_out)
    else:
        if drop_unlabeled and hasattr(fitted, "_with_labels"):
            fitted.unlabeled = "drop"
        source = open_labeled(fitted, data, target, text, reading, weight)
        with watched(source, "scoring") as rows:
            evaluations = []
            if method != "auto" or folds is None or hasattr(fitted, "leave_one_out"):  # without it, use folds
                evaluations.append(_evaluate(fitted, rows, method))
            if folds is not None:
                evaluations.append(_cross_validate(fitted, rows, target, folds, group))
        if hasattr(fitted, "predict_proba"):
            show_trust = partial(_show_calibration, page, fitted, data, target, reading, weight)
    areas = [summary.areas(evaluation) for evaluation in evaluations]
    _show(page, fitted, evaluations, areas, source, unit_of(fitted), show_trust)
    draw(page, plot, lambda: joined([_picture(evaluation) for evaluation in evaluations]))
    records = [summary.evaluation_record(evaluation) for evaluation in evaluations]
    for scores, of_classes in zip(records, areas, strict=True):
        for by_class, auc in zip(scores["by_class"], of_classes, strict=True):
            by_class["auc"] = auc
    page.json({"model": model, "data": source.name, "target": target, "evaluations": records})
    beyond = [limit for limit in limits if any(limit.holds(getattr(one, limit.score)) for one in evaluations)]
    for limit in beyond:
        print(f"bayes: {limit.text}", file=sys.stderr)
    if beyond:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Limit:
    """A limit of a score: ``text`` as it was given, and its parts."""

    text: str
    score: str
    is_upper: bool
    bound: float

    def holds(self, value: float) -> bool:
        """Return True if the value is beyond the limit."""
        return value > self.bound if self.is_upper else value < self.bound


def _parse_limit(text: str) -> _Limit:
    """Parse a limit such as ``log_loss > 0.3``."""
    found = re.fullmatch(r"\s*(accuracy|log_loss|brier)\s*([<>])\s*(\d*\.?\d+)\s*", text)
    if found is None:
        hint = "'log_loss > 0.3', 'accuracy < 0.9' or 'brier > 0.2'"
        raise typer.BadParameter(f"{text!r} is not a limit such as {hint}", param_hint="--fail-if")
    return _Limit(text.strip(), found[1], found[2] == ">", float(found[3]))


def _show(
    page: Any,
    fitted: Any,
    evaluations: list[Any],
    areas: list[list[float | None]],
    source: Any,
    unit: str,
    show_trust: Callable[[Any], None] | None = None,
) -> None:
    """Show the evaluations one after another; ``show_trust`` adds their calibration."""
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import columns_of, plural
    from bayeskit.tables import Figure

    for i, evaluation in enumerate(evaluations):
        if i:
            page.line()
        page.heading(f"{plural(evaluation.n_rows, unit)} of {source.name}")
        summary.show_measures(page, evaluation)
        texts.tell_scores(page, fitted, evaluation.method) if hasattr(fitted, "recipe") else None
        if show_trust is not None:
            show_trust(evaluation)
        page.line()
        area = [Figure("–" if auc is None else f"{auc:.4f}") for auc in areas[i]]
        page.table({**columns_of(evaluation.by_class), "AUC": area})
        page.line()
        _show_confusion(page, evaluation)


def _picture(evaluation: Any) -> Any:
    """Draw the confusion matrix and the calibration."""
    records = [evaluation] if evaluation.truth is None else [evaluation, evaluation.reliability()]
    return joined([record.chart() for record in records], across=True)


def _evaluate(model: Any, source: Any, method: str) -> Any:
    from bayeskit.errors import BayesError, BayesWarning, NotLearned
    from bayeskit.evaluate.cross_validation import evaluate_rows

    try:
        with warnings.catch_warnings():
            if not Strictness.on:  # the remark of the evaluation, which is printed with its scores
                warnings.filterwarnings("ignore", "They are scored as they are", BayesWarning)
            return evaluate_rows(model, source, method)
    except NotLearned as problem:
        text = f"{str(problem).removesuffix('.')}. If the rows are new to the model, use --held-out."
        raise NotLearned(text) from None
    except BayesError as problem:
        if hasattr(model, "leave_one_out"):
            raise
        hint = "use --folds 10, or --held-out if the rows are new to the model"
        raise BayesError(problem.message, hint=hint) from None


def _cross_validate(model: Any, source: Any, target: str, folds: int, group: str | None = None) -> Any:
    from collections.abc import Mapping

    import pyarrow as pa

    from bayeskit.cli import texts
    from bayeskit.cli.inputs import group_column
    from bayeskit.data.reader import read_batch
    from bayeskit.data.source import for_schema
    from bayeskit.evaluate.cross_validation import cross_validate
    from bayeskit.models.base.estimator import clone

    if texts.is_text(model):
        if group is not None:
            raise typer.BadParameter("is for tables, and these are documents", param_hint="--group")
        table, weights = texts.documents_of(source, texts.column_of(model) or "text", target)
        return cross_validate(model, table, target, folds, weights)
    groups = None if group is None else group_column(source, group)
    reads = reader_of(model)
    schema, narrowed = reads.schema_, {}
    for name, roles in model.get_params().items():
        if name.rpartition("__")[2] == "roles" and isinstance(roles, Mapping):  # ignored columns are not read
            names = {key: key if isinstance(key, type) else schema.find(key) for key in roles}
            needed = {names[k]: role for k, role in roles.items() if isinstance(k, type) or names[k] in schema.needed}
            narrowed[name] = needed or None
    values = {name: vocabulary.values for name, vocabulary in reads._encoder().vocabularies.items()}
    batch = read_batch(for_schema(source, schema, values, reads.tally_.classes))
    model = clone(model).set_params(**narrowed)
    columns = {name: column for name, column in batch.columns.items() if name != group}
    table = pa.table({**columns, target: batch.labels})
    return cross_validate(model, table, target, folds, batch.weights, groups=groups)


def _show_calibration(
    page: Any, model: Any, data: list[str], target: str, reading: Reading, weight: str | None, evaluation: Any
) -> None:
    """Show the calibration of the probabilities, and a fix if they are not calibrated."""
    from bayeskit.cli.options import MODELS
    from bayeskit.cli.saved_models import fit_command

    curve = evaluation.trust
    if curve is None:
        return
    page.line(curve.sentence)
    if curve.verdict != "inconsistent":
        return
    if type(model).__name__ == "Calibrated":
        page.line("The rows are not like those that it was calibrated on: fit it again with rows like these.")
        return
    kind = next((name for name, kinds in MODELS.items() if kinds == type(model).__name__), None)
    if kind is None or "-" in data or evaluation.method == "held-out rows":
        page.line(f"What helps, in Python: Calibrated({type(model).__name__}()).fit(X, y)")
        return
    options = [] if kind == "naive" else ["-m", kind]
    options += ["--calibrate", "isotonic", *([] if weight is None else ["--weight", weight])]
    command = fit_command(data, target, reader_of(model), options, reading, "calibrated.bayes")
    page.command("calibrated probabilities:", command)


def _show_confusion(page: Any, evaluation: Any) -> None:
    counts, names = evaluation.counts, [str(label) for label in evaluation.classes]
    if len(names) > 20:
        page.line(f"confusion of {len(names)} classes: --json has it all", style="dim")
        return
    predicted = {f"→ {name}": counts[:, i].tolist() for i, name in enumerate(names)}
    page.table({f"true {evaluation.target}": names, **predicted})
