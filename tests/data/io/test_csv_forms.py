"""CSV files of other forms: without a header, with comments, with decimal commas; and the line that a message names."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data.io.files import FileSource
from bayeskit.data.reader import read_batch
from bayeskit.errors import BadFile, BayesError, SchemaMismatch


def read(path, **settings):
    """The columns of a file as lists."""
    source = FileSource.of(path, **settings)
    batch = read_batch(source)
    return {name: batch.columns[name].to_pylist() for name in source.head}


@pytest.fixture
def file(tmp_path):
    def made(text, name="d.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return made


def test_a_file_without_a_header_has_columns_by_number_or_by_given_names(file):
    path = file("sun,1\nrain,2\n")
    assert read(path, header=False) == {"c1": ["sun", "rain"], "c2": [1, 2]}
    assert read(path, columns=["sky", "wind"]) == {"sky": ["sun", "rain"], "wind": [1, 2]}
    assert bk.NaiveBayes().fit_source(bk.open_source(path, columns=["sky", "wind"]), "sky").tally_.n_rows == 2


def test_names_that_do_not_fit_the_cells_are_refused(file):
    path = file("sun,1\n\nrain,2\n")
    with pytest.raises(BadFile, match=r"d\.csv, line 1: 2 cells where columns= names 3. Name them all, or correct"):
        read(path, columns=["a", "b", "c"])
    with pytest.raises(SchemaMismatch, match="more than one column named 'a'"):
        read(path, columns=["a", "a"])
    for columns in ([], ["a", ""]):
        with pytest.raises(BayesError, match="give each column a name"):
            read(path, columns=columns)
    with pytest.raises(BayesError, match=r"columns='ab': give a list of names"):
        read(path, columns="ab")
    with pytest.raises(BadFile, match=r"line 3: 3 cells where the first line has 2"):
        read(file("1,2\n\n3,4,5\n"), header=False)
    with pytest.raises(BadFile, match="is empty: a row is needed"):
        read(file(""), header=False)


def test_numbers_may_have_a_decimal_comma(file):
    path = file("x;y\n1,5;a\n-2,25;b\n")
    assert read(path, decimal=",") == {"x": [1.5, -2.25], "y": ["a", "b"]}
    assert read(file("1,5;2,5\n3,5;4,5\n"), decimal=",", header=False) == {"c1": [1.5, 3.5], "c2": [2.5, 4.5]}
    assert read(file("x\n1,5\n2,5\n"), decimal=",") == {"x": [1.5, 2.5]}
    assert read(file("1,5\n2,5\n"), decimal=",", header=False) == {"c1": [1.5, 2.5]}
    quoted = file('x,y\n"1,5",a\n"-2,25",b\n')
    for delimiter in (None, ","):
        assert read(quoted, decimal=",", delimiter=delimiter) == {"x": [1.5, -2.25], "y": ["a", "b"]}
    with pytest.raises(BayesError, match=r"decimal=';': a number has a point or a comma in it"):
        read(path, decimal=";")


def test_a_decimal_comma_among_numbers_is_told_with_its_remedy(file):
    with pytest.raises(SchemaMismatch, match=r"line 3: column 'x' holds '2,5'.*decimal comma, pass decimal=\",\"\."):
        read(file("x;y\n1.5;a\n2,5;b\n"), types={"x": "float"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_comment_lines_are_left_out(file, encoding):
    text = '# Größe; made by hand, "so\nsky,note\n#\nsun,"a\n# no comment"\n# end\nrain,b # c\n#'
    settings = {"comment": "#", "encoding": encoding if encoding == "latin-1" else None}
    path = file(text, encoding=encoding)
    assert read(path, **settings) == {"sky": ["sun", "rain"], "note": ["a\n# no comment", "b # c"]}
    assert FileSource.of(path, **settings).kinds == {"sky": "string", "note": "string"}
    with pytest.raises(BayesError, match="give what comment lines start with"):
        read(path, comment='"')


def test_comments_may_start_with_more_than_one_character(file):
    assert read(file("// x\na,b\n/1,2\n//\n"), comment="//") == {"a": ["/1"], "b": [2]}


cells = st.text(st.sampled_from('ab#,"\n é'), max_size=6)
lines = st.lists(st.tuples(cells, cells), min_size=1, max_size=8)
between = st.lists(st.sampled_from(["", '# "', "#,,,\n\n#"]), min_size=9, max_size=9)


def written(rows, gaps):
    """The rows as CSV, with comments and empty lines between them."""
    text = io.StringIO()
    for row, gap in zip([("first", "second"), *rows], gaps, strict=False):
        text.write(gap + "\n" if gap else "")
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(row)
    return text.getvalue()


@given(lines, between)
def test_comments_and_empty_lines_change_nothing(tmp_path_factory, rows, gaps):
    path = tmp_path_factory.mktemp("d") / "d.csv"
    path.write_text(written(rows, gaps), "utf-8")
    settings = {"comment": "#", "delimiter": ",", "missing": ["?"], "types": {"first": "string", "second": "string"}}
    said = read(path, **settings)
    assert list(zip(said["first"], said["second"], strict=True)) == rows


@given(lines, between)
def test_the_line_that_a_message_names_is_the_line_in_the_file(tmp_path_factory, rows, gaps):
    text = written([*rows[:-1], ("a", "x")], gaps)
    path = tmp_path_factory.mktemp("d") / "d.csv"
    path.write_text(text + "too,many,cells\n", "utf-8")
    line = text.count("\n") + 1
    with pytest.raises(BadFile, match=rf"d\.csv, line {line}: 3 cells where the header has 2"):
        read(path, comment="#", delimiter=",")
