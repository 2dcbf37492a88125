"""What an engine is: it owns the data that its workers read, and counts it."""

from __future__ import annotations

from typing import Any, Protocol

from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, lies_elsewhere, open_source
from bayeskit.errors import BayesError, with_article
from bayeskit.remedy import Setting
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

MAX_CATEGORIES = 100_000  # values of a column that the tallies of parts may hold


class Engine(Protocol):
    """From a source and a plan to a tally, where the data lives."""

    def owns(self, data: Any) -> Source | None:
        """The data as a source whose ``engine`` is this one; None where its workers cannot read it.

        Such a source tells its kinds and yields a ``look`` at few rows; its ``batches`` refuse.
        """
        ...

    def collect(
        self, source: Any, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
    ) -> Tally:
        """What the plan asks for, counted in all rows; ``source`` is one that this engine owns."""
        ...


def open_on(engine: Engine | None, data: Any, labels: Any = None, weights: Any = None) -> Source:
    """Rows from anything, owned by the engine that is to count them: the given one, or that of a frame's cluster."""
    if engine is None:
        return open_source(engine_of_frame(data).owns(data) if lies_elsewhere(data) else data, labels, weights)
    if not lies_elsewhere(data):
        data, labels, weights = open_source(data, labels, weights), None, None
    source = engine.owns(data)
    if source is None:
        what = getattr(data, "name", None) or with_article(type(data).__name__)
        raise BayesError(
            f"{type(engine).__name__} does not read {what}: give it files, a table or a frame of its own, or ",
            Setting("engine", clause="fit without {}"),
        )
    return open_source(source, labels, weights)


def engine_of_frame(frame: Any) -> Any:
    """The engine of the cluster in which a frame lies."""
    if type(frame).__module__.partition(".")[0] == "pyspark":
        from bayeskit.engines.spark import Spark

        return Spark(frame.sparkSession)
    from bayeskit.engines.dask import Dask

    return Dask()
