"""Is anything slower than it was? Our side of every benchmark, here and at an earlier commit, taking turns.

``make bench-before BEFORE=<commit>`` installs both, each beside the other in build/, and asks one process of each:
they walk through the same benchmarks, and at every line they run their work by turns. A line is a miss where the 95 %
interval of its median ratio lies above 1.05.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).parent.parent
ROUNDS = 11
SLOWER = 1.05


def walk(checkout: Path, installed: Path, parts: list[str]) -> None:
    """One of the two processes: at every line of the benchmarks it says so, and runs its work whenever it is told."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
    sys.path[:0] = [str(installed), str(checkout / "benchmarks")]
    told, said = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the benchmarks print is not for the other side
    warnings.simplefilter("ignore")
    import bench

    def take_turns(ours: Callable[[], Any], theirs: Callable[[], Any], _: int, clock: Callable[[], float]) -> Any:
        theirs()
        ours()
        said.write("line\n")
        said.flush()
        while told.readline() == "go\n":
            start = clock()
            ours()
            said.write(f"{clock() - start}\n")
            said.flush()
        return 1.0, 1.0

    bench.race = take_turns
    compare = bench.compare

    def named(work: str, peer: str, *rest: Any, **named_rest: Any) -> Any:
        said.write(json.dumps(f"{work}, beside {peer}") + "\n")
        return compare(work, peer, *rest, **named_rest)

    bench.compare = named
    for part in parts:
        __import__(part).run()
    said.write("end\n")
    said.flush()


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median and its 95 % interval, from the order of the ratios alone."""
    from scipy.stats import binom

    ordered, n = sorted(ratios), len(ratios)
    k = max(int(binom.ppf(0.025, n, 0.5)) - 1, 0)  # how many of them may lie below the median
    return ordered[n // 2], ordered[k], ordered[n - 1 - k]


def main(before: str, parts: list[str]) -> int:
    """Install both, let them take turns, print a line each; how many are slower."""
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        checkout = Path(folder, "before")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", checkout, before], cwd=ROOT, check=True)
        try:
            sides = [(checkout, Path(folder, "then")), (ROOT, Path(folder, "now"))]
            for source, target in sides:
                pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, source]
                subprocess.run(pip, check=True)
            return _race(sides, parts)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)


def _race(sides: list[tuple[Path, Path]], parts: list[str]) -> int:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    walkers = [
        subprocess.Popen([sys.executable, __file__, "--walk", *map(str, side), *parts], **pipes) for side in sides
    ]
    slower = 0
    while (name := _line(walkers[0].stdout)) != "end":
        names = [name, _line(walkers[1].stdout)]
        assert names[0] == names[1], f"the benchmarks are not the same: {names}"
        assert [_line(walker.stdout) for walker in walkers] == ["line", "line"]
        ratios = []
        for turn in range(ROUNDS):
            order = walkers if turn % 2 else walkers[::-1]
            times = {walker: _timed(walker) for walker in order}
            ratios.append(times[walkers[1]] / times[walkers[0]])
        for walker in walkers:
            _say(walker, "next\n")
        median, low, high = interval(ratios)
        slower += low > SLOWER
        print(f"{median:5.2f} ({low:.2f} to {high:.2f}){' slower' * (low > SLOWER)}  {json.loads(name)}", flush=True)
    print(f"{slower} lines are slower")
    return int(slower > 0)


def _line(stream: TextIO | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def _say(walker: subprocess.Popen[str], word: str) -> None:
    assert walker.stdin is not None
    walker.stdin.write(word)
    walker.stdin.flush()


def _timed(walker: subprocess.Popen[str]) -> float:
    _say(walker, "go\n")
    return float(_line(walker.stdout))


if __name__ == "__main__":
    if sys.argv[1] == "--walk":
        walk(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
    else:
        sys.path.insert(0, str(Path(__file__).parent))
        from bench import PARTS

        sys.exit(main(sys.argv[1], sys.argv[2:] or PARTS))
