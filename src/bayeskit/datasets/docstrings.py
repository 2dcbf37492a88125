"""Documents without a download: the docstrings of the running Python's own standard library."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bayeskit.errors import BayesError

if TYPE_CHECKING:
    import pyarrow as pa

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


def load_docstrings() -> pa.Table:
    """Docstrings of your own Python's standard library: ``text``, its ``area``, and the ``name`` of what it describes.

    The modules are read as source and never imported; the number of documents depends on the Python version.

    >>> docs = load_docstrings()
    >>> docs.column_names, docs.num_rows > 2000
    (['text', 'area', 'name'], True)
    """
    import pyarrow as pa

    library = Path(sysconfig.get_paths()["stdlib"])
    rows: dict[str, list[str]] = {"text": [], "area": [], "name": []}
    for area, modules in AREAS.items():
        for module in modules.split():
            for path in _files(library, module):
                for name, text in _docstrings(path, ".".join(path.relative_to(library).with_suffix("").parts)):
                    rows["text"].append(text)
                    rows["area"].append(area)
                    rows["name"].append(name)
    if not rows["text"]:
        raise BayesError(f"this Python has no library as source in {library}, or strips its docstrings")
    return pa.table(rows)


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
    """The docstring of a module, class or function, and those inside."""
    if isinstance(node, (ast.Module, *NAMED)):
        text = ast.get_docstring(node)
        if text and len(text) >= SHORTEST:
            yield name, text
    for inner in ast.iter_child_nodes(node):
        yield from _below(inner, f"{name}.{inner.name}" if isinstance(inner, NAMED) else name)
