"""The default engine: counts a source on this machine, block by block."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError
from bayeskit.memory import check_memory
from bayeskit.tally.plan import Plan
from bayeskit.tally.space import Space, declared_values
from bayeskit.tally.tally import Tally


def collect(
    source: Source, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
) -> Tally:
    """Count what the plan asks for; blocks are added in order, so threads change nothing.

    What would take more than ``memory_limit`` bytes (2 GB unless given) is refused.
    """
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True, n_threads=n_threads)
    return count_blocks(encoder.blocks(source), encoder, plan, memory_limit)


def count_blocks(blocks: Iterable[Block], encoder: Encoder, plan: Plan, memory_limit: float | None = None) -> Tally:
    """The tally of blocks that an encoder has read, for models that read rows once and count them many times."""
    coded = {*encoder.schema.coded()}
    columns = [name for name in dict.fromkeys(name for request in plan for name in request.names) if name in coded]
    running: Tally | None = None
    for block in blocks:
        space = _space(block, encoder, columns)
        counted = Tally.of_block(block, space, plan, encoder.n_threads, memory_limit)
        running = counted if running is None else running.grown(space).plus(counted)
        for statistic in running.statistics.values():
            if (need := statistic.takes()) is not None:
                check_memory(need, memory_limit)
    if running is None:
        raise BayesError("there are no rows to count: Found array with 0 sample(s) while a minimum of 1 is required.")
    if not running.class_counts.any():
        raise BayesError("every row has weight zero, so nothing was counted")
    if not np.isfinite(running.class_counts.sum()):
        raise BayesError("the weights sum to infinity: scale them down")
    for statistic in running.statistics.values():
        statistic.check_sums()
    return running.tidy()


def _space(block: Block, encoder: Encoder, columns: list[str]) -> Space:
    """The codes as they are after a block was read: the vocabularies grow with each."""
    grown = encoder.vocabularies
    values = {n: grown[n].values if n in grown else declared_values(encoder.schema, n) for n in columns}
    weighted = block.weights is not None or block.responsibilities is not None
    return Space(encoder.schema, encoder.classes.values, values, weighted)
