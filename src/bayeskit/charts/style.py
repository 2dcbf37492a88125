"""Altair specifications: escaping, rounding, colors, titles and offline display in notebooks."""

from __future__ import annotations

import html
import io
import json
import math
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from bayeskit.errors import import_extra
from bayeskit.printable import printable

_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
OF_EVERY_OBJECT = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}  # fmt: skip
"""Names that JavaScript finds in any object, where Vega takes them for something of its own."""


def altair() -> Any:
    """Import Altair, which is an optional dependency."""
    return import_extra("altair", "charts are drawn by Altair", "charts")


class _Altair:
    """The module Altair, imported when a chart is drawn."""

    def __getattr__(self, name: str) -> Any:
        return getattr(altair(), name)


alt: Any = _Altair()


def check_converter() -> None:
    """Raise an error if the converter to PNG and SVG is missing."""
    import_extra("vl_convert", "pictures are made by vl-convert", "charts")


def inline(rows: list[dict[str, Any]]) -> Any:
    r"""Convert rows to the data of a chart, with control characters escaped.

    >>> inline([{"class": "</script>"}]).values
    '[{"class":"\\u003c/script\\u003e"}]'
    """
    shown = [{name: printable(v, keep="") if isinstance(v, str) else v for name, v in row.items()} for row in rows]
    texts = json.dumps(shown, allow_nan=False, separators=(",", ":")).translate(_HTML)
    return alt.InlineData(values=texts, format=alt.JsonDataFormat(type="json"))


def round_to(number: float, digits: int = 4) -> float | None:
    """Round a number to visible precision; None if it is not finite.

    >>> round_to(0.123456), round_to(123456.7), round_to(1234567), round_to(float("nan"))
    (0.1235, 123500.0, 1234567.0, None)
    """
    if not math.isfinite(number):
        return None
    return float(number) if float(number).is_integer() else float(f"{number:.{digits}g}")


def literal(text: str) -> str:
    r"""Quote a text for a Vega expression.

    >>> print(literal("<b> \"x\""), literal("datum.value"), literal("constructor"))
    "\u003cb\u003e \"x\"" "\u0064atum.value" ("c"+"onstructor")
    """
    if text in OF_EVERY_OBJECT:
        return f"({literal(text[:1])}+{literal(text[1:])})"
    return json.dumps(text).translate(_HTML).replace("datum", r"\u0064atum")


def finish_chart(layers: Sequence[Any], width: Any, height: Any, head: str, *remarks: str) -> Any:
    """Return the finished chart of some layers, with its size, title and subtitles."""
    return offline(alt.layer(*layers).properties(width=width, height=height, title=title(head, *remarks)))


def plain_axis(channel: Any, field: str, low: float, high: float) -> Any:
    """Encode a position from ``low`` to ``high`` without an axis."""
    return channel(field, axis=None, scale=alt.Scale(domain=[low, high], nice=False, zero=False))


ROOM = 60  # pixels beside a chart, for its menu


class Offline:
    """A chart that includes the Vega library and the shared style."""

    def to_dict(self, *args: Any, **settings: Any) -> dict[str, Any]:
        """Return the specification; only the outermost chart contains the shared style."""
        spec: dict[str, Any] = super().to_dict(*args, **settings)  # type: ignore[misc]
        if (settings.get("context") or {}).get("top_level", True):
            spec["config"] = _both(CONFIG, spec.get("config", {}))
        return spec

    def save(self, fp: Any, format: Any = None, inline: bool = True, **settings: Any) -> None:  # noqa: A002
        """Write the chart as PNG, SVG, HTML (without network access) or JSON, by file extension."""
        if (format or Path(str(fp)).suffix.removeprefix(".")) != "json":
            check_converter()
        is_named = format is None and isinstance(fp, (str, Path))
        if format == "html" or (is_named and Path(fp).suffix.lower() == ".html"):
            settings["inline"] = inline
        super().save(fp, format=format, **settings)  # type: ignore[misc]

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": picture(self), "text/html": frame(self)}

    def __repr__(self) -> str:
        return f'<{type(self).__name__} of bayeskit: save("chart.png") or save("chart.html", inline=True) keeps it>'


def _both(house: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Merge the shared style with the chart's own, which wins."""
    parts = {**house, **given}
    return {
        name: _both(house[name], part) if isinstance(part, dict) and isinstance(house.get(name), dict) else part
        for name, part in parts.items()
    }


def offline(chart: Any) -> Any:
    """Return the same chart for notebooks without network access, for joined or foreign charts.

    >>> from bayeskit import NaiveBayes
    >>> from bayeskit.charts.evidence import evidence_chart
    >>> rows = {"sky": ["sun", "rain"]}
    >>> why = [evidence_chart(record) for record in NaiveBayes().fit(rows, ["out", "in"]).explain(rows)]
    >>> sorted(offline(why[0] | why[1])._repr_mimebundle_())
    ['image/svg+xml', 'text/html', 'text/plain']
    """
    same = chart.copy(deep=False)
    kind: Any = type(chart)
    object.__setattr__(same, "__class__", _offline_kind(kind))  # the chart's own would make it a part of the picture
    return same


@cache
def _offline_kind(kind: Any) -> Any:
    """Return the subclass of a chart class with the page of :class:`Offline`."""
    return kind if issubclass(kind, Offline) else type(kind.__name__, (Offline, kind), {})


def picture(chart: Any) -> str:
    """Return the chart as SVG."""
    file = io.StringIO()
    chart.save(file, format="svg")
    return file.getvalue()


def frame(chart: Any) -> str:
    """Return the chart with the library in a frame of its size."""
    head = picture(chart).partition(">")[0]
    width, height = (float(re.findall(rf'\b{side}="([\d.]+)', head)[0]) for side in ("width", "height"))
    page = html.escape(chart.to_html(inline=True))
    size = f"width:{width + ROOM:.0f}px;max-width:100%;height:{height + ROOM / 3:.0f}px"
    rights = "allow-scripts allow-popups allow-downloads"
    return f'<iframe style="{size};border:0" sandbox="{rights}" srcdoc="{page}"></iframe>'


PALETTE = ("#1a5a96", "#ebae34", "#c84a5f", "#a9d8ef", "#16181a", "#3fae8e")
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (9, 2, 2, 2), (12, 3), (4, 1))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
INK, FAINT, GRID = "#1a5a96", "#7a7a7a", "#e4e4e4"
FOR, AGAINST = PALETTE[0], PALETTE[1]
OTHERS = "#cfcfcf"  # classes beyond the palette
LIGHT_TO_DARK = ("#f4f7fa", "#c3d7e8", "#7fa9cc", "#35709f", "#0d3358")
SIGNED = "cividis"
FONT = 11.0
LETTER = 0.55 * FONT  # the width of most letters
NAME = 26  # letters of a name beside an axis
IN_TITLE = 44  # characters of a name in a title, which has room for two of them and a figure
LINE = 76  # letters of a line above a chart

CONFIG: dict[str, Any] = {
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",  # of one width; the layout is made for it
    "padding": 8,
    "view": {"stroke": None},
    "title": {
        "anchor": "start", "frame": "group", "fontSize": 14, "fontWeight": "bold", "offset": 10,
        "subtitleFontSize": 11, "subtitleColor": "#555555", "subtitlePadding": 4,
    },
    "axis": {
        "labelFontSize": FONT, "titleFontSize": FONT, "titleFontWeight": "normal", "labelColor": "#333333",
        "titleColor": "#333333", "gridColor": GRID, "domainColor": FAINT, "tickColor": FAINT, "labelLimit": 240,
        "titleLimit": 420,
    },
    "axisX": {"labelFlush": False},
    "legend": {"labelFontSize": FONT, "titleFontSize": FONT, "titleFontWeight": "normal", "labelLimit": 220},
    "header": {"labelFontSize": 12, "titleFontSize": FONT, "labelLimit": 260, "labelFontWeight": "bold"},
    "facet": {"spacing": 22},
    "concat": {"spacing": 24},
}  # fmt: skip


def cut(text: object, n: int = NAME) -> str:
    """Shorten a name to fit beside an axis, keeping its end.

    >>> cut("a name that is much too long for its place 17", 16)
    'a name that…e 17'
    """
    shown = printable(str(text), keep="")
    if _width(shown) <= n:
        return shown
    return f"{_fitting(shown, n - 1 - n // 4)}…{_fitting(shown[::-1], n // 4)[::-1]}"


def in_title(name: object) -> str:
    """Shorten a name for a title."""
    return cut(name, IN_TITLE)


def _width(text: str) -> int:
    """Return the width in characters; those beyond the basic plane, such as emoji, count three.

    A name cut inside such a character could not be drawn.
    """
    return len(text) + 2 * sum(character > "\uffff" for character in text)


def _fitting(text: str, n: int) -> str:
    """Return the longest prefix of width n."""
    widths = accumulate(map(_width, text))
    return text[: sum(width <= n for width in widths)]


def safe(text: object, n: int = 60) -> str:
    """Shorten a name for a specification, with look-alikes of HTML characters.

    A space is appended to names of JavaScript object members.

    >>> safe("a<b & c"), safe("constructor")
    ('a‹b ＆ c', 'constructor ')
    """
    shown = cut(text, n).translate(str.maketrans("<>&", "‹›＆"))
    return f"{shown} " if shown in OF_EVERY_OBJECT else shown


def lookup(names: Sequence[object], n: int = NAME) -> str:
    r"""Return the expression that maps a code to its name, for axes, legends and facets.

    >>> print(lookup(["a", "<b>"]))
    ["a", "\u003cb\u003e"][datum.value]
    """
    return f"[{', '.join(literal(cut(name, n)) for name in names)}][datum.value]"


def name_of(names: Sequence[object], field: str = "class") -> str:
    """Return the expression that maps a code of the data to its full name, for tooltips.

    >>> print(name_of(["a", "b"]))
    ["a", "b"][datum.class]
    """
    return f"[{', '.join(literal(printable(str(name), keep='')) for name in names)}][datum.{field}]"


def title(head: str, *lines: str) -> Any:
    """Build a title and subtitles, with long lines wrapped."""
    below = [safe(part, LINE + 14) for line in lines if line for part in _lines(line, LINE + 14)]
    return alt.Title(alt.ExprRef(_listed(_lines(head, LINE))), **({"subtitle": below} if below else {}))


def _lines(text: str, n: int) -> list[str]:
    return textwrap.wrap(printable(text, keep=""), n, break_on_hyphens=False, max_lines=3, placeholder=" …") or [""]


def _listed(lines: Sequence[str]) -> str:
    return f"[{', '.join(literal(line) for line in lines)}]"


def color(
    names: Sequence[object],
    field: str = "class",
    heading: str | None = None,
    shades: Sequence[str] | None = None,
    **legend: Any,
) -> Any:
    """Encode classes by color, or by given ``shades``; classes beyond the palette are grey.

    A single class has no legend.
    """
    scale = alt.Scale(domain=list(range(len(names))), range=list(shades or colors(len(names))))
    shown = (
        alt.Legend(**({"labelExpr": lookup(names), "symbolLimit": 30, "symbolOpacity": 1} | legend))
        if len(names) > 1
        else None
    )
    return alt.Color(f"{field}:N", title=heading, scale=scale, legend=shown)


def colors(n: int) -> list[str]:
    """Return a color for each of n classes.

    >>> colors(2), colors(8)[-1]
    (['#1a5a96', '#ebae34'], '#cfcfcf')
    """
    return [*PALETTE[:n], *[OTHERS] * (n - len(PALETTE))]


def dash(n: int, field: str = "class") -> Any:
    """Encode classes by dash pattern, for readers without colors."""
    dashes = [list(DASHES[i % len(DASHES)]) for i in range(n)]
    return alt.StrokeDash(f"{field}:N", legend=None, scale=alt.Scale(domain=list(range(n)), range=dashes))


def shape(names: Sequence[object], field: str = "class", heading: str | None = None) -> Any:
    """Encode classes by point shape, in the legend of their colors."""
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    legend = alt.Legend(labelExpr=lookup(names), symbolLimit=30)
    return alt.Shape(
        f"{field}:N", title=heading, scale=alt.Scale(domain=list(range(len(names))), range=shapes), legend=legend
    )


def named_axis(names: Sequence[object], n: int = NAME, **axis: Any) -> dict[str, Any]:
    """Return the scale and axis of an encoding ``field:O`` whose codes have names."""
    shown: dict[str, Any] = {"labelExpr": lookup(names, n), "labelLimit": 400, "ticks": False} | axis
    return {"scale": alt.Scale(domain=list(range(len(names)))), "axis": alt.Axis(**shown)}


def band(n: int, least: float = 13.0, most: float = 24.0, room: float = 420.0) -> float:
    """Return the width of one of n bars."""
    return max(least, min(most, room / max(n, 1)))
