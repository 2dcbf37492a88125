"""Count the partitions of a Dask frame, or files given as paths, on Dask workers, and merge in a tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from bayeskit.data.frames import is_cluster_frame, open_source
from bayeskit.data.schema import Kind
from bayeskit.data.source import Source
from bayeskit.engines.engine import LOOK, MAX_CATEGORIES, ClusterFrame, FirstRows, Work, check_names, labeled
from bayeskit.engines.records import Counted, Ledger, RemoteEngine, Task, fan_in, groups
from bayeskit.errors import BayesError, LostParts, import_extra, with_article
from bayeskit.lazy import pa

FAN_IN = 16  # records that a task merges, on the worker that has most of them
BYTES = 1 << 26  # of files, for one task


@dataclass(frozen=True)
class Dask(RemoteEngine):
    """Count on the workers of a Dask client.

    Frames are counted by partition. Files are passed as paths, which every worker must be able to read.

    Parameters
    ----------
    client : distributed.Client, optional
        Dask's default scheduler if not given.
    parts : int, optional
        Number of tasks for files; by default it depends on their size.
    max_categories : int or None
        Raise an error for a column with more values.
    """

    client: Any = None
    parts: int | None = None
    max_categories: int | None = MAX_CATEGORIES

    def __post_init__(self) -> None:
        if self.client is not None and not hasattr(self.client, "compute"):
            raise BayesError(f"Dask({self.client!r}): give a client of dask.distributed, or nothing for the default")

    def owns(self, data: Any) -> Source | None:
        """Return a source for Dask frames, files and tables in memory, None for anything else."""
        if isinstance(data, DaskFrame):
            return data
        is_own = is_cluster_frame(data) and type(data).__module__.startswith("dask.")
        return DaskFrame.of(data, self) if is_own else super().owns(data)

    def count(self, task: Task, rows: Any) -> tuple[Ledger, list[Counted]]:
        """Count all partitions of a frame, or all parts of files."""
        delayed = _dask().delayed
        shared = delayed(task)
        if isinstance(rows, DaskFrame):
            parts = rows.partitions()
            told = (rows.target, rows.weight)
            records = [delayed(count_frame)(shared, number, part, *told) for number, part in enumerate(parts)]
            ledger = Ledger([f"partition {number}" for number in range(len(parts))], None, None, rows.passes)
            first: Callable[[], Source] = rows.first_rows
        else:
            files = rows.parts(self._n_parts(rows), task.schema)
            records = [shared.count(number, part) for number, part in enumerate(files)]
            ledger, first = Ledger.of(files, rows.passes), partial(FirstRows, files[0])
        return ledger, [self._computed(_tree(records, fan_in(task, first, FAN_IN)))]

    def _n_parts(self, rows: Any) -> int:
        if self.parts is not None:
            return self.parts
        threads = sum(self.client.nthreads().values()) if self.client is not None else 4
        return int(max(rows.n_bytes // BYTES, 2 * threads))

    def _computed(self, total: Any) -> Counted:
        try:
            counted = self.client.compute(total).result() if self.client is not None else total.compute()
        except BayesError:
            raise
        except Exception as problem:
            if type(problem).__name__ not in ("KilledWorker", "FutureCancelledError", "CancelledError"):
                raise
            why = str(problem).strip().split("\n")[0][:300]
            raise LostParts(f"Dask did not count every part, so nothing was learned: {why}") from problem
        assert isinstance(counted, Counted)
        return counted

    def map_rows(self, frame: Any, work: Work, new: Mapping[str, pa.DataType]) -> Any:
        """Add columns computed by ``work`` from the rows; ``work`` is sent to each worker once."""
        import pandas as pd

        check_names([*map(str, frame.columns), *new])
        meta = _meta(frame).assign(**{name: pd.Series([], dtype=kind.to_pandas_dtype()) for name, kind in new.items()})
        return frame.map_partitions(add_columns, _dask().delayed(work), meta=meta)


@dataclass(frozen=True)
class DaskFrame(ClusterFrame):
    """A Dask frame."""

    @classmethod
    def of(cls, frame: Any, engine: Dask) -> DaskFrame:
        """Wrap a frame; raise an error for duplicate column names."""
        if not hasattr(frame, "npartitions") or not hasattr(frame, "dtypes"):
            raise BayesError(f"a Dask frame is learned from, not {with_article(type(frame).__name__)}")
        check_names(list(map(str, frame.columns)))
        return cls(frame, engine)

    @cached_property
    def head(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns by their types; object columns are inspected."""
        columns = {str(name): name for name in self.frame.columns}
        objects = [name for name, theirs in columns.items() if str(self.frame.dtypes[theirs]) == "object"]
        kinds = dict(open_source(_meta(self.frame)).kinds)
        return {**kinds, **(open_source(self.first(objects)).kinds if objects else {})}

    def first(self, names: list[str]) -> Any:
        """Return some of the first rows."""
        return self._of(names).head(LOOK, npartitions=-1, compute=True)

    def partitions(self) -> list[Any]:
        """Return the lazy partitions of the columns that are read."""
        return list(self._of(self.columns_read).to_delayed())

    def _of(self, names: Sequence[str]) -> Any:
        theirs = {str(name): name for name in self.frame.columns}
        return self.frame[[theirs[name] for name in names]]


def count_frame(task: Task, number: int, part: Any, target: str | None, weight: str | None) -> Counted:
    """Count a partition, which is a pandas frame; rows are numbered within their part."""
    try:
        return task.count(number, labeled(open_source(part), target, weight))
    except BayesError as problem:
        raise problem.within(f"part {number} of the frame") from None


def add_columns(part: Any, work: Work) -> Any:
    """Return a partition with added columns."""
    import pandas as pd

    if not len(part):
        return part
    made = work(part)
    return part.assign(
        **{name: pd.Series(cells.to_numpy(zero_copy_only=False), part.index) for name, cells in made.items()}
    )


def _tree(records: Sequence[Any], of_a_node: int) -> Any:
    """Merge records in order, with tasks of a few records each."""
    together = _dask().delayed(Counted.merge)
    while True:
        records = [together([records[i] for i in group]) for group in groups(len(records), of_a_node)]
        if len(records) == 1:
            return records[0]


def _meta(frame: Any) -> Any:
    """Return an empty pandas frame with the columns."""
    from dask.dataframe.dispatch import make_meta

    return make_meta(frame)


def _dask() -> Any:
    return import_extra("dask", "such frames are read by dask", "dask")
