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

from bayeskit.errors import BayesError
from bayeskit.printable import printable

_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
OF_EVERY_OBJECT = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}  # fmt: skip
"""Names that JavaScript finds in any object, where Vega takes them for something of its own."""


def altair() -> Any:
    """The library that draws, which comes with an extra of the package and is imported by the first chart."""
    try:
        import altair as alt
    except ImportError as missing:
        raise BayesError.not_installed("charts are drawn by Altair", missing, "charts") from missing
    return alt


def check_converter() -> None:
    """Refuse to write a picture where the library that makes them is missing; it comes with the same extra."""
    try:
        import vl_convert  # noqa: F401
    except ImportError as missing:
        raise BayesError.not_installed("pictures are made by vl-convert", missing, "charts") from missing


def inline(rows: list[dict[str, Any]]) -> Any:
    r"""Rows as data of a chart; what would steer a terminal or turn the writing around is shown as everywhere.

    >>> inline([{"class": "</script>"}]).values
    '[{"class":"\\u003c/script\\u003e"}]'
    """
    alt = altair()
    shown = [{name: printable(v, keep="") if isinstance(v, str) else v for name, v in row.items()} for row in rows]
    texts = json.dumps(shown, allow_nan=False, separators=(",", ":")).translate(_HTML)
    return alt.InlineData(values=texts, format=alt.JsonDataFormat(type="json"))


def rounded(number: float, digits: int = 4) -> float | None:
    """A number as far as a picture shows it, whole numbers as they are; none where it is not finite.

    >>> rounded(0.123456), rounded(123456.7), rounded(1234567), rounded(float("nan"))
    (0.1235, 123500.0, 1234567.0, None)
    """
    if not math.isfinite(number):
        return None
    return float(number) if float(number).is_integer() else float(f"{number:.{digits}g}")


def literal(text: str) -> str:
    r"""A text inside an expression.

    >>> print(literal("<b> \"x\""), literal("datum.value"), literal("constructor"))
    "\u003cb\u003e \"x\"" "\u0064atum.value" ("c"+"onstructor")
    """
    if text in OF_EVERY_OBJECT:
        return f"({literal(text[:1])}+{literal(text[1:])})"
    return json.dumps(text).translate(_HTML).replace("datum", r"\u0064atum")


ROOM = 60  # pixels beside a chart, for its menu


class Offline:
    """A chart that brings what draws it, and looks as the house has it."""

    def to_dict(self, *args: Any, **settings: Any) -> dict[str, Any]:
        """The specification; the house style stands in it once, where the chart is no part of another."""
        spec: dict[str, Any] = super().to_dict(*args, **settings)  # type: ignore[misc]
        if (settings.get("context") or {}).get("top_level", True):
            spec["config"] = _both(CONFIG, spec.get("config", {}))
        return spec

    def save(self, fp: Any, format: Any = None, inline: bool = True, **settings: Any) -> None:  # noqa: A002
        """Write the chart: the ending says PNG, SVG, HTML (a page that needs no network) or JSON."""
        if (format or Path(str(fp)).suffix.removeprefix(".")) != "json":
            check_converter()
        of_page = {"inline": inline} if _is_page(fp, format) else {}
        super().save(fp, format=format, **of_page, **settings)  # type: ignore[misc]

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": picture(self), "text/html": frame(self)}

    def __repr__(self) -> str:
        return f'<{type(self).__name__} of bayeskit: save("chart.png") or save("chart.html", inline=True) keeps it>'


def _both(house: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The house style, and before it what the chart has of its own."""
    parts = {**house, **given}
    return {
        name: _both(house[name], part) if isinstance(part, dict) and isinstance(house.get(name), dict) else part
        for name, part in parts.items()
    }


def _is_page(file: Any, form: Any) -> bool:
    return form == "html" or (form is None and isinstance(file, (str, Path)) and Path(file).suffix.lower() == ".html")


def offline(chart: Any) -> Any:
    """The same chart, which a notebook shows without the network: for charts that were joined, or come from elsewhere.

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
    """A kind of chart, with the page of :class:`Offline`."""
    return kind if issubclass(kind, Offline) else type(kind.__name__, (Offline, kind), {})


def picture(chart: Any) -> str:
    """The chart as SVG."""
    file = io.StringIO()
    chart.save(file, format="svg")
    return file.getvalue()


def frame(chart: Any) -> str:
    """The chart, the library and all, in a frame of the size of its picture."""
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
    """A name that fits beside an axis, its end kept; the whole stands where the mark is pointed at.

    >>> cut("a name that is much too long for its place 17", 16)
    'a name that…e 17'
    """
    shown = printable(str(text), keep="")
    if _width(shown) <= n:
        return shown
    return f"{_fitting(shown, n - 1 - n // 4)}…{_fitting(shown[::-1], n // 4)[::-1]}"


def in_title(name: object) -> str:
    """A name within a title, whose end it leaves room for."""
    return cut(name, IN_TITLE)


def _width(text: str) -> int:
    """In characters; those beyond the first plane, such as emoji, are as wide as three.

    What drew a name that is too wide would cut one of them in half, and fail.
    """
    return len(text) + 2 * sum(character > "\uffff" for character in text)


def _fitting(text: str, n: int) -> str:
    """As much of its beginning as is n wide."""
    widths = accumulate(map(_width, text))
    return text[: sum(width <= n for width in widths)]


def safe(text: object, n: int = 60) -> str:
    """A name inside a specification, where none of its characters may be read as HTML: look-alikes stand for three,
    and a space follows what would be taken for a part of every object.

    >>> safe("a<b & c"), safe("constructor")
    ('a‹b ＆ c', 'constructor ')
    """
    shown = cut(text, n).translate(str.maketrans("<>&", "‹›＆"))
    return f"{shown} " if shown in OF_EVERY_OBJECT else shown


def lookup(names: Sequence[object], n: int = NAME) -> str:
    r"""The expression that names the code of a class or a value, for the labels of axes, legends and facets.

    >>> print(lookup(["a", "<b>"]))
    ["a", "\u003cb\u003e"][datum.value]
    """
    return f"[{', '.join(literal(cut(name, n)) for name in names)}][datum.value]"


def name_of(names: Sequence[object], field: str = "class") -> str:
    r"""The expression that gives the whole name of a code of the data, for what is said of a mark that is pointed at.

    >>> print(name_of(["a", "b"]))
    ["a", "b"][datum.class]
    """
    return f"[{', '.join(literal(printable(str(name), keep='')) for name in names)}][datum.{field}]"


def title(head: str, *lines: str) -> Any:
    """What is seen, and below it what else there is to say: texts of the data in lines that are not too long."""
    alt = altair()
    below = [safe(part, LINE + 14) for line in lines if line for part in _lines(line, LINE + 14)]
    return alt.Title(alt.ExprRef(_listed(_lines(head, LINE))), **({"subtitle": below} if below else {}))


def _lines(text: str, n: int) -> list[str]:
    return textwrap.wrap(printable(text, keep=""), n, max_lines=3, placeholder=" …") or [""]


def _listed(lines: Sequence[str]) -> str:
    return f"[{', '.join(literal(line) for line in lines)}]"


def colour(
    names: Sequence[object],
    field: str = "class",
    heading: str | None = None,
    shades: Sequence[str] | None = None,
    **legend: Any,
) -> Any:
    """The colour of classes by their code, or given ``shades``; those beyond the palette share a grey.

    One class alone needs no legend.
    """
    alt = altair()
    scale = alt.Scale(domain=list(range(len(names))), range=list(shades or colours(len(names))))
    shown = (
        alt.Legend(**({"labelExpr": lookup(names), "symbolLimit": 30, "symbolOpacity": 1} | legend))
        if len(names) > 1
        else None
    )
    return alt.Color(f"{field}:N", title=heading, scale=scale, legend=shown)


def colours(n: int) -> list[str]:
    """A colour for each of n classes.

    >>> colours(2), colours(8)[-1]
    (['#1a5a96', '#ebae34'], '#cfcfcf')
    """
    return [*PALETTE[:n], *[OTHERS] * (n - len(PALETTE))]


def dash(n: int, field: str = "class") -> Any:
    """The dash of the line of each of n classes, for readers without colours: lines are named where they run."""
    alt = altair()
    dashes = [list(DASHES[i % len(DASHES)]) for i in range(n)]
    return alt.StrokeDash(f"{field}:N", legend=None, scale=alt.Scale(domain=list(range(n)), range=dashes))


def shape(names: Sequence[object], field: str = "class", heading: str | None = None) -> Any:
    """The shape of the points of each class, in the same legend as its colour."""
    alt = altair()
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    legend = alt.Legend(labelExpr=lookup(names), symbolLimit=30)
    return alt.Shape(
        f"{field}:N", title=heading, scale=alt.Scale(domain=list(range(len(names))), range=shapes), legend=legend
    )


def named_axis(names: Sequence[object], n: int = NAME, **axis: Any) -> dict[str, Any]:
    """An axis of codes from 0, with their names: what an encoding of ``field:O`` takes besides its field."""
    alt = altair()
    shown: dict[str, Any] = {"labelExpr": lookup(names, n), "labelLimit": 400, "ticks": False} | axis
    return {"scale": alt.Scale(domain=list(range(len(names)))), "axis": alt.Axis(**shown)}


def band(n: int, least: float = 13.0, most: float = 24.0, room: float = 420.0) -> float:
    """The width of one of n bars."""
    return max(least, min(most, room / max(n, 1)))
