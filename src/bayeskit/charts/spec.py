r"""Texts of the data in a chart's specification: none of them can be read as HTML.

A specification is written into a page, and by the viewer's own "View Source" into another one. A class named
``</script><script>…`` would end the script that holds it there. So texts stand in it as ``\u003c/script\u003e``, in
data that Vega parses as JSON and in expressions that it parses as literals: what is drawn is the text itself, whoever
renders the chart and whatever it is joined with.
"""

from __future__ import annotations

import json
import math
from typing import Any

from bayeskit.errors import BayesError

_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def altair() -> Any:
    """The library that draws, which comes with an extra of the package and is imported by the first chart."""
    try:
        import altair as alt
    except ImportError as missing:
        raise BayesError(
            f"charts are drawn by Altair, which cannot be imported ({missing}): pip install 'bayeskit[charts]'"
        ) from missing
    return alt


def inline(rows: list[dict[str, Any]]) -> Any:
    r"""Rows as data of a chart.

    >>> inline([{"class": "</script>"}]).values
    '[{"class":"\\u003c/script\\u003e"}]'
    """
    alt = altair()
    texts = json.dumps(rows, allow_nan=False, separators=(",", ":")).translate(_HTML)
    return alt.InlineData(values=texts, format=alt.JsonDataFormat(type="json"))


def rounded(number: float, digits: int = 4) -> float | None:
    """A number as far as a picture shows it; none where it is not finite.

    >>> rounded(0.123456), rounded(123456.7), rounded(float("nan"))
    (0.1235, 123500.0, None)
    """
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def literal(text: str) -> str:
    r"""A text inside an expression.

    >>> print(literal("<b> \"x\""))
    "\u003cb\u003e \"x\""
    """
    return json.dumps(text).translate(_HTML)
