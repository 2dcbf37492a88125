"""The shipped tables are complete, typed as a reader expects, and cost nothing until loaded."""

import csv
import subprocess
import sys

import pyarrow as pa
import pytest

from bayeskit import datasets
from bayeskit.errors import BayesError

ALL = ("penguins", *datasets.WORKED_EXAMPLES)


def load(name):
    return datasets.load_penguins() if name == "penguins" else datasets.load_worked_example(name)


@pytest.mark.parametrize("name", ALL)
def test_a_table_has_the_cells_of_its_file_and_nulls_where_they_are_empty(name):
    with datasets.path(name).open(newline="") as file:
        header, *rows = csv.reader(file)
    table = load(name)
    assert table.column_names == header
    assert table.num_rows == len(rows)
    for j, column in enumerate(header):
        cells = table[column].to_pylist()
        assert [cell is None for cell in cells] == [row[j] == "" for row in rows]
        for cell, row in zip(cells, rows, strict=True):
            assert cell is None or (cell == row[j] if isinstance(cell, str) else cell == float(row[j]))


def test_penguins_are_numbers_and_strings_with_the_gaps_of_the_source():
    table = datasets.load_penguins()
    types = {name: table.schema.field(name).type for name in table.column_names}
    assert types == {
        "species": pa.string(),
        "island": pa.string(),
        "bill_length_mm": pa.float64(),
        "bill_depth_mm": pa.float64(),
        "flipper_length_mm": pa.int64(),
        "body_mass_g": pa.int64(),
        "sex": pa.string(),
        "year": pa.int64(),
    }
    species = {row["values"]: row["counts"] for row in table["species"].value_counts().to_pylist()}
    assert species == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    assert {name: table[name].null_count for name in table.column_names if table[name].null_count} == {
        "bill_length_mm": 2,
        "bill_depth_mm": 2,
        "flipper_length_mm": 2,
        "body_mass_g": 2,
        "sex": 11,
    }


def test_an_unknown_name_is_refused_with_the_known_ones():
    for call in (datasets.path, datasets.load_worked_example):
        with pytest.raises(BayesError, match=r"'golf'.*tennis"):
            call("golf")
    with pytest.raises(BayesError, match="tennis"):
        datasets.load_worked_example("penguins")


def test_importing_the_module_does_not_import_pyarrow():
    code = "import sys, bayeskit.datasets; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_docstrings_are_those_of_the_running_library():
    table = datasets.load_docstrings()
    rows = {row["name"]: row for row in table.to_pylist()}
    assert rows["textwrap.wrap"]["text"].startswith("Wrap a single paragraph of text")
    assert rows["textwrap.wrap"]["area"] == "text"
    assert len(set(table["area"].to_pylist())) == 9
    assert table["text"].null_count == 0
