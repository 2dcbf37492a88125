"""Read and write the Bayesian Interchange Format (BIF); syntax errors report line and column.

    network name { }
    variable rain { type discrete [ 2 ] { yes, no }; }
    probability ( rain ) { table 0.2, 0.8; }
    probability ( wet | rain ) { (yes) 0.9, 0.1; (no) 0.1, 0.9; }

With parents, ``table`` lists the numbers in the order of the declared variables, the child first and varying slowest;
``default`` gives the rows that have no entry of their own. Properties are ignored.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from bayeskit.errors import BadFile, BayesError, TooLarge, with_article
from bayeskit.nearest import nearest
from bayeskit.network.inputs import MOST_PARENTS, check_table_size, normalize_tables, read_parents
from bayeskit.network.query import QueryToken
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.storage.files import read_bytes, write_file
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork

TOKEN = re.compile(
    r"""(?P<skip> \s+ | //[^\n]* | /\*.*?\*/ )
      | (?P<text> "[^"]*" ) | (?P<sign> [{}()\[\],;|] ) | (?P<word> [^\s{}()\[\],;|"]+ )""",
    re.VERBOSE | re.DOTALL,
)
T = TypeVar("T")
SURROGATE = re.compile(r"[\ud800-\udfff]")
PLAIN = re.compile(r'[^\s{}()\[\],;|"]+')


def read_bif(path: str | Path, *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Read a network from a .bif file.

    Parameters
    ----------
    path : str or Path
    memory_limit : int, default=4 GiB
        Maximum number of bytes of the tables.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    BadFile
        If the file is malformed; the message has line and column.

    Examples
    --------
    >>> import tempfile
    >>> text = "network n {} variable a { type discrete [ 2 ] { yes, no }; } probability ( a ) { table 0.2, 0.8; }"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.bif").write_text(text)
    ...     print(read_bif(Path(folder, "a.bif")).posterior()["a"])
    {'yes': 0.2, 'no': 0.8}
    """
    return parse_bif(read_text(path), str(path), memory_limit=memory_limit)


def read_text(path: str | Path) -> str:
    """Read a file as text in UTF-8."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile(f"{str(path)!r} is not text in UTF-8, and so no file of a network") from None


def parse_bif(text: str, name: str = "the text", *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Parse a network from BIF text."""
    reader = _BifReader(text, name, memory_limit)
    reader.file()
    return reader.network()


def write_bif(network: BayesianNetwork, path: str | Path, name: str = "network") -> None:
    """Write a network to a .bif file.

    Parameters
    ----------
    network : BayesianNetwork
    path : str or Path
    name : str, default="network"
        Name of the network in the file.

    Notes
    -----
    :func:`read_bif` restores the same tables, bit by bit; states become text.

    Examples
    --------
    >>> import tempfile
    >>> from bayeskit import BayesianNetwork
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bif(BayesianNetwork([], {"rain": {"yes": 0.2, "no": 0.8}}), Path(folder, "rain.bif"))
    ...     print(read_bif(Path(folder, "rain.bif")).posterior()["rain"])
    {'yes': 0.2, 'no': 0.8}
    """
    write_file(path, to_bif(network, name).encode())


def check_is_network(network: Any) -> None:
    """Raise an error for anything but a network."""
    if not (hasattr(network, "nodes") and hasattr(network, "states")):
        hint = "pass its to_network()" if hasattr(network, "to_network") else ""
        raise BayesError(f"{with_article(type(network).__name__)} is not a BayesianNetwork", hint=hint)


def to_bif(network: BayesianNetwork, name: str = "network") -> str:
    """Return a network as BIF text."""
    check_is_network(network)
    lines = [f"network {_quoted(name)} {{\n}}"]
    for node in network.nodes:
        states = ", ".join(_quoted(str(state)) for state in network.states[node])
        lines += [f"variable {_quoted(node)} {{\n  type discrete [ {len(network.states[node])} ] {{ {states} }};\n}}"]
    for node in network.nodes:
        parents = network.parents[node]
        given = f" | {', '.join(map(_quoted, parents))}" if parents else ""
        lines.append(f"probability ( {_quoted(node)}{given} ) {{")
        table = network.array(node)
        for context in np.ndindex(*table.shape[:-1]):
            named = ", ".join(_quoted(str(network.states[p][i])) for p, i in zip(parents, context, strict=True))
            row = ", ".join(repr(float(p)) for p in table[context])
            lines.append(f"  ({named}) {row};" if parents else f"  table {row};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    if SURROGATE.search(name):
        raise BayesError(f"the name {name!r} holds a lone surrogate, which UTF-8 cannot hold; rename it")
    if PLAIN.fullmatch(name) and not name.startswith(("//", "/*")):
        return name
    if '"' in name:
        raise BayesError(f"the name {name!r} holds a double quote, which the format cannot hold; rename it")
    return f'"{name}"'


@dataclass
class NetworkReader:
    """Tokens of a text with their places, and the nodes and tables that were read from it."""

    text: str
    name: str
    memory_limit: int
    cost: int = 0  # bytes of the tables declared so far
    states: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, Floats] = field(default_factory=dict)

    pattern: ClassVar[re.Pattern[str]] = TOKEN

    def __post_init__(self) -> None:
        if found := SURROGATE.search(self.text):
            raise self.error(found.start(), f"{found[0]!r} is half of a surrogate pair, which is not text")
        self.tokens = self._tokens()
        self.now = next(self.tokens)

    def _tokens(self) -> Iterator[QueryToken]:
        at = 0
        while at < len(self.text):
            match = self.pattern.match(self.text, at)
            if match is None or match.lastgroup is None:
                raise self.error(at, "this quote or comment is never closed")
            if match.lastgroup != "skip":
                content = match[0][1:-1] if match.lastgroup == "text" else match[0]
                yield QueryToken(content, match.lastgroup, at)
            at = match.end()
        while True:
            yield QueryToken("the end of the file", "end", len(self.text.rstrip()))

    def error(self, at: int, message: str) -> BadFile:
        """Build an error with line and column."""
        return BadFile(f"{self.place(at)}: {message}")

    def place(self, at: int) -> str:
        """Return line and column of a position."""
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return f"{self.name}, line {line}, column {column}"

    def take(self) -> QueryToken:
        """Take the next token."""
        taken, self.now = self.now, next(self.tokens)
        return taken

    def accept(self, sign: str) -> bool:
        """Take a sign if it is next."""
        return self.now.is_(sign) and bool(self.take())

    def sign(self, content: str) -> None:
        """Take a sign that must be next."""
        if not self.accept(content):
            raise self.error(self.now.at, f"{content!r} is expected here, not {self.now.content!r}")

    def word(self, what: str) -> QueryToken:
        """Take a word or a quoted text."""
        if self.now.kind not in ("word", "text"):
            raise self.error(self.now.at, f"{what} is expected here, not {self.now.content!r}")
        return self.take()

    def number(self, token: QueryToken) -> float:
        """Return a token as a finite number."""
        try:
            number = float(token.content)
        except ValueError:
            number = float("nan")
        if not isfinite(number):
            raise self.error(token.at, f"{token.content[:40]!r} is not a number")
        return number

    def add_node(self, node: QueryToken, states: Sequence[str]) -> None:
        """Add a node, which is new and has states."""
        if node.content in self.states:
            raise self.error(node.at, f"the variable {node.content!r} appears twice")
        if not states or len(set(states)) < len(states):
            raise self.error(node.at, f"{node.content!r} needs states, each once; it has {list(states)[:10]}")
        self.states[node.content] = tuple(states)

    def family_shape(self, node: QueryToken, parents: Sequence[QueryToken]) -> list[int]:
        """Check a family before its table is read; return the number of states of its parents and of itself."""
        for known in (node, *parents):
            if known.content not in self.states:
                meant = nearest(known.content, self.states)
                raise self.error(known.at, f"there is no variable {known.content!r} ({meant})")
        names = [parent.content for parent in parents]
        if node.content in self.tables:
            raise self.error(node.at, f"the probabilities of {node.content!r} appear twice")
        if len(set(names)) < len(names) or len(names) > MOST_PARENTS:
            raise self.error(node.at, f"{node.content!r} has a parent twice, or more than {MOST_PARENTS}: {names}")
        cards = {name: len(self.states[name]) for name in (*names, node.content)}
        try:
            self.cost = check_table_size(node.content, names, cards, self.cost, self.memory_limit)
        except TooLarge as problem:
            raise problem.within(self.place(node.at)) from None
        self.parents[node.content] = tuple(names)
        return [cards[name] for name in (*names, node.content)]

    def network(self) -> BayesianNetwork:
        """Return the network of all nodes and tables."""
        from bayeskit.network.network import BayesianNetwork

        if not self.states:
            raise BadFile(f"{self.name}: there is no variable in it, so it is not a network")
        if missing := [node for node in self.states if node not in self.tables]:
            raise BadFile(f"{self.name}: variable {missing[0]!r} has no probability block")
        edges = [(parent, child) for child in self.states for parent in self.parents[child]]
        try:
            read_parents(edges, self.states)
            tables = normalize_tables({node: self.tables[node] for node in self.states}, self.parents, self.states)
        except BayesError as problem:
            raise BadFile(f"{self.name}: {problem}") from None
        return BayesianNetwork.of_arrays(self.parents, self.states, tables, memory_limit=self.memory_limit)


class _BifReader(NetworkReader):
    def keyword(self, *known: str) -> str:
        token = self.word(" or ".join(map(repr, known)))
        if token.content not in known:
            raise self.error(token.at, f"{token.content!r} is not known here ({', '.join(known)})")
        return token.content

    def listed(self, read: Callable[[], T]) -> list[T]:
        """Parse items separated by commas."""
        items = [read()]
        while self.accept(","):
            items.append(read())
        return items

    def state(self) -> QueryToken:
        return self.word("a state")

    def file(self) -> None:
        """Parse all blocks of the file."""
        while self.now.kind != "end":
            block = self.keyword("network", "variable", "probability")
            if block == "variable":
                self.variable()
            elif block == "probability":
                self.probability()
            else:
                self.word("a name")
                self.sign("{")
                while not self.accept("}"):
                    self.property_()

    def property_(self) -> None:
        self.keyword("property")
        while not self.accept(";"):
            if self.take().kind == "end":
                raise self.error(self.now.at, "';' is expected after a property")

    def variable(self) -> None:
        name = self.word("the name of a variable")
        self.sign("{")
        states: list[str] = []
        while not self.accept("}"):
            if self.now.content == "property":
                self.property_()
                continue
            if states:
                raise self.error(self.now.at, f"the type of {name.content!r} appears twice")
            self.keyword("type")
            self.keyword("discrete")
            self.sign("[")
            n = self.word("the number of states")
            self.sign("]")
            self.sign("{")
            states = [state.content for state in self.listed(self.state)]
            self.sign("}")
            if n.content != str(len(states)):
                raise self.error(n.at, f"{name.content!r} should have {n.content} states, and {len(states)} follow")
            self.sign(";")
        self.add_node(name, states)

    def probability(self) -> None:
        self.sign("(")
        node = self.variable_name()
        parents = self.listed(self.variable_name) if self.accept("|") else []
        self.sign(")")
        *shape, n_states = self.family_shape(node, parents)
        self.tables[node.content] = self.rows(node, [parent.content for parent in parents], shape, n_states)

    def variable_name(self) -> QueryToken:
        return self.word("the name of a variable")

    def rows(self, node: QueryToken, parents: list[str], shape: list[int], n_states: int) -> Floats:
        """Parse a table of shape (n_contexts, n_states); memory is allocated only after all numbers were read."""
        n_rows, default, numbers = prod(shape), None, array("d")
        place: dict[int, int] = {}  # row in ``numbers`` of each context
        self.sign("{")
        while not self.now.is_("}"):
            at = self.now.at
            if self.now.kind == "word" and self.now.content == "property":
                self.property_()
                continue
            if self.now.is_("("):
                row = self.context(parents, shape)
                if row in place:
                    raise self.error(at, "this row appears twice")
                place[row] = len(place)
                numbers += self.numbers(n_states, at)
            elif self.keyword("table", "default") == "table":
                whole = self.numbers(n_rows * n_states, at)
                numbers = array("d", np.reshape(whole, (n_states, n_rows)).T.tobytes())
                place = {row: row for row in range(n_rows)}
            else:
                default = self.numbers(n_states, at)
        end = self.take()
        if len(place) < n_rows and default is None:
            unsaid = next(row for row in range(n_rows) if row not in place)
            context = np.unravel_index(unsaid, shape) if shape else ()
            context_states = ", ".join(self.states[p][i] for p, i in zip(parents, context, strict=True))
            raise self.error(end.at, f"the probabilities of {node.content!r} lack the row ({context_states})")
        table = np.empty((n_rows, n_states))
        if default is not None:
            table[:] = default
        table[list(place)] = np.array(numbers).reshape(-1, n_states)
        return table

    def context(self, parents: list[str], shape: list[int]) -> int:
        open_ = self.take()
        states = self.listed(self.state)
        self.sign(")")
        if len(states) != len(parents):
            raise self.error(open_.at, f"{len(parents)} states belong here, of {', '.join(parents) or 'no parents'}")
        at = 0
        for parent, state, n in zip(parents, states, shape, strict=True):
            if state.content not in self.states[parent]:
                meant = nearest(state.content, self.states[parent])
                raise self.error(state.at, f"{parent!r} has no state {state.content!r} ({meant})")
            at = at * n + self.states[parent].index(state.content)
        return at

    def numbers(self, n: int, at: int) -> array[float]:
        numbers = array("d", self.listed(lambda: self.number(self.word("a number"))))
        if len(numbers) != n:
            raise self.error(at, f"{n} numbers belong here, and there are {len(numbers)}")
        self.sign(";")
        return numbers
