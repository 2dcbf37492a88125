"""``bayes export``: export a model as SQL, ONNX or JSON."""

from __future__ import annotations

import sys
from typing import Any

import typer

from bayeskit.cli.options import MODEL, choice, option

DIALECTS = ("postgres", "duckdb", "sqlite", "spark")


def command(
    model: str = MODEL,
    sql: str | None = choice("--sql", "SQL query that scores the rows of a table.", " ".join(DIALECTS)),
    onnx: bool = option("--onnx", None, "ONNX file in double precision.", False),
    json: bool = option("--json", None, "Parameters as JSON.", False),
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

    The query returns the keys, the class and the probability of each class for
    every row of the table, equal to bayes predict to twelve digits.
    Give one of --sql, --onnx and --json.

    \b
    Examples:
      bayes export birds.bayes --sql postgres --table birds --key id -o birds.sql
      bayes export birds.bayes --onnx -o birds.onnx
    """
    from bayeskit.cli.inputs import check_writable
    from bayeskit.cli.options import pairs
    from bayeskit.cli.saved_models import load_classifier

    if (sql is not None) + onnx + json != 1:
        raise typer.BadParameter("give one of --sql, --onnx and --json", param_hint="--sql")
    named = {"--table": table, "--key": key, "--column": column, "--evidence": evidence or None, "--words": words}
    if sql is None and (beside := [option for option, value in named.items() if value]):
        raise typer.BadParameter("it goes with --sql", param_hint=beside[0])
    if sql is not None and (table is None or not key):
        missing = "--table" if table is None else "--key"
        raise typer.BadParameter(
            "a query needs the table, and the columns that say which row it is", param_hint=missing
        )
    check_writable(output, is_model=False, reads=[model])
    fitted = load_classifier(model)
    _refuse(fitted, model, "to_sql" if sql is not None else "to_onnx" if onnx else "to_json")
    if sql is not None:
        query = fitted.to_sql(table, sql, key, pairs("--column", column), evidence, words).query
        _write(output, query.encode() + b"\n")
    elif onnx:
        _write(output, fitted.to_onnx())
    else:
        import json as as_text

        _write(output, as_text.dumps(fitted.to_json(), ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _refuse(fitted: Any, path: str, method: str) -> None:
    """Raise an error with the reason if a model cannot be exported."""
    from bayeskit.errors import BayesError

    try:
        getattr(fitted, method)
    except AttributeError as problem:
        reason = str(problem).partition(": ")[2] or "it is no sum over columns"
        raise BayesError(f"{path}: {type(fitted).__name__} cannot be carried elsewhere: {reason}") from None


def _write(output: str, content: bytes) -> None:
    """Write atomically to a file, or to standard output."""
    from bayeskit.printable import printable
    from bayeskit.storage.files import write_file

    if output != "-":
        write_file(output, content)
    elif sys.stdout.isatty():
        print(printable(content.decode(errors="replace")), end="")
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
