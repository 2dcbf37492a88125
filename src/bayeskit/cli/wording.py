"""Remedies as the command line has them: messages of the library name arguments, here they become options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bayeskit.errors import BayesError

OPTIONS = {"roles": "role", "types": "type"}
ROLES = {"Categorical(domain=None)": "categorical", "Numeric(cuts=None)": "numeric", "Ignored()": "ignored"}
PLAIN = "unseen|encoding|prior|numeric|undecidable|smoothing|target"


def in_options(text: str) -> str:
    """The message with options in the place of arguments.

    >>> in_options('to take it so, pass roles={\\'year\\': "categorical"}')
    'to take it so, pass --role year=categorical'
    >>> in_options('Pass unseen="ignore" to leave the column out.')
    'Pass --unseen ignore to leave the column out.'
    >>> in_options("to read them as empty cells, pass missing=['not known', '']")
    "to read them as empty cells, pass --empty 'not known' --empty ''"
    >>> in_options('declare it: roles={\\'joined\\': "numeric"} (seconds since 1970), "categorical" or "ignore".')
    'declare it: --role joined=numeric (seconds since 1970), categorical or ignore.'
    >>> in_options("more than memory_limit=2 GB. Use TAN or NaiveBayes; or raise memory_limit=.")
    'more than --memory-limit 2 GB. Use --model tan or --model naive; or raise --memory-limit.'
    """
    pattern = rf"\b({'|'.join(OPTIONS)})=\{{['\"]([^'\"]*)['\"]: \"?(\w+)\"?\}}"
    text = re.sub(pattern, lambda found: f"--{OPTIONS[found[1]]} {_quoted(f'{found[2]}={found[3]}')}", text)
    text = re.sub(r"\bmissing=(\[.*?['\"]\])", _empty, text)
    text = re.sub(rf'\b({PLAIN})="([^"]*)"', r"--\1 \2", text)
    text = re.sub(r'"([\w-]+)"', r"\1", text)  # a second choice; values of the data are in single quotes
    text = re.sub(r"Categorical\(domain=None\)|Numeric\(cuts=None\)|Ignored\(\)", lambda m: ROLES[m[0]], text)
    text = text.replace("Pass the schema_ of one as schema= to the fit of the other", "Fit both with the same --role")
    text = re.sub(r"\bmemory_limit=(\d?)", r"--memory-limit \1", text).replace("--memory-limit .", "--memory-limit.")
    text = text.replace("wait longer: timeout=.", "wait longer: --wait SECONDS")
    text = text.replace("cut numbers more coarsely (cuts=), ", "").replace("ask for fewer n_members, ", "")
    text = re.sub(r"\b([Uu]se|take) (TAN or )?NaiveBayes\b", _models, text)
    return re.sub(r"\b(types|roles)= names", lambda found: f"--{OPTIONS[found[1]]} names", text)


def _models(found: re.Match[str]) -> str:
    return f"{found[1]} {'--model tan or ' if found[2] else ''}--model naive"


def _empty(found: re.Match[str]) -> str:
    return " ".join(f"--empty {_quoted(text)}" for text in ast.literal_eval(found[1]))


def _quoted(words: str) -> str:
    import shlex

    return shlex.quote(words)


@contextmanager
def suggesting(names: Iterable[str], known: Iterable[object]) -> Iterator[None]:
    """What goes wrong meanwhile is told with what a name that is not known may have meant.

    >>> with suggesting(["specie"], ["species", "island"]):
    ...     raise BayesError("there is no column 'specie'")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: there is no column 'specie'; did you mean species?
    """
    try:
        yield
    except BayesError as problem:
        from bayeskit.network.nearest import nearest

        there = [str(name) for name in known]
        unknown = next((name for name in names if name not in there), None)
        meant = "" if unknown is None else nearest(unknown, there)
        if not meant.startswith("did you mean") or repr(unknown) not in str(problem):
            raise
        raise type(problem)(f"{str(problem).removesuffix('.')}; {meant}") from None


def plural(count: int | float, word: str) -> str:
    """A number and its noun.

    >>> plural(1, "row"), plural(1234, "row"), plural(2, "class")
    ('1 row', '1,234 rows', '2 classes')
    """
    ending = "" if count == 1 else "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{ending}" if isinstance(count, int) else f"{count:,.6g} {word}{ending}"


def size_of(n_bytes: int) -> str:
    """Bytes as a person reads them.

    >>> size_of(812), size_of(3_400), size_of(2_500_000_000)
    ('812 bytes', '3.4 kB', '2.5 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"
