r"""Texts of the data in a chart's specification: none of them can be read as HTML.

A specification is written into a page, and by the viewer's own "View Source" into another one. A class named
``</script><script>…`` would end the script that holds it there. So texts stand in it as ``\u003c/script\u003e``, in
data that Vega parses as JSON and in expressions that it parses as literals: what is drawn is the text itself, whoever
renders the chart and whatever it is joined with.

Two more things must not be read in them. Vega looks texts up by name among objects of JavaScript, and fails at those
that every object has, such as ``constructor``; Vega-Lite puts fields in the place of ``datum.value`` by searching the
text of an expression, its literals included.
"""

from __future__ import annotations

import json
import math
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
