"""``bayes evaluate``: score a model on its training rows or on others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from bayeskit.cli.options import AS_IT_IS, Data, DropUnlabelled, Json, Model, Reading, Text, Weight, grouped, typed
from bayeskit.cli.outputs import Plot, check_plot, joined
from bayeskit.cli.outputs import plot as draw
from bayeskit.inner_model import reader_of


@grouped
def command(
    model: Model,
    data: Data,
    folds: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Cross-validation in N parts as well (rows in memory).")
    ] = None,
    evaluate_held_out: Annotated[
        bool, typer.Option("--held-out", help="The rows are new to the model: score it as it is.")
    ] = False,
    text: Text = None,
    reading: Reading = AS_IT_IS,
    drop_unlabelled: DropUnlabelled = False,
    weight: Weight = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Score a model on the rows it learnt, or on new ones.

    Rows that it learnt are scored by leave-one-out: each is predicted by the
    model without it, exactly. Beside it stands what always saying the commonest
    class would reach, and below it whether probabilities can be trusted.

    \b
    Examples:
      bayes evaluate birds.bayes birds.csv --folds 10
      bayes evaluate birds.bayes tomorrow.csv --held-out --plot scores.svg
    """
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import open_data, watched
    from bayeskit.cli.of_sequences import is_of_sequences, is_of_whole_sequences, scored
    from bayeskit.cli.of_sequences import target_of as sequence_target
    from bayeskit.cli.saved_models import load_classifier, reading_model, target_of

    page = Page(json)
    check_plot(plot, (model, *data))
    fitted = load_classifier(model)
    while hasattr(fitted, "costs_"):  # score the probabilities, not the decisions by cost
        fitted = fitted.classifier_
    if is_of_sequences(fitted):
        if text is not None or drop_unlabelled or weight is not None:
            hint = "--text" if text else "--weight" if weight else "--drop-unlabelled"
            raise typer.BadParameter("is not for models of sequences", param_hint=hint)
        files, scores = scored(fitted, data, reading, folds, evaluate_held_out)
        _show(page, fitted, scores, files, "sequences" if is_of_whole_sequences(fitted) else "rows")
        draw(page, plot, lambda: joined([_picture(evaluation) for evaluation in scores]))
        records = [summary.evaluation_record(evaluation) for evaluation in scores]
        page.json({"model": model, "data": files.name, "target": sequence_target(fitted), "evaluations": records})
        return
    if drop_unlabelled and hasattr(fitted, "_with_labels"):
        fitted.unlabelled = "drop"
    target = target_of(fitted)
    of_texts = texts.is_text(fitted)
    if of_texts:
        source: Any = texts.open_labelled(data, text or texts.column_of(fitted), target, reading)
    else:
        texts.refuse_text(fitted, text)
        reading_model(fitted)
        source = open_data(data, target, reading)
    source = source if weight is None else source.with_weight(weight)
    with watched(source, "scoring") as rows:
        evaluations = []
        if evaluate_held_out:
            evaluations.append(_held_out(fitted, rows))
        elif folds is None or hasattr(fitted, "leave_one_out"):  # without leave-one-out, use folds
            evaluations.append(_left_out(fitted, rows, target))
        if folds is not None:
            evaluations.append(_folded(fitted, rows, target, folds))
    with_trust = hasattr(fitted, "predict_proba")
    trust = partial(_show_calibration, page, fitted, data, target, reading, weight) if with_trust else None
    _show(page, fitted, evaluations, source, "documents" if of_texts else "rows", trust)
    draw(page, plot, lambda: joined([_picture(evaluation) for evaluation in evaluations]))
    records = [summary.evaluation_record(evaluation) for evaluation in evaluations]
    page.json({"model": model, "data": source.name, "target": target, "evaluations": records})


def _show(
    page: Any,
    fitted: Any,
    evaluations: list[Any],
    source: Any,
    what: str,
    show_trust: Callable[[Any], None] | None = None,
) -> None:
    """Show the evaluations one after another; ``show_trust`` adds their calibration."""
    from bayeskit.cli import summary, texts

    for i, evaluation in enumerate(evaluations):
        if i:
            page.line()
        n_rows = f"{evaluation.n_rows:,}" if isinstance(evaluation.n_rows, int) else f"{evaluation.n_rows:,.6g}"
        page.line(f"{n_rows} {what} of {source.name}", style="bold")
        page.line()
        summary.show_measures(page, evaluation)
        texts.tell_scores(page, fitted, evaluation.method) if hasattr(fitted, "recipe") else None
        if show_trust is not None:
            show_trust(evaluation)
        page.line()
        by_class = evaluation.by_class
        page.table({name: by_class[name] for name in by_class.column_names})
        page.line()
        _show_confusion(page, evaluation)


def _picture(evaluation: Any) -> Any:
    """Draw the confusion matrix and the calibration."""
    records = [evaluation] if evaluation.truth is None else [evaluation, evaluation.reliability()]
    return joined([record.chart() for record in records], across=True)


def _left_out(model: Any, source: Any, target: str) -> Any:
    from bayeskit.errors import BayesError, NotLearnt, with_article

    if not hasattr(model, "leave_one_out"):
        raise BayesError(
            f"{with_article(type(model).__name__)} has no leave-one-out in closed form: use --folds 10, "
            "or --held-out if the rows are new to the model"
        )
    try:
        return model.leave_one_out(source, target)
    except NotLearnt as problem:
        raise NotLearnt(
            f"{str(problem).removesuffix('.')}. If the rows are new to the model, use --held-out."
        ) from None


def _held_out(model: Any, source: Any) -> Any:
    from bayeskit.errors import BayesError
    from bayeskit.evaluate.cross_validation import evaluate_held_out

    if not hasattr(reader_of(model), "tally_"):
        raise BayesError("EM of words keeps no counts to set beside: use --folds 10, or evaluate it in Python")
    return evaluate_held_out(model, source)


def _folded(model: Any, source: Any, target: str, folds: int) -> Any:
    from collections.abc import Mapping

    import pyarrow as pa

    from bayeskit.cli import texts
    from bayeskit.data.reader import read_batch
    from bayeskit.data.source import for_schema
    from bayeskit.evaluate.cross_validation import cross_validate
    from bayeskit.models.base.estimator import clone

    if texts.is_text(model):
        table, weights = texts.documents_of(source, texts.column_of(model) or "text", target)
        return cross_validate(model, table, target, folds, weights)
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
    return cross_validate(model, pa.table({**batch.columns, target: batch.labels}), target, folds, batch.weights)


def _show_calibration(
    page: Any, model: Any, data: list[str], target: str, reading: Reading, weight: str | None, evaluation: Any
) -> None:
    """Show the calibration of the probabilities, and a fix if they are not calibrated."""
    from bayeskit.cli.commands.fit.from_tables import MODELS

    curve = evaluation.trust
    if curve is None:
        return
    page.line(curve.sentence)
    if curve.is_trusted:
        return
    if type(model).__name__ == "Calibrated":
        page.line("The rows are not like those that it was calibrated on: fit it again with rows like these.")
        return
    reads = reader_of(model)
    roles = getattr(reads, "roles", None)
    role_of = (
        {reads.schema_.find(k): v for k, v in roles.items() if isinstance(v, str)} if isinstance(roles, dict) else {}
    )
    kind = next((name for name, kinds in MODELS.items() if kinds == type(model).__name__), None)
    if kind is None or "-" in data or evaluation.method == "held-out rows":
        page.line(f"What helps, in Python: Calibrated({type(model).__name__}()).fit(X, y)")
        return
    words = ["bayes", "fit", *data, "-t", target, *(() if kind == "naive" else ("-m", kind)), "--calibrate", "isotonic"]
    words += [word for name, role in role_of.items() for word in ("--role", f"{name}={role}")]
    words += [] if weight is None else ["--weight", weight]
    page.command("probabilities to rely on:", [*words, *typed(reading), "-o", "calibrated.bayes"])


def _show_confusion(page: Any, evaluation: Any) -> None:
    counts, names = evaluation.counts, [str(label) for label in evaluation.classes]
    if len(names) > 20:
        page.line(f"confusion of {len(names)} classes: --json has it all", style="dim")
        return
    page.table(
        {
            f"{evaluation.target}, taken for": names,
            **{f"→ {name}": counts[:, i].tolist() for i, name in enumerate(names)},
        }
    )
