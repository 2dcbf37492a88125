"""10^12 rows, rehearsed: 10^9 rows through two processes, and the tallies of 64,000 parts through the tree.

``python benchmarks/rehearsal.py rows FOLDER`` writes 10^8 rows (about 6 GB) into the folder, where they stay for
another run, and reads them ten times; ``python benchmarks/rehearsal.py tree`` needs nothing. What they print stands in
docs/scale.md. ``BAYESKIT_REHEARSAL=0.01`` makes either a hundredth as large; ``BAYESKIT_REHEARSAL_FILES=1`` writes
10^7 rows and reads them a hundred times.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from pathlib import Path

import engines

SIZE = float(os.environ.get("BAYESKIT_REHEARSAL", 1))
FILE_ROWS = int(10_000_000 * SIZE)
FILES = int(os.environ.get("BAYESKIT_REHEARSAL_FILES", 10))  # of different rows
TIMES = 100 // FILES  # that each is read
PARTS = int(64_000 * SIZE)
TEMPLATES = 16  # different tallies, so that values are aligned and not merely added


def rows(folder: Path) -> None:
    """10^9 rows through `Processes(2)`: the same 10^8 ten times."""
    from bayeskit.engines import Processes

    folder.mkdir(exist_ok=True, parents=True)
    for i in range(FILES):
        if not (file := folder / f"{i:02}-0.parquet").exists():
            engines.write(file, FILE_ROWS, first=i * 1000)
        for again in range(1, TIMES):
            if not (link := folder / f"{i:02}-{again}.parquet").exists():
                os.link(file, link)
    start, before = time.perf_counter(), _cpu()
    counted = engines.model().fit_source(folder, "y", engine=Processes(2)).tally_
    wall, cpu = time.perf_counter() - start, _cpu() - before
    assert counted.n_rows == FILES * TIMES * FILE_ROWS
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"{counted.n_rows:,} rows, {size / 1e9:.1f} GB of Parquet: {wall:.0f} s of wall time, {cpu:.0f} CPU s, "
        f"{cpu / counted.n_rows * 1e6:.2f} µs a row; tally {len(counted.to_bytes()) / 1e3:.0f} kB"
    )
    once = engines.model()
    for i in range(FILES):
        once = once.learn_source(folder / f"{i:02}-0.parquet", "y")
    times = sum(TIMES * int(once.tally_.class_counts[c]) for c in range(engines.CLASSES))
    assert times == counted.n_rows
    assert all(
        (counted.families[name].counts == TIMES * family.counts).all() for name, family in once.tally_.families.items()
    )
    print(f"every count is {TIMES} times that of one reading on one process")


def tree() -> None:
    """64,000 tallies of parts through a tree of depth two."""
    from bayeskit.data.frames import open_source
    from bayeskit.engines import local
    from bayeskit.engines.records import FAN_IN, Counted, groups

    fitted = engines.model().fit(engines.table(20_000), "y")
    schema, plan = fitted.schema_, fitted.tally_.plan
    templates = []
    for seed in range(TEMPLATES):
        part = engines.table(20_000, seed)
        templates.append(local.collect_part(open_source(part, "y"), schema, plan).to_bytes())
    node_times, nodes, start = [], [], time.process_time()
    for group in groups(PARTS, FAN_IN):
        records = [Counted(((i, 20_000),), templates[i % TEMPLATES]) for i in group]
        before = time.process_time()
        nodes.append(Counted.together(records))
        node_times.append(time.process_time() - before)
    before = time.process_time()
    root = Counted.together(nodes)
    at_root, total = time.process_time() - before, time.process_time() - start
    from bayeskit import Tally

    whole = Tally.from_bytes(root.tally)
    assert [number for number, _ in root.parts] == [*range(PARTS)]
    assert whole.n_rows == 20_000 * PARTS
    sent = sum(len(templates[i % TEMPLATES]) for i in range(PARTS))
    middle = sorted(node_times)[len(nodes) // 2]
    print(
        f"{PARTS:,} tallies of {len(templates[0]) / 1e3:.0f} kB ({sent / 1e9:.1f} GB) through {len(nodes)} nodes of "
        f"{FAN_IN}: {middle:.2f} CPU s a node, {at_root:.2f} at the root, {total:.0f} in all"
    )


def _cpu() -> float:
    mine, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["rows"]:
        rows(Path(sys.argv[2]))
    else:
        tree()
