"""``bayes export``: export a model as SQL, ONNX or JSON."""

from __future__ import annotations

from typing import Any

import typer

from bayeskit.cli.options import MODEL, choice, option

DIALECTS = ("postgres", "duckdb", "sqlite", "spark")
FORMATS = (*(f"sql:{dialect}" for dialect in DIALECTS), "onnx", "json")
MARKS = {"sql": b'WITH "', "onnx": b"bayeskit", "json": b"bayeskit scoring form"}
"""Bytes near the start of each format: an export replaces no other file."""


def command(
    model: str = MODEL,
    *,
    to: str = choice("--to", "Format to write.", " ".join(FORMATS), ..., metavar="FORMAT"),
    table: str | None = option("--table", "NAME", "sql: table to score, such as shop.orders."),
    key: list[str] | None = option("--key", "COLUMN", "sql: key column of the table. May be repeated."),
    column: list[str] | None = option(
        "--column", "NAME=OTHER", "sql: name of a model column in the table. May be repeated."
    ),
    evidence: bool = option("--evidence", None, "sql: add the evidence of each column.", False),
    words: str | None = option("--words", "TABLE", "sql: table with the words of the texts."),
    output: str = option("--output -o", "FILE", "Output file; - for stdout.", "-"),
) -> None:
    """Export a model as SQL, ONNX or JSON.

    Formats: sql:postgres, sql:duckdb, sql:sqlite, sql:spark, onnx (double
    precision), json (the parameters). The query returns the keys, the class
    (predicted) and the probability of each class (p_<class>) for every row of the
    table, equal to bayes predict to twelve digits.

    \b
    Examples:
      bayes export birds.bayes --to sql:duckdb --table birds --key id -o b.sql
      bayes export birds.bayes --to onnx -o birds.onnx
    """
    from bayeskit.cli.inputs import check_writable
    from bayeskit.cli.options import pairs
    from bayeskit.cli.outputs import write_output
    from bayeskit.cli.saved_models import load_classifier

    kind, _, dialect = to.partition(":")
    named = {"--table": table, "--key": key, "--column": column, "--evidence": evidence or None, "--words": words}
    if kind != "sql" and (beside := [option for option, value in named.items() if value]):
        raise typer.BadParameter("it goes with --to sql:...", param_hint=beside[0])
    if kind == "sql" and (table is None or not key):
        missing = "--table" if table is None else "--key"
        raise typer.BadParameter(
            "a query needs the table, and the columns that say which row it is", param_hint=missing
        )
    check_writable(output, is_model=False, reads=[model], mark=MARKS[kind])
    fitted = load_classifier(model)
    _refuse(fitted, model, f"to_{kind}")
    if kind == "sql":
        query = fitted.to_sql(table, dialect, key, pairs("--column", column), evidence, words).query
        write_output(output, query.encode() + b"\n")
    elif kind == "onnx":
        write_output(output, fitted.to_onnx())
    else:
        import json

        write_output(output, json.dumps(fitted.to_json(), ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _refuse(fitted: Any, path: str, method: str) -> None:
    """Raise an error with the reason if a model cannot be exported."""
    from bayeskit.errors import BayesError

    try:
        getattr(fitted, method)
    except AttributeError as problem:
        reason = str(problem).partition(": ")[2] or "it is not a sum over columns"
        raise BayesError(f"{path}: {type(fitted).__name__} cannot be carried elsewhere: {reason}") from None
