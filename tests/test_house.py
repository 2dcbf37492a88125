"""How the source files lie: what they are called, and what they take from each other."""

import ast
import re
from collections import Counter
from pathlib import Path

import bayeskit


def test_no_file_imports_a_private_name_of_another():
    source = Path(bayeskit.__file__).parent
    private = [
        (file.relative_to(source).as_posix(), name.name)
        for file in sorted(source.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayeskit")
        for name in node.names
        if re.match(r"_(?!_)", name.name)
    ]
    assert private == []


SAME_IDEA = {  # names that stand in several folders, for the same thing in each
    "__init__",
    "aode",
    "belief_curves",
    "classifier",
    "comparison",
    "conditional_tables",
    "curves",
    "cuts",
    "demo",
    "densities",
    "dependence",
    "evidence",
    "exponents",
    "images",
    "joints",
    "k_means",
    "left_out",
    "moments",
    "nomogram",
    "parameters",
    "regions",
    "reliability",
    "sequences",
    "tokens",
    "topics",
    "work",
}


def test_no_two_files_share_a_name_for_different_things():
    names = Counter(file.stem for file in Path(bayeskit.__file__).parent.rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} == SAME_IDEA
