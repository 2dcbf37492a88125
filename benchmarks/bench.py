"""Side by side with peers: CPU time ratios in one run, written to docs/benchmarks.md.

``make bench`` runs all; ``python benchmarks/bench.py tables`` one part. Every figure is the minimum of several
rounds in which both sides take turns, on one thread unless said otherwise, so that a busy machine slows both.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PARTS = [
    "tables",
    "text",
    "text_models",
    "files",
    "everyday",
    "start_up",
    "networks",
    "structure",
    "sequences",
    "decide",
    "semi_naive",
    "topics",
]


@dataclass
class Row:
    """One line of the table: what, against whom, the bar, and both times in seconds."""

    work: str
    peer: str
    bar: float
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    def __str__(self) -> str:
        verdict = "" if self.ratio >= self.bar else " (missed)"
        cells = [self.work, self.peer, *(f"{s * 1e3:.{0 if s >= 0.01 else 1}f} ms" for s in (self.ours, self.theirs))]
        return "| " + " | ".join([*cells, f"{self.bar:g}×", f"{self.ratio:.1f}×{verdict}"]) + " |"


def race(
    ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """The least time of each side, taking turns."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for side, work in enumerate((ours, theirs)):
            start = clock()
            work()
            best[side] = min(best[side], clock() - start)
    return best[0], best[1]


def compare(
    work: str,
    peer: str,
    bar: float,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    rounds: int = 5,
    clock: Callable[[], float] = time.process_time,
) -> Row:
    """Run both sides and print the line."""
    row = Row(work, peer, bar, *race(ours, theirs, rounds, clock))
    print(row, flush=True)
    return row


def machine() -> str:
    """What the figures were measured on."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), name)
    versions = ", ".join(f"{m} {import_module(m).__version__}" for m in ("numpy", "sklearn", "pandas", "pyarrow"))
    return f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {versions}"


def main(parts: list[str]) -> int:
    """Run the parts, write their sections of the page, and say how many bars were missed."""
    warnings.simplefilter("ignore")
    sections, missed = _sections(), 0
    for part in parts:
        module = import_module(part)
        rows = module.run()
        missed += sum(row.ratio < row.bar for row in rows)
        head = "| work | against | ours | theirs | bar | ratio |\n|---|---|---|---|---|---|"
        made = f"Made by `python benchmarks/bench.py {part}` on {date.today()}, {machine()}. {module.NOTE}"
        sections[module.TITLE] = f"{made}\n\n{head}\n" + "\n".join(map(str, rows))
        if appendix := getattr(module, "appendix", str)():
            sections[module.TITLE] += f"\n\n{appendix}"
    intro = (
        "# Benchmarks\n\nMade by `make bench`: CPU time, minimum of several rounds in which both sides take turns, one "
        "thread unless said otherwise.\nEach part names the machine that it was run on: they need not be the same."
    )
    text = "\n\n".join([intro, *(f"## {title}\n\n{section}" for title, section in sections.items())])
    PAGE.write_text(text + "\n", encoding="utf-8")
    print(f"{missed} bars missed; written: {PAGE}")
    return 0


def _sections() -> dict[str, str]:
    """What the page holds already, by title: a part that is run alone leaves the others as they are."""
    if not PAGE.exists():
        return {}
    _, *found = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {title: section.strip() for title, _, section in (part.partition("\n") for part in found)}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main(sys.argv[1:] or PARTS))
