"""Charts that a notebook shows without the network: the library that draws them comes with each.

Altair's own page fetches Vega from the net when it is looked at. Here it stands in the page, in a frame of its own, so
that nothing of it meets what else a notebook has loaded; where a viewer takes no frames, a picture is shown.
"""

from __future__ import annotations

import html
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

from bayeskit.charts.spec import check_converter
from bayeskit.charts.style import CONFIG

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
