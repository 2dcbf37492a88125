"""Formulas are lines of text in the pages; on the site they are set with indices and exponents, remarks in columns."""

import html
import re

INDEX = re.compile(r"(?<![A-Za-z])([A-Za-zα-ωΑ-Ω]['²]?|score)_(\{[^}]*\}|[^\s_^·,;()\[\]/|+−=&]+)")
EXPONENT = re.compile(r"\^(\([^)]*\)|\{[^}]*\}|(?:[^\s·,;()\[\]/|+−=<&]|<sub>[^<]*</sub>)+)")
COLUMNS = re.compile(r"\s{3,}")


def set_formula(lines: list[str]) -> str:
    """A table of HTML on one line: a row for a line, a column where three spaces or more stand between.

    >>> set_formula(["P(v | c) = θ_cw^f_w"])
    '<table class="formula"><tr><td>P(v | c) = θ<sub>cw</sub><sup>f<sub>w</sub></sup></td></tr></table>'
    """
    cells = [COLUMNS.split(re.sub(r"\s+=", " =", line)) for line in lines]
    most = max(map(len, cells))
    rows = [[*map(_set, row)] for row in cells if row != [""]]
    return f'<table class="formula">{"".join(_row(row, most) for row in rows)}</table>'


def _set(text: str) -> str:
    indexed = INDEX.sub(lambda found: f"{found[1]}<sub>{found[2].strip('{}')}</sub>", html.escape(text, quote=False))
    return EXPONENT.sub(lambda found: f"<sup>{found[1].strip('{}()')}</sup>", indexed)


def _row(row: list[str], most: int) -> str:
    rest = most - len(row) + 1  # the last cell takes the columns that are left
    last = f'<td colspan="{rest}">' if rest > 1 else "<td>"
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in row[:-1])}{last}{row[-1]}</td></tr>"
