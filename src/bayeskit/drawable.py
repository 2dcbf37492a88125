"""Drawable: a record that has a picture.

Charts are drawn from records, and so stand above all of them; a record finds its picture when it is asked for one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Drawable:
    """What has a picture: ``chart()`` draws it, by the extra ``charts``."""

    def chart(self) -> Any:
        """The picture of this record: a notebook shows it, ``.save("name.png")`` (or .svg, .html) writes it."""
        return draw(self)


def draw(record: object, **options: Any) -> Any:
    """The picture of a record, as ``bayeskit.charts`` draws its kind."""
    return import_module("bayeskit.charts.drawing").draw(record, **options)
