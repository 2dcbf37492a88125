"""Check that ``_core.pyi`` has the functions of the compiled core, with the same arguments and defaults.

The types in ``_core.pyi`` are written by hand: the core knows the element types of arrays, not what tuples hold.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

STUB = Path(__file__).parents[1] / "src" / "bayeskit" / "_core.pyi"


def compiled() -> str:
    """Return the stub that nanobind's stubgen writes of the compiled core."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "_core.pyi"
        stubgen = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "-m", "bayeskit._core", "-o", str(found)]
        subprocess.run(stubgen, check=True)
        return found.read_text("utf-8")


def signatures(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    """Yield functions and methods without types: ``normalize(scores, n_threads, out=None)``."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            bare = ast.arguments(**{**vars(node.args), "args": [ast.arg(one.arg) for one in node.args.args]})
            yield f"{prefix}{node.name}({ast.unparse(bare)})"
        elif isinstance(node, ast.ClassDef):
            yield from signatures(node, f"{node.name}.")


def main() -> None:
    core, stub = (set(signatures(ast.parse(text))) for text in (compiled(), STUB.read_text("utf-8")))
    lines = [f"only in the core: {one}" for one in sorted(core - stub)]
    lines += [f"only in {STUB.name}: {one}" for one in sorted(stub - core)]
    if lines:
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
