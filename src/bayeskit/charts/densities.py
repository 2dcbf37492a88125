"""Class-conditional densities, decision regions and class images."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from bayeskit.charts import style
from bayeskit.charts.style import alt, color, cut, finish_chart, in_title, inline, name_of, plain_axis, round_to, safe
from bayeskit.errors import BayesError
from bayeskit.explain.densities import ClassDensities, ClassImages, DecisionRegions
from bayeskit.typing import Floats

CURVE = 160  # numbers at which a curve is drawn
LIGHT = (style.PALETTE[1], style.PALETTE[3], style.OTHERS)  # colors on which letters are dark
MOST = len(style.PALETTE)  # classes that are drawn


def density_chart(record: ClassDensities) -> Any:
    """Draw P(class) p(x | class) of each class and shade the misclassified mass."""
    kept = _drawn_classes(record)
    names = [record.classes[i] for i in kept]
    joint, line = record.joint[kept], record.line
    step = max(1, (len(line) - 1) // CURVE)
    at = np.unique(np.append(np.arange(0, len(line), step), len(line) - 1))
    wrong = np.sort(record.joint, axis=0)[:-1].sum(axis=0)  # all that is not the best
    x = alt.X("x:Q", title=safe(record.column), scale=alt.Scale(domain=_range(record), zero=False, nice=False))
    what = "P(class) · P(x | class)" if record.whole else "P(class) · density"
    y = alt.Y("p:Q", title=what, axis=alt.Axis(format=".2~g"))
    layers = []
    if record.counts is not None and record.edges is not None:
        layers.append(_histogram(record, record.counts, record.edges, kept, x, y))
    shaded = [{"x": round_to(float(line[i]), 6), "p": round_to(float(wrong[i]))} for i in at]
    layers.append(
        alt.Chart(inline(shaded)).mark_area(color="#555555", opacity=0.45, interpolate=_between(record)).encode(x, y)
    )
    curves = [
        {"x": round_to(float(line[i]), 6), "p": round_to(float(joint[c, i])), "class": c}
        for c in range(len(kept))
        for i in at
    ]
    tip = [alt.Tooltip("label:N", title=safe(record.target)), "x:Q", alt.Tooltip("p:Q", title=what)]
    layers.append(
        alt.Chart(inline(curves))
        .transform_calculate(label=name_of(names))
        .mark_line(strokeWidth=2.2, interpolate=_between(record))
        .encode(x, y, color(names, heading=safe(record.target)), style.dash(len(names)), tooltip=tip)
    )
    tops = [
        {"x": round_to(float(line[of == of.max()].mean()), 6), "p": round_to(float(of.max())), "name": cut(name, 16)}
        for name, of in zip(names, joint, strict=True)
    ]
    named = alt.Chart(inline(tops)).mark_text(dy=-8, fontSize=11, fontWeight="bold", color="#222222")
    layers.append(named.encode(x, y, alt.Text("name:N")))
    borders = [{"x": round_to(cut_at, 6)} for cut_at in record.boundaries if line[0] <= cut_at <= line[-1]]
    layers.append(alt.Chart(inline(borders)).mark_rule(color="#222222", strokeDash=[3, 3]).encode(x, tooltip=["x:Q"]))
    head = f"Densities of {in_title(record.column)} by {in_title(record.target)} (P(mistake) {record.mistake:.3g})"
    remark = "dashed: where the decision changes; dark: decided wrongly; strip: the class decided"
    left_out = len(record.classes) - len(kept)
    more = f"{left_out:,} rarer classes are not drawn" if left_out else ""
    upper = alt.layer(*layers).properties(width=480, height=240, title=style.title(head, remark, more))
    return style.offline(alt.vconcat(upper, _strip(record), spacing=4).resolve_scale(x="shared", color="independent"))


def _range(record: ClassDensities) -> tuple[float, float]:
    """Return the range of the curves and the histogram."""
    ends = record.line if record.edges is None else np.concatenate([record.line, record.edges])
    return float(ends.min()), float(ends.max())


def _between(record: ClassDensities) -> str:
    return "step" if record.whole else "linear"


def _histogram(record: ClassDensities, all_counts: Floats, edges: Floats, kept: Any, x: Any, y: Any) -> Any:
    """Draw the rows of each class as density."""
    names = [record.classes[i] for i in kept]
    counts, width = all_counts[kept], np.diff(edges)
    height = counts / max(float(all_counts.sum()), 1.0) / width
    rows = [
        {
            "x": round_to(float(edges[i]), 6), "x2": round_to(float(edges[i + 1]), 6),
            "p": round_to(float(height[c, i])),
            "zero": 0, "class": c, "rows": round_to(float(counts[c, i]), 6),
        }
        for c in range(len(kept))
        for i in range(len(width))
        if counts[c, i]
    ]  # fmt: skip
    tip = [alt.Tooltip("label:N", title=safe(record.target)), "rows:Q", "x:Q", alt.Tooltip("x2:Q", title="to")]
    return (
        alt.Chart(inline(rows))
        .transform_calculate(label=name_of(names))
        .mark_rect(opacity=0.28, stroke="white", strokeWidth=0.4)
        .encode(x, y, alt.X2("x2:Q"), alt.Y2("zero:Q"), color(names, heading=safe(record.target)), tooltip=tip)
    )


def _strip(record: ClassDensities) -> Any:
    """Draw a strip below the curves, colored by predicted class."""
    low, high = _range(record)
    of = {label: style.colors(len(record.classes))[i] for i, label in enumerate(_classes_by_color(record))}
    rows = [
        {
            "x": round_to(max(start, low), 6), "x2": round_to(min(end, high), 6), "label": str(label),
            "short": cut(label, 18), "color": of[label], "middle": round_to((max(start, low) + min(end, high)) / 2, 6),
            "room": bool(min(end, high) - max(start, low) > 0.08 * (high - low)), "light": of[label] in LIGHT,
        }
        for start, end, label in record.regions
        if end > low and start < high
    ]  # fmt: skip
    base = alt.Chart(inline(rows))
    x = plain_axis(alt.X, "x:Q", low, high)
    tip = [alt.Tooltip("label:N", title="decided"), alt.Tooltip("x:Q", title="from"), alt.Tooltip("x2:Q", title="to")]
    bars = base.mark_bar(height=16).encode(x, alt.X2("x2:Q"), alt.Color("color:N", scale=None), tooltip=tip)
    names = base.transform_filter("datum.room").mark_text(fontSize=10, fontWeight="bold")
    ink = alt.condition("datum.light", alt.value("#1c1c1c"), alt.value("white"))
    texts = names.encode(plain_axis(alt.X, "middle:Q", low, high), alt.Text("short:N"), color=ink)
    return alt.layer(bars, texts).properties(width=480, height=16)


def _classes_by_color(record: ClassDensities) -> list[Any]:
    """Return the classes in the order of their colors: drawn classes first."""
    kept = _drawn_classes(record)
    return [record.classes[i] for i in (*kept, *(i for i in range(len(record.classes)) if i not in kept))]


def _drawn_classes(record: ClassDensities) -> Any:
    return np.sort(np.argsort(-record.prior, kind="stable")[:MOST])


SURE = (0.0, 0.6, 0.8, 0.95)  # steps of probability that have a shade of their own
SHADES = (0.18, 0.3, 0.42, 0.55)


def regions_chart(record: DecisionRegions) -> Any:
    """Draw decision regions as runs of cells, and the rows as points or sized circles."""
    names = list(record.classes)
    (a, b), (x0, x1), (y0, y1) = record.columns, _ends(record.x), _ends(record.y)
    wide, high = (x1 - x0) / len(record.x), (y1 - y0) / len(record.y)
    x = alt.X("x:Q", title=safe(a), scale=alt.Scale(domain=[x0, x1], nice=False, zero=False))
    y = alt.Y("y:Q", title=safe(b), scale=alt.Scale(domain=[y0, y1], nice=False, zero=False))
    shades = alt.Opacity("sure:O", legend=None, scale=alt.Scale(domain=[0, 1, 2, 3], range=list(SHADES)))
    tip = [alt.Tooltip("label:N", title="decided"), alt.Tooltip("from:N", title="probability from")]
    hue = color(names, heading=safe(record.target))
    plane = (
        alt.Chart(inline(_runs(record)))
        .transform_calculate(
            label=name_of(names),
            **{"from": f"{list(SURE)}[datum.sure]"},
            x=f"{x0:.9g} + {wide:.9g} * datum.a",
            x2=f"{x0:.9g} + {wide:.9g} * datum.b",
            y=f"{y0:.9g} + {high:.9g} * datum.r",
            y2=f"{y0:.9g} + {high:.9g} * (datum.r + 1)",
        )
        .mark_rect(strokeWidth=0)
        .encode(x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), hue, shades, tooltip=tip)
    )
    told = [alt.Tooltip("label:N", title=safe(record.target)), "x:Q", "y:Q"]
    mark = (
        alt.Chart(inline(_rows(record)))
        .transform_calculate(label=name_of(names))
        .mark_point(filled=True, opacity=0.9, stroke="white", strokeWidth=0.6, size=42)
    )
    sizes = []
    remark = f"other columns {record.others}; stronger color: surer of the class"
    if record.counted:
        sizes.append(alt.Size("rows:Q", title="rows", scale=alt.Scale(type="sqrt", range=[4, 130])))
        told.append("rows:Q")
        remark += "; rows counted in cells, by their most common class"
    drawn = mark.encode(x, y, hue, style.shape(names, heading=safe(record.target)), *sizes, tooltip=told)
    if len(names) > len(style.PALETTE):
        remark += f"; classes after the first {len(style.PALETTE)} are grey"
    head = f"Decision regions of {in_title(record.target)} by {in_title(a)} and {in_title(b)}"
    border = (
        alt.Chart(inline(_borders(record)))
        .transform_calculate(
            **{end: f"{x0:.9g} + {wide:.9g} * datum.{end}" for end in ("x", "x2")},
            **{end: f"{y0:.9g} + {high:.9g} * datum.{end}" for end in ("y", "y2")},
        )
        .mark_rule(color=style.PALETTE[4], strokeWidth=1.2)
        .encode(x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"))
    )
    return finish_chart([plane, border, drawn], 430, 360, head, remark)


def _borders(record: DecisionRegions) -> list[dict[str, Any]]:
    """Return the lines between cells of different classes, in numbers of cells, joined where they go on."""
    lines = []
    for cells, along, across in ((record.chosen, "x", "y"), (record.chosen.T, "y", "x")):
        for place, differs in enumerate(cells[1:] != cells[:-1], start=1):
            turns = np.flatnonzero(np.diff(differs, prepend=False, append=False)).tolist()
            for start, end in zip(turns[::2], turns[1::2], strict=True):
                lines.append({along: start, along + "2": end, across: place, across + "2": place})
    return lines


def _rows(record: DecisionRegions) -> list[dict[str, Any]]:
    """Return the rows as points, or one point per cell if they were counted."""
    xs, ys, labels, counts = record.rows
    if not record.counted:
        return [
            {"x": round_to(x, 5), "y": round_to(y, 5), "class": int(c)} for x, y, c in zip(xs, ys, labels, strict=True)
        ]
    cells: dict[tuple[float, float], dict[int, float]] = {}
    for x, y, c, n in zip(xs.tolist(), ys.tolist(), labels.tolist(), counts.tolist(), strict=True):
        cells.setdefault((x, y), {})[c] = n
    return [
        {
            "x": round_to(x, 5), "y": round_to(y, 5), "class": max(by_class, key=lambda c: by_class[c]),
            "rows": round_to(sum(by_class.values()), 6),
        }
        for (x, y), by_class in cells.items()
    ]  # fmt: skip


def _ends(middles: Any) -> tuple[float, float]:
    half = float(middles[1] - middles[0]) / 2
    return float(middles[0]) - half, float(middles[-1]) + half


def _runs(record: DecisionRegions) -> list[dict[str, Any]]:
    """Merge adjacent cells of equal class and shade into bars."""
    sure = np.searchsorted(SURE, record.probability, side="right") - 1
    looks = record.chosen * len(SURE) + sure
    runs = []
    for r, line in enumerate(looks):
        starts = np.flatnonzero(np.append(True, np.diff(line) != 0)).tolist()
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            c, s = divmod(int(line[start]), len(SURE))
            runs.append({"r": r, "a": start, "b": end, "class": c, "sure": s})
    return runs


PIXELS = 9_000  # of all images together
CLASSES = 30
ACROSS = 5  # images in a line
STRONG = 0.97  # of the weights are told apart; the few beyond look like the strongest of them
GRAYS = ("#ffffff", "#1a1a1a")


def images_chart(record: ClassImages) -> Any:
    """Draw an image for each class; large images are averaged down."""
    images = record.pixels[:CLASSES]
    if not np.isfinite(images).any():
        raise BayesError(f"nothing is known of any pixel ({record.what}): there is nothing to draw")
    fold = next(n for n in count(1) if images.size / n**2 <= PIXELS)
    images = _average_down(images, fold) if fold > 1 else images
    k, height, width = images.shape
    low, high = float(np.nanmin(images)), float(np.nanmax(images))
    if record.signed:
        high = float(np.nanquantile(np.abs(images), STRONG)) or high
        low = -high
    codes = np.clip(np.round((images - low) / ((high - low) or 1.0) * 99), 0, 99)
    rows = [{"class": i, "v": [-1 if np.isnan(v) else int(v) for v in codes[i].ravel()]} for i in range(k)]
    across = min(ACROSS, k)
    down = -(-k // across)
    size = max(2.0, min(14.0, 110.0 / width))
    wide, tall = (width + 2) * across, (height + 4) * down
    base = (
        alt.Chart(inline(rows))
        .transform_flatten(["v"])
        .transform_window(n="row_number()", groupby=["class"])
        .transform_calculate(
            x=f"(datum.n - 1) % {width} + (datum.class % {across}) * {width + 2}",
            y=f"floor((datum.n - 1) / {width}) + floor(datum.class / {across}) * {height + 4}",
            label=name_of(list(record.classes[:CLASSES])),
            value=f"{low:.6g} + datum.v * {(high - low) / 99:.6g}",
        )
        .transform_calculate(x2="datum.x + 1", y2="datum.y + 1")
        .transform_filter({"field": "v", "gte": 0})
    )
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, wide], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[tall - 2, -2], nice=False))
    shades = alt.Scale(domain=[0, 99], **({"scheme": style.SIGNED} if record.signed else {"range": list(GRAYS)}))
    tip = [alt.Tooltip("label:N", title=safe(record.target)), alt.Tooltip("value:Q", title=record.what, format=".3~g")]
    drawn = base.mark_rect().encode(
        x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), alt.Fill("v:Q", scale=shades, legend=None),
        alt.Stroke("v:Q", scale=shades, legend=None), tooltip=tip,
    )  # fmt: skip
    names = [
        {"x": (i % across) * (width + 2) + width / 2, "y": (i // across) * (height + 4) - 1, "short": cut(label, 16)}
        for i, label in enumerate(record.classes[:k])
    ]
    words = alt.Chart(inline(names)).mark_text(fontSize=11, baseline="bottom").encode(x, y, alt.Text("short:N"))
    remark = "bright: speaks for the class; dark: against it" if record.signed else "the darker, the larger"
    if np.isnan(images).any():
        remark += "; blank: says nothing"
    more = len(record.classes) - k
    told = f"{remark}; the first {k} of {len(record.classes):,} classes" if more else remark
    head = f"{record.what.capitalize()} of each pixel by {record.target}"
    return finish_chart([drawn, words], wide * size, tall * size, head, told)


def _average_down(images: Any, fold: int) -> Any:
    """Average over squares of pixels; an incomplete edge is dropped."""
    k, height, width = images.shape
    h, w = height // fold, width // fold
    return images[:, : h * fold, : w * fold].reshape(k, h, fold, w, fold).mean(axis=(2, 4))
