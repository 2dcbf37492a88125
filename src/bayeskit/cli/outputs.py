"""Write predictions and charts to files and standard output, and notes on them to standard error."""

from __future__ import annotations

import csv as csv_module
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayeskit.cli.notes import Strictness, note
from bayeskit.cli.options import option
from bayeskit.lazy import pa
from bayeskit.printable import printable, printable_json
from bayeskit.storage.files import is_stream, replace_file, write_file

if TYPE_CHECKING:
    from bayeskit.data.io.streams import Unreadable
    from bayeskit.evaluate.drift import Shift

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@contextmanager
def writer(output: str, kind: str | None = None) -> Iterator[Callable[[Any], None]]:
    """Return a function that writes tables with the same columns one after another."""
    if output == "-":
        with closing(_Writer(sys.stdout.buffer, kind or "csv", escape=sys.stdout.isatty())) as write:
            yield write
        sys.stdout.flush()
        return
    of_ending = ENDINGS.get(Path(output).suffix.lower())
    if kind is not None and of_ending not in (None, kind):
        print(f"bayes: note: {printable(output)} gets JSON lines, because of --json", file=sys.stderr)
    kind = kind or of_ending or ("csv" if is_stream(output) else None)
    if kind is None:
        why = f"{output}: the name's ending says the format, one of {', '.join(ENDINGS)}"
        raise typer.BadParameter(why, param_hint="--output")
    with replace_file(output) as file, closing(_Writer(file, kind)) as write:
        yield write


class _Writer:
    """Writer of tables in one format; the first table defines the columns. On a terminal, control characters are
    escaped."""

    def __init__(self, file: Any, kind: str, escape: bool = False) -> None:
        self.file, self.kind, self.escape = file, kind, escape
        self.open: Any = None
        self.first = True

    def __call__(self, table: Any) -> None:
        table = plain(table)
        if self.kind == "jsonl":
            lines = [printable_json(json.dumps(row, ensure_ascii=False, default=str)) for row in table.to_pylist()]
            self._write(("\n".join(lines) + "\n").encode())
        elif self.kind == "csv":
            self._write_csv(table)
        else:
            from pyarrow import parquet

            if self.open is None:
                self.open = parquet.ParquetWriter(pa.PythonFile(self.file, mode="w"), table.schema)
            self.open.write_table(table.cast(self.open.schema))
        self.first = False
        if self.kind != "parquet":
            self.file.flush()  # readers of a pipe get each batch at once

    def _write(self, data: bytes) -> None:
        self.file.write(printable(data.decode()).encode() if self.escape else data)

    def _write_csv(self, table: Any) -> None:
        """Write CSV with quotes only where needed; Arrow decides that for a whole batch only."""
        from pyarrow import csv

        if self.first:
            line = io.StringIO()
            csv_module.writer(line, lineterminator="\n").writerow(table.column_names)
            self._write(line.getvalue().encode())
        for quoting in ("none", "needed"):
            block = io.BytesIO()
            try:
                csv.write_csv(table, block, csv.WriteOptions(include_header=False, quoting_style=quoting))
                break
            except pa.ArrowInvalid:  # some text has a comma, a quote or a line break
                continue
        self._write(block.getvalue())

    def close(self) -> None:
        """Write the end of the file."""
        if self.open is not None:
            self.open.close()


def write_output(output: str, content: bytes) -> None:
    """Write atomically to a file, or to standard output."""
    if output != "-":
        write_file(output, content)
    elif sys.stdout.isatty():
        print(printable(content.decode(errors="replace")), end="")
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def beside(columns: Mapping[str, Any], made: Iterable[tuple[str, Any]], prefix: str = "model_") -> dict[str, Any]:
    """Return columns and, after them, computed ones; a computed column whose name is taken gets a prefix.

    >>> list(beside({"predicted": 1}, [("predicted", 2), ("probability", 3), ("probability", 4)]))
    ['predicted', 'model_predicted', 'probability', 'model_probability']
    """
    together = dict(columns)
    for name, column in made:
        while name in together:
            name = f"{prefix}{name}"
        together[name] = column
    return together


def plain(table: Any) -> Any:
    """Decode dictionary columns, so that every batch has the same column types."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table


CHART_ENDINGS = {".png": b"PNG", ".svg": b"<svg", ".html": b"<html"}  # and what such a file holds

PLOT = option("--plot", "FILE", "Also draw a chart to a .png, .svg or .html file.")


def check_plot(path: str | None, reads: Sequence[str | None] = ()) -> None:
    """Raise an error, before the work starts, if a chart cannot be written or a library is missing."""
    from bayeskit.charts.style import altair, check_converter
    from bayeskit.cli.inputs import check_writable

    if path is None:
        return
    mark = CHART_ENDINGS.get(Path(path).suffix.lower())
    if mark is None:
        why = f"{path}: the name's ending says the form, one of {', '.join(CHART_ENDINGS)}"
        raise typer.BadParameter(why, param_hint="--plot")
    check_writable(path, is_model=False, reads=reads, mark=mark)
    altair()
    check_converter()


def draw(page: Any, path: str | None, chart: Callable[[], Any]) -> None:
    """Draw a chart to a file if requested, and report it."""
    if path is None:
        return
    form = Path(path).suffix.lower().removeprefix(".")
    out: Any = io.BytesIO() if form == "png" else io.StringIO()
    chart().save(out, format=form)
    content = out.getvalue()
    with replace_file(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    page.line(f"drawn in {path}", style="bold")


def joined(charts: Sequence[Any], across: bool = False) -> Any:
    """Join several charts vertically or horizontally."""
    from bayeskit.charts.style import alt, offline

    if len(charts) == 1:
        return charts[0]
    both = (alt.hconcat if across else alt.vconcat)(*charts)
    return offline(both.resolve_scale(color="independent", shape="independent", size="independent"))


SHOWN = 5  # columns named in a note


def notes_on(cells: Unreadable, shifts: Sequence[Shift] = ()) -> list[str]:
    """Return the notes on rows with problems; with ``--strict`` the first of them is an error."""
    notes = [unreadable_cells(cells)] if cells.total else []
    notes += [drift_from_training(shifts)] if shifts else []
    if notes and Strictness.on:
        note(notes[0])
    return notes


def report(n_rows: int, output: str, notes: Sequence[str] = ()) -> None:
    """Print on standard error how many rows were written to a file, and notes on rows with problems."""
    from bayeskit.cli.console import plural

    sys.stdout.flush()  # keeps the order if both go to the same terminal
    for text in notes:
        note(text)
    if output != "-":
        print(f"{plural(n_rows, 'row')} written to {printable(output)}", file=sys.stderr)


def unreadable_cells(cells: Unreadable) -> str:
    """Count the unreadable cells and name their columns.

    >>> from bayeskit.data.io.streams import Unreadable
    >>> unreadable_cells(Unreadable({"age": 1, "height": 2}, {"age": "old", "height": "tall"}))
    "3 cells could not be read and count as missing: 1 of age, such as 'old'; 2 of height, such as 'tall'"
    """
    columns = "; ".join(f"{count:,} of {name}, such as {cells.first[name]!r}" for name, count in cells.counts.items())
    from bayeskit.cli.console import plural

    what = plural(cells.total, "cell")
    return f"{what} could not be read and {'counts' if cells.total == 1 else 'count'} as missing: {columns}"


def drift_from_training(shifts: Sequence[Shift]) -> str:
    """Name the columns that differ from training.

    >>> from bayeskit.evaluate.drift import Shift
    >>> drift_from_training([Shift("age", "missing", 40, 100, 0.25)])
    'these rows are unlike those of the training: age is missing in 40% of the rows (25% there)'
    >>> drift_from_training([Shift("sex", "unseen", 30, 100, 0.001)])[45:]
    'sex has a value never seen there in 30% of the cells (0% expected)'
    """
    columns = [_shift(shift) for shift in shifts[:SHOWN]]
    if len(shifts) > SHOWN:
        columns.append(f"and {len(shifts) - SHOWN:,} more")
    return f"these rows are unlike those of the training: {'; '.join(columns)}"


def _shift(shift: Shift) -> str:
    if shift.what == "missing":
        return f"{shift.column} is missing in {shift.share:.0%} of the rows ({shift.expected:.0%} there)"
    return (
        f"{shift.column} has a value never seen there in {shift.share:.0%} of the cells ({shift.expected:.0%} expected)"
    )
