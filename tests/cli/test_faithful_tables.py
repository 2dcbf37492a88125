"""Cells are read and copied as they are, columns keep distinct names, and a model is written last."""

import csv
import io
import json

import pytest
from pyarrow import parquet

import bayeskit as bk


def rows(text):
    """The lines of CSV as mappings."""
    return list(csv.DictReader(io.StringIO(text)))


# -- an unclosed quote ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["\n", "", '\n3,5"\n'])
def test_an_unclosed_quote_in_the_last_column_is_an_error_with_its_line(bayes, here, tail):
    lines = ["size,kind", *(f"{i % 7},{'ab'[i % 2]}" for i in range(300))]
    (here / "whole.csv").write_text("\n".join(lines) + "\n")
    bayes("fit", "whole.csv", "-t", "kind", "-o", "m.bayes")
    lines[100], lines[50] = '3,"b', "3,5" + '"' * tail.count('"')  # a quote within a cell is a character of it
    (here / "open.csv").write_text("\n".join(lines) + tail.replace('3,5"', "3,5"))
    for words in (["predict", "m.bayes", "open.csv"], ["fit", "open.csv", "-t", "kind", "-o", "none.bayes"]):
        told = bayes(*words, code=1)
        assert "line 101: a double quote opens a cell there and is never closed: close or remove it" in told.err
        assert told.out == ""
    assert not (here / "none.bayes").exists()


def test_an_unclosed_quote_of_a_pipe_is_an_error_with_its_line(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "-o", "m.bayes")
    text = b'outlook,temperature,humidity,wind\nsunny,hot,high,"weak"\nrain,hot,high,"weak\nrain,hot,high,weak\n'
    told = bayes("predict", "m.bayes", "-", stdin=text, code=1)
    assert "standard input, line 3: a double quote opens a cell there and is never closed" in told.err


def test_quotes_within_cells_do_not_open_them(bayes, here):
    (here / "pipes.csv").write_text('kind,size\na,5"\nb,"6"""\n"a","5"" ""x"\nb,6"\n')
    bayes("fit", "pipes.csv", "-t", "kind", "-o", "m.bayes", "--no-scores")
    said = rows(bayes("predict", "m.bayes", "pipes.csv", "--keep", "size").out)
    assert [row["size"] for row in said] == ['5"', '6"', '5" "x', '6"']


# -- copies --------------------------------------------------------------------------------------------

CELLS = ["00042", "9007199254740993", "0x10", "NA", "", "1e3", "2026-01-01", " a ", 'x"y', "1.50"]


@pytest.mark.parametrize("how", ["file", "pipe"])
def test_kept_cells_are_those_of_the_file(bayes, here, how):
    lines = [["id", "code", "size", "kind"]]
    lines += [[cell, "00017", i, "ab"[i % 2]] for i, cell in enumerate(CELLS)]
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    (here / "t.csv").write_text(text.getvalue())
    bayes("fit", "t.csv", "-t", "kind", "--role", "id=ignore", "-o", "m.bayes")
    source = "t.csv" if how == "file" else "-"
    told = bayes("predict", "m.bayes", source, "--keep-all", stdin=text.getvalue().encode())
    said = rows(told.out)
    assert [[row[name] for name in lines[0]] for row in said] == [[str(cell) for cell in line] for line in lines[1:]]
    as_json = bayes("predict", "m.bayes", "t.csv", "--keep", "id", "--json").out.splitlines()
    assert [json.loads(line)["id"] for line in as_json] == CELLS
    bayes("predict", "m.bayes", "t.csv", "--keep", "id", "-o", "out.parquet")
    assert parquet.read_table("out.parquet")["id"].to_pylist() == CELLS
    ranked = rows(bayes("rank", "m.bayes", "t.csv", "--class", "a", "--keep", "code").out)
    assert {row["code"] for row in ranked} == {"00017"}


def test_kept_numbers_of_other_formats_keep_all_digits(bayes, here):
    large = 9007199254740993
    lines = [{"n": large + i, "day": "2026-01-01", "kind": "ab"[i % 2]} for i in range(8)]
    (here / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    bayes("fit", "t.jsonl", "-t", "kind", "--role", "day=ignore", "-o", "m.bayes")
    said = [
        json.loads(line) for line in bayes("predict", "m.bayes", "t.jsonl", "--keep-all", "--json").out.split("\n")[:-1]
    ]
    assert [{name: row[name] for name in line} for row, line in zip(said, lines, strict=True)] == lines
    bayes("predict", "m.bayes", "t.jsonl", "--keep", "n", "-o", "n.parquet")
    assert parquet.read_table("n.parquet")["n"].to_pylist() == [line["n"] for line in lines]
    bayes("predict", "m.bayes", "n.parquet", "--keep", "n", "-o", "again.csv")
    assert [row["n"] for row in rows((here / "again.csv").read_text())] == [str(line["n"]) for line in lines]


def test_a_leading_zero_in_any_row_of_any_file_decides(here):
    filler = "x" * 2000
    first, second = here / "zips" / "1.csv", here / "zips" / "2.csv"
    first.parent.mkdir()
    first.write_text("zip,note,kind\n" + f"1234,{filler},a\n56789,,b\n" * 2200 + "01234,,b\n")  # beyond 4 MB
    for path, role in ((first, {"note": "ignore"}), (first, {"note": "text"})):
        model = bk.NaiveBayes(roles={"zip": "categorical"} | role).fit_source(path, "kind")
        assert model.tally_.families["zip"].values == ("01234", "1234", "56789")
    first.write_text("zip,kind\n1234,a\n5678,b\n")
    second.write_text("zip,kind\n1234,a\n05678,b\n")
    from bayeskit.engines import Processes

    for engine in (None, Processes(2)):
        model = bk.NaiveBayes(roles={"zip": "categorical"}).fit_source(here / "zips", "kind", engine)
        assert model.tally_.families["zip"].values == ("05678", "1234", "5678")


def test_numbers_with_leading_zeros_are_categories_as_they_are_written(bayes, here):
    (here / "zip.csv").write_text("zip,year,kind\n" + "01234,2007,a\n1234,2008,b\n" * 4)
    bayes("fit", "zip.csv", "-t", "kind", "--role", "zip=categorical", "--role", "year=categorical", "-o", "m.bayes")
    model = bk.load("m.bayes")
    assert sorted(model.tally_.families["zip"].values) == ["01234", "1234"]
    assert sorted(model.tally_.families["year"].values) == [2007, 2008]
    said = rows(bayes("predict", "m.bayes", "zip.csv", "--keep", "zip").out)
    assert {(row["zip"], row["predicted"]) for row in said} == {("01234", "a"), ("1234", "b")}
    assert (
        bk.NaiveBayes(roles={"zip": "categorical"}).fit("zip.csv", "kind").predict({"zip": "01234", "year": 2007})
        == "a"
    )


# -- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["probability", "rows", "share", "count", "P(a)", "precision", "as a"])
def test_a_target_may_have_the_name_of_an_output_column(bayes, here, target):
    (here / "t.csv").write_text(f"size,{target}\n" + "1,a\n2,b\n3,a\n4,b\n" * 5)
    told = bayes("fit", "t.csv", "-t", target, "-o", "m.bayes").out
    assert f"{target} (class)" in told if target in ("rows", "share") else target in told
    said = rows(bayes("predict", "m.bayes", "t.csv").out)
    assert len(said[0]) == 2
    assert {row["predicted"] for row in said} <= {"a", "b"}
    assert len(rows(bayes("predict", "m.bayes", "t.csv", "--proba", "--keep-all").out)[0]) == 5
    assert bayes("evaluate", "m.bayes", "t.csv").out
    assert len(bk.load("m.bayes").table().column_names) == 3


def test_a_column_may_have_the_name_of_a_column_of_rank(bayes, here):
    (here / "t.csv").write_text("row,p_a,log odds,kind\n" + "7,1,2,a\n9,2,2,b\n" * 5)
    bayes("fit", "t.csv", "-t", "kind", "-o", "m.bayes")
    said = rows(bayes("rank", "m.bayes", "t.csv", "--class", "a", "--keep-all", "-n", "2").out)
    assert list(said[0]) == ["ranked_row", "row", "p_a", "log odds", "kind", "model_p_a"]
    assert [(row["ranked_row"], row["row"]) for row in said] == [("0", "7"), ("2", "7")]


def test_rank_replaces_its_own_table_of_a_class_with_quotes(bayes, here):
    (here / "t.csv").write_text('size,kind\n1,"a""b"\n2,c\n' * 5)
    bayes("fit", "t.csv", "-t", "kind", "-o", "m.bayes")
    for _ in range(2):
        bayes("rank", "m.bayes", "t.csv", "--class", 'a"b', "-o", "r.csv")
    assert (here / "r.csv").exists()


def test_rank_orders_rows_whose_probability_rounds_to_one(bayes, here):
    (here / "t.csv").write_text("size,kind\n" + "".join(f"{i % 5},a\n{1000 + i % 5},b\n" for i in range(10)))
    bayes("fit", "t.csv", "-t", "kind", "-o", "m.bayes")
    (here / "new.csv").write_text("size\n" + "\n".join(map(str, [900, 1000, 700, 5, 800, 0])) + "\n")
    said = rows(bayes("rank", "m.bayes", "new.csv", "--class", "b", "--keep", "size").out)
    model = bk.load("m.bayes")
    joint = {size: model.predict_joint_log_proba({"size": size})[0] for size in (900, 1000, 700, 5, 800, 0)}
    wanted = sorted(joint, key=lambda size: joint[size][0] - joint[size][1])
    assert [int(row["size"]) for row in said] == wanted
    assert sum(float(row["p_b"]) == 1 for row in said) >= 4


# -- a model is written last ---------------------------------------------------------------------------


def test_unlabeled_rows_are_left_out_in_every_pass(bayes, here):
    lines = [f"{i % 3},{i % 2},{'ab'[(i * i) % 3 == 1]}" for i in range(40)]
    copies = [line.split(",") for line in lines]
    text = "x,y,x2,x3,kind\n" + "".join(f"{x},{y},{x},{x},{kind}\n" for x, y, kind in copies) + "1,1,1,1,\n"
    (here / "t.csv").write_text(text + "".join(f"2,1,2,2,{'ab'[i % 2]}\n" for i in range(60)))
    told = bayes(
        "fit",
        "--numeric",
        "gaussian",
        "t.csv",
        "-t",
        "kind",
        "--drop-unlabeled",
        "--role",
        "x=categorical",
        "-o",
        "m.bayes",
    )
    assert "WORSE THAN" in told.out


# -- JSON lines ----------------------------------------------------------------------------------------


def test_mixed_types_of_json_lines_are_an_error_with_a_hint_that_works(bayes, refused, here):
    lines = [{"x": i, "kind": "ab"[i % 2]} for i in range(6)] + [{"x": "many", "kind": "a"}]
    (here / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    why = "line 7: column 'x' holds a string, but before it held a number. Correct the cell, make it null, or read the "
    refused(["fit", "t.jsonl", "-t", "kind"], 1, why + "column as text: --type x=string.")
    bayes("fit", "t.jsonl", "-t", "kind", "--type", "x=string", "-o", "m.bayes")
    assert sorted(bk.load("m.bayes").tally_.families["x"].values) == ["0", "1", "2", "3", "4", "5", "many"]


def test_the_same_texts_are_missing_in_json_lines_and_in_csv(bayes, here):
    lines = [
        {"x": x, "word": word, "kind": kind}
        for x, word, kind in [(1, "u", "a"), ("", "", "b"), (2, "NA", "a"), (None, "v", "b"), (3, "u", "b")]
    ]
    (here / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (here / "t.csv").write_text("x,word,kind\n1,u,a\n,,b\n2,NA,a\n,v,b\n3,u,b\n")
    bayes("fit", "t.jsonl", "-t", "kind", "-o", "j.bayes")
    bayes("fit", "t.csv", "-t", "kind", "-o", "c.bayes")
    j, c = bk.load("j.bayes"), bk.load("c.bayes")
    assert j.tally_.families["word"].values == c.tally_.families["word"].values == ("u", "v")
    assert j.table("x")["count"] == c.table("x")["count"] == [2, 1]
