"""Count on several processes of this machine, also files larger than memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from bayeskit.data.io.files import Progress
from bayeskit.data.source import Source
from bayeskit.engines.engine import MAX_CATEGORIES
from bayeskit.engines.records import Counted, Ledger, MergeTree, RemoteEngine, Task, part_name
from bayeskit.errors import BayesError, LostParts
from bayeskit.settings import is_integer

PARTS = 16  # for each process: the last ones end at about the same time, and a bar moves
TRIES = 2  # of a part whose process is ended from outside


@dataclass(frozen=True)
class Processes(RemoteEngine):
    """Count on several processes of this machine.

    Files are split into parts: Parquet by row group, others by file. The processes stay alive as long as this
    object.

    Parameters
    ----------
    n : int, optional
        Number of processes; one per core by default.
    max_categories : int or None, default=100000
        Raise an error for a column with more values; None for no limit.

    >>> Processes(2)
    Processes(n=2, max_categories=100000)
    """

    n: int | None = None
    max_categories: int | None = MAX_CATEGORIES
    _workers: list[_Worker] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.n is not None and (not is_integer(self.n) or self.n < 1):
            raise BayesError(f"Processes({self.n!r}): give a whole number of processes, or none for one a core")
        weakref.finalize(self, _end, self._workers)

    def count(self, task: Task, rows: Any) -> tuple[Ledger, list[Counted]]:
        """Count all parts on the processes."""
        n = self.n or os.cpu_count() or 1
        parts = rows.parts(PARTS * n, task.schema)
        self._workers.extend(_Worker() for _ in range(min(n, len(parts)) - len(self._workers)))
        work = _PartQueue(task, parts, getattr(rows.source, "watch", None))
        try:
            records = work.done_by(self._workers)
        except BaseException:
            _end(self._workers)
            raise
        return Ledger.of(parts, rows.passes), records


@dataclass
class _PartQueue:
    """The waiting parts, and the tallies of counted ones."""

    task: Task
    parts: Sequence[Source]
    watch: Callable[[Progress], None] | None
    counted: MergeTree = field(default_factory=MergeTree)
    lock: Lock = field(default_factory=Lock)
    n_counted: int = 0
    rows_read: int = 0
    bytes_read: int = 0

    def done_by(self, workers: Sequence[_Worker]) -> list[Counted]:
        """Return the records of all parts, counted by these processes; the first error stops them all."""
        waiting = iter(range(len(self.parts)))  # of all threads: each takes the next one
        with ThreadPoolExecutor(len(workers) or 1) as threads:
            futures = [threads.submit(self._serve, worker, waiting) for worker in workers]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                failed = [future for future in done if future.exception() is not None]
            finally:
                if self.n_counted < len(self.parts):
                    for _ in waiting:  # hands out no more
                        pass
                    for worker in workers:
                        worker.kill()
        for future in failed or futures:
            future.result()
        return self.counted.records()

    def _serve(self, worker: _Worker, waiting: Iterator[int]) -> None:
        """Send parts to a process until none are left."""
        for number in waiting:
            record = worker.counted(self.task, number, self.parts[number])
            with self.lock:
                self.counted.add(record)
                self.n_counted += 1
                self.rows_read += sum(rows for _, rows in record.parts)
                self.bytes_read += part_bytes(self.parts[number])
                if self.watch is not None:
                    total = sum(map(part_bytes, self.parts))
                    self.watch(Progress(self.rows_read, self.bytes_read, total))


class _Worker:
    """A process that counts parts; it is restarted if it was killed."""

    def __init__(self) -> None:
        self._stopped = False
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        there = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "bayeskit.engines.worker"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=there)

    def counted(self, task: Task, number: int, part: Source) -> Counted:
        """Return the record of a part."""
        for _ in range(TRIES):
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with suppress(BrokenPipeError):  # that it has ended shows when it is to answer
                pickle.dump((task, number, part), self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                self._process.stdin.flush()
            try:
                answer = pickle.load(self._process.stdout)
            except (EOFError, pickle.UnpicklingError):
                if self._stopped:
                    break
                self.close()
                self._process = self._started()
                continue
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise LostParts(
            f"part {number} ({part_name(part)}) was not counted: the process that read it was ended from outside, "
            "perhaps for want of memory. Nothing was learned; run it again, with fewer processes if memory is short.",
        )

    def kill(self) -> None:
        """Kill the process."""
        self._stopped = True
        self._process.kill()

    def close(self) -> None:
        """Let the process finish, and wait for it."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()


def _end(workers: list[_Worker]) -> None:
    """Let waiting processes finish."""
    while workers:
        workers.pop().close()


def part_bytes(part: Any) -> int:
    """Return the approximate size of a part in bytes."""
    return int(getattr(part, "n_bytes", 0))
