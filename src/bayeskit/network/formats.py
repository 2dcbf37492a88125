"""Read and write networks in the formats of other programs: XMLBIF, Hugin NET and Microsoft's DSC, beside BIF.

All hold discrete nodes with tables P(node | parents), the first parent varying slowest and the node fastest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import numpy as np

from bayeskit.errors import BadFile, BayesError, TooLarge
from bayeskit.nearest import nearest
from bayeskit.network.bif import parse_bif, to_bif
from bayeskit.network.inputs import MOST_PARENTS, check_table_size, normalize_tables, read_parents
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.storage.files import read_bytes, write_file
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


def read_network(path: str | Path, *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Read a network from a file; the ending tells the format.

    Parameters
    ----------
    path : str or Path
        ``.bif``, ``.xml`` or ``.xmlbif`` (XMLBIF), ``.net`` (Hugin) or ``.dsc`` (Microsoft).
    memory_limit : int
        Maximum number of bytes of the tables.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    BadFile
        If the file is malformed.
    """
    parse = _format_of(path).parse
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile(f"{str(path)!r} is no text in UTF-8") from None
    return parse(text, str(path), memory_limit=memory_limit)


def write_network(network: BayesianNetwork, path: str | Path) -> None:
    """Write a network to a file; the ending tells the format, as in :func:`read_network`.

    Parameters
    ----------
    network : BayesianNetwork
    path : str or Path

    Notes
    -----
    :func:`read_network` restores the same tables, bit by bit; states become text.

    Examples
    --------
    >>> import tempfile
    >>> from bayeskit import BayesianNetwork
    >>> rain = BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(rain, Path(folder, "rain.net"))
    ...     print(read_network(Path(folder, "rain.net")).array("wet").round(3).tolist())
    [[0.9, 0.1], [0.1, 0.9]]
    """
    write_file(path, _format_of(path).write(network).encode())


class _Format(NamedTuple):
    parse: Callable[..., BayesianNetwork]
    write: Callable[[BayesianNetwork], str]


def _format_of(path: str | Path) -> _Format:
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise BayesError(f"{str(path)!r} has no known format: name it {', '.join(FORMATS)}")
    return FORMATS[ending]


class _Draft:
    """Nodes and tables as a file lists them; ``build`` checks them and makes a network."""

    def __init__(self, name: str, memory_limit: int) -> None:
        self.name, self.memory_limit, self.cost = name, memory_limit, 0
        self.states: dict[str, tuple[str, ...]] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.tables: dict[str, Floats] = {}

    def error(self, message: str) -> BadFile:
        return BadFile(f"{self.name}: {message}")

    def add_node(self, node: str, states: Sequence[str]) -> None:
        if node in self.states:
            raise self.error(f"the node {node!r} is there twice")
        if not states or len(set(states)) < len(states):
            raise self.error(f"{node!r} needs states, each once; it has {list(states)[:10]}")
        self.states[node] = tuple(states)

    def shape(self, node: str, parents: Sequence[str]) -> list[int]:
        """Check a family and return the sizes of its table."""
        for name in (node, *parents):
            if name not in self.states:
                raise self.error(f"there is no node {name!r} ({nearest(name, self.states)})")
        if node in self.tables:
            raise self.error(f"the probabilities of {node!r} are there twice")
        if len(set(parents)) < len(parents) or len(parents) > MOST_PARENTS:
            raise self.error(f"{node!r} has a parent twice, or more than {MOST_PARENTS}: {list(parents)}")
        cards = {name: len(self.states[name]) for name in (*parents, node)}
        try:
            self.cost = check_table_size(node, parents, cards, self.cost, self.memory_limit)
        except TooLarge as problem:
            raise problem.within(self.name) from None
        return [cards[name] for name in (*parents, node)]

    def add_table(self, node: str, parents: Sequence[str], numbers: Sequence[float]) -> None:
        shape = self.shape(node, parents)
        if len(numbers) != prod(shape):
            raise self.error(f"the table of {node!r} needs {prod(shape)} numbers, and there are {len(numbers)}")
        self.parents[node] = tuple(parents)
        self.tables[node] = np.array(numbers, dtype=np.float64).reshape(-1, shape[-1])

    def build(self) -> BayesianNetwork:
        from bayeskit.network.network import BayesianNetwork

        if not self.states:
            raise self.error("there is no node in it, so it is no network")
        if missing := [node for node in self.states if node not in self.tables]:
            raise self.error(f"node {missing[0]!r} has no probabilities")
        try:
            read_parents([(p, node) for node in self.states for p in self.parents[node]], self.states)
            tables = normalize_tables({n: self.tables[n] for n in self.states}, self.parents, self.states)
        except BayesError as problem:
            raise self.error(str(problem)) from None
        return BayesianNetwork.of_arrays(self.parents, self.states, tables, memory_limit=self.memory_limit)


def _number(text: str, fail: Callable[[str], NoReturn]) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number) or "_" in text:
        fail(f"{text[:40]!r} is no number")
    return number


# -- XMLBIF ------------------------------------------------------------------------------------------------------------


def parse_xmlbif(text: str, name: str = "the text", *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Parse a network from XMLBIF text. Entities are refused."""
    draft = _Draft(name, memory_limit)
    if "<!ENTITY" in text:
        raise draft.error("it declares XML entities, which are not read")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError, RecursionError) as problem:
        raise draft.error(f"it is no XML: {problem}") from None

    def texts(element: ET.Element, tag: str) -> list[str]:
        return ["".join(e.itertext()).strip() for e in element.iter() if e.tag.upper() == tag]

    def fail(message: str) -> NoReturn:
        raise draft.error(message)

    for element in root.iter():
        if str(element.tag).upper() == "VARIABLE":
            names = texts(element, "NAME")
            if len(names) != 1:
                raise draft.error("a VARIABLE needs one NAME")
            draft.add_node(names[0], texts(element, "OUTCOME") or texts(element, "VALUE"))
    for element in root.iter():
        if str(element.tag).upper() in ("DEFINITION", "PROBABILITY"):
            node, tables = texts(element, "FOR"), texts(element, "TABLE")
            if len(node) != 1 or len(tables) != 1:
                raise draft.error("a DEFINITION needs one FOR and one TABLE")
            draft.add_table(node[0], texts(element, "GIVEN"), [_number(t, fail) for t in tables[0].split()])
    return draft.build()


def to_xmlbif(network: BayesianNetwork) -> str:
    """Return a network as XMLBIF text."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", "<NAME>network</NAME>"]
    for node in network.nodes:
        states = "".join(f"<OUTCOME>{_xml(str(s))}</OUTCOME>" for s in network.states[node])
        lines.append(f'<VARIABLE TYPE="nature"><NAME>{_xml(node)}</NAME>{states}</VARIABLE>')
    for node in network.nodes:
        given = "".join(f"<GIVEN>{_xml(p)}</GIVEN>" for p in network.parents[node])
        table = " ".join(repr(p) for p in network.array(node).reshape(-1).tolist())
        lines.append(f"<DEFINITION><FOR>{_xml(node)}</FOR>{given}<TABLE>{table}</TABLE></DEFINITION>")
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _xml(name: str) -> str:
    if name != name.strip() or not all(c.isprintable() for c in name):
        raise BayesError(f"the name {name!r} holds a space at an end or a control character; rename it")
    return escape(name)


# -- NET and DSC -------------------------------------------------------------------------------------------------------


class _Tokens:
    """Words, strings and signs of a text with their places."""

    def __init__(self, text: str, draft: _Draft, comment: str) -> None:
        self.text, self.draft = text, draft
        self.pattern = re.compile(
            rf"""(?P<skip> \s+ | {comment} ) | (?P<text> "[^"]*" ) | (?P<sign> [{{}}()\[\],;|:=] )
              | (?P<word> [^\s{{}}()\[\],;|:="]+ )""",
            re.VERBOSE | re.DOTALL,
        )
        self.tokens = self._read()
        self.now = next(self.tokens)

    def _read(self) -> Iterator[tuple[str, str, int]]:
        at = 0
        while at < len(self.text):
            match = self.pattern.match(self.text, at)
            if match is None or match.lastgroup is None:
                raise self.error("this quote or comment is never closed", at)
            if match.lastgroup != "skip":
                yield match.lastgroup, match[0][1:-1] if match.lastgroup == "text" else match[0], at
            at = match.end()
        while True:
            yield "end", "the end of the file", len(self.text.rstrip())

    def error(self, message: str, at: int | None = None) -> BadFile:
        at = self.now[2] if at is None else at
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        return BadFile(f"{self.draft.name}, line {line}, column {column}: {message}")

    def fail(self, message: str) -> NoReturn:
        raise self.error(message)

    def take(self) -> str:
        taken, self.now = self.now[1], next(self.tokens)
        return taken

    def is_sign(self, sign: str) -> bool:
        return self.now[:2] == ("sign", sign)

    def expect(self, sign: str) -> None:
        if not self.is_sign(sign):
            raise self.error(f"{sign!r} is expected here, not {self.now[1]!r}")
        self.take()

    def word(self, what: str) -> str:
        if self.now[0] not in ("word", "text"):
            raise self.error(f"{what} is expected here, not {self.now[1]!r}")
        return self.take()

    def until(self, end: str) -> list[str]:
        """Take words up to a sign, with commas and brackets between them passed over."""
        words = []
        while not self.is_sign(end):
            if self.now[0] == "end":
                raise self.error(f"{end!r} is expected before the end of the file")
            if self.now[0] in ("word", "text"):
                words.append(self.now[1])
            self.take()
        self.take()
        return words

    def family(self) -> tuple[str, list[str]]:
        """Take ``( node | parents )``."""
        self.expect("(")
        node = self.word("the name of a node")
        parents: list[str] = []
        if self.is_sign("|"):
            self.take()
            while not self.is_sign(")"):
                if self.is_sign(","):
                    self.take()
                    continue
                parents.append(self.word("the name of a parent"))
        self.expect(")")
        return node, parents


def parse_net(text: str, name: str = "the text", *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Parse a network from Hugin NET text."""
    draft = _Draft(name, memory_limit)
    tokens = _Tokens(text, draft, r"%[^\n]*")
    while tokens.now[0] != "end":
        kind = tokens.word("'net', 'node' or 'potential'")
        if kind == "class":  # object-oriented files wrap the whole in a class
            raise tokens.error("classes of object-oriented networks are not read; save a plain network")
        if kind == "net":
            tokens.expect("{")
            tokens.until("}")
            continue
        if kind in ("node", "discrete"):
            node = tokens.word("the name of a node")
            node = tokens.word("the name of a node") if kind == "discrete" else node
            draft.add_node(node, _fields(tokens).get("states", []))
        elif kind == "potential":
            node, parents = tokens.family()
            fields = _fields(tokens)
            if "data" in fields:
                draft.add_table(node, parents, [_number(word, tokens.fail) for word in fields["data"]])
            else:
                shape = draft.shape(node, parents)
                draft.add_table(node, parents, [1 / shape[-1]] * prod(shape))
        else:
            raise tokens.error(f"{kind!r} is not read: networks of discrete nodes have net, node and potential")
    return draft.build()


def _fields(tokens: _Tokens) -> dict[str, list[str]]:
    """Take ``{ name = words ; … }``."""
    fields = {}
    tokens.expect("{")
    while not tokens.is_sign("}"):
        key = tokens.word("a field")
        tokens.expect("=")
        fields[key] = tokens.until(";")
    tokens.take()
    return fields


def to_net(network: BayesianNetwork) -> str:
    """Return a network as Hugin NET text."""
    lines = ["net\n{\n}"]
    for node in network.nodes:
        states = " ".join(f'"{_unquoted(str(s))}"' for s in network.states[node])
        lines.append(f"node {_identifier(node)}\n{{\n  states = ({states});\n}}")
    for node in network.nodes:
        given = "".join(f" {p}" for p in network.parents[node])
        lines.append(f"potential ({node} |{given})\n{{\n  data = {_nested(network.array(node))};\n}}")
    return "\n".join([*lines, ""])


def _nested(table: Floats) -> str:
    if table.ndim == 1:
        return f"({' '.join(repr(p) for p in table.tolist())})"
    return f"({' '.join(_nested(part) for part in table)})"


def parse_dsc(text: str, name: str = "the text", *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Parse a network from DSC text."""
    draft = _Draft(name, memory_limit)
    tokens = _Tokens(text, draft, r"//[^\n]*")
    while tokens.now[0] != "end":
        kind = tokens.word("'belief', 'node' or 'probability'")
        if kind == "belief":
            if tokens.word("'network'") != "network":
                raise tokens.error("a file starts with: belief network")
            if tokens.now[0] == "text":
                tokens.take()
        elif kind == "node":
            node = tokens.word("the name of a node")
            draft.add_node(node, _dsc_states(tokens))
        elif kind == "probability":
            node, parents = tokens.family()
            draft.add_table(node, parents, _dsc_rows(tokens, draft.shape(node, parents)))
        else:
            raise tokens.error(f"{kind!r} is not read: networks have node and probability")
    return draft.build()


def _dsc_states(tokens: _Tokens) -> list[str]:
    states: list[str] = []
    tokens.expect("{")
    while not tokens.is_sign("}"):
        key = tokens.word("a field")
        if tokens.is_sign(":") or tokens.is_sign("="):
            tokens.take()
        words = tokens.until(";")
        if key == "type":
            if words[:1] != ["discrete"]:
                raise tokens.error("only discrete nodes are read")
            states = words[2:]
            if len(words) < 2 or words[1] != str(len(states)):
                raise tokens.error(f"a type of {words[1:2]} states lists {len(states)}")
    tokens.take()
    return states


def _dsc_rows(tokens: _Tokens, shape: Sequence[int]) -> list[float]:
    rows: dict[int, list[float]] = {}
    tokens.expect("{")
    while not tokens.is_sign("}"):
        at = 0
        if tokens.is_sign("("):
            tokens.take()
            states = tokens.until(")")
            tokens.expect(":")
            if len(states) != len(shape) - 1:
                raise tokens.error(f"{len(shape) - 1} states of parents belong here, and there are {len(states)}")
            for state, size in zip(states, shape[:-1], strict=True):
                if not state.isascii() or not state.isdigit() or int(state) >= size:
                    raise tokens.error(f"{state!r} is no state of a parent with states 0 to {size - 1}")
                at = at * size + int(state)
        if at in rows:
            raise tokens.error("this row is there twice")
        rows[at] = [_number(word, tokens.fail) for word in tokens.until(";")]
        if len(rows[at]) != shape[-1]:
            raise tokens.error(f"{shape[-1]} numbers belong here, and there are {len(rows[at])}")
    tokens.take()
    if missing := next((at for at in range(prod(shape[:-1])) if at not in rows), None):
        raise tokens.error(f"the table lacks its row {missing + 1}")
    return [number for at in sorted(rows) for number in rows[at]]


def to_dsc(network: BayesianNetwork) -> str:
    """Return a network as DSC text."""
    lines = ['belief network "network"']
    for node in network.nodes:
        states = ", ".join(f'"{_unquoted(str(s))}"' for s in network.states[node])
        kind = f"type: discrete [ {len(network.states[node])} ] = {{ {states} }};"
        lines.append(f"node {_identifier(node)}\n{{\n  {kind}\n}}")
    for node in network.nodes:
        parents, table = network.parents[node], network.array(node)
        given = f" | {', '.join(parents)}" if parents else ""
        lines.append(f"probability ({node}{given})\n{{")
        for context in np.ndindex(*table.shape[:-1]):
            row = ", ".join(repr(p) for p in table[context].tolist())
            lines.append(f"  ({', '.join(map(str, context))}): {row};" if parents else f"  {row};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _identifier(node: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", node):
        raise BayesError(
            f"the node {node!r} is no name in this format, of letters, digits and _", hint="write .bif or .xml"
        )
    return node


def _unquoted(name: str) -> str:
    if '"' in name or not all(c.isprintable() for c in name):
        raise BayesError(f"the name {name!r} holds a double quote or a control character; rename it")
    return name


FORMATS = {
    ".bif": _Format(parse_bif, to_bif),
    ".xml": _Format(parse_xmlbif, to_xmlbif),
    ".xmlbif": _Format(parse_xmlbif, to_xmlbif),
    ".net": _Format(parse_net, to_net),
    ".dsc": _Format(parse_dsc, to_dsc),
}
