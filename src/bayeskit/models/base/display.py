"""How a fitted model looks in a notebook."""

from __future__ import annotations

import html
from typing import Any

COLUMNS = 20  # shown at most


def model_html(model: Any) -> str:
    """Class counts and the tables of the first columns."""
    names = model.schema_.used
    parts = [f"<b>{type(model).__name__}</b>: {model.tally_.n_rows:,} rows, {len(model.classes_)} classes"]
    parts.append(model.table()._repr_html_())
    for name in names[:COLUMNS]:
        table = model.table(name)._repr_html_()
        parts.append(f"<details open><summary>{html.escape(name)}</summary>{table}</details>")
    more = len(names) - COLUMNS
    return "".join([*parts, f"<p>… and {more} more columns</p>" if more > 0 else ""])
