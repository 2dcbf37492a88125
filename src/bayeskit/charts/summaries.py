"""What is said of a model, an evaluation or a choice as a whole: bits, confusion, costs, decisions, steps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.bars import MOST, bars
from bayeskit.charts.heat import SIDE, heat
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.decisions import Costs, Decisions
    from bayeskit.evaluate.evaluation import Evaluation
    from bayeskit.evaluate.selection import Selection
    from bayeskit.explain.informative import Telling


def telling_chart(record: Telling) -> Any:
    """Bits of mutual information of each column with the class."""
    if not record.columns:
        raise BayesError("there are no columns: there is nothing to draw")
    first = record.columns[:MOST]
    more = len(record.columns) - len(first)
    return bars(
        [c.column for c in first],
        [c.bits for c in first],
        f"What each column alone tells of {record.target}, of {record.class_bits:.3g} bits in all",
        "mutual information (bits)",
        form=".3f",
        remark=f"{more:,} columns that tell less are not drawn" if more else "",
        tips={"share": [f"{c.share:.0%}" for c in first]},
    )


def confusion_chart(record: Evaluation) -> Any:
    """Rows by true and by chosen class; each line is shaded by its shares, so that small classes are seen as well."""
    counts, classes = np.asarray(record.counts, dtype=np.float64), list(map(str, record.classes))
    if not counts.sum():
        raise BayesError("no row was scored: there is nothing to draw")
    remark = f"{record.method}; dark: where the rows of a class go"
    if len(classes) > SIDE:
        kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[: SIDE - 1])
        counts, classes = _with_others(counts, kept), [*(classes[i] for i in kept), "(others)"]
        remark += f"; the {len(kept)} largest of {len(record.classes):,} classes"
    total = counts.sum(axis=1, keepdims=True)
    whole = bool((counts == np.round(counts)).all())
    return heat(
        classes,
        classes,
        counts,
        f"Which class is taken for which: {record.accuracy:.1%} right",
        down_is=f"true {record.target}",
        across_is="taken for",
        figure_is="rows",
        form=",.0f" if whole else ".3~g",
        remark=remark,
        shade=counts / np.where(total > 0, total, 1.0),
    )


def _with_others(counts: Any, kept: Any) -> Any:
    """The confusion of some classes, all others put together at the end."""
    fold = np.full(len(counts), len(kept))
    fold[kept] = np.arange(len(kept))
    smaller = np.zeros((len(kept) + 1, len(kept) + 1))
    np.add.at(smaller, (fold[:, None], fold[None, :]), counts)
    return smaller


def costs_chart(record: Costs) -> Any:
    """What each decision costs, by the true class."""
    heading: dict[str, Any] = {"down_is": "true class", "across_is": "decision", "figure_is": "cost", "form": ".3~g"}
    matrix = record.matrix[:SIDE, :SIDE]
    return heat(record.classes[:SIDE], record.decisions[:SIDE], matrix, "What each decision costs", **heading)


def decisions_chart(record: Decisions) -> Any:
    """How many rows got each decision."""
    taken = Counter("rejected" if label is None else str(label) for label in record.labels.tolist())
    if not taken:
        raise BayesError("there are no rows: there is nothing to draw")
    names = [*(str(d) for d in record.decisions if str(d) in taken), *(["rejected"] if "rejected" in taken else [])]
    head = f"What was decided for {len(record):,} rows"
    remark = f"expected loss {record.total_loss:.6g} in all"
    return bars(names, [taken[n] for n in names], head, "rows", form=",.0f", remark=remark)


def selection_chart(record: Selection) -> Any:
    """The log loss after each column that was added or dropped."""
    verb, losses = record.steps.column_names[0], record.steps["log loss (nats)"]
    head = f"Log loss as columns are {verb}: {len(record.columns)} are kept"
    names = [*record.steps[verb]]
    return bars(names, losses, head, "leave-one-out log loss (nats)", of=f"{verb}, in turn", form=".4f")
