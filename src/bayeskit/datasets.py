"""Small tables to learn and test with: the Palmer penguins, the worked examples of the course, and docstrings.

The tables are CSV files in the folder ``sample_data`` of the package; an empty cell is a missing value.

>>> load_worked_example("tennis").num_rows
14
"""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from bayeskit.errors import BayesError
from bayeskit.lazy import pa
from bayeskit.nearest import did_you_mean

__all__ = ["WORKED_EXAMPLES", "load_docstrings", "load_penguins", "load_worked_example", "path"]

WORKED_EXAMPLES = ("abc", "boolean_joint", "computer", "mammals", "melon", "sports", "tax", "tennis", "wealth")
AREAS = {  # by the chapters of the library's manual
    "text": "codecs difflib re string stringprep textwrap unicodedata",
    "data": (
        "array bisect calendar collections copy dataclasses datetime enum graphlib heapq pprint reprlib types weakref"
    ),
    "numbers": "colorsys decimal fractions numbers random statistics",
    "files": (
        "bz2 configparser csv dbm filecmp fileinput fnmatch glob gzip lzma netrc ntpath pathlib pickle plistlib "
        "posixpath shelve shutil sqlite3 stat tarfile tempfile tomllib zipfile zipimport"
    ),
    "internet": (
        "base64 email ftplib html http imaplib ipaddress json mailbox mimetypes poplib quopri smtplib socket "
        "socketserver ssl urllib uuid webbrowser wsgiref xml xmlrpc"
    ),
    "concurrency": "asyncio concurrent contextvars multiprocessing queue sched selectors subprocess threading",
    "language": (
        "ast code codeop compileall copyreg dis importlib inspect keyword modulefinder opcode pkgutil py_compile "
        "pyclbr runpy site symtable sysconfig token tokenize traceback typing warnings"
    ),
    "testing": "bdb cProfile doctest faulthandler pdb profile pstats timeit trace tracemalloc unittest",
    "programs": "argparse cmd curses getopt getpass gettext locale logging optparse shlex tkinter turtle",
}
NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SHORTEST = 20  # characters; shorter ones say little


def path(name: str) -> Path:
    """Return the path of the CSV file of a data set.

    Parameters
    ----------
    name : str

    Returns
    -------
    Path

    Examples
    --------
    >>> path("tennis").name
    'tennis.csv'
    """
    if name not in ("penguins", *WORKED_EXAMPLES):
        raise BayesError(f"no data set {name!r} (known: penguins, {', '.join(WORKED_EXAMPLES)}).")
    return Path(__file__).parent / "sample_data" / f"{name}.csv"


def load_penguins() -> pa.Table:
    """Load 344 penguins of three species: island, four measurements, sex and year, with missing cells.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> penguins = load_penguins()
    >>> penguins.num_rows, penguins.column_names[:3]
    (344, ['species', 'island', 'bill_length_mm'])
    >>> penguins["sex"].null_count, penguins["body_mass_g"].null_count
    (11, 2)

    Reference: Gorman, Williams and Fraser (2014), PLoS ONE 9(3), e90081.
    """
    return _read("penguins")


def load_worked_example(name: str) -> pa.Table:
    """Load one of the small textbook tables; ``WORKED_EXAMPLES`` lists their names.

    Parameters
    ----------
    name : str

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> load_worked_example("tax").slice(0, 2).to_pylist()[0]
    {'tid': 1, 'refund': 'yes', 'marital_status': 'single', 'taxable_income': 125, 'evade': 'no'}
    """
    if name not in WORKED_EXAMPLES:
        meant = did_you_mean(name, WORKED_EXAMPLES)
        raise BayesError(f"no worked example {name!r} (known: {', '.join(WORKED_EXAMPLES)}){meant}")
    return _read(name)


def _read(name: str) -> pa.Table:
    from pyarrow import csv

    empty_is_null = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    return csv.read_csv(path(name), convert_options=empty_is_null)


def load_docstrings() -> pa.Table:
    """Load the docstrings of your Python's standard library: ``text``, ``area`` and ``name`` of the documented object.

    The modules are read as source and never imported; the number of documents depends on the Python version.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> docs = load_docstrings()
    >>> docs.column_names, docs.num_rows > 2000
    (['text', 'area', 'name'], True)
    """
    library = Path(sysconfig.get_paths()["stdlib"])
    rows: list[dict[str, str]] = []
    for area, modules in AREAS.items():
        for module in modules.split():
            for path in _files(library, module):
                found = _docstrings(path, ".".join(path.relative_to(library).with_suffix("").parts))
                rows += [{"text": text, "area": area, "name": name} for name, text in found]
    if not rows:
        raise BayesError(f"this Python has no library as source in {library}, or strips its docstrings")
    return pa.Table.from_pylist(rows)


def _files(library: Path, module: str) -> list[Path]:
    single = library / f"{module}.py"
    found = [single] if single.exists() else sorted((library / module).rglob("*.py"))
    return [path for path in found if not {"test", "tests", "idle_test"} & set(path.parts)]


def _docstrings(path: Path, module: str) -> list[tuple[str, str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library's own escapes
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return list(_below(tree, module))


def _below(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of a module, class or function and of everything inside it."""
    if isinstance(node, (ast.Module, *NAMED)):
        text = ast.get_docstring(node)
        if text and len(text) >= SHORTEST:
            yield name, text
    for inner in ast.iter_child_nodes(node):
        yield from _below(inner, f"{name}.{inner.name}" if isinstance(inner, NAMED) else name)
