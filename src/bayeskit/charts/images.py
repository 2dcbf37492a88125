"""Images of classes: the mean of each pixel, or its weight, class beside class."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline
from bayeskit.charts.style import SIGNED, cut, name_of, safe, title
from bayeskit.errors import BayesError
from bayeskit.explain.images import ClassImages

PIXELS = 9_000  # of all images together
CLASSES = 30
ACROSS = 5  # images in a line
STRONG = 0.97  # of the weights are told apart; the few beyond look like the strongest of them
GREYS = ("#ffffff", "#1a1a1a")


def images_chart(record: ClassImages) -> Any:
    """An image for each class; large ones are made smaller by the mean of neighbouring pixels."""
    alt = altair()
    images = record.pixels[:CLASSES]
    if not np.isfinite(images).any():
        raise BayesError(f"nothing is known of any pixel ({record.what}): there is nothing to draw")
    fold = 1
    while images.size / fold**2 > PIXELS:
        fold += 1
    images = _folded(images, fold)
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
    shades = alt.Scale(domain=[0, 99], **({"scheme": SIGNED} if record.signed else {"range": list(GREYS)}))
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
    head = title(f"The {record.what} of each pixel, by {record.target}", told)
    return offline(alt.layer(drawn, words).properties(width=wide * size, height=tall * size, title=head))


def _folded(images: Any, fold: int) -> Any:
    """Means over squares of pixels; a rest at the edge is left out."""
    if fold == 1:
        return images
    k, height, width = images.shape
    h, w = height // fold, width // fold
    return images[:, : h * fold, : w * fold].reshape(k, h, fold, w, fold).mean(axis=(2, 4))
