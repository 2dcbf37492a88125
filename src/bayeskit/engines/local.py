"""Count a source on this machine block by block, as the default engine; workers of other engines use it too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, close_rows
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError, TooLarge, format_setting
from bayeskit.memory import check_memory
from bayeskit.tally.plan import Plan, Space, declared_values
from bayeskit.tally.row_hash import RowHasher
from bayeskit.tally.tally import Tally


def collect(
    source: Source, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
) -> Tally:
    """Count the requests of a plan; blocks are added in order, so threads do not change the result.

    Raise an error for a plan that needs more than ``memory_limit`` bytes (2 GB by default).
    """
    return check_totals(collect_part(source, schema, plan, n_threads=n_threads, memory_limit=memory_limit))


def collect_part(
    source: Source,
    schema: Schema,
    plan: Plan,
    *,
    n_threads: int = 1,
    memory_limit: float | None = None,
    max_categories: int | None = None,
) -> Tally:
    """Count a part of the rows, which may be empty; consistency of all parts is checked elsewhere.

    Raise an error as soon as a column has more than ``max_categories`` values.
    """
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True, n_threads=n_threads)
    counted = {*plan.names}
    hasher = RowHasher([name for name in schema.used if name in counted])
    return _count(encoder.blocks(source), encoder, plan, memory_limit, max_categories, hasher)


def count_blocks(blocks: Iterable[Block], encoder: Encoder, plan: Plan, memory_limit: float | None = None) -> Tally:
    """Count encoded blocks, for models that read rows once and count them many times."""
    return check_totals(_count(blocks, encoder, plan, memory_limit, None))


def check_totals(tally: Tally) -> Tally:
    """Check the tally of all rows; raise an error if it is empty or its sums overflowed."""
    if not tally.class_counts.any():
        if tally.weighted:
            raise BayesError("every row has weight zero, so nothing was counted")
        raise BayesError("there are no rows to count: Found array with 0 sample(s) while a minimum of 1 is required.")
    if not np.isfinite(tally.class_counts.sum()):
        raise BayesError("the weights sum to infinity: scale them down")
    for statistic in tally.statistics.values():
        statistic.check_sums()
    return tally


def _count(
    blocks: Iterable[Block],
    encoder: Encoder,
    plan: Plan,
    memory_limit: float | None,
    max_categories: int | None,
    hasher: RowHasher | None = None,
) -> Tally:
    coded = {*encoder.schema.coded}
    columns = [name for name in plan.names if name in coded]
    running: Tally | None = None
    rows = iter(blocks)
    try:
        for block in rows:
            space = _space(block, encoder, columns)
            if max_categories is not None:
                check_categories(space, max_categories)
            counted = Tally.of_block(block, space, plan, encoder.n_threads, memory_limit, hasher)
            if hasher is not None:
                counted = replace(counted, row_hash=hasher.hash(block, space))
            running = counted if running is None else running.grown(space).plus(counted)
            for statistic in running.statistics.values():
                if (need := statistic.memory_used()) is not None:
                    check_memory(need, memory_limit)
    finally:
        close_rows(rows)
    return Tally.empty(encoder.schema, plan) if running is None else running.tidy()


def check_categories(space: Space, most: int) -> None:
    """Raise an error for columns with too many values, such as ids, which make every tally huge."""
    for name, values in space.values.items():
        if len(values) > most and not declared_values(space.schema, name):
            raise TooLarge(
                f"column {name!r} has more than {most:,} values, and each part of the data would send its own",
                hint=f"leave it out with {format_setting('roles', {name: 'ignore'})}, or raise max_categories of the "
                "engine",
            )
    if len(space.classes) > most:
        raise TooLarge(
            f"the target {space.schema.target.name!r} has more than {most:,} classes",
            hint="raise max_categories of the engine if it is a class",
        )


def _space(block: Block, encoder: Encoder, columns: list[str]) -> Space:
    """Return the space after a block was read, since vocabularies grow with each block."""
    grown = encoder.vocabularies
    values = {n: grown[n].values if n in grown else declared_values(encoder.schema, n) for n in columns}
    weighted = block.weights is not None or block.responsibilities is not None
    return Space(encoder.schema, encoder.classes.values, values, weighted)
