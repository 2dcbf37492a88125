"""Read and write networks in the formats of other programs: XMLBIF, Hugin NET and Microsoft's DSC, beside BIF.

All hold discrete nodes with tables P(node | parents), the first parent varying slowest and the node fastest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from bayeskit.errors import BadFile, BayesError
from bayeskit.network.bif import NetworkReader, check_is_network, parse_bif, read_text, to_bif
from bayeskit.network.query import QueryToken
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.storage.files import write_file
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from bayeskit.network.network import BayesianNetwork


def read_network(path: str | Path, *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Read a network from a file; the ending tells the format.

    Parameters
    ----------
    path : str or Path
        ``.bif``, ``.xml`` or ``.xmlbif`` (XMLBIF), ``.net`` (Hugin) or ``.dsc`` (Microsoft).
    memory_limit : int, default=4 GiB
        Maximum number of bytes of the tables.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    BadFile
        If the file is malformed.

    Examples
    --------
    >>> import tempfile
    >>> from bayeskit import BayesianNetwork
    >>> rain = BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(rain, f"{folder}/rain.net")
    ...     read_network(f"{folder}/rain.net").nodes
    ('rain', 'wet')
    """
    parse = _format_of(path).parse
    return parse(read_text(path), str(path), memory_limit=memory_limit)


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


class _TableReader(NetworkReader):
    def add_table(self, node: QueryToken, parents: Sequence[QueryToken], numbers: Sequence[float] | None) -> None:
        """Add a table of numbers, the first parent varying slowest and the node fastest; None is uniform."""
        shape = self.family_shape(node, parents)
        if numbers is None:
            numbers = [1 / shape[-1]] * prod(shape)
        if len(numbers) != prod(shape):
            message = f"the table of {node.content!r} needs {prod(shape)} numbers, and there are {len(numbers)}"
            raise self.error(node.at, message)
        self.tables[node.content] = np.array(numbers, dtype=np.float64).reshape(-1, shape[-1])


# -- XMLBIF ------------------------------------------------------------------------------------------------------------


def parse_xmlbif(text: str, name: str = "the text", *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Parse a network from XMLBIF text. Entities are refused."""
    from xml.etree import ElementTree as ET

    if "<!ENTITY" in text:
        raise BadFile(f"{name}: it declares XML entities, which are not read")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError, RecursionError) as problem:
        raise BadFile(f"{name}: it is not XML: {problem}") from None
    reader = _XmlReader("", name, memory_limit)
    elements = [(str(element.tag).upper(), element) for element in root.iter()]
    for tag, element in elements:
        if tag == "VARIABLE":
            states = reader.texts(element, "OUTCOME") or reader.texts(element, "VALUE")
            reader.add_node(reader.only(element, "NAME"), [state.content for state in states])
    for tag, element in elements:
        if tag in ("DEFINITION", "PROBABILITY"):
            words = reader.only(element, "TABLE").content.split()
            numbers = [reader.number(QueryToken(word, "word", 0)) for word in words]
            reader.add_table(reader.only(element, "FOR"), reader.texts(element, "GIVEN"), numbers)
    return reader.network()


class _XmlReader(_TableReader):
    """Nodes and tables of XML elements, which have no place in the text."""

    def place(self, at: int) -> str:
        return self.name

    def texts(self, element: Element, tag: str) -> list[QueryToken]:
        """Return the texts of the elements of a kind within another."""
        found = [e for e in element.iter() if str(e.tag).upper() == tag]
        return [QueryToken("".join(e.itertext()).strip(), "text", 0) for e in found]

    def only(self, element: Element, tag: str) -> QueryToken:
        """Return the text of the one element of a kind within another."""
        found = self.texts(element, tag)
        if len(found) != 1:
            raise self.error(0, f"{element.tag} needs one {tag}, not {len(found)}")
        return found[0]


def to_xmlbif(network: BayesianNetwork) -> str:
    """Return a network as XMLBIF text."""
    check_is_network(network)
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


def _pattern(comment: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<skip> \s+ | {comment} ) | (?P<text> "[^"]*" ) | (?P<sign> [{{}}()\[\],;|:=] )
          | (?P<word> [^\s{{}}()\[\],;|:="]+ )""",
        re.VERBOSE | re.DOTALL,
    )


class _BlockReader(_TableReader):
    """Reader of NET and DSC: blocks of fields that end with a semicolon."""

    def until(self, end: str) -> list[QueryToken]:
        """Take words up to a sign; commas and brackets between them are passed over."""
        words = []
        while not self.accept(end):
            token = self.take()
            if token.kind == "end":
                raise self.error(token.at, f"{end!r} is expected before the end of the file")
            if token.kind in ("word", "text"):
                words.append(token)
        return words

    def family(self) -> tuple[QueryToken, list[QueryToken]]:
        """Take ``( node | parents )``."""
        self.sign("(")
        node = self.word("the name of a node")
        if self.accept("|"):
            return node, self.until(")")
        self.sign(")")
        return node, []

    def fields(self) -> dict[str, list[QueryToken]]:
        """Take ``{ name = words ; … }``, or with colons."""
        fields = {}
        self.sign("{")
        while not self.accept("}"):
            key = self.word("a field")
            if not self.accept("="):
                self.accept(":")
            fields[key.content] = self.until(";")
        return fields


def parse_net(text: str, name: str = "the text", *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
    """Parse a network from Hugin NET text."""
    reader = _NetReader(text, name, memory_limit)
    while reader.now.kind != "end":
        kind = reader.word("'net', 'node' or 'potential'")
        if kind.content == "net":
            reader.fields()
        elif kind.content in ("node", "discrete"):
            node = reader.word("the name of a node")
            node = reader.word("the name of a node") if kind.content == "discrete" else node
            reader.add_node(node, [state.content for state in reader.fields().get("states", [])])
        elif kind.content == "potential":
            node, parents = reader.family()
            data = reader.fields().get("data")
            numbers = None if data is None else [reader.number(word) for word in data]
            reader.add_table(node, parents, numbers)
        else:
            raise reader.error(kind.at, f"{kind.content!r} is not read: networks have net, node and potential")
    return reader.network()


class _NetReader(_BlockReader):
    pattern = _pattern(r"%[^\n]*")


def to_net(network: BayesianNetwork) -> str:
    """Return a network as Hugin NET text."""
    check_is_network(network)
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
    reader = _DscReader(text, name, memory_limit)
    while reader.now.kind != "end":
        kind = reader.word("'belief', 'node' or 'probability'")
        if kind.content == "belief":
            reader.word("'network'")
            if reader.now.kind == "text":
                reader.take()
        elif kind.content == "node":
            node = reader.word("the name of a node")
            words = [word.content for word in reader.fields().get("type", [])]
            if words[:1] != ["discrete"] or words[1:2] != [str(len(words) - 2)]:
                raise reader.error(node.at, f"{node.content!r} needs a type: discrete [n] = {{ n states }}")
            reader.add_node(node, words[2:])
        elif kind.content == "probability":
            node, parents = reader.family()
            reader.table(node, parents)
        else:
            raise reader.error(kind.at, f"{kind.content!r} is not read: networks have node and probability")
    return reader.network()


class _DscReader(_BlockReader):
    pattern = _pattern(r"//[^\n]*")

    def table(self, node: QueryToken, parents: list[QueryToken]) -> None:
        """Take rows ``(states of parents): numbers;``."""
        *shape, n_states = self.family_shape(node, parents)
        rows: dict[int, list[float]] = {}
        self.sign("{")
        while not self.accept("}"):
            at, first = 0, self.now.at
            if self.accept("("):
                states = self.until(")")
                self.sign(":")
                if len(states) != len(shape):
                    raise self.error(first, f"{len(shape)} states of parents belong here, not {len(states)}")
                for state, size in zip(states, shape, strict=True):
                    if not re.fullmatch("[0-9]{1,9}", state.content) or int(state.content) >= size:
                        raise self.error(state.at, f"{state.content!r} is not a state of a parent, 0 to {size - 1}")
                    at = at * size + int(state.content)
            if at in rows:
                raise self.error(first, "this row appears twice")
            rows[at] = [self.number(word) for word in self.until(";")]
            if len(rows[at]) != n_states:
                raise self.error(first, f"{n_states} numbers belong here, and there are {len(rows[at])}")
        for at in range(prod(shape)):
            if at not in rows:
                raise self.error(node.at, f"the table of {node.content!r} lacks its row {at + 1}")
        self.tables[node.content] = np.array([rows[at] for at in range(prod(shape))])


def to_dsc(network: BayesianNetwork) -> str:
    """Return a network as DSC text."""
    check_is_network(network)
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
            f"the node {node!r} is not a name in this format, of letters, digits and _", hint="write .bif or .xml"
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
