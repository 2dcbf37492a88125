"""The table of formulas in the documentation is made from the line ``Formula: …`` at the home of each.

``BAYESKIT_WRITE=1 pytest tests/test_formulas.py`` writes it anew.
"""

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how_it_works.md"
if not PAGE.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
SOURCES = [(ROOT / "src" / "bayeskit", "**/*.py"), (ROOT, "native/**/*.[ch]pp")]
MARKER = re.compile(r"^(?: *|// )Formula: (.+)$", re.MULTILINE)
TABLE = re.compile(r"(?<=^\| formula \| file \|\n\|---\|---\|\n)(?:\|.*\n)*", re.MULTILINE)


def homes() -> dict[str, list[str]]:
    """Formulas with the files that hold them, in the order of the files."""
    files_of = defaultdict(list)
    for folder, files in SOURCES:
        for file in sorted(folder.glob(files)):
            for formula in MARKER.findall(file.read_text("utf-8")):
                files_of[formula].append(file.relative_to(folder).as_posix().removesuffix("__init__.py"))
    return files_of


def test_the_table_of_formulas_is_what_stands_at_their_homes():
    rows = [f"| {formula} | {', '.join(f'`{file}`' for file in files)} |\n" for formula, files in homes().items()]
    page = PAGE.read_text("utf-8")
    if os.environ.get("BAYESKIT_WRITE"):
        PAGE.write_text(TABLE.sub(lambda _: "".join(rows), page), "utf-8")
    (table,) = TABLE.findall(PAGE.read_text("utf-8"))
    assert table.splitlines(keepends=True) == rows


def test_a_formula_fits_a_row_of_the_table():
    assert [formula for formula in homes() if "|" in formula] == []  # ∣ is the bar of a condition
