"""Mix-in for records that have a chart.

The chart code imports the records, so a record imports its chart only when ``chart()`` is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Drawable:
    """Record with a chart: ``chart()`` draws it, using the extra ``charts``."""

    def chart(self) -> Any:
        """Draw this record; a notebook displays the chart, ``.save("name.png")`` (or .svg, .html) writes it.

        Returns
        -------
        altair.Chart
        """
        return draw(self)


def draw(record: object, **options: Any) -> Any:
    """Draw a record as ``bayeskit.charts`` defines for its type."""
    return import_module("bayeskit.charts.drawing").draw(record, **options)
