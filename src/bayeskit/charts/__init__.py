"""Records as Altair charts: interactive in a notebook without the network, PNG and SVG by ``chart.save``."""

from typing import TYPE_CHECKING

from bayeskit.lazy import lazy_names

if TYPE_CHECKING:
    from bayeskit.charts.comparison import scatter_chart as scatter_chart
    from bayeskit.charts.conditional_tables import conditional_chart as conditional_chart
    from bayeskit.charts.densities import density_chart as density_chart
    from bayeskit.charts.dependence import dependence_chart as dependence_chart
    from bayeskit.charts.drawing import draw as draw
    from bayeskit.charts.evidence import evidence_chart as evidence_chart
    from bayeskit.charts.graphs import graph_chart as graph_chart
    from bayeskit.charts.images import images_chart as images_chart
    from bayeskit.charts.nomogram import nomogram_chart as nomogram_chart
    from bayeskit.charts.notebook import offline as offline
    from bayeskit.charts.regions import regions_chart as regions_chart
    from bayeskit.charts.sequences import state_evidence_chart as state_evidence_chart
    from bayeskit.charts.sequences import states_chart as states_chart
    from bayeskit.charts.topics import topic_shares_chart as topic_shares_chart
    from bayeskit.charts.topics import topic_words_chart as topic_words_chart

_HOMES = {
    "conditional_chart": "conditional_tables",
    "density_chart": "densities",
    "dependence_chart": "dependence",
    "draw": "drawing",
    "evidence_chart": "evidence",
    "graph_chart": "graphs",
    "images_chart": "images",
    "nomogram_chart": "nomogram",
    "offline": "notebook",
    "regions_chart": "regions",
    "scatter_chart": "comparison",
    "state_evidence_chart": "sequences",
    "states_chart": "sequences",
    "topic_shares_chart": "topics",
    "topic_words_chart": "topics",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
