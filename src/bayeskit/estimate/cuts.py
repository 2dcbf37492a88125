"""Cut points: where a number's range is divided into intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bayeskit.errors import BayesError


def equal_width(low: float, high: float, n_bins: int) -> tuple[float, ...]:
    """The n − 1 cuts that divide low..high into n intervals of equal width; none where low equals high.

    >>> equal_width(0, 10, 4)
    (2.5, 5.0, 7.5)
    """
    if n_bins < 1:
        raise BayesError(f"a histogram needs at least one interval, not {n_bins}")
    cuts = [float(low + (high - low) * i / n_bins) for i in range(1, n_bins)] if high > low else []
    return tuple(cut for cut, before in zip(cuts, [low, *cuts], strict=False) if before < cut < high)


def given(cuts: object, column: str) -> tuple[float, ...]:
    """Cut points as a user wrote them.

    >>> given([20, 27.5], "age")
    (20.0, 27.5)
    """
    try:
        return tuple(float(cut) for cut in cuts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise BayesError(
            f"cuts={cuts!r} for column {column!r}: give a number of intervals, or a list of rising numbers"
        ) from None


def labels(cuts: Sequence[float]) -> list[str]:
    """Readable names of the intervals, a value on a cut belonging to the left one.

    >>> labels([20.0, 27.5])
    ['≤ 20', '20 – 27.5', '> 27.5']
    """
    if not cuts:
        return ["any"]
    middle = [f"{a:g} – {b:g}" for a, b in pairwise(cuts)]
    return [f"≤ {cuts[0]:g}", *middle, f"> {cuts[-1]:g}"]
