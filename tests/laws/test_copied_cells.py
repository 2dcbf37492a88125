"""Laws of reading and writing tables: cells are copied unchanged, columns never collide, quotes are closed."""

import contextlib
import csv
import io
import sys
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.cli import main
from bayeskit.cli.outputs import beside
from bayeskit.data.io.csv import QuotesChecked
from bayeskit.tables import class_header

lawful = settings(suppress_health_check=list(HealthCheck))

LIKELY = [
    "",
    "NA",
    "00042",
    "0x10",
    "9007199254740993",
    "1e3",
    "1.50",
    "true",
    "2026-01-01",
    " x ",
    '5"',
    "a,b",
    "a\nb",
]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6)
CELLS = st.sampled_from(LIKELY) | TEXT


def predict(data, *words):
    """The rows that ``bayes predict`` writes, the header first."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        bk.NaiveBayes().fit({"size": [1.0, 2.0, 8.0, 9.0]}, ["a", "a", "b", "b"]).save(at / "m.bayes")
        with (at / "t.csv").open("w", newline="") as file:
            csv.writer(file).writerows(data)
        command = ["bayes", "predict", at / "m.bayes", at / "t.csv", "-q", "-o", at / "out.csv", *words]
        with mock.patch.object(sys, "argv", list(map(str, command))):
            main()
        with (at / "out.csv").open(newline="") as file:
            return list(csv.reader(file))


@lawful
@given(cells=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_kept_cells_are_written_back_unchanged(cells):
    table = [["id", "size", "note"], *([first, "5", second] for first, second in cells)]
    assert [row[:3] for row in predict(table, "--keep-all")] == table


@lawful
@given(
    columns=st.lists(st.sampled_from(["p_a", "probability", "predicted", "model_predicted", "x"]), unique=True),
    proba=st.booleans(),
)
def test_columns_of_predictions_never_collide(columns, proba):
    header, *rows = predict([["size", *columns], ["1", *columns]], "--keep-all", *["--proba"] * proba)
    assert header[: 1 + len(columns)] == ["size", *columns]
    assert len(set(header)) == len(header) == 1 + len(columns) + (3 if proba else 2)
    assert rows[0][1 : 1 + len(columns)] == columns


@lawful
@given(
    names=st.lists(st.sampled_from(["row", "rows", "rows (class)", "predicted row", "a"])),
    target=st.sampled_from(["rows", "a"]),
)
def test_names_beside_each_other_differ(names, target):
    made = beside({"row": 0}, [(name, i) for i, name in enumerate(names)])
    assert list(made.values()) == [0, *range(len(names))]
    assert class_header(target, names) not in names


def unclosed_line(text, delimiter=","):
    """The line of the cell that is open at the end, by reading character by character; None if there is none."""
    opened, line, at, starts_cell = None, 1, 0, True
    while at < len(text):
        character = text[at]
        if opened is not None and text[at : at + 2] == '""':
            at += 1
        elif opened is not None and character == '"':
            opened, starts_cell = None, False
        elif opened is None and character == '"' and starts_cell:
            opened = line
        elif opened is None:
            starts_cell = character in (delimiter, "\n", "\r")
        line += character == "\n"
        at += 1
    return opened


@lawful
@given(text=st.text('",\na', max_size=30), size=st.integers(1, 40))
def test_an_open_quote_is_found_however_the_text_is_divided(text, size):
    found = []

    def refuse(line):
        found.append(line)
        return OSError("unclosed")

    source = io.BytesIO(text.encode())
    checked = QuotesChecked(lambda n: source.read(min(n, size)), ",", refuse)
    with contextlib.suppress(OSError):
        assert checked.readall() == text.encode()
    assert (found or [None]) == [unclosed_line(text)]
