"""What ``bayes fit`` says of a model that is worse than always saying the commonest class, and of what makes it so."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayeskit.cli.console import Page, short
from bayeskit.explain.overview import percent
from bayeskit.tolerance import NO_WORSE

if TYPE_CHECKING:
    from bayeskit.evaluate.evaluation import Evaluation

COLUMNS = 100  # that are left out in turn to find the one that does the harm
IMPOSSIBLE = -745.0  # ln P of what cannot be: that of the smallest number


@dataclass(frozen=True)
class Culprit:
    """A column, and the leave-one-out scores of the model without it."""

    column: str
    without: Evaluation


def is_worse(evaluation: Evaluation) -> bool:
    """Whether the commonest class would be right more often, or the class shares would be better probabilities."""
    return wrong_more_often(evaluation) or evaluation.log_loss > evaluation.baseline.log_loss * (1 + NO_WORSE)


def wrong_more_often(evaluation: Evaluation) -> bool:
    """Whether the commonest class would be right more often."""
    return evaluation.accuracy < evaluation.baseline.accuracy * (1 - NO_WORSE)


def culprit(model: Any, source: Any, evaluation: Evaluation) -> Culprit | None:
    """The column without which the model predicts its first rows best, where that is half of the harm or more.

    Nothing is counted again: the models without a column are made of the same tally.
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
    """Mean of −ln P(own class) of the first block of rows, each left out."""
    import numpy as np

    from bayeskit import logspace

    block = next(iter(model._encoder().blocks(source)))
    labels = np.asarray(block.labels, dtype=np.int64)
    log_p = logspace.log_normalise(model._tempered(model._left_out().scores(block)))[0][np.arange(len(labels)), labels]
    return float(-np.nan_to_num(log_p, nan=IMPOSSIBLE, neginf=IMPOSSIBLE).mean())


def show_worse(page: Page, evaluation: Evaluation, harm: Culprit | None, command: list[str] | None) -> None:
    """The warning, the column that does it and the command without it."""
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
    """The same as plain data."""
    worse: dict[str, Any] = {"worse_than_majority": is_worse(evaluation)}
    if harm is not None:
        scores = {"accuracy": harm.without.accuracy, "log_loss": harm.without.log_loss}
        worse["culprit"] = {"column": harm.column, "without": scores}
    return worse
