"""The stub of the compiled core: ``python scripts/stubs.py`` writes it, ``--check`` says where it is old.

``_core.pyi``: names, arguments and defaults are those of the compiled core, as nanobind's stubgen finds them. To
nanobind an array is an array; what it holds is said by the signature of the kernel's NumPy twin.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "bayeskit"
TWINS = sorted((PACKAGE / "kernels" / "twins").glob("*.py"))
WRITTEN = "This file is written by `make stubs`."
CORE = f'''"""The compiled kernels (native/). Each is described, with an example, at its twin in bayeskit.kernels.twins.

{WRITTEN}
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bayeskit.kernels.twins.backoff import Learnt
from bayeskit.kernels.twins.checks import Codes, Floats, Integers
from bayeskit.kernels.twins.moments import Moments
from bayeskit.kernels.twins.tokens import ByClass, Cut, Rows
from bayeskit.kernels.twins.topics import Singles, Topics, WordIds
from bayeskit.kernels.twins.tree_growth import Trees
from bayeskit.kernels.twins.word_lists import Bytes, Ids, Offsets

'''


def core() -> str:
    """The stub of the compiled core."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "_core.pyi"
        stubgen = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "-m", "bayeskit._core", "-o", str(found)]
        subprocess.run(stubgen, check=True)
        kernels = ast.parse(found.read_text("utf-8")).body
    twins = dict(pair for file in TWINS for pair in signatures(ast.parse(file.read_text("utf-8"))))
    return CORE + "\n".join(typed(node, twins) for node in kernels if is_kernel(node))


def is_kernel(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def signatures(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods by name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from signatures(node, f"{node.name}.")


def typed(node: ast.stmt, twins: dict[str, ast.FunctionDef], prefix: str = "") -> str:
    """A kernel as the core has it, with the types of its twin."""
    if isinstance(node, ast.ClassDef):
        methods = [typed(method, twins, f"{node.name}.") for method in node.body if is_kernel(method)]
        return f"class {node.name}:\n" + "\n".join(f"    {line}" for line in methods)
    assert isinstance(node, ast.FunctionDef)
    name = prefix + node.name
    if name not in twins:
        sys.exit(f"the compiled core has the kernel {name}, and no file _*twin*.py has its twin")
    twin = twins[name]
    if takes(node) != takes(twin):
        sys.exit(f"the kernel {name} takes ({takes(node)}) in the compiled core, but ({takes(twin)}) in its twin")
    return f"def {node.name}({ast.unparse(twin.args)}) -> {ast.unparse(twin.returns) if twin.returns else 'Any'}: ..."


def takes(node: ast.FunctionDef) -> str:
    """Arguments and defaults without types: ``scores, n_threads, out=None``."""
    bare = ast.arguments(**{**vars(node.args), "args": [ast.arg(one.arg) for one in node.args.args]})
    return ast.unparse(bare)


def formatted(text: str, path: Path) -> str:
    """A text as `make format` leaves it."""
    ruff = [str(Path(sys.executable).with_name("ruff"))]
    for action in (["check", "--fix-only", "--select", "F401,I", "--quiet"], ["format"]):
        command = [*ruff, *action, "--stdin-filename", str(path), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    return text


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    if not importlib.util.find_spec("bayeskit._core"):
        print("there is no compiled core: _core.pyi stays as it is", file=sys.stderr)
        return
    path = PACKAGE / "_core.pyi"
    new, old = formatted(core(), path), path.read_text("utf-8") if path.exists() else ""
    if check and new != old:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "there", "wanted"))
        sys.exit(f"{path.name} is not what the code says: make stubs")
    if new != old:
        path.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
