"""Rows of a pipe: the same as those of a file, however the bytes come, and each before the next."""

import gzip
import io
import json
import os
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from bayeskit.data.io.files import FileSource
from bayeskit.data.io.pipes import ArrivingRows, open_arriving
from bayeskit.datasets import load_penguins
from bayeskit.errors import BadFile, BayesError, BayesWarning, SchemaMismatch

ASKED = {"island": "string", "bill_length_mm": "float", "year": None}


class Parts(io.RawIOBase):
    """A pipe that gives its bytes in these parts."""

    def __init__(self, parts):
        self.parts = list(parts)

    def read1(self, size=-1):
        part = self.parts.pop(0) if self.parts else b""
        if len(part) > size:
            self.parts.insert(0, part[size:])
        return part[:size]

    read = read1


@pytest.fixture
def piped(monkeypatch):
    """``piped(parts, asked, **form)``: the rows that come."""

    def made(parts, asked=None, expecting=None, types=None, **form):
        monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": Parts(parts)})())
        source = open_arriving("-", types, **form)
        source = source if expecting is None else source.expecting(expecting)
        return source if asked is None else source.reading(asked)

    return made


def rows_of(source):
    batches = [batch.columns for batch in source.batches()]
    return [
        row for columns in batches for row in zip(*(column.to_pylist() for column in columns.values()), strict=True)
    ]


def birds(kind):
    table = load_penguins()
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    out = io.BytesIO()
    arrow_csv.write_csv(table, out)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("size", [1_000_000, 700, 61])
def test_rows_that_come_in_parts_are_those_of_the_file(piped, tmp_path, kind, size):
    data = birds(kind)
    (tmp_path / f"birds.{kind}").write_bytes(data)
    whole = rows_of(FileSource.of(tmp_path / f"birds.{kind}").reading(ASKED))
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    assert rows_of(piped(parts, ASKED)) == whole


@given(st.lists(st.tuples(*[st.text(st.sampled_from('a,"\n#é'), min_size=1, max_size=5)] * 2), min_size=1), st.data())
def test_cells_with_line_breaks_and_quotes_are_never_cut(rows, data):
    import csv

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("x", "y"), *rows])
    whole, parts = text.getvalue().encode(), []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        parts.append(whole[:size])
        whole = whole[size:]
    kept = sys.stdin
    sys.stdin = type("Input", (), {"buffer": Parts(parts)})()
    try:
        source = open_arriving("-", delimiter=",", missing=["?"]).reading({"x": "string", "y": "string"})
        assert rows_of(source) == rows
    finally:
        sys.stdin = kept


def test_a_row_is_there_before_the_next_is_written(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    told, answered = [], threading.Event()

    def write():
        with path.open("wb", buffering=0) as pipe:
            for line in (b"x,y\n", b"1,a\n", b"2,b\n", b"3,"):
                pipe.write(line)
                if line[:1] in b"12":
                    assert answered.wait(20)
                    answered.clear()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    for batch in open_arriving(path).reading({"x": "float", "y": "string"}).batches():
        told.append(batch.columns["x"].to_pylist())
        answered.set()
    writer.join(20)
    assert told == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_text_in_other_encodings_is_read(piped, encoding):
    data = "Größe,ja\n1,ä\n".encode(encoding)
    form = {"encoding": "cp1252"} if encoding == "cp1252" else {}
    assert rows_of(piped([data[:5], data[5:]], {"Größe": "float", "ja": "string"}, **form)) == [(1.0, "ä")]


def test_bytes_in_another_encoding_are_told(piped):
    with pytest.raises(BadFile, match=r"standard input, line 1: the text is not utf-8. In cp1252"):
        piped(["Größe,y\n1,a\n".encode("cp1252")])
    with pytest.raises(BadFile, match=r"standard input, line 3.*the text is not utf-8"):
        rows_of(piped([b"x,y\n1,a\n", "1,ä\n".encode("cp1252")], {"y": "string"}))


def test_what_is_packed_is_read_as_a_file(piped):
    source = piped([gzip.compress(birds("csv"))])
    assert isinstance(source, FileSource)
    assert len(rows_of(source.reading(ASKED))) == 344
    out = io.BytesIO()
    parquet.write_table(load_penguins(), out)
    assert len(rows_of(piped([out.getvalue()]).reading(ASKED))) == 344


def test_forms_of_csv_are_those_of_files(piped):
    data = b"# hand, made\n\n1,5;a\n#\n2,5;b\n"
    source = piped([data[:20], data[20:]], None, columns=["x", "y"], comment="#", decimal=",")
    assert rows_of(source.reading({"x": "float", "y": None})) == [(1.5, "a"), (2.5, "b")]
    source = piped([data], None, header=False, comment="#", decimal=",")
    assert list(source.kinds) == ["c1", "c2"]
    assert rows_of(piped([b"a,b\n1,2\n"], {"a": "float"}, types={"a": "string"})) == [("1",)]


def test_a_key_that_is_absent_is_missing_whatever_the_lines_around_it_have(piped):
    lines = [b'{"a": 1}\n', b'{"b": "x", "a": 2}\n', b'{"c": null}\n']
    source = piped(lines, None, ["a", "b"])
    assert isinstance(source, ArrivingRows)
    assert rows_of(source.reading({"a": "float", "b": "string"})) == [(1.0, None), (2.0, "x"), (None, None)]
    with pytest.warns(BayesWarning, match=r"line 1: none of a, b is a key \(there are: c\): they are taken as missing"):
        assert rows_of(piped([b'{"c": 1}\n'], {"a": "float", "b": "string"}, ["a", "b"])) == [(None, None)]


def test_a_slip_is_told_with_its_line(piped):
    with pytest.raises(SchemaMismatch, match=r"standard input, line 5: column 'x' holds 'tall'"):
        rows_of(piped([b"x,y\n\n1,a\n", b"2,b\ntall,c\n"], {"x": "float"}))
    with pytest.raises(BadFile, match=r"standard input, line 3: 1 cell where the header has 2"):
        rows_of(piped([b"x,y\n1,a\n", b"2\n"], {"x": "float"}))
    with pytest.raises(BadFile, match=r"standard input, line 2: this is not a JSON object"):
        rows_of(piped([b'{"x": 1}\n', b"what\n"], {"x": "float"}))
    with pytest.raises(BadFile, match="has no rows"):
        rows_of(piped([b"x,y\n"], {"x": "float"}))
    with pytest.raises(BadFile, match="is empty: a header line and rows are needed"):
        piped([])
    with pytest.raises(SchemaMismatch, match="more than one column named 'x'"):
        piped([b"x,x\n1,2\n"])
    with pytest.raises(BayesError, match="read as one of"):
        rows_of(piped([b"x,y\n1,2\n"], types={"x": "odd"}))


def test_a_form_that_makes_no_sense_is_told_as_for_files(piped):
    for form, told in (
        ({"delimiter": ";;"}, "delimiter=';;': give one character"),
        ({"decimal": ";"}, "decimal=';': a number has"),
        ({"comment": '"'}, "give what comment lines start with"),
        ({"columns": []}, "give each column a name"),
        ({"columns": ["a", ""]}, "columns='a,': give each column a name"),
    ):
        with pytest.raises(BayesError, match=told):
            piped([b"a,b\n1,2\n"], **form)


def test_lines_of_long_ago_end_in_a_carriage_return(piped):
    assert rows_of(piped([b"a,b\r1,", b"2\r3,4\r"], {"a": "float", "b": "float"})) == [(1.0, 2.0), (3.0, 4.0)]
    assert rows_of(piped([b"a,b\r\n1,2\r\n"], {"a": "float", "b": "float"})) == [(1.0, 2.0)]


def test_a_quote_that_is_never_closed_ends_somewhere(piped, monkeypatch):
    monkeypatch.setattr("bayeskit.data.io.pipes.LONGEST", 1000)
    with pytest.raises(BadFile, match="a row after line 2 has no end within"):
        rows_of(piped([b'x,y\n1,"a\n', *[b"2,b\n" * 100] * 10], {"x": "float"}))
