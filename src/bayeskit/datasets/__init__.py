"""Small tables to learn and test with: the Palmer penguins, the worked examples of the course, and docstrings.

Each is a CSV file inside the package; a cell without a value is empty.

>>> load_worked_example("tennis").num_rows
14
"""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from bayeskit.datasets.docstrings import load_docstrings
from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

WORKED_EXAMPLES = (
    "abc", "boolean_joint", "computer", "mammals", "melon", "sports", "tax", "tennis", "wealth",
)  # fmt: skip

__all__ = ["WORKED_EXAMPLES", "load_docstrings", "load_penguins", "load_worked_example", "path"]


def path(name: str) -> Path:
    """The CSV file of a data set, for whatever reads files.

    >>> path("tennis").name
    'tennis.csv'
    """
    if name not in ("penguins", *WORKED_EXAMPLES):
        raise BayesError(f"no data set {name!r} (known: penguins, {', '.join(WORKED_EXAMPLES)}).")
    return Path(str(files(__name__) / f"{name}.csv"))


def load_penguins() -> "pa.Table":
    """344 penguins of three species: island, four measurements, sex and year, with the gaps they came with.

    >>> penguins = load_penguins()
    >>> penguins.num_rows, penguins.column_names[:3]
    (344, ['species', 'island', 'bill_length_mm'])
    >>> penguins["sex"].null_count, penguins["body_mass_g"].null_count
    (11, 2)

    Reference: Gorman, Williams and Fraser (2014), PLoS ONE 9(3), e90081.
    """
    return _read("penguins")


def load_worked_example(name: str) -> "pa.Table":
    """One of the small textbook tables; ``WORKED_EXAMPLES`` lists their names.

    >>> load_worked_example("tax").slice(0, 2).to_pylist()[0]
    {'tid': 1, 'refund': 'yes', 'marital_status': 'single', 'taxable_income': 125, 'evade': 'no'}
    """
    if name not in WORKED_EXAMPLES:
        meant = did_you_mean(name, WORKED_EXAMPLES)
        raise BayesError(f"no worked example {name!r} (known: {', '.join(WORKED_EXAMPLES)}){meant}")
    return _read(name)


def _read(name: str) -> "pa.Table":
    from pyarrow import csv

    empty_is_null = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    return csv.read_csv(path(name), convert_options=empty_is_null)
