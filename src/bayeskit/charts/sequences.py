"""Charts of hidden states over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit.charts import style
from bayeskit.charts.marks import Waterfall, waterfall
from bayeskit.charts.style import alt, color, cut, inline, name_of, offline, plain_axis, round_to, title
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import format_probability

STEPS = 160  # of time that are drawn; longer sequences are drawn in parts of equal length
LETTERS = 46  # steps whose observations have room for their names
WIDTH = 560


def states_chart(
    states: Sequence[object],
    probabilities: Any,
    *,
    path: Sequence[int] | None = None,
    observed: Sequence[object] | None = None,
    head: str = "State probabilities",
) -> Any:
    """Draw P(state) by step (n_steps, n_states) as stacked layers, with the best path and observations.

    The most probable states have a color; the others share one layer.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != len(states) or not len(p):
        raise BayesError(f"one probability for each step and state: {p.shape} does not fit {len(states)} states")
    n = len(p)
    kept, names, shares = _select_states(p, states)
    edges = np.linspace(0, n, min(n, STEPS) + 1).astype(np.int64)
    rows = []
    for a, b in pairwise(edges.tolist()):
        base = 0.0
        for i, share in enumerate(shares[a:b].mean(axis=0)):
            if share > 0.0005:
                rows.append({"t": a, "t2": b, "y": round_to(base, 3), "y2": round_to(base + share, 3), "class": i})
            base += float(share)
    unit = alt.Scale(domain=[0, 1], nice=False)
    ticks = alt.Axis(tickMinStep=1, format=",d")
    x = alt.X("t:Q", title="step", axis=ticks, scale=alt.Scale(domain=[0, n], nice=False, zero=False))
    shades = [style.PALETTE[i] if i < len(kept) else style.OTHERS for i in range(len(names))]
    hue = color(names, heading="state", shades=shades)
    named = alt.Chart(inline(rows)).transform_calculate(label=name_of(names), p="datum.y2 - datum.y")
    tip = [
        alt.Tooltip("label:N", title="state"),
        alt.Tooltip("t:Q", title="from step"),
        alt.Tooltip("p:Q", format=".3f"),
    ]
    layers = named.mark_rect(strokeWidth=0.6).encode(
        x, alt.Y("y:Q", title="probability of each state", scale=unit), alt.X2("t2:Q"), alt.Y2("y2:Q"), hue, tooltip=tip
    )
    remark = f"each column is the mean of {n / (len(edges) - 1):.3g} steps" if n > STEPS else ""
    charts = [layers.properties(width=WIDTH, height=170, title=title(head, remark))]
    if path is not None:
        place = {state: i for i, state in enumerate(kept)}
        codes = [place.get(int(state), len(kept)) for state in path]
        charts.append(_strip(_runs(codes, edges), names, shades))
    if observed is not None and n <= LETTERS:
        room = max(3, min(16, int(WIDTH / n / 6.5)))
        letters = [{"t": i + 0.5, "short": cut(what, room), "what": str(what)} for i, what in enumerate(observed)]
        words = (
            alt.Chart(inline(letters))
            .mark_text(fontSize=11)
            .encode(plain_axis(alt.X, "t:Q", 0, n), alt.Text("short:N"), tooltip=["what:N"])
        )
        charts.append(words.properties(width=WIDTH, height=14))
    return offline(alt.vconcat(*charts, spacing=5).resolve_scale(color="shared"))


def state_evidence_chart(record: Any) -> Any:
    """Draw the evidence for a state at one step as a waterfall: past, observation and future.

    A record has ``step``, ``predicted``, ``against``, ``probability``, ``past``, ``observation`` (by column) and
    ``future``, whose sum is ``log_odds``.
    """
    parts = [*((f"{name} now", odds) for name, odds in record.observation.items()), ("what came after", record.future)]
    never = ", ".join(what for what, odds in parts if not math.isfinite(odds))
    start = ("the start" if record.step == 0 else "what went before", record.past)
    head = f"Evidence for {record.predicted} against {record.against} at step {record.step}"
    head, remark = (
        f"{head} (probability {format_probability(record.probability)})",
        f"ruled out by {never}" * bool(never),
    )
    labels = str(record.predicted), str(record.against)
    return waterfall(Waterfall(head, remark, *labels, start, parts, record.log_odds))


def _select_states(p: Any, states: Sequence[object]) -> tuple[list[int], list[object], Any]:
    """Return the colored states, the names of the layers, and their shares (n_steps, n_layers)."""
    kept = sorted(np.argsort(-p.sum(axis=0), kind="stable")[: len(style.PALETTE)].tolist())
    names, shares = [states[i] for i in kept], p[:, kept]
    if len(kept) < len(states):
        names.append(f"{len(states) - len(kept):,} others")
        shares = np.column_stack([shares, p.sum(axis=1) - shares.sum(axis=1)])
    return kept, names, shares


def _runs(codes: list[int], edges: Any) -> list[tuple[int, int, int]]:
    """Return (from, to, code) of runs of equal codes; merged steps take the most common code."""
    parts = [max(set(part), key=part.count) for a, b in pairwise(edges.tolist()) for part in (codes[a:b],)]
    at = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
    return [(int(edges[a]), int(edges[b]), parts[a]) for a, b in pairwise(at)]


def _strip(runs: list[tuple[int, int, int]], names: Sequence[object], shades: Sequence[str]) -> Any:
    """Draw the best path as a strip of states."""
    last = runs[-1][1]
    light = [shade in (style.PALETTE[1], style.PALETTE[3], style.OTHERS) for shade in shades]
    rows = [
        {
            "t": a, "t2": b, "class": c, "middle": (a + b) / 2, "short": cut(names[c], 12), "light": light[c],
            "room": (b - a) * WIDTH > 70 * last,
        }
        for a, b, c in runs
    ]  # fmt: skip
    base = alt.Chart(inline(rows)).transform_calculate(label=name_of(names))
    bare = plain_axis(alt.X, "t:Q", 0, last)
    tip = [alt.Tooltip("label:N", title="best path"), "t:Q", alt.Tooltip("t2:Q", title="to")]
    hue = color(names, heading="state", shades=shades)
    ink = alt.condition("datum.light", alt.value("#16181a"), alt.value("white"))
    words = base.transform_filter("datum.room").mark_text(fontSize=10, fontWeight="bold")
    return alt.layer(
        base.mark_bar(height=18, stroke="white", strokeWidth=0.5).encode(bare, alt.X2("t2:Q"), hue, tooltip=tip),
        words.encode(plain_axis(alt.X, "middle:Q", 0, last), alt.Text("short:N"), color=ink),
    ).properties(width=WIDTH, height=18)
