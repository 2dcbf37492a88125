"""Columns that are the pixels of an image: what a class has learnt of each, as an image of the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.typing import Floats


@dataclass(frozen=True)
class ClassImages(Drawable):
    """``pixels`` (classes, height, width), each the ``what`` of a column: its mean in the class, or its weight for it.

    NaN where nothing is known of a pixel; ``signed`` where below and above zero mean different things.
    """

    target: str
    classes: tuple[Value, ...]
    what: str
    pixels: Floats = field(compare=False)
    signed: bool = False


def class_images(
    schema: Schema,
    classes: Sequence[Value],
    by_column: Mapping[str, Floats],
    shape: Any,
    what: str,
    signed: bool = False,
) -> ClassImages:
    """The images of numbers by column (classes,), the columns of the table being the pixels line by line."""
    columns = list(schema.columns)
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(n, (int, np.integer)) for n in shape)):
        raise BayesError(f"shape={shape!r}: give (height, width) of the images, such as (28, 28)")
    if shape[0] * shape[1] != len(columns) or min(shape) < 1:
        raise BayesError(f"shape={shape!r} has {shape[0] * shape[1]:,} pixels, and the table {len(columns):,} columns")
    gap = np.full(len(classes), np.nan)
    pixels = np.array([by_column.get(name, gap) for name in columns]).T.reshape(len(classes), *shape)
    return ClassImages(schema.target.name, tuple(classes), what, pixels, signed)
