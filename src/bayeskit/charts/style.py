"""The house style: colours that a colour-blind reader and a grey printer tell apart, sizes, and what is cut.

The six colours of classes differ in lightness by ten steps of a hundred at least, and stay apart under each kind of
colour blindness; lines have a dash and points a shape besides. Tables are shaded from light to dark; what has a sign
goes from dark through grey to bright, so that the sign survives a grey printer too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from bayeskit.charts.spec import OF_EVERY_OBJECT, altair, literal
from bayeskit.printable import printable

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
