"""Tallies as version 0.1 wrote them: their header and arrays in the order of today.

There, one array of class counts was followed by a table for each column, six arrays of moments, two for each column
of distinct numbers, those of words, six of products, one of pairs, and two for each set of columns.
"""

from __future__ import annotations

from typing import Any

from bayeskit.errors import BadFile
from bayeskit.tally.statistic import Parts
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Array

MOMENTS = 6


def as_written_today(header: Any, arrays: list[Array]) -> Parts:
    """(header, arrays) of format 1 as those of format 2; whether they fit is checked as today's are."""
    try:
        families = [(str(name), values) for name, values in header["families"]]
        measured = [str(name) for name in header["moments"]]
        distinct = [(str(name), level, most) for name, level, most in header.get("values", ())]
        words = [(str(name), bool(pruned)) for name, pruned in header.get("words", ())]
        pairs, joints = list(header.get("pairs", ())), list(header.get("joints", ()))
        names = [name for name, _ in families]
        more = "pairs" in header or "joints" in header
        blocks: list[tuple[list[Any], dict[str, Any], int, bool]] = [
            (["families", names, {}], {}, len(names), bool(names)),
            (["moments", measured, {}], {}, MOMENTS, bool(measured)),
            (
                [
                    "distinct",
                    [name for name, _, _ in distinct],
                    {"max_values": min([m for _, _, m in distinct] or [0])},
                ],
                {"levels": [level for _, level, _ in distinct]},
                2 * len(distinct),
                bool(distinct),
            ),
            (
                ["words", [name for name, _ in words], {}],
                {"pruned": [pruned for _, pruned in words]},
                WordCounts.N_ARRAYS * len(words),
                bool(words),
            ),
            (["products", measured, {}], {}, MOMENTS if header.get("products") else 0, bool(header.get("products"))),
            (["pairs", pairs, {}], {}, 1 if more else 0, bool(pairs)),
            (["joints", joints, {}], {}, 2 * len(joints), bool(joints)),
        ]
        statistics, arrays_today, at = [], arrays[:1], 1
        for request, details, size, there in blocks:
            if there:
                statistics.append([request, details, size])
                arrays_today = [*arrays_today, *arrays[at : at + size]]
            elif any(array.size for array in arrays[at : at + size]):
                raise BadFile("the tally has more arrays than its header says")
            at += size
        if at != len(arrays) or len({most for _, _, most in distinct}) > 1:
            raise BadFile("the tally's arrays do not fit its header")
        values = [[name, listed] for name, listed in families]
        today = {"schema": header["schema"], "classes": header["classes"], "values": values, "statistics": statistics}
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BadFile(f"this is no tally: {problem!r}") from None
    return today, arrays_today
