"""Records as Altair charts: interactive in a notebook without the network, PNG and SVG by ``chart.save``."""

from typing import TYPE_CHECKING

from bayeskit.lazy import lazy_names

if TYPE_CHECKING:
    from bayeskit.charts.drawing import draw as draw
    from bayeskit.charts.evidence import evidence_chart as evidence_chart
    from bayeskit.charts.nomogram import nomogram_chart as nomogram_chart
    from bayeskit.charts.notebook import offline as offline

_HOMES = {
    "draw": "drawing",
    "evidence_chart": "evidence",
    "nomogram_chart": "nomogram",
    "offline": "notebook",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
